"""One output of a unit explained term by term: exponents, what each cut takes, sums, roundings, special rules."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.plain import output
from gemmlab.numerics.reference import Sum, Term, dot
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.values import exact, read
from gemmlab.record import TraceSection, TraceStep, TraceTerm

INSIDE = ("late C", "even and odd k", "pair", "pair and C")  #: additions that the unit itself makes
WIDE = ("promotion", "split-k", "share", "alpha and beta", "D")  #: those outside, to nearest


def trace_dot(
    unit: Unit,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    a_format: str,
    b_format: str,
    *,
    a_scales: Sequence[int] = (),
    b_scales: Sequence[int] = (),
    scale_format: str = "",
    place: tuple[int, int] = (0, 0),
) -> TraceSection:
    """How `dot` comes to its code: one chain of instructions, C in the accumulator; arguments as for `dot`.

    `place` is the output's row and column. Raises GemmlabError as `dot` does.
    """
    told: list[Sum] = []
    code = dot(unit, a, b, c, a_format, b_format, a_scales, b_scales, scale_format, told.append)
    row = Row(unit, a, b, a_format, b_format, a_scales, b_scales, scale_format)
    whole = None if row.total is None else added(row.total, value_of(c, unit.accumulate))
    chains = ((0, len(a)),)
    return section(row, told, code, unit.accumulate, whole, chains, Schedule(), place)


def trace_output(
    unit: Unit,
    schedule: Schedule,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    a_format: str,
    b_format: str,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    c_format: str = "float32",
    d_format: str = "float32",
    a_scales: Sequence[int] = (),
    b_scales: Sequence[int] = (),
    scale_format: str = "",
    place: tuple[int, int] = (0, 0),
) -> TraceSection:
    """How a whole scheduled multiplication comes to one element of D; arguments as for `plain.output`.

    Raises GemmlabError as `plain.output` does.
    """
    told: list[Sum] = []
    code = output(
        unit, schedule, a, b, c, a_format, b_format, alpha=alpha, beta=beta, c_format=c_format, d_format=d_format,
        a_scales=a_scales, b_scales=b_scales, scale_format=scale_format, watch=told.append,
    )  # fmt: skip
    unit = schedule.on(unit)
    row = Row(unit, a, b, a_format, b_format, a_scales, b_scales, scale_format)
    whole = None if row.total is None else row.total * Fraction(alpha)
    if beta != 0 and whole is not None:
        addend = value_of(c, c_format)
        whole = None if addend is None else whole + addend * Fraction(beta)
    chains = tuple(chain for share in schedule.chains(len(a), unit) for chain in share)
    return section(row, told, code, d_format, whole, chains, schedule, place)


class Row:
    """The operands of one output, as values."""

    def __init__(
        self,
        unit: Unit,
        a: Sequence[int],
        b: Sequence[int],
        a_format: str,
        b_format: str,
        a_scales: Sequence[int],
        b_scales: Sequence[int],
        scale_format: str,
    ) -> None:
        self.unit = unit
        self.a = [text_of(code, a_format) for code in a]
        self.b = [text_of(code, b_format) for code in b]
        products = [product(x, y, a_format, b_format) for x, y in zip(a, b, strict=True)]
        if unit.scaled:
            scales = [product(x, y, scale_format, scale_format) for x, y in zip(a_scales, b_scales, strict=True)]
            # A unit does not read the sign of a scale.
            scales = [None if each is None else abs(each) for each in scales]
            products = [scaled(each, scales[k // unit.scale_block]) for k, each in enumerate(products)]
        self.products = products
        self.total = total_of(products)


def section(
    row: Row,
    told: Sequence[Sum],
    code: int,
    d_format: str,
    whole: Fraction | None,
    chains: tuple[tuple[int, int], ...],
    schedule: Schedule,
    place: tuple[int, int],
) -> TraceSection:
    """The section of a Record."""
    got = value_of(code, d_format)
    return TraceSection(
        row=place[0],
        column=place[1],
        k=len(row.a),
        accumulate=row.unit.accumulate,
        d_format=d_format,
        chains=chains,
        steps=tuple(step(each, row, schedule) for each in in_order(told, row.unit) if not idle(each, row)),
        result=text_of(code, d_format),
        code=hexadecimal(code, d_format),
        exact="" if whole is None else text(whole),
        error="" if whole is None or got is None else text(got - whole),
    )


def idle(told: Sum, row: Row) -> bool:
    """A sum of nothing but what fills the last instruction: what was there before goes through it unchanged."""
    if not told.ks or told.ks[0] < len(row.a) or told.special or told.result is None or not told.terms:
        return False
    before = told.terms[-1]
    low = (before.exponent or 0) - before.fraction
    return value_of(told.result, row.unit.accumulate) == Fraction(before.value) * Fraction(2) ** low


def in_order(told: Sequence[Sum], unit: Unit) -> list[Sum]:
    """The steps as they happen: products that are added two by two are told of behind their additions."""
    if unit.sum != "pairs":
        return list(told)
    made: list[Sum] = []
    waiting: list[Sum] = []
    for each in told:
        if each.what.startswith("pair"):
            waiting.append(each)
        else:
            made += [each, *waiting]
            waiting = []
    return made + waiting


def step(told: Sum, row: Row, schedule: Schedule) -> TraceStep:
    """One fused sum or one addition."""
    unit = row.unit
    if unit.sum == "pairs" and not told.what and not told.special:
        told = told._replace(result=None)  # its additions follow, each a step of its own
    wide = "float64" if unit.accumulate == "float64" else "float32"
    name = wide if told.what in WIDE and not whole(unit, told.what) else unit.accumulate
    aligned = bool(told.kept) and not told.special
    terms = summands(told, row, aligned)
    total = Fraction(told.total) * Fraction(2) ** told.scale
    result = None if told.result is None else value_of(told.result, name)
    known = not told.special and (aligned or told.what != "")
    return TraceStep(
        kind=told.what or "fused sum",
        ks=tuple(k for k in told.ks if k < len(row.a)),
        terms=terms,
        largest_exponent=told.largest,
        unit_exponent=told.scale,
        total=told.total,
        total_value=text(total) if known else "",
        exact=text(sum((value(term) for term in terms), Fraction(0))) if not told.special else "",
        cut=cut(unit, told.what) if aligned else "",
        rounding=rounding(unit, told, schedule),
        result="" if told.result is None else text_of(told.result, name),
        code="" if told.result is None else hexadecimal(told.result, name),
        format=name,
        width=width(unit, told, schedule, name),
        lost=text(total - result) if known and result is not None else "",
        rule=told.special,
    )


def summands(told: Sum, row: Row, aligned: bool) -> tuple[TraceTerm, ...]:
    """The terms of a step; those that only fill the last instruction are left out."""
    if not told.terms:  # a special value: nothing was aligned
        return tuple(
            TraceTerm(
                where=str(k), a=row.a[k], b=row.b[k], value="" if row.products[k] is None else text(row.products[k]),
                exponent=None, significand=0, unit_exponent=0, shift=None, kept=None, lost="0", lost_bits=0,
            )
            for k in told.ks
            if k < len(row.a)
        )  # fmt: skip
    size = row.unit.exact_terms if row.unit.scaled else 1
    made = []
    for index, term in enumerate(told.terms):
        inner = told.ks[index * size : (index + 1) * size]
        if inner and inner[0] >= len(row.a):
            continue
        kept = told.kept[index] if aligned else None
        made.append(summand(term, inner, row, told, kept))
    return tuple(made)


def summand(term: Term, inner: Sequence[int], row: Row, told: Sum, kept: int | None) -> TraceTerm:
    """One term; `inner` are the k of its products, none where it is no product."""
    low = (term.exponent or 0) - term.fraction
    exact_value = Fraction(term.value) * Fraction(2) ** low
    lost = Fraction(0) if kept is None else exact_value - Fraction(kept) * Fraction(2) ** told.scale
    single = len(inner) == 1
    below = max(told.scale - low, 0) if kept is not None else 0
    return TraceTerm(
        where=where(inner) if inner else term.where,
        a=row.a[inner[0]] if single else "",
        b=row.b[inner[0]] if single else "",
        value=text(exact_value),
        exponent=term.exponent,
        significand=term.value,
        unit_exponent=low,
        shift=None if term.exponent is None else told.largest - term.exponent,
        kept=kept,
        lost=text(lost),
        lost_bits=min(below, abs(term.value).bit_length()),
    )


def where(ks: Sequence[int]) -> str:
    """`5`, or `0..15` of products that are summed exactly before they are aligned."""
    return str(ks[0]) if len(ks) == 1 else f"{ks[0]}..{ks[-1]}"


def cut(unit: Unit, what: str) -> str:
    """How summands of a step are cut."""
    if what == "products and C":
        return "floor"
    return unit.cut if unit.sum == "aligned" and what in ("", "products alone") else ""


def rounding(unit: Unit, told: Sum, schedule: Schedule) -> str:
    """How a sum becomes its result, in words."""
    if told.special:
        return ""
    if told.result is None:
        return f"each product {unit.rounding}, then added two by two" if unit.sum == "pairs" else "goes on as it is"
    if whole(unit, told.what):
        stops = unit.saturate and not told.what
        return "exact, stopped at the ends of int32" if stops else "exact, modulo 2^32"
    if told.what in WIDE:
        name = {"split-k": schedule.reduce_sum, "share": schedule.reduce}.get(told.what, "")
        return f"rne to {name}" if name else "rne"
    kind = unit.c_rounding if told.what in INSIDE else unit.rounding
    down = f"floor to {unit.join_bits} fraction bits, then " if told.what == "products and C" else ""
    return f"{down}{kind} to {unit.width} fraction bits"


def width(unit: Unit, told: Sum, schedule: Schedule, name: str) -> int:
    """Fraction bits that a step's rounding keeps."""
    if told.what not in WIDE or whole(unit, told.what):
        return unit.width
    kept = {"split-k": schedule.reduce_sum, "share": schedule.reduce}.get(told.what, name)
    return formats.get(kept).mantissa_bits


def whole(unit: Unit, what: str) -> bool:
    """Whether a step adds integers: a unit's own sums, and those of the shares of split-k."""
    return unit.sum == "integer" and what in ("", "split-k")


def value(term: TraceTerm) -> Fraction:
    """What a term stands for, before any cut."""
    return Fraction(term.significand) * Fraction(2) ** term.unit_exponent


def value_of(code: int, name: str) -> Fraction | None:
    """The value of a code; None for NaN and infinities."""
    number = read(code, formats.get(name))
    if number.kind != "finite":
        return None
    significand, scale = exact(number)
    return Fraction(significand) * Fraction(2) ** scale


def product(a: int, b: int, a_format: str, b_format: str) -> Fraction | None:
    """The exact product of two codes; None where one is not finite."""
    x, y = value_of(a, a_format), value_of(b, b_format)
    return None if x is None or y is None else x * y


def scaled(value: Fraction | None, scale: Fraction | None) -> Fraction | None:
    """A product times its block's scale."""
    return None if value is None or scale is None else value * scale


def added(x: Fraction, y: Fraction | None) -> Fraction | None:
    """Their sum; None where y is not finite."""
    return None if y is None else x + y


def total_of(values: Sequence[Fraction | None]) -> Fraction | None:
    """Their sum; None where one is not finite."""
    found = Fraction(0)
    for each in values:
        if each is None:
            return None
        found += each
    return found


def text_of(code: int, name: str) -> str:
    """The value of a code as text: `nan`, `-inf`, `-0`, or a decimal."""
    number = read(code, formats.get(name))
    sign = "-" if number.negative else ""
    if number.kind == "nan":
        return "nan"
    if number.kind == "inf":
        return f"{sign}inf"
    if number.zero:
        return f"{sign}0"
    significand, scale = exact(number)
    if formats.get(name).kind == "int":
        return str(significand)
    digits = 17 if name == "float64" else 9
    return text(Fraction(significand) * Fraction(2) ** scale, digits)


def text(value: Fraction | None, digits: int = 0) -> str:
    """A value as a decimal of so many significant digits, of as many as float64 needs with 0."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    try:
        if abs(value) < Fraction(1, 1 << 1000):
            return small(value)
        return f"{float(value):.{digits}g}" if digits else repr(float(value)).removesuffix(".0")
    except OverflowError:
        return small(value)


def small(value: Fraction) -> str:
    """A value beyond float64's range as significand and power of two."""
    power = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return f"{float(value / Fraction(2) ** power):.6g}*2^{power}"


def hexadecimal(code: int, name: str) -> str:
    """A code's bits: `0x47a00000`."""
    return f"0x{code:0{-(-formats.get(name).storage_bits // 4)}x}"
