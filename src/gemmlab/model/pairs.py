"""Many (multiplication, kernel) pairs of one chip and one set of formats, as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemmlab.chips import Chip
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.model.clusters import usable_sms
from gemmlab.problem import Gemm
from gemmlab.record import unknown_name

Values = NDArray[np.float64]
SHARED_BYTES_PER_CLOCK = 128.0  # of one SM: 32 banks of 4 bytes
L2_BYTES_PER_CLOCK_PER_SM = 64.0  # the port of one SM
GENERIC_LOOP_FLOP_PER_CLOCK = 2 / 3  # one multiply-add every three cycles: convert, multiply-add, convert back
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
WARP_INSTRUCTION_SHARE = 0.62  # of the peak that mma.sync reaches on Hopper (Luo et al. 2024, arXiv 2402.13499)
ROAD_BYTES = 16.0  # the fast road: rows and base addresses at multiples of this


class Machine(NamedTuple):
    """A chip in the units of the time model: cycles of the unit that computes in this format."""

    sms: int
    clock_hz: float
    flop_per_clock: float  #: of one SM
    peak_flop_per_s: float
    vector: bool  #: ordinary FMA lanes rather than a matrix unit
    array: bool  #: a systolic array: no warps, each tile is handed over once
    wide: bool  #: warpgroup instructions: operands come straight from shared memory, 64 rows at a time
    clusters: bool
    dram_bytes_per_s: float
    l2_bytes_per_s: float
    l2_bytes: float
    l2_partitions: int
    format_name: str
    flop_per_joule: float | None  #: peak over the power limit


class Pairs(NamedTuple):
    """Arrays of one length: sizes in elements, `a_bytes` and its like of one element."""

    m: Values
    n: Values
    k: Values
    batch: Values
    block_m: Values
    block_n: Values
    block_k: Values
    split_k: Values
    group_m: Values
    cluster_m: Values  #: programs that share B's tile by multicast
    cluster_n: Values  #: programs that share A's
    resident: Values  #: programs on one SM
    vector: Values  #: elements of one global load, as alignment allows; at 16 bytes the fast road
    a_bytes: Values
    b_bytes: Values
    d_bytes: Values
    thread_m: Values  #: outputs of one thread along m; ordinary kernels
    thread_n: Values
    issue: Values  #: cycles of an SM's load unit for one k of one tile, where threads load element by element
    bubble: Values  #: steps of a program, for each k, that nothing overlaps
    work: Values  #: share of the m*n*k products that the structure needs


def stand_in(chip: Chip, format_name: str) -> str | None:
    """The format that the chip computes in when asked for `format_name`: itself, else the first wider one it has."""
    for name in (format_name, *WIDER.get(format_name, ())):
        if name in chip.peaks:
            return name
    return None


def machine_of(
    chip: Chip, format_name: str, cluster: int = 1, *, ordinary: bool = False, warpgroups: bool = True
) -> Machine:
    """The chip computing in that format, or in a wider one that stands in for it.

    `ordinary` kernels multiply on the FMA lanes whatever the format. Without `warpgroups` a chip that has them
    multiplies by older, warp-wide instructions. A CPU without instructions for a narrow float runs a library's generic
    loop: each multiply-add converts both operands and the sum, one element at a time. Raises GemmlabError where nothing
    can stand in.
    """
    used = stand_in(chip, format_name)
    if used is None:
        raise unknown_name(f"format on {chip.name}", format_name, chip.peaks)
    peak = chip.peaks[used]
    clock = float(peak.clock_hz or chip.clock_hz)
    per_clock = float(peak.flop_per_s) / int(chip.sm_count) / clock
    vector = peak.unit == "vector"
    wide = "wgmma" in chip.features or "tensor_memory" in chip.features
    if chip.kind == "cpu" and used != format_name:
        per_clock = GENERIC_LOOP_FLOP_PER_CLOCK
    elif ordinary and not vector:
        clock, per_clock, vector = float(chip.clock_hz), lanes_flop_per_clock(chip, used, per_clock), True
    rate = per_clock * int(chip.sm_count) * clock
    if wide and not vector and not warpgroups:
        per_clock *= WARP_INSTRUCTION_SHARE
    dram, l2 = chip.level("dram"), chip.level("l2")
    sms = usable_sms(chip, cluster)
    return Machine(
        sms=sms,
        clock_hz=clock,
        flop_per_clock=per_clock,
        peak_flop_per_s=rate,
        vector=vector,
        wide=wide and warpgroups,
        array=chip.kind == "tpu",
        clusters="clusters" in chip.features,
        dram_bytes_per_s=float(dram.bandwidth_bytes_per_s) if dram else float("inf"),
        l2_bytes_per_s=float(l2.bandwidth_bytes_per_s) if l2 else sms * clock * L2_BYTES_PER_CLOCK_PER_SM,
        l2_bytes=float(l2.capacity_bytes) if l2 else 1.0,
        l2_partitions=2 if "l2_partitions" in chip.features else 1,
        format_name=used,
        flop_per_joule=rate / float(chip.power_w) if chip.power_w else None,
    )


def lanes_flop_per_clock(chip: Chip, format_name: str, matrix: float) -> float:
    """FLOP a clock of one SM's FMA lanes in a format that is rated on matrix units.

    Narrow operands are widened to float32; float64 lanes do half of what float64 matrix units do (A100, H100, MI250X).
    """
    single = chip.peaks.get("float32")
    if format_name == "float64" or single is None or single.unit != "vector":
        return matrix / 2
    return float(single.flop_per_s) / int(chip.sm_count) / float(single.clock_hz or chip.clock_hz)


def machine_for(chip: Chip, problem: Gemm, kernel: Kernel) -> Machine:
    """The chip as this kernel uses it."""
    return machine_of(
        chip,
        problem.a_format,
        kernel.cluster_m * kernel.cluster_n,
        ordinary=kernel.family != "tensor",
        warpgroups=kernel.tiles_from == "shared",
    )


def pairs_of(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    block_m: ArrayLike,
    block_n: ArrayLike,
    *,
    a_format: str,
    b_format: str | None = None,
    d_format: str | None = None,
    block_k: ArrayLike = 64,
    split_k: ArrayLike = 1,
    group_m: ArrayLike = 8,
    cluster_m: ArrayLike = 1,
    cluster_n: ArrayLike = 1,
    resident: ArrayLike = 1,
    batch: ArrayLike = 1,
    vector: ArrayLike | None = None,
    thread_m: ArrayLike = 8,
    thread_n: ArrayLike = 8,
    issue: ArrayLike = 0,
    bubble: ArrayLike = 0,
    work: ArrayLike = 1,
) -> Pairs:
    """Broadcast sizes and tilings to arrays of one length; formats by name.

    `vector` left out means rows at multiples of 16 bytes.
    """
    a_bytes = bits_of(a_format) / 8
    b_bytes = bits_of(b_format or a_format) / 8
    d_bytes = bits_of(d_format or a_format) / 8
    wide = ROAD_BYTES / a_bytes if vector is None else vector
    columns = (m, n, k, batch, block_m, block_n, block_k, split_k, group_m, cluster_m, cluster_n, resident, wide,
               a_bytes, b_bytes, d_bytes, thread_m, thread_n, issue, bubble, work)  # fmt: skip
    arrays = np.broadcast_arrays(*(np.asarray(column, dtype=np.float64) for column in columns))
    return Pairs(*(np.atleast_1d(array) for array in arrays))
