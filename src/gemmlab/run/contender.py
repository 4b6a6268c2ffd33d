"""A kernel that can be timed, as data: where its program is made, what it takes, and which count it is held beside."""

from __future__ import annotations

import re
from typing import Any

import msgspec

BACKENDS = ("cpu", "cuda", "triton", "torch", "webgpu")
OWN = re.compile(r"([^:/\\]+\.(?:py|wgsl):\w+.*)$")  #: file and function in the source of a kernel of one's own


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """One rung of the ladder, a vendor's library, or one's own kernel."""

    name: str  #: as `--kernel` takes it, unique within its backend
    backend: str  #: where it runs: cpu, cuda, triton, torch or webgpu
    source: str  #: `module:factory`; factory(problem) gives a Program. Own kernels: FILE.py:FUNC
    idea: str  #: the one thing that it does differently from the rung before, in a sentence
    formats: tuple[str, ...]  #: operand formats that it takes
    unit_roundoff: float = 2.0**-24  #: of one accumulation: 2**-24 to nearest float32, 2**-23 toward zero
    vendor: bool = False  #: a library that others are measured against
    counted_by: str = ""  #: the catalogue's kernel whose count and prediction belong to it; empty: none
    settings: dict[str, Any] = msgspec.field(default_factory=dict)  #: of that kernel
    loops: str = ""  #: the rung of the CPU's ladder whose own loops are counted and predicted; empty: none
    threads: int = 0  #: of the CPU; 0: as many as the process may use


def kernel_name(contender: Contender) -> str:
    """Its name within the backend; of a kernel of one's own its file's too, since two may name a function alike."""
    own = OWN.search(contender.source)
    return own[1] if own else contender.name
