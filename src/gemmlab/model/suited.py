"""A catalogue kernel with the tiling that is predicted to be fastest, as a vendor's library would pick it."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel, get
from gemmlab.model.candidates import Tiling, best_tiling, step_of
from gemmlab.model.constants import Constants, constants_of
from gemmlab.model.occupancy import require_fit
from gemmlab.model.pairs import Machine, machine_of
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

GROUP_M = 8  # rows of tiles that are walked together: robust against drift, never far from the best
MOST_STAGES = 4


def suited(problem: Gemm, chip: Chip, default: Kernel, constants: Constants | None = None) -> Kernel:
    """The family of `default` with the best candidate tiling for this problem on this chip."""
    machine = machine_of(chip, problem.a_format)
    best = best_tiling(typical(problem), chip, constants or constants_of(chip))
    return with_tiling(problem, chip, machine, default, best.tiling)


def typical(problem: Gemm) -> Gemm:
    """The largest member of a grouped problem, which decides its tiling; a plain problem itself."""
    return max(problem.members, key=lambda member: member.flop)


def with_warpgroups(kernel: Kernel, chip: Chip, machine: Machine, paired: bool) -> Kernel:
    """The kernel fed from shared memory by warpgroup instructions as wide as its tile, in clusters of two where `paired`."""
    rows, _, k = chip.peaks[machine.format_name].instruction or (64, 256, 16)
    return msgspec.structs.replace(
        kernel,
        tiles_from="shared",
        mma=(min(rows, 64), min(kernel.block_n, 256), k),
        cluster_m=2 if paired else 1,
    )


def with_tiling(problem: Gemm, chip: Chip, machine: Machine, default: Kernel, tiling: Tiling) -> Kernel:
    """The kernel with that tile, as many stages as shared memory takes, warpgroup operands and clusters where the chip has them."""
    step = step_of(problem, machine)
    settings: dict[str, Any] = {"split_k": tiling.split_k, "group_m": GROUP_M}
    if default.family == "tensor" and machine.vector:
        default = get("register")
    paired = machine.clusters and not machine.vector and min(tiling.block_m, tiling.block_n) >= 128
    for stages in range(MOST_STAGES if default.family == "tensor" else 1, 0, -1):
        for k in (step, step // 2, step // 4):
            try:
                kernel = get(
                    default.name,
                    problem=problem,
                    tile=(tiling.block_m, tiling.block_n, max(1, k)),
                    stages=stages,
                    **settings,
                )
                if default.family == "tensor" and machine.wide:
                    kernel = with_warpgroups(kernel, chip, machine, paired)
                require_fit(problem, chip, kernel)
            except GemmlabError:
                continue
            return kernel
    return default
