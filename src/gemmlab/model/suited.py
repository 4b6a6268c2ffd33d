"""A catalogue kernel with the tiling that is predicted to be fastest, as a vendor's library would pick it."""

from __future__ import annotations

from typing import Any

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel, get
from gemmlab.kernels.catalogue import widest_instruction
from gemmlab.model.candidates import PAIRED_SIDE, VECTOR_WARPS, Tiling, best_tiling, step_of
from gemmlab.model.constants import Constants, constants_of
from gemmlab.model.machine import Machine, machine_of
from gemmlab.model.occupancy import excess
from gemmlab.model.vmem import block_kernel
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

WARPGROUP_ROWS = 64  # of one wgmma
GROUP_M = 8  # rows of tiles that are walked together: robust against drift, never far from the best
MOST_STAGES = 4  # tiles in flight that hide DRAM's latency behind arithmetic; more only take room
KEPT = ("stages", "split_k", "raster", "group_m", "cluster_m", "cluster_n", "persistent", "registers", "shared_bytes")


def suited(problem: Gemm, chip: Chip, default: Kernel, constants: Constants | None = None) -> Kernel:
    """The family of `default` with the best candidate tiling for this problem on this chip.

    Raises GemmlabError where the chip computes neither in the problem's format nor in a wider one.
    """
    machine = machine_of(chip, problem.a_format)
    best = best_tiling(typical(problem), chip, constants or constants_of(chip))
    if machine.systolic is not None:
        return block_kernel(typical(problem), machine.systolic, best.tiling.block_m, best.tiling.block_n)
    return with_tiling(problem, chip, machine, default, best.tiling)


def typical(problem: Gemm) -> Gemm:
    """The largest member of a grouped problem, which decides its tiling; a plain problem itself."""
    return max(problem.members, key=lambda member: member.flop)


def on_chip(kernel: Kernel, problem: Gemm, chip: Chip) -> Kernel:
    """The kernel as a compiler for that chip makes it: tensor kernels use warpgroup instructions where there are any.

    A tile that no warpgroup can share stays with warp-wide instructions.
    """
    machine = machine_of(chip, problem.a_format)
    if kernel.family != "tensor" or kernel.tiles_from == "shared" or not machine.warpgroups or machine.vector:
        return kernel
    tile = (kernel.block_m, kernel.block_n, kernel.block_k)
    feed = {name: getattr(kernel, name) for name in KEPT} | {"warps": kernel.warps, "tiles_from": "shared"}
    for parts in (1, 2):  # warpgroups stand below one another, or side by side where the tile has too few rows
        mma = (WARPGROUP_ROWS, widest_instruction(kernel.block_n // parts), kernel.mma[2])
        try:
            return get(kernel.name, problem=problem, tile=tile, mma=mma, **feed)
        except GemmlabError:
            continue
    return kernel


def with_tiling(problem: Gemm, chip: Chip, machine: Machine, default: Kernel, tiling: Tiling) -> Kernel:
    """The kernel with that tile and as many stages as shared memory takes.

    Warpgroups and clusters where the chip has them and the tile is large enough; `default` itself where nothing fits.
    """
    step = step_of(problem, machine)
    if default.family in ("tensor", "register"):
        default = get("register") if machine.vector else get("tensor", problem=problem)
    tensor = default.family == "tensor"
    settings: dict[str, Any] = {"split_k": tiling.split_k, "group_m": GROUP_M, "persistent": tensor}
    feeds = [settings] if tensor else [{**settings, "warps": VECTOR_WARPS}, settings]
    if tensor and machine.warpgroups:
        paired = machine.clusters and min(tiling.block_m, tiling.block_n) >= PAIRED_SIDE
        feeds.insert(0, {**settings, "tiles_from": "shared", "cluster_m": 2 if paired else 1, "persistent": True})
    for feed in feeds:
        for stages in range(MOST_STAGES if tensor else 1, 0, -1):
            for k in (step, step // 2, step // 4):
                tile = (tiling.block_m, tiling.block_n, max(1, k))
                try:
                    kernel = get(default.name, problem=problem, tile=tile, stages=stages, **feed)
                except GemmlabError:
                    continue
                if not excess(problem, chip, kernel):
                    return kernel
    return default
