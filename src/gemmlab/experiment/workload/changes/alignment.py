"""Rows off the 16-byte road: pad the side of the weight or of the data that sets the stride, or copy the view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.changes.states import is_recurrent, state_padding
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.experiment.workload.weights import Weight, commented
from gemmlab.model.advice.alignment import copy_of, is_view, larger_sides, side_of_stride
from gemmlab.model.advice.situation import WORTH, resized
from gemmlab.model.effects import ALL
from gemmlab.model.road import Road, roads
from gemmlab.units import bytes_text

OPERANDS = ("A", "B", "D")


class Padding(NamedTuple):
    """One side made larger."""

    line: str
    digits: str
    sure: bool  #: whose side it is follows from names or sizes of weights


def alignment_changes(look: Look) -> Iterator[Candidate]:
    """What the model advises of alignment, in the program's own words."""
    problem = look.call.problem
    if not look.plain:
        return
    slow = [road for road in roads(problem) if not road.fast]
    if not slow or look.situation.gain_without(ALL._replace(alignment=False)) < WORTH:
        return
    views = [road for road in slow if is_view(problem, road)]
    if views and not problem.groups:
        yield copying(look, views)
    sides = sorted({side_of_stride(problem, road.operand) for road in slow if road not in views})
    if sides and is_recurrent(look):
        found = state_padding(look)
        yield from (found,) if found else ()
    elif sides:
        yield padding(look, larger_sides(problem, slow, sides))


def padding(look: Look, larger: dict[str, int]) -> Candidate:
    """Make the sides of the tensors themselves larger, zeros in what is added."""
    problem = look.call.problem
    padded = resized(problem, **larger)
    then_s, limit_s = look.then(problem=padded)
    told = pad_weight(look, larger) or [pad(look, side, size) for side, size in larger.items()]
    return Candidate(
        cause="alignment",
        line="\n".join(dict.fromkeys(each.line for each in told)),
        digits="; ".join(dict.fromkeys(each.digits for each in told)),
        cost=f"{padded.flop / problem.flop - 1:.2%} more work, "
        f"{bytes_text(padded.compulsory_bytes - problem.compulsory_bytes)} more memory",
        confidence="high" if all(each.sure for each in told) else "medium",
        then_s=then_s,
        limit_s=limit_s,
    )


def pad(look: Look, side: str, size: int) -> Padding:
    """How a program makes that side larger: a weight's outputs or inputs, else the data's axis."""
    weight, outs, ins = look.sides
    old = getattr(look.call.problem, side)
    if weight and side == outs:
        return pad_outputs(weight, size)
    if weight and side == ins:
        where = f"{weight.module}: " if weight.module else ""
        line = f"{layer(weight, weight.outs, size)}  # {where}{old} inputs before; x gets zeros after its own\n"
        return Padding(f"{line}x = F.pad(x, (0, {size - old}))", digits.ZEROS, True)
    line = f"x = F.pad(x, (0, 0, 0, {size - old}))  # batch or sequence: {old} -> {size}, the added rows masked"
    if side == "n" and look.call.phase != "backward" and look.call.problem.batch == 1:
        line = f"w = F.pad(w, (0, {size - old}))  # second operand, {old} -> {size} columns; use y[..., :{old}]"
    return Padding(line, digits.CUT if side != "k" else digits.ZEROS, False)


def pad_weight(look: Look, larger: dict[str, int]) -> list[Padding]:
    """More inputs and more outputs of one layer, which is told once; empty where only one of them grows."""
    weight, outs, ins = look.sides
    if not weight or outs not in larger or ins not in larger:
        return []
    inputs = larger[ins]
    more = Padding(f"x = F.pad(x, (0, {inputs - weight.ins}))  # {weight.ins} inputs before, zeros", digits.ZEROS, True)
    others = [pad(look, side, size) for side, size in larger.items() if side not in (outs, ins)]
    return [pad_outputs(weight, larger[outs], inputs), more, *others]


def pad_outputs(weight: Weight, size: int, inputs: int = 0) -> Padding:
    """More outputs of a layer; of an output layer, more words than the vocabulary has."""
    inputs = inputs or weight.ins
    if weight.vocabulary:
        line = (
            f"vocab_size = {size}  # before: {weight.outs}; so {layer(weight, size, inputs)}\n"
            f"model.resize_token_embeddings({size})  # the same where transformers made the model"
        )
        return Padding(line, digits.WORDS.format(old=weight.outs), True)
    where = f"{weight.module}: " if weight.module else ""
    return Padding(
        f"{layer(weight, size, inputs)}  # {where}{weight.outs} outputs before; use y[..., :{weight.outs}]",
        digits.CUT,
        True,
    )


def layer(weight: Weight, outs: int, ins: int) -> str:
    """The module of that size."""
    return f"nn.Linear({ins}, {outs})" if weight.linear else f"Conv1D({outs}, {ins})"


def copying(look: Look, views: list[Road]) -> Candidate:
    """Copy operands whose base or stride comes from a larger array."""
    copied, moved = copy_of(look.call.problem, views)
    then_s, limit_s = look.then(problem=copied)
    names = [operand_name(look, road.operand) for road in views]
    lines = [f"{name} = {name}.contiguous()  # {which}" for name, which in names if which != "result"] or [
        "y = torch.empty_like(y, memory_format=torch.contiguous_format)  # instead of out= into a view"
    ]
    return Candidate(
        cause="contiguous",
        line="\n".join(lines),
        digits=digits.ONCE,
        cost=f"{bytes_text(moved)} moved for the copy, counted in the gain; none where the copy can be kept",
        confidence="high",
        then_s=then_s,
        limit_s=limit_s,
        extra_s=look.forecaster.copying_s(moved, len(views)),
    )


def operand_name(look: Look, operand: str) -> tuple[str, str]:
    """A name to paste for an operand, and which tensor it is in words: a parameter's own name takes no copy."""
    if operand == "D":
        return "y", "result"
    place = OPERANDS.index(operand)
    tensors = look.call.operands
    name = commented(tensors[place].parameter) if place < len(tensors) else ""
    strides = tensors[place].strides if place < len(tensors) else None
    which = f"{name}, " * bool(name) + f"operand {operand} of {look.call.operator or 'the product'}"
    which += f", strides {tuple(strides)}" if strides else ""
    return "x" if operand == "A" else "w", which
