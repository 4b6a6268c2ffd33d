"""Channels of a convolution that fill no 16 bytes: matrix units are fed single elements, or zeros."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.formats import bits_of
from gemmlab.model.road import ROAD_BITS
from gemmlab.problem import Convolution
from gemmlab.units import round_up


def channel_changes(look: Look) -> Iterator[Candidate]:
    """Make the layer's channels and filters whole 16 bytes."""
    call, conv = look.call, look.call.convolution
    if conv is None or conv.groups > 1:
        return
    step = max(1, ROAD_BITS // bits_of(conv.format))
    channels, filters = round_up(conv.channels, step), round_up(conv.filters, step)
    if (channels, filters) == (conv.channels, conv.filters):
        return
    padded = msgspec.structs.replace(conv, channels=channels, filters=filters)
    sides = padded.gemm(call.convolution_pass or "forward")
    problem = call.problem.replace(m=sides.m, n=sides.n, k=sides.k)
    then_s, limit_s = look.then(problem=problem, convolution=padded)
    turned, axes = is_transposed(look, conv), axes_of(look, conv)
    ins, outs = (conv.filters, conv.channels) if turned else (conv.channels, conv.filters)
    more, cut = (filters - ins, channels > outs) if turned else (channels - ins, filters > outs)
    lines = [f"{layer(padded, axes, transposed=turned)}  # {ins} channels, {outs} filters before"]
    if more:
        lines.append(f"x = F.pad(x, ({'0, 0, ' * axes}0, {more}))  # channels of zeros")
    yield Candidate(
        cause="alignment",
        line="\n".join(lines),
        digits=f"{digits.ZEROS}; added filters are to be cut off" if cut else digits.ZEROS,
        cost=f"{problem.flop / call.problem.flop - 1:.2%} more work; some versions of cuDNN pad by themselves",
        confidence="low",
        then_s=then_s,
        limit_s=limit_s,
    )


def axes_of(look: Look, conv: Convolution) -> int:
    """Axes that the layer's window slides along: one dimension is kept as an image of height 1."""
    operands = look.call.operands
    return len(operands[0].shape) - 2 if operands else len(conv.size)


def is_transposed(look: Look, conv: Convolution) -> bool:
    """Whether the layer is a transposed convolution: its forward pass is the gradient of the input of this one."""
    return any(
        call.convolution == conv and call.convolution_pass == "dgrad" and call.phase != "backward"
        for call in look.program.workload.calls
    )


def layer(conv: Convolution, axes: int, *, transposed: bool) -> str:
    """The module of that convolution, with what is not the default."""
    given = {"stride": (conv.stride, 1), "padding": (conv.padding, 0), "dilation": (conv.dilation, 1)}
    words = [f"{name}={own(values, axes)}" for name, (values, usual) in given.items() if set(values) != {usual}]
    if transposed:
        name, ins, outs, rest = "ConvTranspose", conv.filters, conv.channels, left_over(conv)
        words += [f"output_padding={own(rest, axes)}"] if any(rest) else []
    else:
        name, ins, outs = "Conv", conv.channels, conv.filters
    return f"nn.{name}{axes}d({', '.join([str(ins), str(outs), str(own(conv.kernel, axes)), *words])})"


def own(values: tuple[int, ...], axes: int) -> int | tuple[int, ...]:
    """Values of the layer's own axes, a number where there is one."""
    kept = values[-axes:]
    return kept[0] if axes == 1 else kept


def left_over(conv: Convolution) -> tuple[int, ...]:
    """What a stride leaves of the image at its end: a transposed convolution's output_padding."""
    axes = zip(conv.size, conv.output, conv.stride, conv.padding, conv.dilation, conv.kernel, strict=True)
    return tuple(
        size - ((windows - 1) * step - 2 * pad + wide * (tap - 1) + 1) for size, windows, step, pad, wide, tap in axes
    )
