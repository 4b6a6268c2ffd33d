"""What tells one measurement of a sweep from every other."""

from __future__ import annotations

from functools import cache

import msgspec

from gemmlab.problem import Gemm
from gemmlab.record import ProblemSection
from gemmlab.run.contender import Contender


class Key(msgspec.Struct, frozen=True, order=True):
    """One multiplication on one chip by one kernel: what a run holds once and never twice."""

    problem: str  #: of `problem_key`
    chip: str  #: as `gemmlab chips` lists it, or as the machine names itself
    backend: str  #: where the kernel runs
    kernel: str  #: its name within the backend
    threads: int = 0  #: of the CPU; 0: as many as the process may use


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a sweep has to do."""

    problem: Gemm
    contender: Contender
    chip: str
    name: str = ""  #: of the shape in its list

    @property
    def key(self) -> Key:
        """What the run holds of it once."""
        who = self.contender
        return Key(problem_key(self.problem), self.chip, who.backend, who.name, who.threads)


def problem_key(problem: Gemm) -> str:
    """The multiplication in a line: sides and A's format, then each field that does not follow from these.

    `1024x1024x1024 float32`, or `8x8x8 float16 layout=nt beta=1.0`; equal problems alone have equal lines.
    """
    section = problem.section()
    head = f"{problem.m}x{problem.n}x{problem.k} {problem.a_format}"
    if problem.groups:
        head += " groups=" + ",".join("x".join(map(str, sides)) for sides in problem.groups)
    plain = plain_sides(problem.m, problem.n, problem.k, problem.a_format, problem.layout)
    if problem.layout != "nn":
        head += f" layout={problem.layout}"
    named = ("m", "n", "k", "a_format", "groups", "layout")
    names = (name for name in ProblemSection.__struct_fields__ if name not in named)
    said = [f"{name}={getattr(section, name)}" for name in names if getattr(section, name) != getattr(plain, name)]
    return " ".join([head, *said])


@cache
def plain_sides(m: int, n: int, k: int, a_format: str, layout: str) -> ProblemSection:
    """A multiplication of which no more is said; everything else follows."""
    return Gemm(m, n, k, a_format, layout=layout).section()


def formats_key(problem: Gemm) -> str:
    """The formats of A, B, C, D and the accumulator, joined by commas."""
    return ",".join((problem.a_format, problem.b_format, problem.c_format, problem.d_format, problem.accumulate))
