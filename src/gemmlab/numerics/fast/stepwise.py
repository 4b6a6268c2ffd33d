"""One output after another, group by group, by every rule a unit has: the reference's steps in machine integers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab.numerics.fast.floats import Target, cut, magnitude_of, packed, unpacked
from gemmlab.numerics.fast.jit import compiled
from gemmlab.numerics.fast.limbs import bit_length, total_of
from gemmlab.numerics.fast.split import INF, NAN, NEGATIVE, NOTHING, ZERO

ALIGNED, EXACT, PAIRS = 0, 1, 2
EARLY, LATE, JOINED = 0, 1, 2
UNCOUNTED = -999  #: exponent of a joined sum in which nothing counts


class Rules(NamedTuple):
    """A unit's fields as numba reads them."""

    sum: int
    join: int  #: of C
    terms: int
    groups: int  #: of an instruction
    lanes: int  #: 2 of `parity`
    align_bits: int
    fraction: int  #: bits below the point of a product, scales left out where products are summed before them
    cut: int
    rounding: int
    joining: int
    join_bits: int
    exact_terms: int
    scale_fraction: int  #: bits below the point of two scales
    ieee: int  #: place of negative_zero in ZEROS: 0 never -0, 1 as IEEE 754, 2 only by rounding
    zero_sign: int
    product_overflow: int
    split: int  #: significands of more than 30 bits, whose products are put together from four


class Side(NamedTuple):
    """One operand, its k in the order of summing: (rows, ordered k); and its scales (rows, blocks of exact terms)."""

    exponents: npt.NDArray[np.int32]
    significands: npt.NDArray[np.int64]
    classes: npt.NDArray[np.uint8]
    scale_exponents: npt.NDArray[np.int32]
    scale_significands: npt.NDArray[np.int64]
    scale_classes: npt.NDArray[np.uint8]


@compiled
def outputs(a: Side, b: Side, rows: Any, columns: Any, c: npt.NDArray[np.int64], rules: Rules, to: Target) -> None:
    """c[n], a code, becomes the chain of A's row rows[n] and B's column columns[n] that starts from it."""
    room = 4 * max(rules.terms, 2) + 4
    values, places, counted = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    codes = np.empty(max(rules.terms, 2), np.int64)
    digits = np.zeros(256, np.int64)
    per = rules.terms * rules.groups
    for n in range(len(c)):
        i, j = rows[n], columns[n]
        code = c[n]
        for start in range(0, a.exponents.shape[1], per):
            if rules.zero_sign == 0 and is_zero(code, to):
                code = np.int64(0)
            if rules.join == JOINED:
                step = per if rules.lanes == 2 else rules.terms
                for first in range(start, start + per, step):
                    code = joined(a, b, i, j, first, first + step, code, values, counted, rules, to)
                continue
            held = code
            half = np.int64(0)
            for group in range(rules.groups):
                if rules.join == LATE and group % (rules.groups // rules.lanes) == 0:
                    half, code = code, np.int64(0)
                first = start + group * rules.terms
                code = fused(a, b, i, j, first, code, values, places, counted, codes, digits, rules, to)
            if rules.join == LATE:
                if rules.lanes == 2:
                    code = added(half, code, values, places, digits, rules, to)
                code = added(code, held, values, places, digits, rules, to)
        c[n] = code


@compiled
def is_zero(code: int, to: Target) -> bool:
    """Whether a code is a zero as the unit reads it."""
    least = 1 if to.subnormal_inputs != 0 else 1 << to.mantissa_bits
    return magnitude_of(code, to) < least


@compiled
def signs_of(a: Side, b: Side, i: int, j: int, k: int, rules: Rules) -> tuple[int, int]:
    """(1 where a's element counts as negative, the same of b's)."""
    x, y = a.classes[i, k], b.classes[j, k]
    p, q = int(x & NEGATIVE != 0), int(y & NEGATIVE != 0)
    if rules.zero_sign == 0:
        p, q = p & int(x & ZERO == 0), q & int(y & ZERO == 0)
    return p, q


@compiled
def special_of(a: Side, b: Side, i: int, j: int, first: int, last: int, code: int, rules: Rules, to: Target) -> int:
    """The code of a NaN or an infinity that products and C make, or -1."""
    up = down = nan = False
    for k in range(first, last):
        x, y = a.classes[i, k], b.classes[j, k]
        if (x | y) & NAN:
            nan = True
        infinite = (x | y) & INF != 0
        if infinite and (x | y) & ZERO:
            nan = True
        if rules.product_overflow != 0 and not infinite:
            value = abs(a.significands[i, k] * b.significands[j, k])
            exponent = a.exponents[i, k] + b.exponents[j, k] - rules.fraction
            infinite = value != 0 and bit_length(value) - 1 + exponent >= 128
        if infinite:
            p, q = signs_of(a, b, i, j, k, rules)
            up, down = up or p == q, down or p != q
    if rules.exact_terms > 1:
        for block in range(first // rules.exact_terms, last // rules.exact_terms):
            nan = nan or (a.scale_classes[i, block] | b.scale_classes[j, block]) & NAN != 0
    found = magnitude_of(code, to)
    if found == to.infinity:
        up, down = up or code & to.sign == 0, down or code & to.sign != 0
    if nan or found > to.infinity or (up and down):
        return to.nan_code
    if up or down:
        return to.infinity | (to.sign if down else 0)
    return -1


@compiled
def fused(
    a: Side, b: Side, i: int, j: int, first: int, code: int, values: Any, places: Any, counted: Any, codes: Any,
    digits: Any, rules: Rules, to: Target,
) -> int:  # fmt: skip
    """The code of one group's products plus the running code, rounded once."""
    last = first + rules.terms
    if rules.sum == PAIRS:
        return paired(a, b, i, j, first, code, values, places, codes, digits, rules, to)
    special = special_of(a, b, i, j, first, last, code, rules, to)
    if special != -1:
        return special
    count = gathered(a, b, i, j, first, values, places, counted, rules, to)
    exponent, significand = unpacked(code, to)
    values[count], places[count], counted[count] = significand, exponent - to.mantissa_bits, exponent
    count += 1
    if rules.sum == ALIGNED:
        align(values, places, counted, count, rules)
    result, something = total_of(values, places, count, digits, rules.rounding, rules.ieee, to)
    if something != 0 or rules.ieee != 1:
        return result
    # Nothing but -0 added to -0 stays -0.
    negative = rules.zero_sign != 0 and is_zero(code, to) and code & to.sign != 0
    for k in range(first, last):
        p, q = signs_of(a, b, i, j, k, rules)
        negative = negative and p != q and (a.classes[i, k] | b.classes[j, k]) & ZERO != 0
    return to.sign if negative else 0


@compiled
def gathered(
    a: Side, b: Side, i: int, j: int, first: int, values: Any, places: Any, counted: Any, rules: Rules, to: Target
) -> int:
    """Fill in a group's summands, values[n] * 2**places[n] counted with exponent counted[n]; returns their number."""
    count = np.int64(0)
    if rules.exact_terms > 1:
        for start in range(first, first + rules.terms, rules.exact_terms):
            block = start // rules.exact_terms
            low, something = np.int64(1 << 30), False
            for k in range(start, start + rules.exact_terms):
                if a.significands[i, k] != 0 and b.significands[j, k] != 0:
                    low = min(low, np.int64(a.exponents[i, k] + b.exponents[j, k]))
            value = np.int64(0)
            for k in range(start, start + rules.exact_terms):
                product = a.significands[i, k] * b.significands[j, k]
                if product != 0:
                    something = True
                    value += product << (a.exponents[i, k] + b.exponents[j, k] - low)
            exponent = np.int64(a.scale_exponents[i, block] + b.scale_exponents[j, block])
            scale = a.scale_significands[i, block] * b.scale_significands[j, block]
            values[count] = value * scale
            places[count] = exponent - rules.scale_fraction + low - rules.fraction
            counted[count] = exponent if something and scale != 0 else to.zero_exponent
            count += 1
        return count
    for k in range(first, first + rules.terms):
        x, y = a.significands[i, k], b.significands[j, k]
        exponent = np.int64(a.exponents[i, k] + b.exponents[j, k])
        place = exponent - rules.fraction
        if x == 0 or y == 0:
            exponent = to.zero_exponent
        if rules.split == 0:
            values[count], places[count], counted[count] = x * y, place, exponent
            count += 1
            continue
        for p, above in ((x >> 27, 27), (x & ((1 << 27) - 1), 0)):
            for q, over in ((y >> 27, 27), (y & ((1 << 27) - 1), 0)):
                values[count], places[count], counted[count] = p * q, place + above + over, exponent
                count += 1
    return count


@compiled
def align(values: Any, places: Any, counted: Any, count: int, rules: Rules) -> int:
    """Cut the summands to align_bits below the largest exponent, which is returned."""
    largest = counted[0]
    for n in range(1, count):
        largest = max(largest, counted[n])
    unit = largest - rules.align_bits
    for n in range(count):
        if values[n] == 0:
            places[n] = unit
        elif places[n] < unit:
            negative = 1 if values[n] < 0 else 0
            kept = cut(abs(values[n]), min(unit - places[n], 62), negative, rules.cut)
            values[n], places[n] = (-kept if negative else kept), unit
    return largest


@compiled
def added(x: int, y: int, values: Any, places: Any, digits: Any, rules: Rules, to: Target) -> int:
    """The code of x + y, rounded once as C's late addition is."""
    p, q = magnitude_of(x, to), magnitude_of(y, to)
    if p > to.infinity or q > to.infinity or (p == to.infinity and q == p and x != y):
        return to.nan_code
    if to.infinity in (p, q):
        return x if p == to.infinity else y
    exponent, values[0] = unpacked(x, to)
    other, values[1] = unpacked(y, to)
    places[0], places[1] = exponent - to.mantissa_bits, other - to.mantissa_bits
    result, something = total_of(values, places, np.int64(2), digits, rules.joining, np.int64(1), to)
    if something == 0 and rules.ieee == 1 and is_zero(x, to) and is_zero(y, to) and x & y & to.sign != 0:
        return to.sign
    return result


@compiled
def paired(
    a: Side, b: Side, i: int, j: int, first: int, code: int, values: Any, places: Any, codes: Any, digits: Any,
    rules: Rules, to: Target,
) -> int:  # fmt: skip
    """Products rounded by themselves, added two by two, then to the running code."""
    for n in range(rules.terms):
        k = first + n
        p, q = signs_of(a, b, i, j, k, rules)
        sign = to.sign if p != q else 0
        both = a.classes[i, k] | b.classes[j, k]
        if both & NAN or (both & INF and both & ZERO):
            codes[n] = to.nan_code
        elif both & INF:
            codes[n] = to.infinity | sign
        elif both & ZERO:
            codes[n] = sign if rules.ieee == 1 else 0
        else:
            values[0] = a.significands[i, k] * b.significands[j, k]
            places[0] = a.exponents[i, k] + b.exponents[j, k] - rules.fraction
            codes[n], _ = total_of(values, places, np.int64(1), digits, rules.rounding, np.int64(1), to)
    count = rules.terms
    while count > 1:
        for n in range(count // 2):
            codes[n] = added(codes[2 * n], codes[2 * n + 1], values, places, digits, rules, to)
        count //= 2
    return added(code, codes[0], values, places, digits, rules, to)


@compiled
def floored(value: int, left: int) -> int:
    """Value * 2**left rounded down."""
    return value << left if left >= 0 else value >> min(-left, 63)


@compiled
def joined(
    a: Side, b: Side, i: int, j: int, first: int, last: int, code: int, values: Any, counted: Any, rules: Rules,
    to: Target,
) -> int:  # fmt: skip
    """Groups of products summed by themselves, then joined to the running code by cuts that round down."""
    special = special_of(a, b, i, j, first, last, code, rules, to)
    if special != -1:
        return special
    largest, total = np.int64(UNCOUNTED), np.int64(0)
    for start in range(first, last, rules.terms):
        top = np.int64(UNCOUNTED)
        for k in range(start, start + rules.terms):
            nothing = a.significands[i, k] == 0 or b.significands[j, k] == 0
            exponent = np.int64(a.exponents[i, k] + b.exponents[j, k])
            exponent = to.zero_exponent if nothing else exponent
            top = max(top, exponent) if exponent > NOTHING else top
        part = np.int64(0)
        for k in range(start, start + rules.terms):
            value = a.significands[i, k] * b.significands[j, k]
            shift = top - rules.align_bits - (np.int64(a.exponents[i, k] + b.exponents[j, k]) - rules.fraction)
            if value != 0:
                negative = 1 if value < 0 else 0
                kept = cut(abs(value) << max(-shift, 0), min(max(shift, 0), 62), negative, rules.cut)
                part += -kept if negative else kept
        new = max(largest, top)
        total = floored(total, largest - new) + floored(part, top - new)
        largest = new
    least, significand = unpacked(code, to)
    least = to.min_exponent if significand == 0 else least
    exponent = max(largest, least)
    products = floored(total, largest - rules.align_bits - exponent + rules.join_bits + 1)
    kept = floored(significand, least - to.mantissa_bits - exponent + rules.align_bits)
    if rules.lanes == 2 and least < exponent - rules.align_bits - 1:
        kept = 0
    value = products + (kept << (rules.join_bits + 1 - rules.align_bits))
    scale = exponent - rules.join_bits - 1
    if value != 0:
        top = max(bit_length(abs(value)) - 1 + scale, to.min_exponent)
        quantum = top - rules.join_bits
        value, scale = floored(value, scale - quantum), quantum
    return packed(value, scale, rules.rounding, rules.ieee, to)
