"""Whose side it is: the outputs or inputs of a weight, or the data's, by the names of parameters and places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from gemmlab.model.advice.situation import side_of
from gemmlab.problem import Gemm
from gemmlab.workload import Call

#: names by which libraries call embeddings and the layers that share their weight
VOCABULARY = re.compile(r"wte|embed|tok_|vocab|lm_head|word_|unembed|decoder\.weight$|shared\.weight$|output\.weight$")
FEWEST_WORDS = 1000
SURELY_WORDS = 16384  # outputs, and four times as many as inputs, where nobody tells a name


TIED = " = "  # between the names of one parameter


class Weight(NamedTuple):
    """A parameter as multiplications use it."""

    name: str  #: in the model, several where it is shared; empty where the source names no parameters
    outs: int
    ins: int
    linear: bool  #: stored (outs, ins), as nn.Linear does; transformers' Conv1D stores (ins, outs)
    stack: int = 1  #: as many of them in one parameter, such as a layer's experts
    places: tuple[str, ...] = ()  #: modules that multiply by it, where its name does not tell them apart

    @property
    def names(self) -> tuple[str, ...]:
        """Each of its names."""
        return tuple(self.name.split(TIED)) if self.name else ()

    @property
    def vocabulary(self) -> bool:
        """Whether its outputs are words: an output layer, tied to an embedding or alone."""
        if self.name:
            tied = len(self.names) > 1 and self.linear
            return self.outs >= FEWEST_WORDS and (tied or any(VOCABULARY.search(name) for name in self.names))
        return self.outs >= max(SURELY_WORDS, 4 * self.ins)

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that own it."""
        return tuple(module for name in self.names if (module := name.rpartition(".")[0]))

    @property
    def module(self) -> str:
        """The module that multiplies by it, as a comment may name it: the last that owns it."""
        return ", ".join(told_few(self.places)) or (commented(self.modules[-1]) if self.modules else "")

    @property
    def every(self) -> Weight:
        """One for all of its layers, by the same name: `h.*.mlp.c_fc.weight`."""
        return self._replace(name=starred(self.name))


MOST_PLACES = 4  # that are named in one line


def starred(name: str) -> str:
    """A name with a star for the number of a layer inside it."""
    return re.sub(r"(?:^|(?<=\.))\d+(?=\.)", "*", name)


def told_few(places: Iterable[str]) -> list[str]:
    """The first few of these places, as a comment may name them."""
    found = sorted({commented(starred(place)) for place in places})
    stems = Counter(re.sub(r"\d+$", "*", place) for place in found)
    found = sorted({stem if stems[stem := re.sub(r"\d+$", "*", place)] > 2 else place for place in found})
    return [*found[:MOST_PLACES], f"{len(found) - MOST_PLACES} more"] if len(found) > MOST_PLACES + 1 else found


def commented(name: str) -> str:
    """A name that no newline turns into code where it stands in a comment of a line to paste."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def weights_of(calls: Iterable[Call]) -> dict[str, Weight]:
    """Every weight that some forward multiplication takes as its B, by its parameter's name, else by its sizes.

    Where nobody names parameters, a B stored (n, k) is taken for a weight, as nn.Linear stores it.
    """
    found: dict[str, Weight] = {}
    for call in calls:
        problem, name = call.problem, parameter_of(call)
        transposed = problem.layout[1] == "t"
        if call.phase == "backward" or call.convolution is not None or call.fused:
            continue
        if name:
            linear, stack = transposed or not call.operator, stack_of(problem)
            last = name.rpartition(TIED)[2].rpartition(".")[0].rpartition(".")[2]
            places = call.places if last == "*" else ()
            weight = Weight(name, problem.n, problem.k, linear, stack, places)
            if found.setdefault(name, weight)[1:3] != weight[1:3]:  # a name with stars, of layers of other sizes
                found.setdefault(f"{name} {problem.n}x{problem.k}", weight)
        elif transposed and problem.batch == 1:
            found.setdefault(f"{problem.n}x{problem.k}", Weight("", problem.n, problem.k, True))
    return found


def forward_weight(call: Call, weights: dict[str, Weight]) -> Weight | None:
    """The weight that a forward multiplication takes as its B."""
    if call.phase == "backward" or call.convolution is not None or call.fused:
        return None
    sizes, name = f"{call.problem.n}x{call.problem.k}", parameter_of(call)
    found = weights.get(name or sizes)
    return weights.get(f"{name} {sizes}", found) if name else found


def stack_of(problem: Gemm) -> int:
    """How many weights one multiplication has, where each entry of its batch or each of its groups has its own."""
    return len(problem.groups) or problem.batch


def parameter_of(call: Call) -> str:
    """The parameter that is its second operand; empty where none is."""
    return call.operands[1].parameter if len(call.operands) > 1 else ""


class Sides(NamedTuple):
    """What the sides of one multiplication are."""

    weight: Weight | None
    outs: str  #: the side of the weight's outputs: m, n or k; empty without a weight
    ins: str


def sides_of(call: Call, weights: dict[str, Weight]) -> Sides:
    """Whose sides they are: a forward product has outputs n and inputs k, its gradients turn them.

    The gradient of a weight takes no parameter: it is known by its place, and by its result being of the weight's size.
    """
    problem = call.problem
    if call.fused or call.convolution is not None:
        return NOBODYS
    parameters = {each.parameter for each in call.operands if each.parameter in weights}
    if parameters:
        ways = (*(FORWARD if call.phase != "backward" else ()), *OF_INPUT, *OF_WEIGHT)
        turns = (turned(each, problem, ways) for each in weights.values() if each.name in parameters)
        return next((sides for sides in turns if sides.weight), NOBODYS)
    if call.phase != "backward" and problem.layout[1] == "t" and problem.batch == 1:
        return Sides(weights.get(f"{problem.n}x{problem.k}", Weight("", problem.n, problem.k, True)), "n", "k")
    if call.phase == "forward":
        return NOBODYS
    found = (guessed(call, weights.values(), ways) for ways in (OF_WEIGHT, OF_INPUT))
    return next((sides for sides in found if sides.weight), NOBODYS)


def guessed(call: Call, weights: Iterable[Weight], ways: tuple[tuple[str, str], ...]) -> Sides:
    """The sides of a gradient by the weight of that size at its place, else by any of that size, without its name."""
    stack = stack_of(call.problem)
    same = (each for each in weights if each.stack == stack)
    alike = [sides for each in same if (sides := turned(each, call.problem, ways)).weight]
    here = [each for each in alike if each.weight and any(same_place(each.weight, place) for place in call.places)]
    if here:
        return here[0]
    weight = alike[0].weight if alike else None
    if weight is None or len(alike) == 1:
        return alike[0] if alike else NOBODYS
    return alike[0]._replace(weight=weight._replace(name="", places=()))


def same_place(weight: Weight, place: str) -> bool:
    """Whether the weight belongs to the module at that place."""
    patterns = weight.modules  # of many layers' weights, with a star for what differs
    return any(fnmatchcase(place, pattern) or fnmatchcase(place, "*." + pattern) for pattern in patterns)


def turned(weight: Weight, problem: Gemm, ways: Iterable[tuple[str, str]]) -> Sides:
    """The first way of taking two sides as outputs and inputs that has the weight's sizes."""
    for outs, ins in ways:
        if (side_of(problem, outs), side_of(problem, ins)) == (weight.outs, weight.ins):
            return Sides(weight, outs, ins)
    return NOBODYS


NOBODYS = Sides(None, "", "")
FORWARD = (("n", "k"),)
OF_WEIGHT = (("m", "n"), ("n", "m"))  # dY^T @ X, or its transpose
OF_INPUT = (("k", "n"), ("k", "m"))  # dY @ W
