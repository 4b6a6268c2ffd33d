"""The systolic array of a chip, from the figures of its file, and what nobody has published of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from gemmlab.chips import Chip, Peak, names
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.systolic import Array

FLOP_PER_MAC = 2
SUM_BYTES = 4  #: an accumulator is 32 bits wide on every TPU

#: chips whose predicted cycles were compared with published counters, and with which
VALIDATED = {
    "tpu-v1": "weight shift of four applications and all rows of MLP0, table 3 of Jouppi et al., ISCA 2017",
}

#: what the array of a chip does that its figures do not say
HABITS: dict[str, dict[str, Any]] = {
    "tpu-v1": {
        "edges": "full",  # weights lie in DRAM as whole tiles of 64 KiB
        "tiles_ahead": 4,  # of its weight FIFO
        "resident": ("a", "c"),  # DRAM holds weights alone: activations live in the Unified Buffer
    },
}


class OfChip(NamedTuple):
    """A chip's array, how many of them share the work, and what is assumed."""

    array: Array  #: one matrix unit, with its share of DRAM and SRAM
    units: int
    validated: str  #: what its predicted cycles were compared with; empty where with nothing, or figures were changed
    notes: tuple[str, ...]


def array_of(chip: Chip, a_format: str, units: int | None = None, **changes: Any) -> OfChip:
    """One matrix unit of a chip that multiplies operands of `a_format`, fields of `Array` changed as given.

    `units` are how many of them work, all of the chip's unless given. Sides are those of the chip's matrix instruction;
    units share DRAM and SRAM evenly. Raises GemmlabError where the chip has no systolic array, does not compute in that
    format, or does so at a rate that its sides do not explain.
    """
    name, peak = peak_of(chip, a_format)
    if peak.instruction is None:
        raise GemmlabError(f"{chip.name} says nothing of its array's sides", "--array ROWSxCOLS without --chip")
    _, cols, rows = peak.instruction
    rate = float(peak.flop_per_clock_per_sm) / (FLOP_PER_MAC * rows * cols)
    if rate != 1:
        raise GemmlabError(
            f"{chip.name} multiplies {name} at {rate:g} times what {rows}x{cols} PEs do, and how is not published",
            f"--format {fitting(chip)}, or --array {rows}x{cols} without --chip",
        )
    changed = bool(changes) or units not in (None, int(chip.sm_count))
    units, kept_by = units or int(chip.sm_count), changes.get("cols", cols)
    dram, shared, register = (chip.level(level) for level in ("dram", "shared", "register"))
    found: dict[str, Any] = {
        "rows": rows,
        "cols": cols,
        "clock_hz": float(peak.clock_hz or chip.clock_hz),
        "dram_bytes_per_s": float(dram.bandwidth_bytes_per_s) / units if dram else None,
        "sram_bytes": int(shared.capacity_bytes) // units if shared else None,
        "accumulators": int(register.capacity_bytes) // (units * kept_by * SUM_BYTES) if register else None,
    }
    validated = "" if changed else VALIDATED.get(chip.name, "")
    return OfChip(
        Array(**{**found, **HABITS.get(chip.name, {}), **changes}),
        units,
        validated,
        tuple(notes_on(chip, units, bool(register))),
    )


def peak_of(chip: Chip, a_format: str) -> tuple[str, Peak]:
    """The peak that an operand format is multiplied at; wider integers go through the multipliers of int8."""
    if chip.kind != "tpu":
        raise GemmlabError(
            f"{chip.name} is no chip with a systolic array that is known",
            f"one of {', '.join(name for name in names() if name.startswith('tpu-'))}, or --array ROWSxCOLS; "
            f"--beside {chip.name} puts its prediction beside the array's",
        )
    name = "int8" if a_format in ("int16", "uint8") else a_format
    if name not in chip.peaks:
        raise unknown_name(f"format on {chip.name}", a_format, list(chip.peaks))
    return name, chip.peaks[name]


def fitting(chip: Chip) -> str:
    """A format that the chip's array multiplies once a cycle in each PE."""
    for name, peak in chip.peaks.items():
        _, cols, rows = peak.instruction or (0, 0, 0)
        if int(peak.flop_per_clock_per_sm) == FLOP_PER_MAC * rows * cols:
            return name
    return "bfloat16"


def notes_on(chip: Chip, units: int, accumulators: bool) -> list[str]:
    """What the figures rest on, public contradictions first."""
    doubts = [("matrix units", chip.sm_count), ("clock", chip.clock_hz)]
    notes = [f"{what} of {chip.name}: {figure.note}" for what, figure in doubts if not figure.sure and figure.note]
    if units > 1:
        notes.append(
            f"{units} matrix units share m and n as evenly as tiles allow, and DRAM and SRAM in equal parts; "
            "the cycles are those of the one that takes longest"
        )
    if not accumulators:
        notes.append("how many partial sums a column keeps is not published: as many as are needed")
    if chip.name in HABITS:
        notes.append("A and D stay in the Unified Buffer; DRAM serves the weights alone, in whole tiles")
    return notes
