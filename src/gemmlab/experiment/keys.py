"""What tells one measurement of a sweep from every other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from gemmlab.problem import Gemm
from gemmlab.record import ProblemSection
from gemmlab.run.contender import Contender, kernel_name

#: the file in the source of a contender that is a kernel of one's own; a folder's name may have colons
OWN_FILE = re.compile(r"(?:[\w.]+:\w+:)?(.+\.(?:py|wgsl)):\w+")


class Key(msgspec.Struct, frozen=True, order=True):
    """One multiplication on one chip by one kernel: what a run holds once and never twice."""

    problem: str  #: of `problem_key`
    chip: str  #: as `gemmlab chips` lists it, or as the machine names itself
    backend: str  #: where the kernel runs
    kernel: str  #: its name within the backend; of one's own, file.py:function
    threads: int = 0  #: of the CPU; 0: as many as the process may use


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a sweep has to do."""

    problem: Gemm
    contender: Contender
    chip: str
    threads: int = 0  #: of the CPU; 0: as many as the process may use
    name: str = ""  #: of the shape in its list

    @property
    def key(self) -> Key:
        """What the run holds of it once."""
        who = self.contender
        return Key(problem_key(self.problem), self.chip, who.backend, kernel_name(who), self.threads)


def plan_of(items: Iterable[Item], said: str = "") -> str:
    """What a sweep was asked to do, as a digest: the same plan goes on with what an interrupted one has left.

    `said` is whatever else a figure depends on, such as the options. A kernel of one's own counts with its text.
    """
    digest = sha256(said.encode())
    files: dict[str, bytes] = {}
    for item in items:
        who = item.contender
        digest.update(repr(item.key).encode() + msgspec.json.encode(who))
        if own := OWN_FILE.match(who.source):
            files.setdefault(own[1], Path(own[1]).read_bytes() if Path(own[1]).is_file() else b"")
    for name, content in sorted(files.items()):
        digest.update(name.encode() + b"\0" + sha256(content).digest())
    return digest.hexdigest()


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
