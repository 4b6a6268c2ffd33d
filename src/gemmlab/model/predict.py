"""One kernel on one chip: limits at every level, DRAM traffic with its band, and the time as a waterfall."""

from __future__ import annotations

from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.model.bounds import lower_bounds
from gemmlab.model.notes import notes_on
from gemmlab.model.outlook import Outlook
from gemmlab.problem import Gemm
from gemmlab.record import Count, LevelPrediction, Prediction
from gemmlab.units import ceil_div

SECTOR_BYTES = 32  # what L2 and DRAM move at least
MOSTLY = 0.5  # of the predicted time: a cause that takes more is what bounds the kernel
ALIGNMENT_DECIDES = 0.4  # less, since of all causes this is the one that its user can remove


def predict(outlook: Outlook, counted: Count) -> Prediction:
    """The Record's `prediction`: what the kernel's traffic, limits and time will be.

    Raises GemmlabError where the tile does not fit the chip or the chip has no unit for the format or a wider one.
    """
    problem, chip, machine, held = outlook.problem, outlook.chip, outlook.machine, outlook.held
    traffic = outlook.traffic
    compute = counted.flop / machine.peak_flop_per_s
    levels = level_predictions(outlook, counted)
    slots = machine.systolic.cores if machine.systolic else machine.sms * held.programs
    waves = counted.programs / slots
    fast = chip.level("l2") or chip.level("shared")
    bounds = lower_bounds(problem, float(fast.capacity_bytes) if fast else 1.0)
    return Prediction(
        time_s=outlook.time_s,
        bound=bound_of(outlook, compute, levels),
        knee_flop_per_byte=machine.peak_flop_per_s / machine.dram_bytes_per_s,
        compute_time_s=compute,
        waves=waves,
        wave_efficiency=waves / ceil_div(counted.programs, slots),
        programs_per_sm=held.programs,
        occupancy_limit="" if machine.systolic else held.limit,
        dram_read_bytes=traffic.read,
        dram_write_bytes=traffic.write,
        dram_bytes=traffic.total,
        dram_bytes_low=traffic.low,
        dram_bytes_high=traffic.high,
        levels=levels,
        terms=outlook.terms,
        lower_bound_bytes=max(bounds["compulsory"], bounds["tight"]),
        lower_bounds=bounds,
        energy_j=energy(outlook, counted, levels),
        notes=notes_on(problem, chip, outlook.kernel, machine, held),
    )


def level_predictions(outlook: Outlook, counted: Count) -> tuple[LevelPrediction, ...]:
    """Each level's bytes and time at its data sheet's bandwidth, from DRAM inwards."""
    carried = carried_bytes(outlook, counted)
    found = []
    # warps and their registers mean nothing on a systolic array, whose memory hands a tile over once
    inner = ("shared", "register") if outlook.machine.systolic else ()
    for level in outlook.chip.levels:
        if level.name in inner:
            continue
        bandwidth, bytes_ = float(level.bandwidth_bytes_per_s), carried[level.name]
        if bytes_ <= 0:
            continue
        found.append(
            LevelPrediction(
                name=level.name,
                bytes=bytes_,
                time_s=bytes_ / bandwidth,
                intensity_flop_per_byte=counted.flop / bytes_,
                knee_flop_per_byte=outlook.machine.peak_flop_per_s / bandwidth,
            )
        )
    return tuple(found)


def carried_bytes(outlook: Outlook, counted: Count) -> dict[str, float]:
    """Bytes that each level carries, by its name: DRAM's as predicted, the others' as counted."""
    problem, kernel = outlook.problem, outlook.kernel
    loads = float(counted.sectors_requested * SECTOR_BYTES)
    if kernel.family == "naive":  # L1 keeps what a program reads again; L2 sees its rows and columns once
        loads = float(sum(program_rows(member, kernel) for member in problem.members))
    elif outlook.machine.clusters and kernel.cluster_m * kernel.cluster_n > 1:
        loads *= cluster_share(kernel)
    size = bits_of(problem.a_format) / 8
    return {
        "dram": outlook.traffic.total,
        "l2": loads + counted.global_store_bytes,
        "shared": float(counted.shared_load_bytes + counted.shared_store_bytes),
        "register": counted.register_load_elements * size,
    }


def program_rows(member: Gemm, kernel: Kernel) -> int:
    """Bytes of the rows of A and columns of B that all programs read, each program its own once."""
    across, down = ceil_div(member.n, kernel.block_n), ceil_div(member.m, kernel.block_m)
    a_bits = member.m * member.k * across * bits_of(member.a_format)
    b_bits = member.k * member.n * down * bits_of(member.b_format)
    return member.batch * (a_bits + b_bits) // 8


def cluster_share(kernel: Kernel) -> float:
    """Share of the tile loads left when a cluster's programs multicast: B's to cluster_m of them, A's to cluster_n."""
    a, b = kernel.block_m / kernel.cluster_n, kernel.block_n / kernel.cluster_m
    return (a + b) / (kernel.block_m + kernel.block_n)


def bound_of(outlook: Outlook, compute: float, levels: tuple[LevelPrediction, ...]) -> str:
    """What limits the kernel: the longest of arithmetic and each level, unless a cause outside them takes most time."""
    share = {term.cause: term.time_s / outlook.time_s for term in outlook.terms}
    if outlook.machine.systolic is not None:
        return bound_of_units(outlook, compute, levels, share)
    if share.get("alignment", 0.0) > ALIGNMENT_DECIDES:
        return "alignment"
    if share.get("idle in the last wave", 0.0) + share.get("ragged tiles", 0.0) > MOSTLY:
        return "latency"
    if outlook.kernel.family == "naive" and share.get("feeding the arithmetic", 0.0) > MOSTLY:
        return "loads"  # L1 takes so many requests a clock, and it is no level of the chip's file
    found = {level.name: level.time_s for level in levels if level.name != "register"} | {"compute": compute}
    found["launch"] = outlook.constants.launch_s
    return max(found, key=lambda name: found[name])


def bound_of_units(
    outlook: Outlook, compute: float, levels: tuple[LevelPrediction, ...], share: dict[str, float]
) -> str:
    """What limits a TPU: HBM or arithmetic, whichever is longer alone, unless the units' other cycles outlast both."""
    hbm = max((level.time_s for level in levels), default=0.0)
    padding = share.get("padded sides", 0.0)
    idle = sum(share.get(cause, 0.0) for cause in ("idle matrix units", "weight shift", "pipeline fill"))
    busy, moving = (float(each[0]) for each in outlook.times()[1:3])
    if padding + idle > MOSTLY or (compute < hbm and busy > moving):
        return "padding" if padding >= idle else "latency"
    return "compute" if compute >= hbm else "dram"


def energy(outlook: Outlook, counted: Count, levels: tuple[LevelPrediction, ...]) -> float | None:
    """Joules of arithmetic and of every level's bytes, or None where the chip's table lacks one of them."""
    table = outlook.chip.energy
    per_flop = table.get(f"flop.{outlook.machine.format_name}")
    if per_flop is None or "dram_per_byte" not in table:
        return None
    joules = counted.flop * float(per_flop)
    for level in levels:
        joules += level.bytes * float(table.get(f"{level.name}_per_byte", 0.0))
    return joules
