"""The model's constants: generic ones for a chip known by its data sheet, a chip's own where they were measured."""

from __future__ import annotations

import msgspec

from gemmlab.chips import Chip
from gemmlab.record import GemmlabError, unknown_name

MOST_HELD = 0.95  # of the peak, however short the run: cuBLAS reaches 0.94 of an RTX 4090's, hardly limited by power


class Constants(msgspec.Struct, frozen=True, kw_only=True):
    """What a data sheet cannot say. Shares are of the data sheet's figure.

    The defaults are for chips of which nothing was measured. Where a comment gives public readings or a law of physics,
    they come from there; the others were chosen in sight of readings of one H200, since no other chip was at hand.
    Readings and rates that a constant was chosen from do not test it: docs/concepts/model.md says which those are.
    """

    dram_share: float = 0.90  #: of DRAM bandwidth that streaming reaches: a copy, V100 to H200, 0.85 to 0.93
    dram_per_sm_share: float = 1.6  #: what one SM can draw, times its even share: about 60 % of them saturate DRAM
    l2_share: float = 0.95  #: of L2 bandwidth that tile loads reach
    #: long runs hold 1 / (1 + slope * TFLOP/s per watt) of the peak on random data: cuBLAS reaches 0.94 of an RTX
    #: 4090's peak (0.37 TFLOP/s per watt), 0.82 of an A100's (0.78), 0.72 of an H100's (1.41)
    power_slope: float = 0.27
    unlimited: float = 0.80  #: the same where the chip's power is not known
    burst_gain: float = 1.12  #: how much more short runs hold than long ones
    vector_sustained: float = 0.80  #: the same on ordinary FMA lanes, which share their issue slots with loads
    sustained: dict[str, float] = {}  #: by format, where measured
    burst: dict[str, float] = {}
    rest_s: float = 75e-6  #: idle or memory-bound time between launches: a benchmark flushes caches by writing 256 MB
    clock_gain: float = 0.4  #: how the clock answers to idle time: power goes with about clock**(1 / 0.4)
    tensor_fill_bytes: float = 96.0  #: of k that a program loses to filling and draining its pipeline
    vector_fill_k: float = 40.0  #: the same for ordinary kernels, in elements of k
    launch_s: float = 4.5e-6  #: from a launch to the first load, and from the last store to the end
    reduce_s: float = 2.0e-6  #: a second pass over split-k's partial results, beside its bytes
    dirty_share: float = 0.43  #: of L2 that earlier work left dirty and that must be written before new lines fit
    #: of a warp's element-wise load, its address and its store to shared memory; chosen by all unaligned rows
    scalar_cycles: float = 10.0
    step_cycles: float = 90.0  #: between two steps of a program that has its SM to itself: a barrier, and issue
    feed_norm: float = 6.0  #: how sharply the slowest of arithmetic, L2 and shared memory decides within an SM
    overlap_norm: float = 4.0  #: the same between an SM's work and DRAM
    jitter: float = 0.22  #: standard deviation of a 64-wide k-step's time, relative (traffic through L2)
    crowding: float = 0.8  #: added to it where three or more programs, six or more tiles in flight, share an SM
    l2_ways: int = 32  #: lines of a set of L2, as soft as its edge appears in DRAM counters

    def sustained_share(self, format_name: str, vector: bool, flop_per_joule: float | None) -> float:
        """Share of the peak that long runs hold in that format; `flop_per_joule` is the peak over the power limit."""
        if format_name in self.sustained:
            return self.sustained[format_name]
        if vector:
            return self.vector_sustained
        if flop_per_joule is None:
            return self.unlimited
        return 1 / (1 + self.power_slope * flop_per_joule / 1e12)

    def burst_share(self, format_name: str, vector: bool, flop_per_joule: float | None) -> float:
        """Share of the peak that short runs reach in that format, never less than long ones; arguments as above."""
        sustained = self.sustained_share(format_name, vector, flop_per_joule)
        usual = sustained if vector else min(MOST_HELD, self.burst_gain * sustained)
        return max(sustained, self.burst.get(format_name, usual))


GENERIC = Constants()
#: an operation of a compiled program has no launch of its own, and no cache is left dirty; the host's dispatch of the
#: whole program is in no prediction
TPU = Constants(launch_s=0.0, reduce_s=0.0, dirty_share=0.0)
TABLES = ("sustained", "burst")
SHARE = (0.01, 2.0)  # shares divide, so they are above 0
NORM = (1.0, 32.0)  # from adding to the larger alone; powers past it leave the range of floats
RANGES = {"dram_share": SHARE, "l2_share": SHARE, "unlimited": SHARE, "vector_sustained": SHARE}
RANGES |= {"dram_per_sm_share": (0.01, 1e3), "sustained": SHARE, "burst": SHARE, "burst_gain": SHARE}
RANGES |= {"feed_norm": NORM, "overlap_norm": NORM, "l2_ways": (1, 1024)}
OTHERS = (0.0, 1e4)


def check_constant(chip: Chip, name: str, field: str, value: float) -> None:
    """Raise GemmlabError where `name` of a calibration, the constant or table `field`, is unknown or out of range."""
    known = [each for each in Constants.__struct_fields__ if each not in TABLES]
    if field not in (known if field == name else TABLES):
        raise unknown_name(f"constant in the calibration of {chip.name}", name, known)
    low, high = RANGES.get(field, OTHERS)
    if not low <= value <= high:
        raise GemmlabError(
            f"constant `{name}` in the calibration of {chip.name} is {value:g}, not from {low:g} to {high:g}",
            "`gemmlab chips h200-sxm` shows measured ones",
        )


def constants_of(chip: Chip) -> Constants:
    """The chip's own constants where its file has a calibration, else the generic ones.

    A calibration names fields of Constants; `sustained.<format>` and `burst.<format>` go into the tables. Raises
    GemmlabError for one that is unknown or that no chip can have.
    """
    if chip.calibration is None:
        return TPU if chip.kind == "tpu" else GENERIC
    fields: dict[str, float | int] = {}
    tables: dict[str, dict[str, float]] = {"sustained": {}, "burst": {}}
    for name, figure in chip.calibration.constants.items():
        table, _, key = name.partition(".")
        check_constant(chip, name, table if key else name, float(figure))
        if key:
            tables[table][key] = float(figure)
        else:
            fields[name] = int(figure) if name == "l2_ways" else float(figure)
    return msgspec.convert({**fields, **tables}, Constants)
