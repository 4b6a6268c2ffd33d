"""Widths that layers share: what one gives another takes, so that one hyperparameter makes all of them larger.

Between two layers of such a width stand operators of single elements; attention between them keeps heads whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
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

    def outs(self, weight: Weight) -> int:
        """The weight's outputs then."""
        return next((given_by(each, weight.outs, each.new) for each in self.by_outs(weight)), weight.outs)

    def by_outs(self, weight: Weight) -> list[Width]:
        """The width that its outputs are, or are several of; else whose heads they are."""
        sizes = sizes_given(weight, self.taken)
        whole_ones = [each for each in self.widths if each.old in sizes]
        own = weight.vocabulary or weight.outs in self.taken
        heads = [each for each in self.widths if each.head[0] and weight.outs % each.head[0] == 0 and not own]
        return whole_ones or heads

    def ins(self, weight: Weight) -> int:
        """The weight's inputs then."""
        return next((each.new for each in self.widths if each.old == weight.ins), weight.ins)


def sizes_given(weight: Weight, taken: Collection[int]) -> list[int]:
    """Widths that a weight's outputs may be: words are none, and what another layer takes whole is no other's part."""
    if weight.vocabulary or weight.outs in taken:
        return [] if weight.vocabulary else [weight.outs]
    return [weight.outs // times for times in (1, *MULTIPLES) if weight.outs % times == 0]


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
    uses, heads = tuple(uses_of(calls, weights)), tuple(heads)
    taken = frozenset(use.weight.ins for use in uses)
    giving: dict[int, list[int]] = {}
    taking: dict[int, list[int]] = {}
    for place, (weight, _) in enumerate(uses):
        taking.setdefault(weight.ins, []).append(place)
        for size in sizes_given(weight, taken):
            giving.setdefault(size, []).append(place)
    widths = {
        size: width
        for size in sorted(taken)
        if size in giving and (width := shared(size, uses, giving[size], taking[size], taken, heads))
    }
    return grouped(uses, widths, taken)


def grouped(uses: tuple[Use, ...], widths: dict[int, Width], taken: frozenset[int]) -> tuple[Widening, ...]:
    """Widths by the weights that they meet in, each weight with its own."""
    group_of = {size: {size} for size in widths}
    headed = Widening(tuple(each for each in widths.values() if each.head[0]), (), taken)
    touched: list[tuple[int, Use]] = []
    for use in uses:
        sizes = [size for size in (use.weight.ins, *sizes_given(use.weight, taken)) if size in widths]
        sizes += [each.old for each in headed.by_outs(use.weight) if each.old not in sizes]
        for size in sizes[1:]:
            if group_of[size] is not group_of[sizes[0]]:
                group_of[sizes[0]] |= group_of[size]
                group_of |= dict.fromkeys(group_of[size], group_of[sizes[0]])
        touched += [(sizes[0], use)] if sizes else []
    least = {size: min(group) for size, group in group_of.items()}
    members: dict[int, dict[Weight, Use]] = {}
    for size, use in touched:
        members.setdefault(least[size], {}).setdefault(use.weight, use)  # where it is first multiplied by
    return tuple(
        Widening(tuple(widths[size] for size in sorted(group_of[first])), tuple(found.values()), taken)
        for first, found in sorted(members.items())
    )


def shared(
    size: int,
    uses: tuple[Use, ...],
    giving: list[int],
    taking: list[int],
    taken: frozenset[int],
    heads: tuple[Heads, ...],
) -> Width | None:
    """The width of that size, if a layer gives it to a later one and its rows or its heads are off the road.

    `giving` and `taking` are places among the uses, ascending.
    """
    bits = min(bits_of(uses[place].call.problem.a_format) for place in taking)
    odd = [head for each in heads if (head := head_in(size, each, taken, bits)) * bits % ROAD_BITS]
    if not odd and size * bits % ROAD_BITS == 0:
        return None
    both = set(taking).intersection(giving)
    again = any(len(uses[place].call.places) > 1 for place in both)
    if not again and giving[0] >= taking[-1]:
        return None
    fed = taking[0] <= giving[0]
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
