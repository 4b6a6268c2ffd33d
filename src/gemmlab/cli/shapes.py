"""The shapes that SOURCE and the flags about the multiplication mean."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.cli.options import ProblemFlags, SuiteFlags
from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError

EXAMPLE = "for example gemmlab explain 4096 50257 768 --format bfloat16"


def shapes_of(source: Sequence[str], problem: ProblemFlags, suite: SuiteFlags) -> list[Shape]:
    """The shapes that a command is about; raises GemmlabError where it names none, or several sources at once."""
    sources = {"SOURCE": bool(source), "--suite": bool(suite.suite), "--groups": problem.groups is not None}
    named = [name for name, there in sources.items() if there]
    if not named:
        raise GemmlabError("there is no SOURCE", f"M N K, a CSV file or --suite NAME, {EXAMPLE}")
    if len(named) > 1:
        raise GemmlabError(f"{' and '.join(named)} are two sources", "give one of them")
    if suite.suite:
        return suite_shapes(suite.suite, problem, suite)
    if problem.groups is not None:
        refuse_suite_flags(suite)
        return [grouped(problem)]
    return source_shapes(source, problem, suite)


def source_shapes(source: Sequence[str], problem: ProblemFlags, suite: SuiteFlags) -> list[Shape]:
    """The shapes of three numbers, a file, or a suite by its bare name."""
    from gemmlab.problem import read_source

    if len(source) == 1 and is_suite(source[0]):
        return suite_shapes(source[0], problem, suite)
    refuse_suite_flags(suite)
    found = read_source(source, **problem.given())
    if not found:
        raise GemmlabError(f"{source[0]} has no shapes", "a line `m,n,k`, then one line for each shape")
    return found


def grouped(problem: ProblemFlags) -> Shape:
    """A grouped multiplication."""
    fields = problem.given("groups", "format", "a_format")
    return Shape(Gemm.grouped(problem.groups or (), problem.a_format or problem.format or "float32", **fields))


def is_suite(word: str) -> bool:
    """Whether a word names a suite; the suites' files stay unread for what begins like a number or a path."""
    if not word[:1].isalpha():
        return False
    from gemmlab.problem import suite_names

    return word in suite_names()


def suite_shapes(name: str, problem: ProblemFlags, flags: SuiteFlags) -> list[Shape]:
    """The shapes of a suite, with the choices that it offers; raises GemmlabError for a flag that it does not take."""
    from gemmlab.problem import suite
    from gemmlab.problem.suites.catalogue import describe

    offered = describe(name).parameters
    given = {**problem.given(), **flags.given("suite")}
    for field in given:
        if field not in offered:
            takes = ", ".join(f"--{each}" for each in offered)
            raise GemmlabError(f"suite `{name}` takes no --{field.replace('_', '-')}", f"it takes {takes}")
    return suite(name, **given)


def refuse_suite_flags(flags: SuiteFlags) -> None:
    """Raise GemmlabError where a flag of a suite is given without one."""
    for field in flags.given():
        raise GemmlabError(f"--{field} chooses within a suite, and there is none", "--suite NAME")
