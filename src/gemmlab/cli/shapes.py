"""The shapes that SOURCE and the flags about the multiplication mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError

EXAMPLE = "for example gemmlab explain 4096 50257 768 --format bfloat16"


def shapes_of(source: Sequence[str], problem: dict[str, Any], suite: dict[str, Any]) -> list[Shape]:
    """The shapes that a command is about; raises GemmlabError where it names none, or several sources at once."""
    sources = {"SOURCE": bool(source), "--suite": "suite" in suite, "--groups": "groups" in problem}
    named = [name for name, there in sources.items() if there]
    if not named:
        raise GemmlabError("there is no SOURCE", f"M N K, a CSV file or --suite NAME, {EXAMPLE}")
    if len(named) > 1:
        raise GemmlabError(f"{' and '.join(named)} are two sources", "give one of them")
    if "suite" in suite or (len(source) == 1 and is_suite(source[0])):
        choices = {**problem, **suite}
        return suite_shapes(choices.pop("suite") if "suite" in suite else source[0], choices)
    for name in suite:
        raise GemmlabError(f"--{name} chooses within a suite, and there is none", "--suite NAME")
    if "groups" in problem:
        return [grouped(problem)]
    from gemmlab.problem import read_source

    found = read_source(source, **problem)
    if not found:
        raise GemmlabError(f"{source[0]} has no shapes", "a line `m,n,k`, then one line for each shape")
    return found


def grouped(problem: dict[str, Any]) -> Shape:
    """A grouped multiplication."""
    from gemmlab.problem.columns import gemm_fields

    fields = gemm_fields(problem)
    return Shape(Gemm.grouped(fields.pop("groups"), **fields))


def is_suite(word: str) -> bool:
    """Whether a word names a suite; the suites' files stay unread for what begins like a number or a path."""
    if not word[:1].isalpha():
        return False
    from gemmlab.problem import suite_names

    return word in suite_names()


def suite_shapes(name: str, choices: dict[str, Any]) -> list[Shape]:
    """The shapes of a suite, with the choices that it offers; raises GemmlabError for a flag that it does not take."""
    from gemmlab.problem.suites import describe, suite

    offered = describe(name).parameters
    for field in choices:
        if field not in offered:
            takes = ", ".join(f"--{each}" for each in offered)
            raise GemmlabError(f"suite `{name}` takes no --{field.replace('_', '-')}", f"it takes {takes}")
    return suite(name, **choices)
