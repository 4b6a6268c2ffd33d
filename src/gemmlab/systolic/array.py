"""A systolic array, said completely: its PEs, what stays in them, what surrounds them."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from gemmlab.numerics.behaviour import Unit  # at run time: whoever asks for a signature resolves annotations
from gemmlab.problem.checks import whole
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.systolic.dataflow import DATAFLOWS, Dataflow

WEIGHTS = ("double", "single")
DRAINS = ("side", "bottom", "shadow")
EDGES = ("exact", "full")
OPERANDS = ("a", "b", "c")
LARGEST_SIDE = 1 << 14  #: PEs; the largest array that was built has 512 along a side


class Array(msgspec.Struct, frozen=True, kw_only=True):
    """An array of rows x cols PEs, each multiplying and adding once a cycle.

    A word moves one PE a cycle, so the operands enter as a slanted wave. Raises GemmlabError for what cannot be built.
    """

    rows: int = 128  #: PEs down a column
    cols: int = 128  #: PEs along a row
    dataflow: str = "ws"  #: what stays in the PEs: ws weights (B), is inputs (A), os outputs
    weights: str = "double"  #: of ws and is: double shifts the next tile in behind the one in use (TPU), single waits
    drain: str = "side"  #: of os: a bus along each row, the bottom edge, or the bottom edge out of shadow registers
    edges: str = "exact"  #: full charges a tile at the edge as a whole one (SCALE-Sim)
    accumulators: int | None = None  #: partial sums that each column can keep; None: as many as are needed
    sram_bytes: int | None = None  #: for all operands together; None: everything fits
    dram_bytes_per_s: float | None = None  #: None: DRAM never makes the array wait
    tiles_ahead: int = 2  #: tiles whose operands SRAM has room for: 2 is double buffering (TPU v1: 4)
    resident: tuple[str, ...] = ()  #: of a, b and c: in SRAM from the start and to the end, and none of sram_bytes
    clock_hz: float | None = None  #: None where only cycles are asked for
    multiplier_bits: int = 8  #: of an integer multiplier: wider operands take several passes
    unit: Unit | str = ""  #: of numerics, how a PE adds; empty: by the operands' formats

    def __post_init__(self) -> None:
        for name, largest in (
            ("rows", LARGEST_SIDE),
            ("cols", LARGEST_SIDE),
            ("multiplier_bits", 64),
            ("tiles_ahead", 64),
        ):
            size = whole(name, getattr(self, name))
            if not 1 <= size <= largest:
                raise GemmlabError(f"{name}={size} of a systolic array", f"from 1 to {largest}")
            msgspec.structs.force_setattr(self, name, size)
        for name, known in (("dataflow", DATAFLOWS), ("weights", WEIGHTS), ("drain", DRAINS), ("edges", EDGES)):
            if getattr(self, name) not in known:
                raise unknown_name(name, str(getattr(self, name)), known)
        for operand in self.resident:
            if operand not in OPERANDS:
                raise unknown_name("operand", str(operand), OPERANDS)
        for name in ("accumulators", "sram_bytes"):
            if getattr(self, name) is not None and whole(name, getattr(self, name)) < 1:
                raise GemmlabError(f"{name}={getattr(self, name)} holds nothing", "at least 1, or leave it out")
        for name in ("dram_bytes_per_s", "clock_hz"):
            rate = getattr(self, name)
            if rate is not None and not positive(rate):
                raise GemmlabError(f"{name}={rate!r} is not a rate", "a positive number, or leave it out")
        if self.dram_bytes_per_s is not None and self.clock_hz is None:
            raise GemmlabError("a DRAM bandwidth without a clock says nothing in cycles", "give clock_hz too")
        if self.accumulators is not None and self.accumulators < self.sums_of_a_tile:
            raise GemmlabError(
                f"{self.accumulators} accumulators a column hold less than one tile of {self.rows} rows"
                + (", twice over with shadow registers" if self.sums_of_a_tile > self.rows else ""),
                f"at least {self.sums_of_a_tile}, or fewer rows of PEs",
            )

    @property
    def flow(self) -> Dataflow:
        """Its row of the table of dataflows."""
        return DATAFLOWS[self.dataflow]

    @property
    def moves_sums(self) -> bool:
        """Whether partial sums move down, an operand being held."""
        return self.flow.held != "c"

    @property
    def sums_of_a_tile(self) -> int:
        """Accumulators that a column needs at least: one for each row of a tile, two with shadow registers."""
        return self.rows * (2 if not self.moves_sums and self.drain == "shadow" else 1)

    @property
    def pes(self) -> int:
        """Multipliers of the whole array."""
        return self.rows * self.cols

    def replace(self, **changes: Any) -> Array:
        """A copy with changes; raises GemmlabError as the array itself does."""
        return msgspec.structs.replace(self, **changes)


def positive(rate: Any) -> bool:
    """Whether it is a finite number above 0."""
    try:
        return math.isfinite(rate) and rate > 0
    except (TypeError, OverflowError):
        return False
