"""One output of a matrix unit in plain Python integers: the slow, obviously right form of every unit.

Sources of the rules: Khattak and Mikaitis, arXiv 2512.07004; Xie et al., arXiv 2511.10909; and the recordings under
benchmarks/. A unit's fields say which of them it follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gemmlab import formats
from gemmlab.formats import Format
from gemmlab.numerics.behaviour import Unit, groups
from gemmlab.numerics.values import Number, converted, exact, pack, read, shifted
from gemmlab.record import GemmlabError


class Term(NamedTuple):
    """One summand of a fused sum: +-value * 2**(exponent - fraction), counted with `exponent` when aligning."""

    value: int  #: signed significand
    exponent: int | None  #: None: a zero that does not count
    fraction: int
    where: str  #: `c`, or the k of its product in the instruction; the first where several are summed exactly


class Sum(NamedTuple):
    """One fused sum, or one addition outside of them, for whoever watches."""

    ks: list[int]  #: products in it, counted from the dot product's start
    terms: list[Term]
    largest: int  #: exponent that all were aligned to
    kept: list[int]  #: what stayed of each term, in units of 2**(largest - align_bits)
    total: int  #: their sum, in the same units; of an exact sum in units of 2**scale
    scale: int  #: exponent of `total`'s unit
    result: int | None  #: code after rounding; None where it goes on unrounded
    special: str  #: the rule that gave the result instead: `nan` or `inf`; empty for a finite one
    what: str = ""  #: of an addition outside of fused sums: what it brings together


Watch = Callable[[Sum], None]


def dot(
    unit: Unit,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    a_format: str,
    b_format: str,
    a_scales: Sequence[int] = (),
    b_scales: Sequence[int] = (),
    scale_format: str = "",
    watch: Watch | None = None,
) -> int:
    """The code, in `unit.accumulate`, of sum_k a[k] * b[k] + c as the unit computes it.

    `a` and `b` are codes in their formats, `c` a code of the accumulator; k that does not fill the last instruction is
    filled with zeros, as kernels do. A scaled unit takes one scale for each `scale_block` of k. `watch` is called with
    every fused sum. Raises GemmlabError for sequences that do not match.
    """
    if len(a) != len(b):
        raise GemmlabError(f"{len(a)} and {len(b)} operands do not pair up", "as many a as b")
    blocks = -(-len(a) // unit.scale_block) if unit.scaled else 0
    if len(a_scales) != blocks or len(b_scales) != blocks:
        raise GemmlabError(f"{len(a_scales)} and {len(b_scales)} block scales, {blocks} are due", "one a block of k")
    step = Step(unit, formats.get(a_format), formats.get(b_format), scale_format, watch)
    for start in range(0, len(a), unit.k):
        stop = min(start + unit.k, len(a))
        chosen = slice(start // unit.scale_block, -(-stop // unit.scale_block)) if unit.scaled else slice(0)
        c = step.instruction(start, a[start:stop], b[start:stop], c, a_scales[chosen], b_scales[chosen])
    return c


class Step:
    """One instruction of a unit on operands of two formats."""

    def __init__(self, unit: Unit, a_form: Format, b_form: Format, scale_format: str, watch: Watch | None) -> None:
        self.unit, self.watch = unit, watch
        self.forms = (a_form, b_form)
        self.scale_form = formats.get(scale_format) if unit.scaled else None
        self.form = formats.get(unit.accumulate)
        self.groups = groups(unit)

    def instruction(
        self, start: int, a: Sequence[int], b: Sequence[int], c: int, a_scales: Sequence[int], b_scales: Sequence[int]
    ) -> int:
        """The code after one instruction, whose products begin at k = `start`."""
        unit = self.unit
        if unit.sum == "integer":
            return self.integers(start, a, b, c)
        pairs = [self.product(a[k], b[k]) if k < len(a) else ZERO_PRODUCT for k in range(unit.k)]
        scales = [self.scale(x, y) for x, y in zip(a_scales, b_scales, strict=True)]
        if unit.scaled:
            scales += [ZERO_PRODUCT] * (unit.k // unit.scale_block - len(scales))
        if not unit.zero_sign and operand(unit, c, self.form).zero:
            c = 0
        if unit.c == "floor":
            for joined in [self.groups] if unit.order == "parity" else [[ks] for ks in self.groups]:
                c = self.floored(start, joined, pairs, c)
            return c
        lanes = [self.groups]
        if unit.order == "parity":
            half = len(self.groups) // 2
            lanes = [self.groups[:half], self.groups[half:]]
        late = unit.c == "late"
        results = []
        for lane in lanes:
            running = 0 if late else c
            for ks in lane:
                running = self.fused(start, ks, pairs, scales, running)
            results.append(running)
        total = results[0]
        for other in results[1:]:
            total = self.plus(total, other, "even and odd k")
        return self.plus(total, c, "late C") if late else total

    def product(self, a: int, b: int) -> tuple[Number, Number]:
        """Both operands as numbers."""
        return operand(self.unit, a, self.forms[0]), operand(self.unit, b, self.forms[1])

    def scale(self, a: int, b: int) -> tuple[Number, Number]:
        """Both scales of a block as numbers; the sign of a float8 scale is not read."""
        assert self.scale_form is not None
        form = self.scale_form
        mask = (1 << (form.bits - form.signed)) - 1
        return read(a & mask, form), read(b & mask, form)

    def fused(
        self, start: int, ks: list[int], pairs: list[tuple[Number, Number]], scales: list[tuple[Number, Number]], c: int
    ) -> int:
        """The code of one group's products plus `c`, rounded once."""
        unit = self.unit
        addend = operand(unit, c, self.form)
        chosen = [pairs[k] for k in ks]
        factors = [*chosen, *((scales[k // unit.scale_block]) for k in ks)] if unit.scaled else chosen
        special = self.special(chosen, factors, addend) if unit.sum != "pairs" else None
        terms: list[Term] = []
        kept: list[int] = []
        if special is not None:
            total, scale, largest, result = 0, 0, 0, special
        elif unit.sum == "pairs":
            terms = [self.term(k, *pairs[k]) for k in ks]
            result, total, scale, largest = self.paired(chosen, c), 0, 0, 0
            special = result if read(result, self.form).kind != "finite" else None
        else:
            terms = self.terms(ks, pairs, scales)
            terms.append(self.addend(addend))
            largest, kept, total, scale = self.add(terms)
            result = pack(total, scale, self.form, unit.width, unit.rounding, unit.subnormal_outputs)
            if total == 0:
                result = self.zero_of(chosen, addend)
            elif unit.negative_zero == "positive" and result == 1 << (self.form.bits - 1):
                result = 0
        if self.watch is not None:
            kind = "" if special is None else read(special, self.form).kind
            self.watch(Sum([start + k for k in ks], terms, largest, kept, total, scale, result, kind))
        return result

    def terms(
        self, ks: list[int], pairs: list[tuple[Number, Number]], scales: list[tuple[Number, Number]]
    ) -> list[Term]:
        """The group's summands without the addend."""
        unit = self.unit
        if not unit.scaled:
            return [self.term(k, *pairs[k]) for k in ks]
        made = []
        for at in range(0, len(ks), unit.exact_terms):
            inner = ks[at : at + unit.exact_terms]
            x, y = scales[inner[0] // unit.scale_block]
            if unit.exact_terms == 1:
                one = self.term(inner[0], *pairs[inner[0]])
                value, exponent, fraction, nothing = one.value, x.exponent + y.exponent, one.fraction, one.value == 0
                exponent += pairs[inner[0]][0].exponent + pairs[inner[0]][1].exponent
            else:
                summed = [self.term(k, *pairs[k]) for k in inner]
                low = min(((t.exponent or 0) - t.fraction for t in summed if t.value), default=0)
                value = sum(t.value << ((t.exponent or 0) - t.fraction - low) for t in summed if t.value)
                exponent, fraction, nothing = x.exponent + y.exponent, -low, not any(t.value for t in summed)
            value *= x.significand * y.significand
            nothing = nothing or x.zero or y.zero
            fraction += x.fraction + y.fraction
            made.append(Term(value, unit.zero_exponent if nothing else exponent, fraction, str(inner[0])))
        return made

    def term(self, k: int, a: Number, b: Number) -> Term:
        """One product."""
        value = a.signed * b.signed
        exponent = a.exponent + b.exponent if value else self.unit.zero_exponent
        return Term(value, exponent, a.fraction + b.fraction, str(k))

    def addend(self, c: Number) -> Term:
        """C, or the running sum, as a summand."""
        return Term(c.signed, self.unit.zero_exponent if c.zero else c.exponent, c.fraction, "c")

    def add(self, terms: list[Term]) -> tuple[int, list[int], int, int]:
        """(largest exponent, what is kept of each, their sum, exponent of its unit)."""
        unit = self.unit
        largest = max(
            (t.exponent for t in terms if t.exponent is not None), default=NOTHING if unit.c == "floor" else 0
        )
        if unit.sum == "exact":
            scale = min(((t.exponent or 0) - t.fraction for t in terms if t.value), default=0)
            kept = [t.value << ((t.exponent or 0) - t.fraction - scale) if t.value else 0 for t in terms]
        else:
            scale = largest - unit.align_bits
            kept = [shifted(t.value, (t.exponent or 0) - t.fraction - scale, unit.cut) if t.value else 0 for t in terms]
        return largest, kept, sum(kept), scale

    def special(
        self, pairs: Sequence[tuple[Number, Number]], factors: Sequence[tuple[Number, Number]], c: Number
    ) -> int | None:
        """The code of a NaN or infinite result, or None."""
        infinities = set()
        for a, b in factors:
            if "nan" in (a.kind, b.kind):
                return self.unit.nan_code
        for a, b in pairs:
            if "inf" in (a.kind, b.kind):
                if a.zero or b.zero:
                    return self.unit.nan_code
                infinities.add(a.negative != b.negative)
            elif self.unit.product_overflow and overflows(a, b):
                infinities.add(a.negative != b.negative)
        if c.kind == "nan":
            return self.unit.nan_code
        if c.kind == "inf":
            infinities.add(c.negative)
        if len(infinities) == 2:
            return self.unit.nan_code
        return self.infinity(infinities.pop()) if infinities else None

    def infinity(self, negative: bool) -> int:
        """Its code in the accumulator."""
        return (self.form.max_magnitude + 1) | negative << (self.form.bits - 1)

    def zero_of(self, pairs: Sequence[tuple[Number, Number]], c: Number) -> int:
        """The zero that a sum without a remainder gives: -0 only where `ieee` says so and nothing but -0 was added."""
        signs = {a.negative != b.negative for a, b in pairs} | {c.negative}
        all_zero = c.zero and all(a.zero or b.zero for a, b in pairs)
        negative = self.unit.negative_zero == "ieee" and all_zero and signs == {True}
        return negative << (self.form.bits - 1)

    def plus(self, x: int, y: int, what: str) -> int:
        """The code of x + y, rounded once to the accumulator's width; `what` it brings together, for who watches."""
        result = self.added(x, y)
        if self.watch is not None:
            self.watch(addition(what, (x, y), self.form, result))
        return result

    def added(self, x: int, y: int) -> int:
        """The code of x + y, rounded once to the accumulator's width."""
        unit = self.unit
        a, b = read(x, self.form, unit.subnormal_inputs), read(y, self.form, unit.subnormal_inputs)
        if "nan" in (a.kind, b.kind) or (a.kind == b.kind == "inf" and a.negative != b.negative):
            return unit.nan_code
        if "inf" in (a.kind, b.kind):
            return self.infinity(a.negative if a.kind == "inf" else b.negative)
        (p, low), (q, other) = exact(a), exact(b)
        scale = min(low, other)
        total = (p << (low - scale)) + (q << (other - scale))
        result = pack(total, scale, self.form, unit.width, unit.c_rounding, unit.subnormal_outputs)
        if total == 0 and unit.negative_zero == "ieee" and a.zero and b.zero and a.negative and b.negative:
            return 1 << (self.form.bits - 1)
        return result

    def multiplied(self, a: Number, b: Number) -> int:
        """The code of one product, rounded by itself."""
        unit, negative = self.unit, a.negative != b.negative
        kinds = {a.kind, b.kind}
        if "nan" in kinds or ("inf" in kinds and (a.zero or b.zero)):
            return unit.nan_code
        if "inf" in kinds:
            return self.infinity(negative)
        value, scale = a.signed * b.signed, a.exponent - a.fraction + b.exponent - b.fraction
        if value == 0:
            return (negative and unit.negative_zero == "ieee") << (self.form.bits - 1)
        return pack(value, scale, self.form, unit.width, unit.rounding, unit.subnormal_outputs)

    def paired(self, pairs: Sequence[tuple[Number, Number]], c: int) -> int:
        """Products rounded by themselves, added two by two, then to `c`."""
        codes = [self.multiplied(a, b) for a, b in pairs]
        while len(codes) > 1:
            codes = [self.plus(x, y, "pair") for x, y in zip(codes[::2], codes[1::2], strict=True)]
        return self.plus(c, codes[0], "pair and C")

    def floored(self, start: int, joined: list[list[int]], pairs: list[tuple[Number, Number]], c: int) -> int:
        """The products summed by themselves, then joined to C by cuts that round down, as CDNA3 does."""
        unit = self.unit
        addend = operand(unit, c, self.form)
        chosen = [pairs[k] for ks in joined for k in ks]
        special = self.special(chosen, chosen, addend)
        if special is not None:
            if self.watch is not None:
                ks = [start + k for ks in joined for k in ks]
                self.watch(Sum(ks, [], 0, [], 0, 0, special, read(special, self.form).kind))
            return special
        largest, total = NOTHING, 0
        for ks in joined:
            terms = [self.term(k, *pairs[k]) for k in ks]
            top, left, part, _ = self.add(terms)
            new = max(largest, top)
            total = shifted(total, largest - new, "floor") + shifted(part, top - new, "floor")
            largest = new
            if self.watch is not None:
                here = [start + k for k in ks]
                self.watch(Sum(here, terms, top, left, part, top - unit.align_bits, None, "", "products alone"))
        exponent = max(largest, addend.exponent)
        dot = shifted(total, largest - unit.align_bits - exponent + unit.join_bits + 1, "floor")
        kept = shifted(addend.signed, addend.exponent - addend.fraction - exponent + unit.align_bits, "floor")
        if unit.order == "parity" and addend.exponent < exponent - unit.align_bits - 1:
            kept = 0
        kept <<= unit.join_bits + 1 - unit.align_bits
        value = sum_of_both = dot + kept
        scale = unit_exponent = exponent - unit.join_bits - 1
        if value:
            top = max(abs(value).bit_length() - 1 + scale, self.form.min_exponent)
            quantum = top - unit.join_bits
            value, scale = shifted(value, scale - quantum, "floor"), quantum
        result = pack(value, scale, self.form, unit.width, unit.rounding, unit.subnormal_outputs)
        if unit.negative_zero == "positive" and result == 1 << (self.form.bits - 1):
            result = 0
        if self.watch is not None:
            both = [Term(total, largest, unit.align_bits, "products"), self.addend(addend)]
            self.watch(Sum([], both, exponent, [dot, kept], sum_of_both, unit_exponent, result, "", "products and C"))
        return result

    def integers(self, start: int, a: Sequence[int], b: Sequence[int], c: int) -> int:
        """Exact products; their sum modulo 2^32, or stopped at the ends of int32 where the unit saturates."""
        values = [read(x, self.forms[0]).signed * read(y, self.forms[1]).signed for x, y in zip(a, b, strict=True)]
        values.append(read(c, self.form).signed)
        total = sum(values)
        if self.unit.saturate:
            total = max(-(1 << (self.form.bits - 1)), min(total, self.form.max_magnitude))
        result = total % (1 << self.form.bits)
        if self.watch is not None:
            where = [*map(str, range(len(a))), "c"]
            terms = [Term(value, 0, 0, name) for value, name in zip(values, where, strict=True)]
            self.watch(Sum([start + k for k in range(len(a))], terms, 0, values, total, 0, result, ""))
        return result


def operand(unit: Unit, code: int, form: Format) -> Number:
    """An operand or addend as the unit's multipliers and adders see it."""
    number = read(code, form, unit.subnormal_inputs)
    if unit.read_as and form.name in (*unit.a_formats, *unit.b_formats):
        number = converted(number, formats.get(unit.read_as))
    return number._replace(negative=False) if number.zero and not unit.zero_sign else number


NOTHING = -999  # exponent of a sum in which no product counts: below all others
ZERO = Number("finite", False, 0, 0, 0)
ZERO_PRODUCT = (ZERO, ZERO)


def addition(what: str, codes: Sequence[int], form: Format, result: int, factor: int | None = None) -> Sum:
    """An addition of codes outside of fused sums, rounded once to `result`, for whoever watches.

    `factor`, a code too, multiplies the first of them within the same rounding.
    """
    numbers = [read(code, form) for code in codes]
    if factor is not None:
        by, first = read(factor, form), numbers[0]
        kind = first.kind if by.kind == "finite" else by.kind
        significand, negative = by.significand * first.significand, by.negative != first.negative
        both = Number(kind, negative, significand, by.exponent + first.exponent, by.fraction + first.fraction)
        numbers = [both, *numbers[1:]]
    terms = [Term(each.signed, None if each.zero else each.exponent, each.fraction, what) for each in numbers]
    parts = [exact(each) for each in numbers]
    scale = min((at for value, at in parts if value), default=0)
    kept = [value << (at - scale) if value else 0 for value, at in parts]
    largest = max((term.exponent for term in terms if term.exponent is not None), default=0)
    outside = {each.kind for each in numbers} - {"finite"}
    return Sum([], terms, largest, kept, sum(kept), scale, result, read(result, form).kind if outside else "", what)


def overflows(a: Number, b: Number) -> bool:
    """Whether a product is 2^128 or more."""
    value = a.significand * b.significand
    return bool(value) and value.bit_length() - 1 + a.exponent + b.exponent - a.fraction - b.fraction >= 128
