"""Products of fused attention: they share one kernel, and the scores between them never reach DRAM."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.chips import Chip
from gemmlab.experiment.workload.priced import FLOOR, Priced, limited
from gemmlab.kernels import default_for
from gemmlab.model.constants import Constants
from gemmlab.model.machine import machine_of
from gemmlab.model.outlook import Outlook
from gemmlab.model.suited import suited
from gemmlab.model.traffic import DramTraffic
from gemmlab.record import Term
from gemmlab.workload import Call

SHARING = 2  # products of a forward kernel, which divide its launch; a backward one has five in several kernels
CAUSAL = 0.5  # of the scores, which blocks above the diagonal leave out


class Reached(NamedTuple):
    """Shares of the dense peak that a kernel reaches on long sequences, for heads 64 and 128 wide."""

    forward: tuple[float, float]
    backward: tuple[float, float]


#: read on one H200 with PyTorch 2.11 (benchmarks/networks_parts.py); of an A100 what Dao 2023 (arXiv 2307.08691) gives,
#: 50 to 73 % forward and less backward; Blackwell's are guesses: no faster than Hopper's in shares of its peak
REACHED = {
    "cudnn": {"hopper": Reached((0.45, 0.70), (0.42, 0.57)), "blackwell": Reached((0.45, 0.70), (0.42, 0.57))},
    "flash": {
        "ampere": Reached((0.60, 0.70), (0.50, 0.60)),
        "ada": Reached((0.60, 0.70), (0.50, 0.60)),
        "hopper": Reached((0.29, 0.36), (0.28, 0.31)),
        "blackwell": Reached((0.15, 0.18), (0.14, 0.16)),
    },
    "efficient": {"hopper": Reached((0.13, 0.18), (0.105, 0.14))},
}
ELSEWHERE = {"cudnn": Reached((0.40, 0.50), (0.35, 0.40)), "flash": Reached((0.40, 0.50), (0.35, 0.40))}
ELSEWHERE["efficient"] = Reached((0.25, 0.30), (0.20, 0.25))
#: how much longer kernels take that drop scores, forward and backward, by the same readings
DROPPING = {"cudnn": (2.3, 1.26), "flash": (1.27, 1.13), "efficient": (1.62, 1.40)}
#: ordinary float32, whose kernels nobody read: with low confidence
SINGLE = Reached((0.50, 0.60), (0.40, 0.45))
#: blocks of so many rows are computed whole: how much a sequence of S adds, over S; chosen on the same H200
FORWARD_BLOCK, BACKWARD_BLOCK, CAUSAL_BLOCK = 128, 256, 512


def attend(call: Call, chip: Chip, constants: Constants) -> Priced:
    """One product of fused attention: its share of the kernel's arithmetic, and its tensors but the scores once."""
    problem = call.problem
    scores = problem.d_bytes if makes_scores(call) else problem.a_bytes
    read = problem.compulsory_read_bytes - (0 if makes_scores(call) else scores)
    written = 0 if makes_scores(call) else problem.d_bytes
    kernel = suited(problem, chip, default_for(problem), constants)
    total = float(read + written)
    outlook = Outlook(problem, chip, kernel, constants, DramTraffic(float(read), float(written), total, total))
    machine = machine_of(chip, problem.a_format)
    flop = problem.flop * (CAUSAL if call.causal else 1.0)
    limit, bound = limited(flop, machine.peak_flop_per_s, total, machine.dram_bytes_per_s)
    reached = SINGLE if machine.vector else reached_by(call, chip)
    computing = flop / (machine.peak_flop_per_s * efficiency(call, reached)) * dropping(call, chip)
    streaming = total / (machine.dram_bytes_per_s * constants.dram_share)
    launch = constants.launch_s / SHARING
    busy = max(computing, streaming)
    terms = (
        Term(cause=outlook.floor, time_s=limit, why=FLOOR),
        Term(cause="fused attention", time_s=busy - limit, why="softmax between the products, and what kernels reach"),
        Term(cause="launch", time_s=launch, why="its share of the kernel's start and end"),
    )
    return Priced(outlook, total, busy + launch, limit, bound, terms, "low" if machine.vector else "medium")


def makes_scores(call: Call) -> bool:
    """Whether its result is scores, which stay on chip, rather than its A.

    The products over the head's width make them; the others have the head's width as n. The width is the last axis of
    the tensors that the program holds, else the shorter side.
    """
    problem = call.problem
    widths = {each.shape[-1] for each in call.operands if each.shape}
    if (problem.k in widths) != (problem.n in widths):
        return problem.k in widths
    return problem.k <= problem.n


def reached_by(call: Call, chip: Chip) -> Reached:
    """What its kernel reaches on the chip."""
    name = kernel_of(call, chip)
    return REACHED[name].get(chip.architecture, ELSEWHERE[name])


def dropping(call: Call, chip: Chip) -> float:
    """How much longer its kernel takes for the random number that it draws for every score."""
    return DROPPING[kernel_of(call, chip)][call.phase == "backward"] if "dropout" in call.fused else 1.0


def efficiency(call: Call, reached: Reached) -> float:
    """Share of the peak that the kernel reaches: less on short sequences, whose blocks are not full."""
    backward = call.phase == "backward"
    problem = call.problem
    width, first = (problem.k, problem.n) if makes_scores(call) else (problem.n, problem.k)
    narrow, wide = reached.backward if backward else reached.forward
    share = narrow + (wide - narrow) * min(1.0, max(0.0, (width - 64) / 64))
    block = (BACKWARD_BLOCK if backward else FORWARD_BLOCK) + (CAUSAL_BLOCK if call.causal else 0)
    return share / (1 + block / min(first, problem.m))


def kernel_of(call: Call, chip: Chip) -> str:
    """Whose kernel it is; where nobody says, cuDNN's on Hopper and later, which PyTorch 2.11 runs there."""
    said = " ".join((call.fused, *call.kernels)).lower()
    if "efficient" in said or "fmha_cutlass" in said:
        return "efficient"
    if "cudnn" in said:
        return "cudnn"
    unsure = not call.kernels and chip.architecture in ("hopper", "blackwell")
    return "cudnn" if unsure else "flash"
