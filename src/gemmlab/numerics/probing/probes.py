"""The direct experiments: what C keeps, what small terms keep beside large ones, subnormals and special values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gemmlab import formats
from gemmlab.numerics.probing.backend import Row
from gemmlab.numerics.probing.numbers import Numbers, code, span
from gemmlab.numerics.probing.structure import ADDEND, Structure, layout, named


class Probe(NamedTuple):
    """A row, and how far below the largest term its small one lies."""

    row: Row
    depth: int
    cancels: bool = False  #: large terms of one fused sum cancel, so that the small one comes out alone
    top: int = 0  #: exponent of the large term
    plain: bool = False  #: a large and a small power of two, both positive, and nothing else
    bits: int = 0  #: fraction bits of the small term's significand


def alone(numbers: Numbers) -> list[Probe]:
    """C = +-(1 + 2^-n) and +-(1 + 2^-n + 2^-(n+1)) with nothing to add."""
    made = []
    for n in range(1, formats.get(numbers.accumulate).mantissa_bits + 1):
        for sign in (1.0, -1.0):
            for tail, words in ((2.0**-n, f"2^-{n}"), (1.5 * 2.0**-n, f"1.5*2^-{n}")):
                c = numbers.addend(sign * (1 + tail), 0)
                if c is not None:
                    made.append(Probe(Row({}, c, f"A = B = 0, C = {'-' if sign < 0 else ''}(1 + {words})"), n))
    return made


def storage(probes: list[Probe], seen: list[int]) -> int:
    """The largest n for which C = 1 + 2^-n came back."""
    return max(
        (p.depth for p, d in zip(probes, seen, strict=True) if "1.5" not in p.row.words and d == p.row.c), default=0
    )


def seats(structure: Structure, k: int, hidden: bool) -> list[tuple[tuple[int, ...], bool]]:
    """Places for a large, a small and another large term, and whether one fused sum takes all three."""
    instruction, lane, group = layout(structure.order, structure.terms, structure.k, k)
    ranks = list(zip(instruction.tolist(), lane.tolist(), group.tolist(), strict=True))[:-1]
    ordered = sorted(range(k), key=lambda at: (ranks[at], at))
    first = [at for at in ordered if ranks[at] == ranks[ordered[0]]]
    others = [at for at in ordered if ranks[at] != ranks[ordered[0]]]
    made: list[tuple[tuple[int, ...], bool]] = []
    if len(first) > 2:
        made.append(((first[0], first[1], first[2]), True))
        made.append(((first[-1], first[0], first[1]), True))
    if len(first) > 1:
        made.append(((first[0], first[1]), False))
        if not hidden:
            made.append(((ADDEND, first[0], first[1]), structure.c == "early"))
            made.append(((first[0], ADDEND, first[1]), structure.c == "early"))
    if others:
        made.append(((first[0], others[0]), False))
        made.append(((first[0], others[0], others[min(1, len(others) - 1)]), False))
    if not hidden:
        made.append(((ADDEND, first[0]), False))
        made.append(((first[0], ADDEND), False))
    return [each for each in made if len(set(each[0])) == len(each[0])]


def sweeps(numbers: Numbers, structures: list[Structure], k: int, hidden: bool) -> list[Probe]:
    """A small term in every distance below a large one, of every sign, in every seat; with and without cancelling."""
    known: dict[tuple[int, ...], bool] = {}
    for structure in structures:
        for places, together in seats(structure, k, hidden):
            known[places] = known.get(places, True) and together
    lone = [long(numbers, exponent) for exponent in (0, 1, numbers.top // 2)]
    return [
        *(p for p in lone if p),
        *(p for places, together in known.items() for p in sweep(numbers, places, together)),
    ]


def long(numbers: Numbers, exponent: int) -> Probe | None:
    """One product alone of as many bits as A holds: an alignment of few bits cuts it."""
    bits = formats.get(numbers.a_format).mantissa_bits
    pair = numbers.product(2 - 2.0**-bits, exponent)
    return None if pair is None else Probe(Row({0: pair}, 0, f"(2 - 2^-{bits})*2^{exponent} alone"), bits)


def sweep(numbers: Numbers, places: tuple[int, ...], together: bool) -> Iterator[Probe]:
    """The small term at places[1], the large at places[0] and, of the other sign, at places[2] if there is one."""
    whole = formats.get(numbers.a_format).mantissa_bits
    smalls = {1.0: 0, -1.0: 0, 1.5: 1, -1.5: 1, 1.25: 2, 1 + 2.0**-whole: whole}
    for n in range(1, 64):
        low = max(numbers.bottom + 2, min(-n // 2, numbers.top - n))
        for large_sign in (1.0, -1.0)[: 3 - len(places) + 1]:
            for small, bits in smalls.items():
                slots: dict[int, tuple[int, int]] = {}
                c = 0
                terms = [(places[0], large_sign, low + n), (places[1], small, low)]
                if len(places) > 2:
                    terms.append((places[2], -large_sign, low + n))
                for place, value, exponent in terms:
                    if place == ADDEND:
                        found = numbers.addend(value, exponent)
                        if found is None:
                            break
                        c = found
                    else:
                        pair = numbers.product(value, exponent)
                        if pair is None:
                            break
                        slots[place] = pair
                else:
                    said = [f"{value:+g}*2^{exponent} at {named(place)}" for place, value, exponent in terms]
                    plain = len(places) == 2 and large_sign == small == 1.0
                    yield Probe(Row(slots, c, ", ".join(said)), n, together and len(places) > 2, low + n, plain,
                                bits)  # fmt: skip


def alignment(probes: list[Probe], values: list[float]) -> int | None:
    """Fraction bits that stay below the largest exponent: the smallest thing left where large terms cancel."""
    left = [p.top - math.log2(abs(d)) for p, d in zip(probes, values, strict=True) if p.cancels and d]
    return math.floor(max(left)) if left else None


def reach(probes: list[Probe], values: list[float]) -> int | None:
    """The largest n for which 2^n + 1 came out exactly, None where every such sum did."""
    plain = [(p.depth, d == math.ldexp(1.0, p.top) + math.ldexp(1.0, p.top - p.depth))
             for p, d in zip(probes, values, strict=True) if p.plain]  # fmt: skip
    lost = [n for n, exact in plain if not exact]
    return min(lost) - 1 if lost else None


def subnormals(numbers: Numbers, hidden: bool) -> list[tuple[str, Row]]:
    """Subnormal operands, addends and sums, by what they show."""
    made = []
    a, b, c = span(numbers.a_format), span(numbers.b_format), span(numbers.accumulate)
    held = numbers._replace(subnormals=True)
    if a.low < a.normal:
        pair = held.product(1.0, a.low, deep=True) if b.low <= 0 <= b.high else None
        if pair is not None and a.low >= c.low:
            made.append(("operand", Row({0: pair}, 0, f"2^{a.low} (subnormal) * 1")))
    if not hidden and c.low < c.normal:
        made.append(("addend", Row({}, held.addend(1.0, c.normal - 2) or 0, f"C = 2^{c.normal - 2} (subnormal)")))
    if a.normal + b.normal <= c.normal - 2:
        pair = numbers._replace(subnormals=False).product(1.0, c.normal - 2)
        if pair is not None:
            made.append(("sum", Row({0: pair}, 0, f"normal operands whose product is 2^{c.normal - 2}")))
    # Sums of normal numbers that end below them: their last addition alone tells whether results are flushed.
    minus, more = (numbers.product(value, c.normal) for value in (-1.0, 1.5))
    addend = numbers.addend(1.5, c.normal)
    if minus is not None and addend is not None and not hidden:
        made.append(("sum", Row({0: minus}, addend, f"1.5*2^{c.normal} in C, and -2^{c.normal}")))
    if minus is not None and more is not None:
        made.append(("sum", Row({0: more, 1: minus}, 0, f"1.5*2^{c.normal} and -2^{c.normal}")))
    return made


def specials(numbers: Numbers, k: int, hidden: bool) -> list[tuple[str, Row]]:
    """NaN, infinities, zeros of both signs and overflows, by name; `k` products fill whole instructions."""
    forms = [formats.get(name) for name in (numbers.a_format, numbers.b_format)]
    whole = formats.get(numbers.accumulate)
    one = numbers.product(1.0, 0)
    minus = numbers.product(-1.0, 0)
    made: list[tuple[str, Row]] = []
    if one is None or minus is None:
        return made
    a, b = forms
    sign = 1 << (a.bits - 1) << a.pad_bits
    nan = a.nan_magnitude << a.pad_bits
    infinity = (a.max_magnitude + 1) << a.pad_bits
    zeros = dict.fromkeys(range(k), (sign, one[1])) if a.signed_zero else {}
    if a.nan != "none":
        made.append(("NaN operand", Row({0: (nan, one[1])}, 0, "NaN * 1")))
    if a.infinity:
        made.append(("infinity", Row({0: (infinity, one[1])}, 0, "Inf * 1")))
        made.append(("infinity times zero", Row({0: (infinity, 0)}, 0, "Inf * 0")))
        made.append(
            ("infinities of both signs", Row({0: (infinity, one[1]), 1: (infinity | sign, one[1])}, 0, "Inf - Inf"))
        )
    if zeros:
        made.append(("negative zeros", Row(zeros, 0, "all products -0, C = +0")))
    big = dict.fromkeys((0, 1), (a.max_magnitude << a.pad_bits, b.max_magnitude << b.pad_bits))
    made.append(("overflow", Row(big, 0, "twice the largest product")))
    past = numbers.product(1.0, 128)
    if past is not None:
        made.append(("a product past float32", Row({0: past}, 0, "2^128")))
        c = None if hidden else numbers.addend(-1.5, 127)
        if c is not None:
            made.append(("a product past float32 that C brings back", Row({0: past}, c, "2^128 - 1.5*2^127")))
    one_big = {0: big[0], 1: (big[1][0] | sign, big[1][1])} if k > 1 else {}
    made.append(("overflowing products that cancel", Row(one_big, 0, "the largest product, and minus it")))
    if not hidden:
        top = 1 << (whole.bits - 1)
        infinite = whole.max_magnitude + 1
        made.append(("NaN addend", Row({}, whole.nan_magnitude, "C = NaN")))
        made.append(("infinite addend", Row({}, infinite, "C = Inf")))
        made.append(("infinite addend of the other sign", Row({0: (infinity, one[1])}, infinite | top, "Inf - Inf in C")
                     if a.infinity else Row({0: minus}, infinite, "C = Inf, -1")))  # fmt: skip
        made.append(("negative zero addend", Row({}, top, "C = -0, products +0")))
        if zeros:
            made.append(("negative zeros everywhere", Row(zeros, top, "all products -0, C = -0")))
        made.append(("largest addend", Row({0: one}, whole.max_magnitude, "the largest C, plus 1")))
        normal = span(numbers.accumulate).normal
        flushed = numbers._replace(subnormals=True).addend(-1.0, normal - 1)
        if flushed is not None:
            made.append(("negative subnormal addend", Row({}, flushed, "C = the largest negative subnormal power")))
            if zeros:
                made.append(("negative subnormal addend, products -0", Row(zeros, flushed, "the same, products -0")))
    if span(numbers.a_format).low < span(numbers.a_format).normal and zeros and not hidden:
        tiny = numbers._replace(subnormals=True).product(-1.0, span(numbers.a_format).low, deep=True)
        if tiny is not None:
            made.append(("negative subnormal products", Row(dict.fromkeys(range(k), tiny), top, "-subnormal, C = -0")))
    return made


def flushed_before(numbers: Numbers, hidden: bool) -> list[tuple[str, Row]]:
    """Subnormal operands and addends of sums that are normal, so that flushed results do not hide flushed inputs."""
    made = []
    a, b, c = span(numbers.a_format), span(numbers.b_format), span(numbers.accumulate)
    names = (numbers.a_format, numbers.b_format)
    for at, (own, other) in enumerate(((a, b), (b, a))):
        scale = c.normal + 2 - own.low
        small, large = code(math.ldexp(1.0, own.low), names[at]), code(math.ldexp(1.0, scale), names[1 - at])
        if own.low < own.normal and other.normal <= scale <= other.high and small is not None and large is not None:
            pair = (large, small) if at else (small, large)
            made.append((f"subnormal {'ab'[at]}", Row({0: pair}, 0, f"2^{own.low} (subnormal) * 2^{scale}")))
    addend, product = numbers._replace(subnormals=True).addend(1.0, c.normal - 1), numbers.product(1.5, c.normal)
    if not hidden and addend is not None and product is not None:
        made.append(("subnormal addend", Row({0: product}, addend, f"C = 2^{c.normal - 1}, and 1.5*2^{c.normal}")))
    return made


def converted(numbers: Numbers, structure: Structure, k: int, hidden: bool) -> list[Row]:
    """A product of a subnormal, its negative from normal operands, and a small term: a converted operand is normal.

    Read as it is, a subnormal counts with the smallest normal exponent and cuts small terms that survive beside what
    another format holds. Only for operands of 8 bits and fewer, whose range is less than that of formats of 16.
    """
    forms = [formats.get(name) for name in (numbers.a_format, numbers.b_format)]
    if any(form.bits > 8 for form in forms):
        return []
    instruction, lane, group = layout(structure.order, structure.terms, structure.k, k)
    first = np.flatnonzero((instruction[:-1] == 0) & (lane[:-1] == 0) & (group[:-1] == 0)).tolist()
    held, normal = numbers._replace(subnormals=True), numbers._replace(subnormals=False)
    made = []
    for at, (own, other) in enumerate(((forms[0], forms[1]), (forms[1], forms[0]))):
        low, high = span(own.name), span(other.name).high
        small_code, high_code = code(math.ldexp(1.0, low.low), own.name), code(math.ldexp(1.0, high), other.name)
        top = low.low + high
        minus = normal.product(-1.0, top) or held.product(-1.0, top, deep=True)
        if low.low == low.normal or minus is None or small_code is None or high_code is None:
            continue
        large = (small_code, high_code) if at == 0 else (high_code, small_code)
        for n in range(1, 48):
            small = normal.product(1.0, top - n) or held.product(1.0, top - n, deep=True)
            c = None if hidden else numbers.addend(1.0, top - n)
            words = f"a subnormal's product 2^{top}, its negative, and 2^{top - n}"
            if small is not None and len(first) > 2:
                made.append(Row({first[0]: large, first[1]: minus, first[2]: small}, 0, words))
            if c is not None:
                slots = {first[0]: large} | ({first[1]: minus} if len(first) > 1 else {})
                made.append(Row(slots, c, words))
    return made


def tiny(numbers: Numbers, hidden: bool) -> list[Probe]:
    """Lone products and addends of three bits, from 1 down to the smallest: a zero that counts cuts them."""
    made = []
    held = numbers._replace(subnormals=True)
    low = sum((span(numbers.a_format).low, span(numbers.b_format).low))
    for exponent in range(0, max(low, -320), -2):
        pair = held.product(1.75, exponent, deep=True)
        if pair is not None:
            made.append(Probe(Row({0: pair}, 0, f"1.75*2^{exponent} alone"), -exponent))
    if not hidden:
        for exponent in range(0, max(span(numbers.accumulate).low, -320), -2):
            c = held.addend(1.75, exponent)
            if c is not None:
                made.append(Probe(Row({}, c, f"C = 1.75*2^{exponent} alone"), -exponent))
    return made
