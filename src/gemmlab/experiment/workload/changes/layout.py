"""Orders in memory: channels last for convolutions, and operands that an operator copies at every call."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import msgspec

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.changes.alignment import operand_name
from gemmlab.experiment.workload.changes.channels import axes_of
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.formats import storage_bytes
from gemmlab.units import bytes_text
from gemmlab.workload import Tensor

CHANNELS_LAST = {
    2: "model = model.to(memory_format=torch.channels_last); x = x.to(memory_format=torch.channels_last)",
    3: "model = model.to(memory_format=torch.channels_last_3d); x = x.to(memory_format=torch.channels_last_3d)",
}  #: by the axes that a window slides along: PyTorch has no such order of signals of one dimension
SCATTERED = 0.25  # of streaming: a transposing copy, on one H200 (benchmarks/networks_parts.py)


def channels_last_changes(look: Look) -> Iterator[Candidate]:
    """Images stored channels first are transposed around every convolution that matrix units compute."""
    conv = look.call.convolution
    if conv is None or conv.order == "nhwc" or look.forecaster.chip.kind != "gpu":
        return
    line = CHANNELS_LAST.get(axes_of(look, conv))
    if line is None:
        return
    turned = msgspec.structs.replace(conv, order="nhwc")
    then_s, limit_s = look.then(convolution=turned)
    yield Candidate(
        cause="layout",
        line=line,
        digits=digits.ORDER,
        cost="none where every layer keeps the order; a view or reshape that does not copies",
        confidence="medium",
        then_s=then_s,
        limit_s=limit_s,
        wide=True,
        call=msgspec.structs.replace(look.call, convolution=turned),
    )


def copied_changes(look: Look) -> Iterator[Candidate]:
    """Operands neither of whose last two axes is contiguous: PyTorch copies them in every call.

    A measured time has the copies in it; a predicted one has not, and nothing is to gain there.
    """
    if not look.plain or look.measured_s is None:
        return
    scattered = [place for place, each in enumerate(look.call.operands[:2]) if needs_copy(each)]
    if not scattered:
        return
    tensors = [look.call.operands[place] for place in scattered]
    moved = sum(2 * storage_bytes(each.format, prod(each.shape)) for each in tensors)
    names = [operand_name(look, "AB"[place]) for place in scattered]
    copying = look.forecaster.copying_s(moved, len(scattered), SCATTERED)
    yield Candidate(
        cause="contiguous",
        line="\n".join(f"{name} = {name}.contiguous()  # where it is made; {which}" for name, which in names),
        digits=digits.NONE,
        cost=f"the operator copies {bytes_text(moved / 2)} in every call; once where the copy can be kept",
        confidence="low",
        then_s=look.now_s * look.now_s / (look.now_s + copying),
        limit_s=look.forecast.limit_s,
    )


def needs_copy(tensor: Tensor) -> bool:
    """Whether no axis of the matrix has neighbours next to each other: no BLAS takes such a stride."""
    if tensor.strides is None or len(tensor.strides) < 2 or min(tensor.shape[-2:]) < 2:
        return False
    return 1 not in tensor.strides[-2:] and 0 not in tensor.strides[-2:]
