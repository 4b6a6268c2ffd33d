"""Does a chip's file agree with itself? Peaks recomputed, levels in order, public contradictions said."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gemmlab.chips.chip import Chip, Peak
from gemmlab.chips.listing import figures

TOLERANCE = 0.01  # vendors round peaks to three digits
LEVEL_ORDER = ("dram", "l2", "shared", "register")
BANKS_BYTES = 128  # what one SM's (or CU's) 32 banks of 4 bytes give in a clock, since Volta and on CDNA


class Finding(msgspec.Struct, frozen=True):
    """One thing that was checked or that sources disagree about."""

    chip: str
    path: str  #: the figure's dotted path
    kind: str  #: `peak`, `shared`, `capacity`, `order`, `positive`; `doubt` and `note` are said, never failed
    ok: bool
    text: str


def self_check(chip: Chip) -> list[Finding]:
    """All findings about a chip; those that are not `ok` are errors of its file.

    Each peak must equal sm_count * clock * flop_per_clock_per_sm within 1 %, shared memory of an NVIDIA or AMD GPU
    128 bytes a clock an SM; bandwidths must grow from dram to register and all figures be positive. Doubts list
    figures whose public sources contradict each other or that nobody could check, notes what is said of the rest.
    """
    found = [*positive(chip), *peaks(chip), *shared(chip), *capacities(chip), *order(chip)]
    for entry in figures(chip):
        if entry.note or not entry.sure:
            kind = "note" if entry.sure else "doubt"
            found.append(Finding(chip.name, entry.path, kind, True, entry.note or "no source confirms it"))
    return found


def recomputed(chip: Chip, peak: Peak) -> float:
    """FLOP/s that the chip's SMs, the clock of that unit and its work per clock multiply to."""
    return float(chip.sm_count * (peak.clock_hz or chip.clock_hz) * peak.flop_per_clock_per_sm)


def peaks(chip: Chip) -> Iterator[Finding]:
    """The self-check of every format."""
    for name, peak in chip.peaks.items():
        off = recomputed(chip, peak) / peak.flop_per_s - 1
        clock = peak.clock_hz or chip.clock_hz
        text = (
            f"{chip.sm_count:g} x {clock / 1e9:g} GHz x {peak.flop_per_clock_per_sm:g} FLOP is "
            f"{recomputed(chip, peak) / 1e12:.4g} TFLOP/s, the file says {peak.flop_per_s / 1e12:.4g} ({off:+.2%})"
        )
        yield Finding(chip.name, f"peaks.{name}.flop_per_s", "peak", abs(off) <= TOLERANCE, text)


def shared(chip: Chip) -> Iterator[Finding]:
    """Shared memory against its banks, where the vendor's GPUs all have the same."""
    level = chip.level("shared")
    if level is None or chip.kind != "gpu" or chip.vendor not in ("NVIDIA", "AMD"):
        return
    expected = BANKS_BYTES * chip.sm_count * chip.clock_hz
    off = level.bandwidth_bytes_per_s / expected - 1
    text = (
        f"{BANKS_BYTES} B x {chip.sm_count:g} x {chip.clock_hz / 1e9:g} GHz is {expected / 1e12:.4g} TB/s ({off:+.2%})"
    )
    yield Finding(chip.name, "levels.shared.bandwidth_bytes_per_s", "shared", abs(off) <= TOLERANCE, text)


def capacities(chip: Chip) -> Iterator[Finding]:
    """Shared memory and registers of the whole chip against what the occupancy limits give one SM."""
    if chip.limits is None:
        return
    per_sm = (("shared", chip.limits.shared_bytes_per_sm), ("register", 4 * chip.limits.registers_per_sm))
    for name, size in per_sm:
        level = chip.level(name)
        if level is not None:
            expected = chip.sm_count * size
            text = f"{chip.sm_count:g} x {size:g} B is {expected:g} B, the file says {level.capacity_bytes:g}"
            right = level.capacity_bytes == expected
            yield Finding(chip.name, f"levels.{name}.capacity_bytes", "capacity", right, text)


def order(chip: Chip) -> Iterator[Finding]:
    """Levels from dram inwards, each faster than the one before; dram holds the most."""
    known = [level.name for level in chip.levels]
    ranked = [name for name in LEVEL_ORDER if name in known]
    right = known == ranked and known[:1] == ["dram"]
    yield Finding(chip.name, "levels", "order", right, f"levels are {', '.join(known)}; from {', '.join(LEVEL_ORDER)}")
    for outer, inner in zip(chip.levels, chip.levels[1:], strict=False):
        faster = inner.bandwidth_bytes_per_s > outer.bandwidth_bytes_per_s
        text = f"{inner.name} is {'faster' if faster else 'not faster'} than {outer.name}"
        yield Finding(chip.name, f"levels.{inner.name}.bandwidth_bytes_per_s", "order", faster, text)
        smaller = inner.capacity_bytes < chip.levels[0].capacity_bytes
        text = f"{inner.name} holds {'less' if smaller else 'no less'} than {chip.levels[0].name}"
        yield Finding(chip.name, f"levels.{inner.name}.capacity_bytes", "order", smaller, text)


def positive(chip: Chip) -> Iterator[Finding]:
    """Figures that are zero, negative, infinite or no number."""
    for entry in figures(chip):
        if entry.path.startswith("calibration."):  # a fitted constant may have any sign
            continue
        if not 0 < entry.value < float("inf"):
            yield Finding(chip.name, entry.path, "positive", False, f"{entry.value:g} is not a positive number")
