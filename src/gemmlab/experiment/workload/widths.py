"""Widths that layers share: what one gives another takes, so that one hyperparameter makes all of them larger.

Between two layers of such a width stand operators of single elements; attention between them keeps heads whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gemmlab.experiment.workload.weights import Weight, forward_weight
from gemmlab.formats import bits_of
from gemmlab.model.advice.alignment import LINE_BYTES
from gemmlab.model.road import ROAD_BITS
from gemmlab.units import round_up
from gemmlab.workload import Call

MULTIPLES = (2, 3)  # of a width in one layer's outputs: a gate beside it; query, key and value
RECURRENT = ("rnn", "lstm", "gru")
#: numbers of a configuration that are no widths, whatever they are
NO_WIDTH = re.compile(r"vocab|position|length|token|label|num_|_id$|layers?$|heads?$|max|n_ctx|classes|version|seed")


class Use(NamedTuple):
    """A weight where the forward pass multiplies by it."""

    weight: Weight
    call: Call


class Heads(NamedTuple):
    """Heads of attention, as a kernel is given them: PyTorch pads their width to whole 16 bytes for some."""

    number: int  #: 0 where nobody tells
    width: int


class Width(NamedTuple):
    """One width, and what it is to be."""

    old: int
    new: int
    head: tuple[int, int] = (0, 0)  #: the heads' width in it, before and after; 0 without heads
    fed: bool = False  #: a layer takes it before any layer has given it: it is the data's or an embedding's, too


class Widening(NamedTuple):
    """Widths that meet in some weight, and are made larger together."""

    widths: tuple[Width, ...]
    uses: tuple[Use, ...]
    taken: frozenset[int]  #: sizes of all inputs: outputs of such a size are a width of their own

    def holds(self, weight: Weight) -> bool:
        """Whether it changes that weight."""
        return any((weight.outs, weight.ins, weight.stack) == key_of(use.weight) for use in self.uses)

    def outs(self, weight: Weight) -> int:
        """The weight's outputs then."""
        return next((given_by(each, weight.outs, each.new) for each in self.by_outs(weight)), weight.outs)

    def by_outs(self, weight: Weight) -> list[Width]:
        """The width that its outputs are, or are several of; else whose heads they are."""
        exact = [each for each in self.widths if each.old == weight.outs]
        if weight.vocabulary or exact or weight.outs in self.taken:
            return [] if weight.vocabulary else exact
        several = [each for each in self.widths if weight.outs in [each.old * times for times in MULTIPLES]]
        heads = [each for each in self.widths if each.head[0] and weight.outs % each.head[0] == 0]
        return several or heads

    def ins(self, weight: Weight) -> int:
        """The weight's inputs then."""
        return next((each.new for each in self.widths if each.old == weight.ins), weight.ins)


def given_by(width: Width, outs: int, new: int) -> int:
    """Outputs that hold whole widths or whole heads, with the new ones."""
    return outs // width.head[0] * width.head[1] if width.head[0] else outs // width.old * new


def key_of(weight: Weight) -> tuple[int, int, int]:
    """By what gradients find a weight."""
    return weight.outs, weight.ins, weight.stack


def uses_of(calls: Iterable[Call], weights: dict[str, Weight]) -> Iterator[Use]:
    """Weights of plain layers in the order of the forward pass."""
    for call in calls:
        weight = forward_weight(call, weights)
        if weight and not any(layer in call.operator for layer in RECURRENT):
            yield Use(weight, call)


def widenings(calls: Iterable[Call], weights: dict[str, Weight], heads: Iterable[Heads]) -> tuple[Widening, ...]:
    """Every shared width that is off the 16-byte road, those that meet in a weight together."""
    uses = tuple(uses_of(calls, weights))
    widths = [width for size in sorted({use.weight.ins for use in uses}) if (width := shared(size, uses, heads))]
    groups: list[list[Width]] = []
    for width in widths:
        touching = [group for group in groups if any(meet(width, other, uses) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([width, *(other for group in touching for other in group)])
    return tuple(widening(tuple(sorted(group)), uses) for group in groups)


def widening(widths: tuple[Width, ...], uses: tuple[Use, ...]) -> Widening:
    """These widths with the weights that have them."""
    taken = taken_by(uses)
    alone = Widening(widths, (), taken)
    touched = (use for use in uses if (alone.outs(use.weight), alone.ins(use.weight)) != key_of(use.weight)[:2])
    return Widening(widths, tuple(touched), taken)


def taken_by(uses: tuple[Use, ...]) -> frozenset[int]:
    """Sizes of all inputs."""
    return frozenset(use.weight.ins for use in uses)


def meet(one: Width, other: Width, uses: tuple[Use, ...]) -> bool:
    """Whether some weight has both."""
    first, second = (Widening((each,), (), taken_by(uses)) for each in (one, other))
    return any(
        (first.by_outs(weight) and weight.ins == other.old) or (second.by_outs(weight) and weight.ins == one.old)
        for weight, _ in uses
    )


def shared(size: int, uses: tuple[Use, ...], heads: Iterable[Heads]) -> Width | None:
    """The width of that size, if a layer gives it to a later one and its rows or its heads are off the road."""
    taking = [place for place, (weight, _) in enumerate(uses) if weight.ins == size]
    bits = min(bits_of(uses[place].call.problem.a_format) for place in taking)
    taken = taken_by(uses)
    odd = [head for each in heads if (head := head_in(size, each, taken, bits)) * bits % ROAD_BITS]
    if not odd and size * bits % ROAD_BITS == 0:
        return None
    alone = Widening((Width(size, size),), (), taken)
    giving = [place for place, (weight, _) in enumerate(uses) if alone.by_outs(weight)]
    again = [place for place in giving if place in taking and len(uses[place].call.places) > 1]
    if not giving or not (again or min(giving) < max(taking)):
        return None
    fed = min(taking) <= min(giving)
    if odd:
        head, wider = max(odd), round_up(max(odd), ROAD_BITS // bits)
        return Width(size, size // head * wider, (head, wider), fed)
    return Width(size, whole(size, bits), fed=fed)


def head_in(size: int, heads: Heads, taken: Iterable[int], bits: int) -> int:
    """How wide each head is where the width is all of them; 0 where it is not."""
    step = ROAD_BITS // bits
    if heads.number > 1:
        fits = size % heads.number == 0 and round_up(size // heads.number, step) == round_up(heads.width, step)
        return size // heads.number if fits else 0
    several = [each for each in taken if each > heads.width and each % heads.width == 0]
    return heads.width if heads.number == 0 and size == min(several, default=0) else 0


def whole(size: int, bits: int) -> int:
    """The next size whose rows are whole cache lines, or whole 16 bytes where that would add more than an eighth."""
    line = round_up(size, LINE_BYTES * 8 // bits)
    return line if line <= size * 9 // 8 else round_up(size, max(1, ROAD_BITS // bits))


def names_of(size: int, sizes: Iterable[tuple[str, int]]) -> list[str]:
    """Names of the model's configuration that hold that width; else the one that is left open for it."""
    held = [name for name, value in sizes if value == size and not NO_WIDTH.search(name)]
    return list(dict.fromkeys(held))
