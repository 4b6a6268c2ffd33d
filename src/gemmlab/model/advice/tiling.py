"""Kernel choices: tile, waves, launch order, split-k, clusters."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.kernels import Kernel, get
from gemmlab.model.advice.situation import WORTH, Situation
from gemmlab.model.clusters import usable_sms
from gemmlab.model.kernel_pairs import pairs_of_kernel
from gemmlab.model.machine import machine_of
from gemmlab.model.suited import on_chip, suited
from gemmlab.model.time import closed_reads
from gemmlab.model.traffic import dram_traffic
from gemmlab.record import Advice, GemmlabError
from gemmlab.units import bytes_text, ceil_div

LADDER = ("naive", "tiled", "register", "tensor")
GROUPS = (1, 2, 4, 8, 16, 32)  # rows of tiles that are walked together
SURE_GAIN = 1.2  # a gain above it is beyond the model's error (90th percentile of held-out rows)
LESS_TRAFFIC = 0.9  # of the predicted reads: another order must promise less, in closed form, to be simulated
SAME_READS = 1e6  # bytes: orders that differ by less are equal, and the simplest of them is named
WEIGHTY = 0.6  # DRAM's share of the time from which its traffic is worth a look
CLEARLY = 1.5  # without split-k a problem must be half as slow again before it is worth a word


def tile_advice(now: Situation) -> Iterator[Advice]:
    """Another tile than the one named, with what the present one loses as the cause."""
    if not now.chosen or now.problem.groups:
        return
    kernel = now.kernel
    try:
        better = suited(now.problem, now.chip, kernel, now.outlook.constants)
        better = better.replace(raster=kernel.raster, group_m=kernel.group_m, persistent=kernel.persistent)
        then = now.kernel_time_s(now.problem, better, now.chip)
    except GemmlabError:
        return
    same = (better.block_m, better.block_n, better.split_k) == (kernel.block_m, kernel.block_n, kernel.split_k)
    gain = now.gain(then)
    if gain < WORTH or same:
        return
    yield Advice(
        cause=tile_cause(now),
        change=flags_of(now, better),
        predicted_speedup=gain,
        cost="none; another kernel",
        confidence="medium" if gain < SURE_GAIN else "high",
    )


def flags_of(now: Situation, kernel: Kernel) -> str:
    """The flags that name a kernel: its tile, and what differs from the catalogue's kernel of that tile."""
    tile = (kernel.block_m, kernel.block_n, kernel.block_k)
    plain = on_chip(get(kernel.name, problem=now.problem, tile=tile), now.problem, now.chip)
    said = [f"--kernel {kernel.name} --tile {'x'.join(map(str, tile))}"]
    said += [
        f"--{name.replace('_', '-')} {getattr(kernel, name)}"
        for name in ("stages", "warps", "split_k", "raster", "group_m")
        if getattr(kernel, name) != getattr(plain, name)
    ]
    if (kernel.cluster_m, kernel.cluster_n) != (plain.cluster_m, plain.cluster_n):
        said.append(f"--cluster {kernel.cluster_m}x{kernel.cluster_n}")
    if kernel.persistent and not plain.persistent:
        said.append("--persistent")
    return " ".join(said)


def tile_cause(now: Situation) -> str:
    """What the named tile loses most by: idle SMs in the last wave, or the tile itself."""
    lost = {term.cause: term.time_s for term in now.outlook.terms}
    own = sum(lost.get(cause, 0.0) for cause in ("ragged tiles", "feeding the arithmetic", "pipeline fill"))
    return "waves" if lost.get("idle in the last wave", 0.0) > own else "tile"


def split_advice(now: Situation) -> Iterator[Advice]:
    """Few output tiles and a long k: without split-k most SMs idle, and not every library splits."""
    if now.problem.groups:
        return
    best = now.best
    if best.tiling.split_k == 1 or (now.kernel.split_k > 1 and now.chosen):
        return
    whole = min(best.unsplit_s, now.now_s) if now.chosen else best.unsplit_s
    gain = whole / best.time_s
    if gain < CLEARLY:
        return
    tiles = ceil_div(now.problem.m, best.tiling.block_m) * ceil_div(now.problem.n, best.tiling.block_n)
    yield Advice(
        cause="split-k",
        change=f"take care that k is split (about {best.tiling.split_k} ways, or stream-k): "
        f"{tiles} output tiles leave most of {int(now.chip.sm_count)} SMs idle",
        predicted_speedup=gain,
        cost="a workspace and a second pass, counted; sums in another order"
        + ("" if now.chosen else "; the predicted time has it"),
        confidence="medium",
    )


def raster_advice(now: Situation) -> Iterator[Advice]:
    """Another launch order: grouped rows re-read less, where DRAM traffic is what takes the time."""
    outlook, kernel = now.outlook, now.kernel
    if not now.chosen or now.problem.groups or kernel.family != "tensor":
        return
    if float(outlook.times().dram[0]) < WEIGHTY * outlook.time_s:
        return
    locked = {(raster, group): lock_step_reads(now, raster, group) for raster in ("n", "m") for group in GROUPS}
    raster, group = min(locked, key=lambda order: (round(locked[order] / SAME_READS), order))
    here = outlook.traffic.read
    if locked[raster, group] > LESS_TRAFFIC * here:
        return
    other = kernel.replace(raster=raster, group_m=group)
    least = dram_traffic(now.problem, now.chip, other, outlook.held, outlook.constants, band=False).read
    gain = outlook.time_s / outlook.with_reads(least).time_s
    if gain >= WORTH:
        yield Advice(
            cause="raster",
            change=f"--raster {raster} --group-m {group}: DRAM reads from {bytes_text(here)} to {bytes_text(least)}",
            predicted_speedup=gain,
            cost="none; another order of programs",
            confidence="medium",
        )


def lock_step_reads(now: Situation, raster: str, group: int) -> float:
    """DRAM reads of another order of programs, in closed form."""
    other = now.kernel.replace(group_m=group)
    pairs = pairs_of_kernel(now.problem, other, now.outlook.machine, now.outlook.held.programs)
    return float(closed_reads(pairs, now.outlook.machine, raster).sum())


def cluster_advice(now: Situation) -> Iterator[Advice]:
    """Clusters that do not divide the SMs of a GPC leave SMs unused."""
    size = now.kernel.cluster_m * now.kernel.cluster_n
    usable = usable_sms(now.chip, size)
    if size == 1 or usable >= usable_sms(now.chip, 2):
        return
    shapes = [(m, n) for m in (1, 2, 4) for n in (1, 2) if m * n < size]
    others = [now.kernel.replace(cluster_m=m, cluster_n=n) for m, n in shapes]
    then, other = min(
        ((now.kernel_time_s(now.problem, kernel, now.chip), kernel) for kernel in others), key=lambda pair: pair[0]
    )
    if now.gain(then) >= WORTH:
        yield Advice(
            cause="cluster",
            change=f"--cluster {other.cluster_m}x{other.cluster_n}: clusters of {size} can use {usable} of "
            f"{int(now.chip.sm_count)} SMs",
            predicted_speedup=now.gain(then),
            cost="a little more L2 traffic, counted",
            confidence="medium",
        )


def family_advice(now: Situation) -> Iterator[Advice]:
    """A step up the ladder: shared tiles, register tiles, tensor cores."""
    if now.kernel.family not in LADDER[:-1] or now.problem.groups:
        return
    matrix_unit = not machine_of(now.chip, now.problem.a_format).vector
    for name in LADDER[LADDER.index(now.kernel.family) + 1 :]:
        if name == "tensor" and not matrix_unit:
            continue
        try:
            kernel = on_chip(get(name, problem=now.problem), now.problem, now.chip)
            then = now.kernel_time_s(now.problem, kernel, now.chip)
        except GemmlabError:
            continue
        gain = now.gain(then)
        if gain >= WORTH:
            yield Advice(
                cause="tile",
                change=f"--kernel {name} (tile {kernel.block_m}x{kernel.block_n}x{kernel.block_k})",
                predicted_speedup=gain,
                cost="a longer kernel",
                confidence="high",
            )
