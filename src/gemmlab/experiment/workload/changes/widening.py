"""One hyperparameter made larger: both layers that share a width, without slices or pads between them."""

from __future__ import annotations

from math import prod
from typing import Any

import msgspec

from gemmlab.experiment.workload.attending import makes_scores
from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.changes.attention import is_attention
from gemmlab.experiment.workload.look import Candidate, Look, Program
from gemmlab.experiment.workload.weights import Weight, told_few
from gemmlab.experiment.workload.widths import Use, Widening, Width, key_of, names_of, whole
from gemmlab.formats import bits_of, storage_bytes
from gemmlab.model.advice.alignment import FIELDS, side_of_stride
from gemmlab.model.advice.situation import resized
from gemmlab.model.road import ROAD_BITS
from gemmlab.problem import Gemm
from gemmlab.units import bytes_text
from gemmlab.workload import Call

OF_OTHERS = ("softmax", "nll_loss", "cross_entropy", "constant_pad")  # that do not grow with a model's width
HEADED = 4  # axes of what a kernel of attention is given: entries, heads, sequence, width
FORWARD_PRODUCTS, BACKWARD_PRODUCTS = 2, 5  # of one kernel of attention
FORWARD_COPIES, BACKWARD_COPIES = 4, 7  # around it, where heads are padded


def widening_change(look: Look) -> Candidate | None:
    """The multiplication with its layer's shared widths, or its heads, made larger; None where it has none."""
    found = weight_widened(look) or head_widened(look)
    if found is None:
        return None
    widening, call = found
    if widening.widths not in look.program.told:
        look.program.told[widening.widths] = "\n".join(lines_of(widening, look.program))
    before, after = look.call.problem, call.problem
    fed, heads = [each for each in widening.widths if each.fed], [each for each in widening.widths if each.head[0]]
    return Candidate(
        cause="alignment",
        line=look.program.told[widening.widths],
        digits=digits.WIDER
        + digits.NORMED * bool(fed)
        + (digits.SCALED.format(head=heads[0].head[0]) if heads else "")
        + "".join(dict.fromkeys(digits.WORDED.format(old=old) for old in words_of(widening))),
        cost=f"{after.flop / before.flop - 1:.2%} more work, "
        f"{bytes_text(after.compulsory_bytes - before.compulsory_bytes)} more memory"
        + (f"; what is not multiplication grows by up to {growth(fed[-1]):.1%}, counted" if fed else ""),
        confidence="high" if all(use.weight.name for use in widening.uses) else "medium",
        then_s=look.forecaster.price(call),
        limit_s=look.forecaster.limit(call),
        extra_s=fed_s(look, widening) - (padding_s(look, heads[0].head[0]) if heads and look.call.fused else 0.0),
        shared=True,
    )


def words_of(widening: Widening) -> list[int]:
    """Vocabularies that grow with it."""
    weights = [(use.weight, bits_of(use.call.problem.a_format)) for use in widening.uses if use.weight.vocabulary]
    return [weight.outs for weight, bits in weights if sizes_then(widening, weight, bits)[0] != weight.outs]


def fed_s(look: Look, widening: Widening) -> float:
    """What a width that runs through the whole model adds beside multiplications, told where it is first taken.

    Normalisations, sums and copies grow as it does, and data that no embedding gives is padded.
    """
    fed = max((each for each in widening.widths if each.fed), default=None)
    if fed is None or look.call.phase == "backward" or look.call.fused:
        return 0.0
    first = next(use.call for use in widening.uses if use.weight.ins == fed.old)
    if first not in look.members:
        return 0.0
    beside = sum(time for name, time in look.program.other_s.items() if not any(word in name for word in OF_OTHERS))
    added, data = growth(fed) * beside, padded_data(widening, look.program)
    if data is not None:
        rows, name = look.call.problem.m, look.call.problem.a_format
        added += look.forecaster.copying_s(storage_bytes(name, rows * (data.old + data.new)))
    return added / look.call.count


def growth(width: Width) -> float:
    """How much wider it is to be, of its width now."""
    return width.new / width.old - 1


def padded_data(widening: Widening, program: Program) -> Width | None:
    """The width that data has before any layer gives it, with neither an embedding nor a configuration to grow."""
    if any("embedding" in name for name in program.other_s):
        return None
    named = program.workload.sizes
    return next((each for each in widening.widths if each.fed and not names_of(each.old, named)), None)


def padding_s(look: Look, head: int) -> float:
    """What one product of fused attention shares of the pads and copies around its kernel, whose heads PyTorch pads.

    Forward query, key and value are padded, and the result is copied once cut; backward the result's gradient is
    padded, and the three others are cut and copied.
    """
    tensors = [each for each in look.call.operands if len(each.shape) == HEADED]
    if not tensors or tensors[0].shape[-1] == head:
        return 0.0
    backward = look.call.phase == "backward"
    rows = [prod(each.shape[:-1]) for each in tensors]
    pads, copies = (rows[0] + 3 * rows[-1], 3 * rows[-1]) if backward else (rows[0] + 2 * rows[-1], rows[0])
    elements = pads * (head + tensors[0].shape[-1]) + copies * 2 * head
    moved = storage_bytes(tensors[0].format, elements)
    kernels = BACKWARD_COPIES if backward else FORWARD_COPIES
    return look.forecaster.copying_s(moved, kernels) / (BACKWARD_PRODUCTS if backward else FORWARD_PRODUCTS)


def weight_widened(look: Look) -> tuple[Widening, Call] | None:
    """The call with its weight's outputs and inputs as they are to be."""
    weight, outs, ins = look.sides
    widening = look.program.widened.get(key_of(weight)) if weight else None
    if weight is None or widening is None:
        return None
    new_outs, new_ins = sizes_then(widening, weight, bits_of(look.call.problem.a_format))
    problem = restrided(look.call.problem, {outs: new_outs, ins: new_ins})
    return widening, msgspec.structs.replace(look.call, problem=problem)


def head_widened(look: Look) -> tuple[Widening, Call] | None:
    """The call of attention with its heads as wide as they are to be."""
    call, problem = look.call, look.call.problem
    if not call.fused and not is_attention(call, look.program):
        return None
    for widening in look.program.widenings:
        for head, wider in (each.head for each in widening.widths if each.head[0]):
            sides = [side for side in ("k", "n", "m") if getattr(problem, side) == head]
            if call.fused:
                sides = [side for side in ("k" if makes_scores(call) else "n",) if side in sides]
            if call.fused and any(each.shape[-1:] == (wider,) for each in call.operands):
                return widening, call  # PyTorch has padded them already
            if sides:
                operands = tuple(last_axis(each, head, wider) for each in call.operands) if call.fused else ()
                changed = restrided(problem, {sides[0]: wider})
                return widening, msgspec.structs.replace(call, problem=changed, operands=operands)
    return None


def last_axis(tensor: Any, old: int, new: int) -> Any:
    """The tensor with another last axis, where it has that size."""
    if not tensor.shape or tensor.shape[-1] != old:
        return tensor
    return msgspec.structs.replace(tensor, shape=(*tensor.shape[:-1], new))


def restrided(problem: Gemm, sides: dict[str, int]) -> Gemm:
    """The problem with other sides; strides of views of several such widths grow with them, and each starts aligned."""
    fields: dict[str, int] = {}
    for operand, names in FIELDS.items():
        side = side_of_stride(problem, operand)
        old, stride = getattr(problem, side), getattr(problem, names.stride)
        if side in sides and stride != old and stride % old == 0 and not problem.groups:
            fields |= {names.stride: stride // old * sides[side], names.offset: 0}
    return problem.replace(**sides, **fields) if fields else resized(problem, **sides)


def sizes_then(widening: Widening, weight: Weight, bits: int) -> tuple[int, int]:
    """Outputs and inputs as they are to be: of shared widths, and of what else is off the 16-byte road."""
    outs, ins = widening.outs(weight), widening.ins(weight)
    outs = whole(outs, bits) if outs == weight.outs and outs * bits % ROAD_BITS else outs
    return outs, whole(ins, bits) if ins == weight.ins and ins * bits % ROAD_BITS else ins


def lines_of(widening: Widening, program: Program) -> list[str]:
    """Hyperparameters by their names in the model's configuration; else, and for the rest, the layers."""
    lines, named = [], []
    for width in widening.widths:
        for size, new in ((width.old, width.new), width.head):
            names = names_of(size, program.workload.sizes) if size else []
            lines += [f"{name} = {new}  # of the model's configuration; before: {size}" for name in names]
            named += [width] if names and size == width.old else []
    layers: dict[str, list[str]] = {}
    for use in widening.uses:
        told, place = layer_line(widening, use, named)
        if told:
            layers.setdefault(told, []).extend([place] * bool(place))
    for told, places in layers.items():
        before, mark, after = told.partition("  # ")
        where = ", ".join(told_few(places))
        lines.append(f"{before}{mark}{where}{': ' * bool(where)}{after}")
    shared_only = [each for each in widening.widths if each not in named]
    if any(each.fed for each in shared_only) and layers:
        wide = next(each for each in shared_only if each.fed)
        data = padded_data(widening, program)
        lines += [f"x = F.pad(x, (0, {data.new - data.old}))  # data of {data.old} features, zeros"] if data else []
        lines.append(f"# normalisations and embeddings of {wide.old} features, too: {wide.new}")
    for use in widening.uses:
        outs, _ = sizes_then(widening, use.weight, bits_of(use.call.problem.a_format))
        if use.weight.vocabulary and outs != use.weight.outs:
            lines.append(f"vocab_size = {outs}  # before: {use.weight.outs}")
    return list(dict.fromkeys(lines))


def layer_line(widening: Widening, use: Use, named: list[Width]) -> tuple[str, str]:
    """One layer as it is to be, and where it is; empty where names of the configuration say all of it."""
    weight, bits = use.weight, bits_of(use.call.problem.a_format)
    outs, ins = sizes_then(widening, weight, bits)
    by_outs = widening.by_outs(weight)
    by_ins = [each for each in widening.widths if each.old == weight.ins]
    what = "words before" if weight.vocabulary else "outputs before"
    cut = "" if by_outs or weight.vocabulary else f"; use y[..., :{weight.outs}]"
    told = [
        f"{old} {name}"
        for old, new, by, name in ((weight.outs, outs, by_outs, what + cut), (weight.ins, ins, by_ins, "inputs before"))
        if old != new and not any(each in named for each in by)
    ]
    if not told:
        return "", ""
    return f"{layer(weight, outs, ins)}  # {', '.join(told)}", weight.module


def layer(weight: Weight, outs: int, ins: int) -> str:
    """The module of that size, or the parameter that holds several."""
    if weight.stack > 1:
        sizes = (outs, ins) if weight.linear else (ins, outs)
        return f"nn.Parameter(torch.empty({weight.stack}, {sizes[0]}, {sizes[1]}))"
    return f"nn.Linear({ins}, {outs})" if weight.linear else f"Conv1D({outs}, {ins})"
