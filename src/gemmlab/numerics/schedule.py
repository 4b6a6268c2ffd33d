"""In which order and through which formats a kernel brings a whole multiplication together."""

from __future__ import annotations

import msgspec

from gemmlab import formats
from gemmlab.formats import ROUNDINGS
from gemmlab.numerics.behaviour import Unit
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.units import ceil_div

REDUCED = ("float32", "float16", "bfloat16")


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a kernel uses a unit for D = alpha * A @ B + beta * C: k ascends, accumulators start from zero.

    Each of `split_k` programs takes its share of k, whole blocks of `block_k`. Inside, a chain of instructions runs
    over the share; with `promote` the chain starts again from zero every so many k, and what it gave is added to a
    float32 sum outside the unit (two-level accumulation). The shares are rounded to `reduce` and added in ascending
    order, each sum rounded to `reduce_sum`. Then alpha and beta are applied in float32 (float64 under a float64
    accumulator): beta * C is rounded, alpha * sum is added by a fused multiply-add.
    """

    instruction_k: int = 0  #: products of one instruction; 0: the unit's own
    promote: int = 0  #: k between two promotions to the sum outside; 0 never promotes
    split_k: int = 1  #: programs that share k
    block_k: int = 0  #: a share of split_k is a multiple of this; 0: of one instruction
    reduce: str = "float32"  #: format that the shares are stored in
    reduce_sum: str = "float32"  #: format of the sum of the shares
    tfloat32: str = "rz"  #: how float32 operands become tfloat32: rz (the hardware, left alone), rna or rne

    def __post_init__(self) -> None:
        """Raise GemmlabError for values that mean nothing."""
        for name in ("instruction_k", "promote", "block_k"):
            if getattr(self, name) < 0:
                raise GemmlabError(f"{name} = {getattr(self, name)} is negative", "0 leaves it to the unit")
        if not 1 <= self.split_k <= 1 << 16:
            raise GemmlabError(f"split_k = {self.split_k}", "from 1 to 65536")
        for what, given in (("reduction format", self.reduce), ("reduction format", self.reduce_sum)):
            if given not in REDUCED:
                raise unknown_name(what, given, REDUCED)
        if self.tfloat32 not in ROUNDINGS:
            raise unknown_name("rounding", self.tfloat32, ROUNDINGS)

    def on(self, unit: Unit) -> Unit:
        """The unit with this schedule's instruction; one too narrow for a whole fused sum fuses what it has.

        Raises GemmlabError where it is no multiple of a fused sum.
        """
        if self.instruction_k in (0, unit.k):
            return unit
        # Some instructions always make two sums: converted float8 is two HMMA of half its k, parity has even and odd k.
        sums = 1 if unit.order == "ascending" else 2
        terms = min(unit.terms, self.instruction_k // sums)
        return msgspec.structs.replace(unit, instruction_k=self.instruction_k, terms=terms)

    def shares(self, k: int, unit: Unit) -> list[tuple[int, int]]:
        """(first, past the last) k of each program that has any; raises GemmlabError for a crooked promotion."""
        unit = self.on(unit)
        if self.promote % unit.k:
            raise GemmlabError(
                f"promote = {self.promote} is no multiple of the instruction's k = {unit.k}", f"promote = {unit.k}"
            )
        block = self.block_k or unit.k
        if block % unit.k:
            raise GemmlabError(f"block_k = {block} is no multiple of the instruction's k = {unit.k}", f"{unit.k}")
        share = max(block, ceil_div(ceil_div(k, self.split_k), block) * block)
        return [(first, min(first + share, k)) for first in range(0, k, share)] or [(0, 0)]

    def chains(self, k: int, unit: Unit) -> list[list[tuple[int, int]]]:
        """Of each share, the ranges of k that one chain of instructions runs over."""
        found = []
        for first, stop in self.shares(k, unit):
            step = self.promote or max(stop - first, 1)
            found.append([(at, min(at + step, stop)) for at in range(first, stop, step)] or [(0, 0)])
        return found

    def check(self, unit: Unit, alpha: float, beta: float, d_format: str) -> None:
        """Raise GemmlabError for what an accumulator of this kind cannot do."""
        if unit.accumulate == "int32" and (self.promote or self.reduce != "float32"):
            raise GemmlabError(
                f"{unit.name} adds int32 exactly: no promotion and no reduction format", "leave them out"
            )
        if unit.accumulate == "int32" and formats.get(d_format).kind == "int" and (alpha != 1 or beta not in (0, 1)):
            raise GemmlabError(
                f"alpha = {alpha}, beta = {beta} with an integer D", "1, and 0 or 1; or d_format float32"
            )
