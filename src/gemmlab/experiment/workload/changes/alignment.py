"""Rows off the 16-byte road: pad the side of the weight or of the data that sets the stride, or copy the view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.changes.states import is_recurrent, state_padding
from gemmlab.experiment.workload.changes.widening import layer, widening_change
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.experiment.workload.weights import OF_INPUT, OF_WEIGHT, Weight, commented
from gemmlab.formats import storage_bytes
from gemmlab.model.advice.alignment import copy_of, is_view, larger_sides, side_of_stride
from gemmlab.model.advice.situation import WORTH, resized
from gemmlab.model.effects import ALL
from gemmlab.model.road import Road, roads
from gemmlab.problem import Gemm
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
    wider = None if is_recurrent(look) else widening_change(look)
    if not look.plain:
        yield from (wider,) if wider else ()
        return
    slow = [road for road in roads(problem) if not road.fast]
    blamed = bool(slow) and look.situation.gain_without(ALL._replace(alignment=False)) >= WORTH
    if wider:  # what is not slow by alignment may pay for it, and gains nothing that is called alignment
        yield wider if blamed or problem.groups else wider._replace(then_s=max(wider.then_s, look.now_s))
    if not blamed:
        return
    views = [road for road in slow if is_view(problem, road)]
    if views and not problem.groups:
        yield copying(look, views)
    sides = sorted({side_of_stride(problem, road.operand) for road in slow if road not in views})
    if wider:  # by their hyperparameter
        sides = [side for side in sides if look.sides.weight and side not in look.sides[1:]]
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
    moved, kernels = copied(look, larger, padded)
    return Candidate(
        cause="alignment",
        line="\n".join(dict.fromkeys(each.line for each in told)),
        digits="; ".join(dict.fromkeys(each.digits for each in told)),
        cost=f"{padded.flop / problem.flop - 1:.2%} more work, "
        f"{bytes_text(padded.compulsory_bytes - problem.compulsory_bytes)} more memory"
        + (f"; pads and slices move {bytes_text(moved)} at each, counted" if moved else ""),
        confidence="high" if all(each.sure for each in told) else "medium",
        then_s=then_s,
        limit_s=limit_s,
        extra_s=look.forecaster.copying_s(moved, kernels) if moved else 0.0,
    )


def copied(look: Look, larger: dict[str, int], padded: Gemm) -> tuple[int, int]:
    """Bytes that pads of data and the gradients of slices move at one multiplication, and kernels that do.

    A forward pass pads what it multiplies, and slices its result for nothing, as a view; a backward pass does the
    reverse: of a layer once, where the gradient of its weight is made. Weights that are stored larger cost nothing.
    """
    problem, (weight, outs, ins) = look.call.problem, look.sides
    backward = look.call.phase == "backward"
    if weight and outs:
        rows = next(int(getattr(problem, side)) for side in ("m", "n", "k") if side not in (outs, ins))
        sliced = outs in larger and not weight.vocabulary and backward and (outs, ins) in OF_WEIGHT
        cut = ins in larger and ((outs, ins) in OF_INPUT if backward else True)
        old, new = (weight.outs, larger[outs]) if sliced else (weight.ins, larger.get(ins, 0))
        elements = rows * (old + new) if sliced or cut else 0
        return problem.batch * storage_bytes(problem.a_format, elements), int(sliced or cut)
    own, more = (sizes(each) for each in (problem, padded))
    which = ("D",) if backward else ("A", "B")
    moved = [own[name] + more[name] for name in which if own[name] != more[name]]
    return sum(moved), len(moved)


def sizes(problem: Gemm) -> dict[str, int]:
    """Bytes of each operand."""
    return {"A": problem.a_bytes, "B": problem.b_bytes, "D": problem.d_bytes}


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
