"""Random and adversarial vectors: whole small multiplications, each output of which is one experiment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.operands import Codes
from gemmlab.numerics.probing.numbers import Numbers, span
from gemmlab.numerics.probing.structure import Structure, layout

KINDS = (
    "dense",
    "wide",
    "cancel",
    "cancel",
    "ties",
    "ties",
    "carry",
    "heavy",
    "heavy",
    "under",
    "raw",
    "low",
    "high",
    "special",
)

Floats = npt.NDArray[np.float64]


class Vectors:
    """A source of blocks for one pair of formats and the widths that candidates differ in."""

    def __init__(self, numbers: Numbers, structure: Structure, bits: list[int], hidden: bool, seed: int) -> None:
        self.numbers, self.structure = numbers, structure
        self.bits = sorted({bit for bit in bits if 0 < bit < 70}) or [12]
        self.hidden = hidden
        self.rng = np.random.default_rng(seed)
        self.count = 0

    def block(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Codes of A (m, length), B (length, n) and C (m, n); the kinds take turns."""
        kind = KINDS[self.count % len(KINDS)]
        self.count += 1
        if formats.get(self.numbers.a_format).kind == "int":
            kind = "raw"
        a, b, c = getattr(self, kind)(length, m, n)
        if self.hidden:
            c = np.zeros((m, n), code_type(formats.get(self.numbers.accumulate)))
        return a, b, c

    def coded(self, a: Floats, b: Floats, c: Floats) -> tuple[Codes, Codes, Codes]:
        """Values as codes, rounded where they must be."""
        with np.errstate(over="ignore"):
            return (
                formats.encode_array(a, self.numbers.a_format, saturate=True),
                formats.encode_array(b, self.numbers.b_format, saturate=True),
                formats.encode_array(c, self.numbers.accumulate, saturate=True),
            )

    def significands(self, *shape: int) -> Floats:
        """Signed, from 1 to 2; some a power of two, some with their low bits set."""
        rng = self.rng
        value = 1 + rng.random(shape) * rng.choice([1.0, 1.0, 0.0], shape)
        return np.asarray(value * rng.choice([-1.0, 1.0], shape))

    def dense(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Normal random numbers, as multiplications have them."""
        rng = self.rng
        return self.coded(rng.normal(size=(m, length)), rng.normal(size=(length, n)), rng.normal(size=(m, n)))

    def wide(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Exponents from all over the range, many places empty."""
        rng, numbers = self.rng, self.numbers
        full = rng.choice([0.1, 0.4, 1.0])
        values = []
        for name, shape in ((numbers.a_format, (m, length)), (numbers.b_format, (length, n))):
            low, high = max(span(name).low, -WIDTH), min(span(name).high, WIDTH)
            held = rng.integers(low, high + 1, shape)
            values.append(np.ldexp(self.significands(*shape), held) * (rng.random(shape) < full))
        c = np.ldexp(self.significands(m, n), rng.integers(numbers.bottom, numbers.top + 1, (m, n)))
        return self.coded(values[0], values[1], c * (rng.random((m, n)) < 0.7))

    def places(self, length: int) -> list[int]:
        """The products of one fused sum somewhere in `length`."""
        shape = self.structure
        instruction, lane, group = layout(shape.order, shape.terms, shape.k, length)
        chosen = int(self.rng.integers(length))
        same = (instruction == instruction[chosen]) & (lane == lane[chosen]) & (group == group[chosen])
        found: list[int] = np.flatnonzero(same[:-1]).tolist()
        return found

    def near(self, places: list[int], length: int, big: int, m: int, n: int) -> tuple[Floats, Floats, Floats]:
        """A, B and C with terms around the bits that candidates differ in, below 2**big; A carries what differs."""
        rng, numbers = self.rng, self.numbers
        low_a, low_b = numbers.lows()
        high_a, high_b = span(numbers.a_format).high, span(numbers.b_format).high
        where = rng.choice([0, 1, 2], length)  # a column's exponent is of the lowest, the middle or the highest
        held = np.array([low_b, (low_b + high_b) // 2, high_b])[where].clip(-WIDTH, WIDTH)
        b = np.ldexp(np.ones((length, n)), held[:, None]) * rng.choice([-1.0, 1.0], n)
        # A rare odd significand in B: products of many bits; most stay powers of two, so that A's pattern survives.
        b *= np.where(rng.random((length, n)) < 0.15, 1 + rng.random((length, n)), 1.0)
        below = rng.choice(self.bits, (m, length)) + rng.integers(-3, 4, (m, length))
        wanted = big - below - held
        a = np.ldexp(self.significands(m, length), wanted.clip(low_a, None))
        fits = (wanted >= low_a) & (wanted <= high_a)
        inside = np.isin(np.arange(length), places)
        full = np.where(inside, rng.choice([0.1, 0.3, 0.7]), rng.choice([0.0, 0.0, 0.2]))
        a *= fits & (rng.random((m, length)) < full)
        depth = rng.choice(self.bits, (m, n)) + rng.integers(-3, 4, (m, n))
        c = np.ldexp(self.significands(m, n), big - depth) * (rng.random((m, n)) < 0.5)
        return a, b, c

    def cancel(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Two large terms of one fused sum that cancel, and small ones that are left."""
        rng, numbers = self.rng, self.numbers
        places = self.places(length)
        big = int(rng.integers(max(numbers.bottom + 4, numbers.top - 8), numbers.top + 1))
        a, b, c = self.near(places, length, big, m, n)
        high_b = min(span(numbers.b_format).high, WIDTH)
        pair = rng.permutation(places)[:2].tolist()
        large = np.ldexp(self.significands(m), big - high_b)
        signs = np.sign(b[0])
        for at, place in enumerate(pair):
            b[place] = np.ldexp(signs, high_b)
            a[:, place] = large * (1 - 2 * at)
        if len(pair) < 2 or rng.random() < 0.4:
            if len(pair) == 2:
                a[:, pair[1]] = 0
            c = -np.ldexp(large[:, None] * signs, high_b) * np.where(rng.random((m, n)) < 0.3, 1 + 2.0**-8, 1)
        return self.coded(a, b, c)

    def ties(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """A large C, or a large product, and small powers of two at the last bits kept and just below."""
        rng, numbers = self.rng, self.numbers
        places = self.places(length)
        lowest = numbers.bottom + min(self.bits)
        highest = span(numbers.accumulate).high - 3
        big = min(int(rng.integers(lowest, max(lowest, numbers.top + max(self.bits) - 2) + 1)), highest, WIDTH)
        a, b, c = self.near(places, length, big, m, n)
        powers = np.sign(a) * np.exp2(np.floor(np.log2(np.abs(a), where=a != 0, out=np.zeros_like(a)))) * (a != 0)
        a = np.where(rng.random((m, 1)) < 0.7, powers, a)
        a *= rng.random(a.shape) < min(1.0, 4 / max(1, len(places)))
        b = np.where(rng.random(n) < 0.7, np.sign(b) * np.exp2(np.floor(np.log2(np.abs(b)))), b)
        steps = np.ldexp(1.0, -rng.choice(self.bits, (m, n)))
        c = (1 + steps * rng.integers(0, 4, (m, n))) * rng.choice([-1.0, 1.0], (m, n))
        return self.coded(a, b, np.ldexp(c, big))

    def carry(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Terms of one sign and nearly one exponent, their significands near 2: sums carry as far as they can."""
        rng, numbers = self.rng, self.numbers
        big_a, big_b = min(span(numbers.a_format).high - 1, 6), min(span(numbers.b_format).high - 1, 6)
        a = np.ldexp(2 - rng.random((m, length)) ** 3, big_a - rng.choice([0, 0, 0, 1], (m, length)))
        b = np.ldexp(2 - rng.random((length, n)) ** 3, big_b - rng.choice([0, 0, 0, 1], (length, n)))
        a *= rng.choice([-1.0, 1.0], (m, 1)) * (rng.random((m, length)) < rng.choice([0.5, 1.0]))
        c = np.ldexp(self.significands(m, n), rng.integers(0, big_a + big_b + 6, (m, n)))
        return self.coded(a, b, c * (rng.random((m, n)) < 0.5))

    def heavy(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Terms of one sign that carry, and a few at the last bits kept: a sum has more bits than its terms keep."""
        rng, (low_a, low_b) = self.rng, self.numbers.lows()
        a_span, b_span = span(self.numbers.a_format), span(self.numbers.b_format)
        big_a, big_b = min(a_span.high - 1, WIDTH // 2), min(b_span.high - 1, WIDTH // 2)
        below = rng.choice(self.bits, length) + rng.integers(-3, 4, length)
        down_a = np.clip(below - rng.integers(0, 4, length), 0, big_a - low_a)
        down_b = np.clip(below - down_a, 0, big_b - low_b)
        few = rng.random(length) < rng.choice([0.05, 0.2, 0.5])
        a = np.ldexp(1 + rng.random((m, length)), big_a - down_a * few) * rng.choice([-1.0, 1.0], (m, 1))
        b = np.ldexp(1 + rng.random((length, n)), (big_b - down_b * few)[:, None])
        # Small terms of either sign, so that a cut and a rounding by direction both show.
        a *= np.where(few, rng.choice([-1.0, 1.0], (m, length)), 1.0) * (rng.random((m, length)) < 0.9)
        if rng.random() < 0.3:
            b = np.exp2(np.floor(np.log2(b)))
        c = np.ldexp(self.significands(m, n), big_a + big_b - rng.choice(self.bits, (m, n)))
        return self.coded(a, b, c * (rng.random((m, n)) < 0.4))

    def under(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Sums about the accumulator's smallest normal value and below, where fewer bits stay than anywhere else."""
        rng, own = self.rng, span(self.numbers.accumulate)
        a_span, b_span = span(self.numbers.a_format), span(self.numbers.b_format)
        aim = own.normal + 2 - rng.integers(0, own.normal - own.low + 8, m)
        at_b = min(max(int(np.median(aim)) // 2, b_span.normal + 4), b_span.high)
        at_a = np.clip(aim - at_b, a_span.normal, a_span.high)[:, None]
        a = np.ldexp(self.significands(m, length), at_a - rng.integers(0, 4, (m, length)))
        b = np.ldexp(self.significands(length, n), at_b - rng.integers(0, 4, (length, n)))
        c = np.ldexp(self.significands(m, n), aim[:, None] + rng.integers(-3, 4, (m, n))) * (rng.random((m, n)) < 0.4)
        return self.coded(a * (rng.random((m, length)) < rng.choice([0.1, 0.5, 1.0])), b, c)

    def raw(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Any finite codes."""
        return (
            self.any_code(self.numbers.a_format, (m, length)),
            self.any_code(self.numbers.b_format, (length, n)),
            self.any_code(self.numbers.accumulate, (m, n)),
        )

    def any_code(self, name: str, shape: tuple[int, ...], lowest: float = 0.0, highest: float = 1.0) -> Codes:
        """Finite codes whose magnitudes lie in a part of the format's, signs random."""
        form = formats.get(name)
        magnitude = self.rng.integers(
            int(form.max_magnitude * lowest), int(form.max_magnitude * highest), shape, dtype=np.uint64, endpoint=True
        )
        sign = self.rng.integers(0, 1 + form.signed, shape, dtype=np.uint64)
        return ((magnitude | sign << np.uint64(form.bits - 1)) << np.uint64(form.pad_bits)).astype(code_type(form))

    def low(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Subnormals and what makes them; zeros of both signs."""
        a, b = self.numbers.a_format, self.numbers.b_format
        left, right = self.any_code(a, (m, length), 0, 0.5), self.any_code(b, (length, n), 0, 0.5)
        left *= self.rng.random(left.shape) < 0.6
        c = self.any_code(self.numbers.accumulate, (m, n), 0, self.rng.choice([0.002, 0.01, 0.3]))
        return left, right, c

    def high(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Near the largest values of all three."""
        a, b = self.numbers.a_format, self.numbers.b_format
        left, right = self.any_code(a, (m, length), 0.75), self.any_code(b, (length, n), 0.75)
        left *= self.rng.random(left.shape) < 0.2
        return left, right, self.any_code(self.numbers.accumulate, (m, n), 0.97)

    def special(self, length: int, m: int, n: int) -> tuple[Codes, Codes, Codes]:
        """Codes of all kinds in ordinary company: a few NaN, infinities and zeros of both signs."""
        made = self.dense(length, m, n)
        names = (self.numbers.a_format, self.numbers.b_format, self.numbers.accumulate)
        for codes, name in zip(made, names, strict=True):
            form = formats.get(name)
            kinds = [0, 1 << (form.bits - 1) if form.signed else 0]
            if form.infinity:
                kinds += [form.max_magnitude + 1, form.max_magnitude + 1 | 1 << (form.bits - 1)]
            if form.nan != "none":
                kinds.append(form.nan_magnitude)
            chosen = self.rng.choice(np.array(kinds, np.uint64) << np.uint64(form.pad_bits), codes.shape)
            rare = self.rng.random(codes.shape) < 0.5 / max(1, length)
            codes[rare] = chosen[rare].astype(codes.dtype)
        return made


WIDTH = 60  # exponents of operands beyond this say nothing new
