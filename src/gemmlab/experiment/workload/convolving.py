"""Convolutions: the arithmetic of their GEMM, the bytes of their own tensors, and the copies that a layout asks for."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import msgspec

from gemmlab.chips import Chip
from gemmlab.experiment.workload.priced import FLOOR, Priced, limited
from gemmlab.formats import bits_of, storage_bytes
from gemmlab.kernels import default_for, get
from gemmlab.model.constants import Constants
from gemmlab.model.machine import machine_of
from gemmlab.model.outlook import Outlook
from gemmlab.model.road import ROAD_BITS
from gemmlab.model.suited import on_chip, suited
from gemmlab.model.traffic import DramTraffic
from gemmlab.problem import Convolution, Gemm
from gemmlab.record import Term
from gemmlab.units import ceil_div
from gemmlab.workload import Call

#: what kernels reach beside the model's prediction, read on one H200 (benchmarks/networks_parts.py): transposes, of the
#: bandwidth that streaming reaches; of a filter's, smaller and strided, less
IMAGE_TRANSPOSE, FILTER_TRANSPOSE = 0.55, 0.16
#: of the predicted rate: ordinary float32, and gradients of filters in tf32, whose operands lie across what wgmma takes
ARITHMETIC = {("float32", "forward"): 0.6, ("float32", "dgrad"): 0.55, ("float32", "wgrad"): 0.45}
ARITHMETIC |= {("tfloat32", "wgrad"): 0.6}
#: of streaming, what kernels of narrow groups reach; a backward pass has half of it, of the filters a quarter
DIRECT = {"nhwc": 0.5, "nchw": 0.1}
DIRECT_PASS = {"forward": 1.0, "dgrad": 0.5, "wgrad": 0.25}
WASTED = 0.75  # of a product's work: with less of it useful, kernels leave the zeros of a stride out
WHY_COPIES = "tensor-core kernels want channels last: the library transposes what it reads and writes"
WHY_SLOW = "the library's kernels of this pass and format stay below a plain multiplication's rate"


class Moved(NamedTuple):
    """Bytes of one pass, each tensor once."""

    read: int
    written: int


def convolve(call: Call, chip: Chip, constants: Constants) -> Priced:
    """One pass of a convolution.

    Groups of fewer channels than 16 bytes hold are bound by memory whatever computes them; a few readings are all that
    their time rests on, so its confidence is low.
    """
    conv, step = call.convolution, call.convolution_pass or "forward"
    assert conv is not None
    moved = bytes_of(conv, step)
    problem = worked(call.problem, conv, step)
    direct = conv.groups > 1 and narrow(conv)
    if direct:
        kernel = on_chip(get("naive", problem=problem), problem, chip)
    else:
        problem = problem.replace(layout=conv_in(conv, "nhwc").gemm(step).layout, lda=0, ldb=0)
        kernel = suited(problem, chip, default_for(problem), constants)
    total = float(moved.read + moved.written)
    outlook = Outlook(problem, chip, kernel, constants, DramTraffic(moved.read, moved.written, total, total))
    machine = machine_of(chip, problem.a_format, ordinary=direct)
    flop = min(problem.flop, conv.flop)  # products with padding are nobody's duty
    limit, bound = limited(flop, machine.peak_flop_per_s, total, machine.dram_bytes_per_s)
    if not direct:
        copies = 0.0 if machine.vector else transposes_s(conv, step, chip, constants)
        gemm_s = max(outlook.time_s, limit)
        slower = gemm_s * (1 / ARITHMETIC.get((problem.a_format, step), 1.0) - 1) if bound == "compute" else 0.0
        more = (Term(cause="layout", time_s=copies, why=WHY_COPIES), Term(cause="kernel", time_s=slower, why=WHY_SLOW))
        terms = (*outlook.terms, *(term for term in more if term.time_s))
        return Priced(outlook, total, gemm_s + copies + slower, limit, bound, terms, "medium")
    arithmetic = problem.flop / (machine.peak_flop_per_s * constants.vector_sustained)
    streaming = total / (machine.dram_bytes_per_s * constants.dram_share * DIRECT[conv.order] * DIRECT_PASS[step])
    busy = max(limit, arithmetic, streaming)
    terms = (
        Term(cause=outlook.floor, time_s=limit, why=FLOOR),
        Term(cause="no matrix unit", time_s=busy - limit, why="no matrix unit takes so few channels a group"),
        Term(cause="launch", time_s=constants.launch_s, why="from the launch to the first load, and to the end"),
    )
    return Priced(outlook, total, busy + constants.launch_s, limit, bound, terms, "low")


def bytes_of(conv: Convolution, step: str) -> Moved:
    """Bytes that a pass reads and writes at least, on the convolution's own tensors."""
    written = conv.written_bytes(step)
    return Moved(conv.compulsory_bytes(step) - written, written)


def worked(problem: Gemm, conv: Convolution, step: str) -> Gemm:
    """The multiplication that kernels do: a strided dgrad leaves out the products with the zeros between outputs."""
    skipped = prod(conv.stride)
    if step != "dgrad" or conv.flop > WASTED * problem.flop:
        return problem
    return problem.replace(k=ceil_div(problem.k, skipped))


def narrow(conv: Convolution) -> bool:
    """Whether a group's channels or filters fill no 16 bytes."""
    return min(conv.channels, conv.filters) // conv.groups * bits_of(conv.format) < ROAD_BITS


def conv_in(conv: Convolution, order: str) -> Convolution:
    """The same with its tensors in another order in memory."""
    return msgspec.structs.replace(conv, order=order)


def transposes_s(conv: Convolution, step: str, chip: Chip, constants: Constants) -> float:
    """Predicted seconds of the copies around a pass whose tensors are stored channels first.

    Matrix units of GPUs are fed channels last (NVIDIA, Convolutional Layers User's Guide, tensor layouts): each of the
    pass's tensors is read and written once more. A window of one pixel whose images are whole 16 bytes is a batch of
    plain multiplications in either order.
    """
    dram = chip.level("dram")
    if conv.order == "nhwc" or chip.kind != "gpu" or dram is None:
        return 0.0
    pointwise = prod(conv.kernel) == 1
    if pointwise and prod(conv.stride) == 1 and prod(conv.size) * bits_of(conv.format) % ROAD_BITS == 0:
        return 0.0
    images = (conv.batch * conv.channels * prod(conv.size), conv.batch * conv.filters * prod(conv.output))
    filters = conv.filters * conv.channels // conv.groups * prod(conv.kernel)
    moved = sum(2 * storage_bytes(conv.format, each) / IMAGE_TRANSPOSE for each in images)
    moved += 2 * storage_bytes(conv.format, filters) / FILTER_TRANSPOSE if not pointwise else 0.0
    return moved / (float(dram.bandwidth_bytes_per_s) * constants.dram_share) + 3 * constants.launch_s
