"""Every number of a chip with its dotted path, its source and whether it is sure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from gemmlab.chips.chip import Chip, Figure
from gemmlab.record import ChipSection, LevelFigures


class Entry(msgspec.Struct, frozen=True):
    """One figure of a chip, in the SI unit that the end of its path names."""

    path: str  #: `levels.dram.bandwidth_bytes_per_s`, `peaks.float16.flop_per_s`
    value: float
    source: str
    sure: bool
    note: str


def figures(chip: Chip) -> tuple[Entry, ...]:
    """All figures of a chip in the order of its file; levels by name, formats by name."""
    return tuple(walk(chip, ""))


def walk(value: Any, path: str) -> Iterator[Entry]:
    """The figures below one value."""
    if isinstance(value, Figure):
        yield Entry(path, float(value), value.source, value.sure, value.note)
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from walk(getattr(value, field), f"{path}.{field}" if path else field)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, f"{path}.{key}")
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from walk(item, f"{path}.{getattr(item, 'name', place)}")


def section(chip: Chip) -> ChipSection:
    """The chip as a Record keeps it: plain numbers, and whether it is calibrated and validated."""
    return ChipSection(
        name=chip.name,
        sm_count=int(chip.sm_count),
        clock_hz=float(chip.clock_hz),
        levels=tuple(
            LevelFigures(
                name=level.name,
                bandwidth_bytes_per_s=float(level.bandwidth_bytes_per_s),
                capacity_bytes=float(level.capacity_bytes),
            )
            for level in chip.levels
        ),
        peak_flop_per_s={name: float(peak.flop_per_s) for name, peak in chip.peaks.items()},
        calibrated=chip.calibration is not None,
        validated=chip.calibration is not None and chip.calibration.validated,
    )


def standing(chip: Chip | ChipSection) -> str:
    """What predictions rest on: `data sheet only`, `calibrated, not validated` or `calibrated and validated`."""
    known = section(chip) if isinstance(chip, Chip) else chip
    if not known.calibrated:
        return "data sheet only"
    return "calibrated and validated" if known.validated else "calibrated, not validated"
