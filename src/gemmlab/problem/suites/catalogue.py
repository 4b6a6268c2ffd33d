"""Suites by name: where each one's shapes come from, and what it lets one choose."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from gemmlab.problem.shape import Shape
from gemmlab.problem.suites.architecture import architecture
from gemmlab.problem.suites.lists import list_names, list_shapes, load
from gemmlab.problem.suites.models import model_names, model_shapes
from gemmlab.problem.suites.sample import CORPUS, stream_k_shapes
from gemmlab.problem.suites.weights import weight_shapes
from gemmlab.record import unknown_name


class Suite(NamedTuple):
    """One suite."""

    name: str
    about: str
    source: str
    build: Callable[..., list[Shape]]

    @property
    def parameters(self) -> dict[str, Any]:
        """What may be chosen, with the value taken where it is not."""
        return {name: each.default for name, each in inspect.signature(self.build).parameters.items()}


@cache
def catalogue() -> dict[str, Suite]:
    """Every suite by name."""
    suites = [
        Suite(name, load(name)["about"], load(name)["source"], partial(list_shapes, name)) for name in list_names()
    ]
    suites += [
        Suite(name, architecture(name).about, architecture(name).source, partial(model_shapes, name))
        for name in model_names()
    ]
    suites += [
        Suite("vllm", load("vllm")["about"], load("vllm")["source"], weight_shapes),
        Suite(
            "stream-k",
            f"Sides log-uniform in 128..8192, a seeded sample of what Stream-K's {CORPUS:,} shapes were drawn from",
            "Osama et al., Stream-K, PPoPP 2023 (arXiv:2301.03598), section 6",
            stream_k_shapes,
        ),
    ]
    return {each.name: each for each in sorted(suites)}


def suite_names() -> tuple[str, ...]:
    """The names of all suites, sorted."""
    return tuple(catalogue())


def describe(name: str) -> Suite:
    """A suite's text, source and parameters; raises GemmlabError with the nearest names for an unknown one."""
    if name not in catalogue():
        raise unknown_name("suite", str(name), catalogue())
    return catalogue()[name]


def suite(name: str, **parameters: Any) -> list[Shape]:
    """The shapes of a suite.

    Lists take `format`; models `batch sequence context training format`; vllm `model tokens tp format`; stream-k
    `count seed multiple format`. Raises GemmlabError for an unknown suite or parameter, with the nearest names.
    """
    found = describe(name)
    for given in parameters:
        if given not in found.parameters:
            raise unknown_name(f"parameter of suite {name}", given, found.parameters)
    return found.build(**parameters)
