"""Whose side it is: the outputs or inputs of a weight, or the data's, by the names of parameters and places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

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
        return commented(self.modules[-1]) if self.modules else ""

    @property
    def every(self) -> Weight:
        """One for all of its layers, by the same name: `h.*.mlp.c_fc.weight`."""
        return self._replace(name=re.sub(r"(?<=\.)\d+(?=\.)", "*", self.name))


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
        if call.phase == "backward" or call.convolution is not None or call.fused or problem.batch > 1:
            continue
        if name:
            found.setdefault(name, Weight(name, problem.n, problem.k, transposed))
        elif transposed:
            found.setdefault(f"{problem.n}x{problem.k}", Weight("", problem.n, problem.k, True))
    return found


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
    if call.fused or call.convolution is not None or problem.batch > 1:
        return NOBODYS
    named = [weights[each.parameter] for each in call.operands if each.parameter in weights]
    if named:
        first = FORWARD if call.phase != "backward" else ()
        return turned(named[0], problem, (*first, *OF_INPUT, *OF_WEIGHT))
    if call.phase != "backward" and problem.layout[1] == "t":
        return Sides(weights.get(f"{problem.n}x{problem.k}", Weight("", problem.n, problem.k, True)), "n", "k")
    if call.phase == "forward":
        return NOBODYS
    found = (guessed(call, weights.values(), ways) for ways in (OF_WEIGHT, OF_INPUT))
    return next((sides for sides in found if sides.weight), NOBODYS)


def guessed(call: Call, weights: Iterable[Weight], ways: tuple[tuple[str, str], ...]) -> Sides:
    """The sides of a gradient by the weight of that size at its place, else by any of that size, without its name."""
    alike = [sides for each in weights if (sides := turned(each, call.problem, ways)).weight]
    here = [each for each in alike if each.weight and any(same_place(each.weight, place) for place in call.places)]
    if here:
        return here[0]
    weight = alike[0].weight if alike else None
    if weight is None or len(alike) == 1:
        return alike[0] if alike else NOBODYS
    return alike[0]._replace(weight=weight._replace(name=""))


def same_place(weight: Weight, place: str) -> bool:
    """Whether the weight belongs to the module at that place."""
    patterns = weight.modules  # of many layers' weights, with a star for what differs
    return any(fnmatchcase(place, pattern) or fnmatchcase(place, "*." + pattern) for pattern in patterns)


def turned(weight: Weight, problem: Gemm, ways: Iterable[tuple[str, str]]) -> Sides:
    """The first way of taking two sides as outputs and inputs that has the weight's sizes."""
    for outs, ins in ways:
        if (getattr(problem, outs), getattr(problem, ins)) == (weight.outs, weight.ins):
            return Sides(weight, outs, ins)
    return NOBODYS


NOBODYS = Sides(None, "", "")
FORWARD = (("n", "k"),)
OF_WEIGHT = (("m", "n"), ("n", "m"))  # dY^T @ X, or its transpose
OF_INPUT = (("k", "n"), ("k", "m"))  # dY @ W
