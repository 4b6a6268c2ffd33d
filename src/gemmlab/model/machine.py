"""A chip as one kernel uses it: the unit that computes, in which format, how fast, on how many SMs."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel
from gemmlab.model.clusters import usable_sms
from gemmlab.model.matrix_units import MatrixUnits, matrix_units
from gemmlab.problem import Gemm
from gemmlab.record import unknown_name

SHARED_BYTES_PER_CLOCK = 128.0  # of one SM: 32 banks of 4 bytes
L2_BYTES_PER_CLOCK_PER_SM = 64.0  # the port of one SM: two sectors of 32 bytes
GENERIC_LOOP_FLOP_PER_CLOCK = 2 / 3  # one multiply-add every three cycles: convert, multiply-add, convert back
WARP_INSTRUCTION_SHARE = 0.62  # of the peak that mma.sync reaches on Hopper (Luo et al. 2024, arXiv 2402.13499)
#: formats that hold every value of another one, the first that a chip has is used: narrow ones first
WIDER: dict[str, tuple[str, ...]] = {
    "float4_e2m1fn": ("float8_e4m3fn", "float16", "bfloat16", "float32"),
    "float6_e2m3fn": ("float8_e4m3fn", "float16", "bfloat16", "float32"),
    "float6_e3m2fn": ("float8_e5m2", "float8_e4m3fn", "float16", "bfloat16", "float32"),
    "float8_e4m3fn": ("float8_e4m3fnuz", "float16", "bfloat16", "float32"),
    "float8_e4m3fnuz": ("float8_e4m3fn", "float16", "bfloat16", "float32"),
    "float8_e5m2": ("float8_e4m3fn", "float16", "bfloat16", "float32"),
    "float8_e5m2fnuz": ("float8_e4m3fnuz", "float16", "bfloat16", "float32"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "tfloat32": ("float32",),
    "int4": ("int8", "float16", "float32"),
    "int8": ("float16", "float32"),
    "float32": ("float64", "bfloat16"),  # a TPU multiplies float32 in bfloat16 passes unless told otherwise
}


class Machine(NamedTuple):
    """A chip in the units of the time model: cycles of the unit that computes in this format."""

    sms: int  #: that clusters of the kernel's size can occupy
    clock_hz: float
    flop_per_clock: float  #: of one SM, as the kernel's instructions reach it
    peak_flop_per_s: float  #: of the whole chip, whatever the instructions
    vector: bool  #: ordinary FMA lanes rather than a matrix unit
    systolic: MatrixUnits | None  #: of a TPU: no warps, waves or caches
    warpgroups: bool  #: instructions of four warps: operands come straight from shared memory, 64 rows at a time
    clusters: bool  #: programs of a cluster can multicast tiles to each other
    dram_bytes_per_s: float
    l2_bytes_per_s: float
    l2_bytes: float
    l2_partitions: int
    format_name: str  #: the one that it computes in
    flop_per_joule: float | None  #: peak over the power limit


def machine_of(
    chip: Chip, format_name: str, cluster: int = 1, *, ordinary: bool = False, warpgroups: bool = True
) -> Machine:
    """The chip computing in that format, or in a wider one that stands in for it.

    `cluster` is how many programs a cluster has. `ordinary` kernels multiply on the FMA lanes whatever the format.
    Without `warpgroups` a chip that has them multiplies by older, warp-wide instructions. Raises GemmlabError where
    nothing can stand in for the format.
    """
    rate = rate_of(chip, format_name, ordinary=ordinary)
    has_warpgroups = "wgmma" in chip.features or "tensor_memory" in chip.features
    has_warpgroups &= rate.format_name != "float64"  # wgmma and tcgen05 have no float64 (NVIDIA PTX ISA)
    slower = has_warpgroups and not rate.vector and not warpgroups
    peak = rate.flop_per_clock * int(chip.sm_count) * rate.clock_hz
    dram, l2 = chip.level("dram"), chip.level("l2")
    sms = usable_sms(chip, cluster)
    return Machine(
        sms=sms,
        clock_hz=rate.clock_hz,
        flop_per_clock=rate.flop_per_clock * WARP_INSTRUCTION_SHARE if slower else rate.flop_per_clock,
        peak_flop_per_s=peak,
        vector=rate.vector,
        systolic=matrix_units(chip, rate.format_name),
        warpgroups=has_warpgroups and warpgroups,
        clusters="clusters" in chip.features,
        dram_bytes_per_s=float(dram.bandwidth_bytes_per_s) if dram else float("inf"),
        l2_bytes_per_s=float(l2.bandwidth_bytes_per_s) if l2 else sms * rate.clock_hz * L2_BYTES_PER_CLOCK_PER_SM,
        l2_bytes=float(l2.capacity_bytes) if l2 else 1.0,
        l2_partitions=l2_partitions(chip),
        format_name=rate.format_name,
        flop_per_joule=peak / float(chip.power_w) if chip.power_w else None,
    )


def machine_for(chip: Chip, problem: Gemm, kernel: Kernel) -> Machine:
    """The chip as this kernel uses it; raises GemmlabError as `machine_of` does."""
    return machine_of(
        chip,
        problem.a_format,
        kernel.cluster_m * kernel.cluster_n,
        ordinary=kernel.family != "tensor",
        warpgroups=kernel.tiles_from == "shared",
    )


class Rate(NamedTuple):
    """What one SM computes in a clock."""

    format_name: str  #: the one that it computes in
    clock_hz: float
    flop_per_clock: float
    vector: bool  #: on ordinary FMA lanes


def rate_of(chip: Chip, format_name: str, *, ordinary: bool) -> Rate:
    """The rate of the unit that computes in that format, by instructions that reach the peak.

    A CPU without instructions for a narrow float runs a library's generic loop: each multiply-add converts both
    operands and the sum, one element at a time. Raises GemmlabError where nothing can stand in for the format.
    """
    used = stand_in(chip, format_name)
    if used is None:
        raise unknown_name(f"format on {chip.name}", format_name, chip.peaks)
    peak = chip.peaks[used]
    clock = float(peak.clock_hz or chip.clock_hz)
    per_clock = float(peak.flop_per_s) / int(chip.sm_count) / clock
    vector = peak.unit == "vector"
    if chip.kind == "cpu" and used != format_name:
        return Rate(used, clock, GENERIC_LOOP_FLOP_PER_CLOCK, vector)
    if ordinary and not vector:
        return Rate(used, float(chip.clock_hz), lanes_flop_per_clock(chip, used, per_clock), True)
    return Rate(used, clock, per_clock, vector)


def stand_in(chip: Chip, format_name: str) -> str | None:
    """The format that the chip computes in when asked for `format_name`: itself, else the first wider one it has."""
    return wider(chip.peaks, format_name)


def wider(peaks: Container[str], format_name: str) -> str | None:
    """That format where there is a peak of it, else the first wider one; None where there is none."""
    return next((name for name in (format_name, *WIDER.get(format_name, ())) if name in peaks), None)


def lanes_flop_per_clock(chip: Chip, format_name: str, matrix: float) -> float:
    """FLOP a clock of one SM's FMA lanes in a format that is rated on matrix units, `matrix` FLOP a clock of them.

    Narrow operands are widened to float32; float64 lanes do half of what float64 matrix units do (A100, H100, MI250X).
    """
    single = chip.peaks.get("float32")
    if format_name == "float64" or single is None or single.unit != "vector":
        return matrix / 2
    return float(single.flop_per_s) / int(chip.sm_count) / float(single.clock_hz or chip.clock_hz)


def l2_partitions(chip: Chip) -> int:
    """Parts of L2 between which lines are copied: 2 on the A100, H100 and H200."""
    return 2 if "l2_partitions" in chip.features else 1
