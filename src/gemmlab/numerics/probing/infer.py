"""From a callable to an executable unit: probes, then candidates, then elimination, then confirmation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import ACCUMULATORS, Unit
from gemmlab.numerics.probing import candidates, probes, structure
from gemmlab.numerics.probing.backend import Backend, Emulated, Rows, takes_no_c
from gemmlab.numerics.probing.confirming import Confirmation, confirmed, eliminated
from gemmlab.numerics.probing.evidence import Evidence, Found, Revealed
from gemmlab.numerics.probing.integers import integer_unit
from gemmlab.numerics.probing.numbers import Numbers
from gemmlab.numerics.probing.rules import Family, Fields, readings, ruled
from gemmlab.numerics.probing.sieving import Sieve, replaced
from gemmlab.numerics.probing.structure import Structure, structure_of
from gemmlab.numerics.probing.trees import nested
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError, unknown_name

FIRST_K, MOST_K = 128, 512  # products of an instruction that are looked for at first, and at all
SWEPT = 600  # answers to sweeps that candidates must give, beside as many spread over the others
DEEP = range(-100, -200, -1)  # exponents of a zero, about float32's smallest numbers
AGAIN = 8  # times that another unit is looked for where confirmation found a vector that differs
TRIED = 4  # units and rules that are tried where vectors leave none of the first
FEW = 12  # structures that are followed where the answers leave more


def reveal(
    mma: Callable[..., Any] | Unit | str,
    a_format: str | None = None,
    b_format: str | None = None,
    *,
    accumulate: str = "float32",
    k: int | None = None,
    seed: int = 0,
    confirm: int = 100_000,
) -> Revealed:
    """Find out what a matrix unit is from its behaviour alone, and confirm the model on random vectors.

    `mma(a, b, c) -> d` takes arrays (m, k), (k, n) of the formats' own types (tfloat32 as float32) and (m, n) of
    `accumulate`, and returns (m, n) of it. A callable of two arguments has its C hidden and is asked without; one with
    an attribute `pairs(a, b, c)` for rows (count, k), (count, k), (count,) is asked by that. A Unit or its name is
    emulated. `k` fixes the length of every call; left out, it is what each experiment needs. At least `confirm`
    vectors are compared at the end. Raises GemmlabError for formats that are unknown, block-scaled units and answers
    of another shape or type. After Fasi et al., PeerJ CS 2021; Xie et al., ATC 2025 and arXiv 2511.10909.
    """
    if isinstance(mma, Unit | str):
        known = named(mma)
        a_format = a_format or known.a_formats[0]
        b_format = b_format or (a_format if a_format in known.b_formats else known.b_formats[0])
        mma, accumulate = Emulated(known, a_format, b_format), known.accumulate
    if a_format is None:
        raise GemmlabError("no operand format was said", "reveal(mma, 'float16')")
    b_format = b_format or a_format
    if accumulate not in ACCUMULATORS:
        raise unknown_name("accumulator", accumulate, ACCUMULATORS)
    kinds = {formats.get(name).kind for name in (a_format, b_format, accumulate)}
    if len(kinds) > 1:
        raise GemmlabError(f"{a_format}, {b_format} and {accumulate} mix integers and floats", "accumulate='int32'")
    backend = Backend(mma, a_format, b_format, accumulate, k, takes_no_c(mma))
    if kinds == {"int"}:
        return integer_unit(backend, seed, confirm)
    return Inference(backend, seed).revealed(confirm)


class Inference:
    """One unit under questions."""

    def __init__(self, backend: Backend, seed: int) -> None:
        self.backend, self.seed = backend, seed
        self.rng = np.random.default_rng(seed)
        self.names = (backend.a_format, backend.b_format)
        self.numbers = Numbers(*self.names, backend.accumulate)
        self.evidence: list[Evidence] = []
        self.sieves: list[Sieve] = []  # the direct experiments and the answers to them
        self.base = Unit(
            name="revealed", about="found out from its behaviour", a_formats=(backend.a_format,),
            b_formats=(backend.b_format,), accumulate=backend.accumulate, align_bits=1,
            width=formats.get(backend.accumulate).mantissa_bits,
        )  # fmt: skip

    def revealed(self, confirm: int) -> Revealed:
        """Everything."""
        backend = self.backend
        self.subnormals()
        kept = self.stored()
        found, k = self.structures(kept)
        units = self.summed(found, kept, k)
        turns = ruled(backend, self.numbers, units, self.evidence, self.sieves)
        units, others, told = self.settled(turns, confirm)
        alternatives = Found([*units, *others])
        # What was seen to be open together may be open by itself: others were followed, few of very many.
        singles = held(self.sieves, alternatives.singles()) if told.wrong is None else []
        if singles:
            left = eliminated(backend, self.numbers, [units[0], *singles], self.seed + 8)
            alternatives = Found([*alternatives.units, *(each for each in left if each != units[0])])
        ends = any(each.probe == "instruction" for each in self.evidence)
        return Revealed(
            units[0], *self.names, tuple(self.evidence), alternatives.ambiguous(self.numbers, backend.hidden, ends),
            nested(units[0]), told.vectors, told.mismatches, told.first, backend.asked, backend.calls, backend.hidden,
        )  # fmt: skip

    def settled(self, turns: Iterable[list[Family]], confirm: int) -> tuple[list[Unit], list[Unit], Confirmation]:
        """The units and rules that are left, and how the first of them did; the best where none gives every bit."""
        failed: list[Sieve] = []
        tried: list[tuple[list[Unit], list[Unit], Confirmation]] = []
        seen: list[Family] = []
        for families in turns:
            seen += families
            if self.tried(families, failed, tried, confirm, deep=False):
                break
        else:
            if not tried:
                tried.append(self.checked(seen[0].ruled(0)[:1], [], 0, confirm))
            self.tried(seen, failed, tried, confirm, deep=True)
        return min(tried, key=lambda each: each[2].mismatches)

    def tried(
        self, families: list[Family], failed: list[Sieve],
        tried: list[tuple[list[Unit], list[Unit], Confirmation]], confirm: int, deep: bool,
    ) -> bool:  # fmt: skip
        """Whether one of the units that vectors leave gives every bit; what was tried and what failed are added to."""
        for _ in range(AGAIN):
            left, others = self.told_apart(families, failed, deep)
            if not left:
                return False
            tried.append(self.checked(left, others, len(tried), confirm))
            wrong = tried[-1][2].wrong
            if wrong is None:
                return True
            # Vectors on which a unit failed are the best to find another by.
            failed.append(wrong)
        return False

    def checked(
        self, left: list[Unit], others: list[Unit], turn: int, confirm: int
    ) -> tuple[list[Unit], list[Unit], Confirmation]:
        """The units and how the first of them does on vectors that it has not seen."""
        shape = structure_of(left[0])
        return left, others, confirmed(self.backend, self.numbers, shape, left[0], self.seed + 1 + turn, confirm)

    def told_apart(self, families: list[Family], failed: list[Sieve], deep: bool) -> tuple[list[Unit], list[Unit]]:
        """The units that blocks of vectors leave, and the first of them with other rules that they leave as well.

        With `deep` a zero counts with an exponent that shows only in sums of products that are all below the
        accumulator's last place. Nothing at all where vectors leave nothing.
        """
        left: list[Unit] = []
        for at in range(1 if deep else max(len(each.rules) for each in families)):
            if deep:
                units = [unit for each in families for unit in each.ruled(0)[:TRIED]]
                units = [replaced(unit, zero_exponent=exponent) for unit in units for exponent in DEEP]
            else:
                units = [unit for each in families for unit in each.ruled(at)]
            tried = held(failed, units)
            left = eliminated(self.backend, self.numbers, tried, self.seed + 1000 * at) if tried else []
            if left:
                break
        # What is left open about sums and what about rules are looked at one after the other: together they are many.
        others: list[Unit] = []
        for place, unit in enumerate(left[:TRIED]):
            named = held(failed, [replaced(unit, **each) for each in alike(families, unit)])
            others = eliminated(self.backend, self.numbers, [unit, *(each for each in named if each != unit)],
                                self.seed + 7)  # fmt: skip
            if others:
                chosen = {name: getattr(others[0], name) for name in families[0].rules[0]}
                left = [others[0], *(replaced(each, **chosen) for each in left[place + 1 :])]
                break
        if left and not nan_seen(self.evidence):
            others = [*others, replaced(left[0], nan_code=left[0].nan_code - 1)]
        return left, others

    def note(self, probe: str, given: str, seen: str, means: str) -> None:
        """Keep one piece of evidence."""
        self.evidence.append(Evidence(probe, given, seen, means))

    def subnormals(self) -> None:
        """Whether numbers below the normal range can be used in the experiments that follow."""
        asked = probes.subnormals(self.numbers, self.backend.hidden)
        if not asked:
            return
        d = self.backend.pairs(self.backend.rows([row for _, row in asked]))
        for (what, row), code in zip(asked, d.tolist(), strict=True):
            self.note(f"subnormal {what}", row.words, repr(formats.decode(code, self.backend.accumulate)),
                      "kept" if code else "counts as zero")  # fmt: skip
        self.numbers = self.numbers._replace(subnormals=bool((d != 0).all()))

    def stored(self) -> int | None:
        """Fraction bits with which C passes through, None where it is hidden."""
        if self.backend.hidden:
            return None
        asked = probes.alone(self.numbers)
        d = self.backend.pairs(self.backend.rows([p.row for p in asked])).tolist()
        kept = probes.storage(asked, d)
        self.note("storage", "A = B = 0, C = 1 + 2^-n", f"back unchanged up to n = {kept}",
                  f"C passes with {kept} fraction bits")  # fmt: skip
        return kept

    def structures(self, kept: int | None) -> tuple[list[Structure], int]:
        """Those that explain which small terms large ones swallow, and how many products were asked about."""
        first = k = self.backend.k or FIRST_K
        shortest: structure.Answers | None = None
        while True:
            asked = structure.ask(self.backend, self.numbers, k, self.rng, kept)
            shortest = shortest or asked
            found = structure.found(asked, k)
            told = structure.telling(asked)
            whole = all(each.k > k // 2 for each in found) and bool(found)
            # No structure at all, too, may mean an instruction longer than what was asked about.
            if not (told and (whole or not found)) or self.backend.k is not None or k >= MOST_K:
                break
            k *= 2
        if not found:
            # The nearest of short instructions is as good as that of long ones, and far sooner found.
            asked, k = shortest, first
        gone = int((asked.seen == structure.GONE).sum())
        seen = f"u gone in {gone:,} of {len(asked.seen):,}"
        if not found:
            found = [structure.nearest(asked, k)]
            self.note("structure", "+M, -M and a small u", seen, f"no known structure; nearest: {found[0].words()}")
        else:
            also = f", or one of {len(found) - 1} others" if len(found) > 1 else ""
            self.note("structure", "+M, -M and a small u, all over k", seen, found[0].words() + also)
        if len(found) > FEW:
            found = [found[at * (len(found) - 1) // (FEW - 1)] for at in range(FEW)]
        return found, k

    def summed(self, found: list[Structure], kept: int | None, k: int) -> list[Unit]:
        """The units of those structures that give every answer of the sweeps."""
        backend = self.backend
        asked = probes.sweeps(self.numbers, found, k, backend.hidden)
        # A backend without `pairs` multiplies matrices, which kernels of all kinds do in steps of k like this one.
        least = 1 if hasattr(backend.call, "pairs") else 32
        d = backend.pairs(backend.rows([p.row for p in asked], least))
        decoded = formats.decode_array(d, backend.accumulate).tolist()
        aligned_bits = probes.alignment(asked, decoded)
        if kept is None:
            kept = probes.reach(asked, decoded)
        near = {bit for bit in (kept, aligned_bits) if bit is not None}
        order = sorted(
            range(len(asked)), key=lambda at: (min((abs(asked[at].depth - bit - 1) for bit in near), default=0), at % 7)
        )
        # Thousands say no more than hundreds: those near the bits that were seen, and some of all the others.
        order = [*order[:SWEPT], *order[SWEPT :: max(1, len(order) // SWEPT)]]
        rows, d = backend.rows([asked[at].row for at in order], least), d[order]
        # A sum that is all that is left of its terms comes out whole where it has no more bits than are kept.
        fits = kept if kept is not None else 0
        cancelling = np.array([asked[at].cancels and asked[at].bits <= fits for at in order])
        alone, every = Sieve(taken(rows, cancelling), d[cancelling], self.names), Sieve(rows, d, self.names)
        self.sieves.append(every)
        units: list[Unit] = []
        for reading in readings(self.names):
            base = replaced(self.base, read_as=reading)
            for grid in (grid for each in found for grid in candidates.aligned(base, each)):
                units += every.of(candidates.rounded(alone.of(grid), kept, not backend.hidden)).units()
            # How operands are read is told later; here it matters where nothing else explains the answers.
            if units:
                break
        if aligned_bits is not None:
            self.note("alignment", "Q, Q*2^-n and -Q in one sum", f"smallest thing left: Q*2^-{aligned_bits}",
                      f"{aligned_bits} fraction bits stay below the largest exponent")  # fmt: skip
        if not units:
            self.note("sums", f"{len(asked):,} sweeps", "no candidate gives every answer", "nearest one is kept")
            units = [every.nearest([candidates.rounded(grid, kept, not backend.hidden)
                                    for each in found for grid in candidates.aligned(self.base, each)])]  # fmt: skip
        else:
            self.note("sums", f"{len(asked):,} sweeps of a small term below a large one",
                      f"{len(units)} candidates give every answer", described(units[0]))  # fmt: skip
        return units


def alike(families: list[Family], unit: Unit) -> list[Fields]:
    """The rules of all units of that structure; of the first where there is no such, as where no rules fit."""
    own = [each for each in families if each.units[0].sum == unit.sum
           and structure_of(each.units[0]) == structure_of(unit)] or families[:1]  # fmt: skip
    return [rules for each in own for rules in (*each.rules, *each.unseen)]


def held(sieves: list[Sieve], units: list[Unit]) -> list[Unit]:
    """The units that pass all sieves."""
    for sieve in sieves:
        units = sieve.left(units)
    return units


def nan_seen(evidence: list[Evidence]) -> bool:
    """Whether any answer was NaN."""
    return any(each.seen.startswith("NaN") for each in evidence)


def taken(rows: Rows, which: npt.NDArray[np.bool_]) -> Rows:
    """Some of the rows."""
    return Rows(rows.a[which], rows.b[which], rows.c[which])


def described(unit: Unit) -> str:
    """The widths of a unit, for people."""
    if unit.sum == "aligned":
        return f"aligned to {unit.align_bits} bits by {unit.cut}, rounded to {unit.width} by {unit.rounding}"
    return f"sums {unit.sum}, rounded to {unit.width} bits by {unit.rounding}"
