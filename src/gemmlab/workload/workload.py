"""A workload: every multiplication that a program makes in some steps, where and how often, and what else it does."""

from __future__ import annotations

import msgspec

from gemmlab.problem import Convolution, Gemm
from gemmlab.workload.operation import Tensor

PHASES = ("forward", "backward", "optimizer")


class Call(msgspec.Struct, frozen=True):
    """One multiplication, as often as the workload makes it in just this way."""

    problem: Gemm
    operator: str = ""  #: what asked for it, such as `aten::addmm`
    count: int = 1  #: in all steps together
    places: tuple[str, ...] = ()  #: modules of the model, or lines of the trace's stacks, in order of appearance
    phase: str = ""  #: one of PHASES; empty where the source does not tell
    operands: tuple[Tensor, ...] = ()  #: A, B, and C or a bias where there is one, as the program holds them
    convolution: Convolution | None = None  #: the convolution that it is the multiplication of
    convolution_pass: str = ""  #: its forward, dgrad or wgrad
    fused: str = ""  #: the kernel that keeps this product's result or operand on chip, such as `flash attention`
    causal: bool = False  #: half of the product is never looked at, and kernels leave it out
    time_s: float | None = None  #: measured: of its kernels, all `count` together; None where the source has no times
    kernels: tuple[str, ...] = ()  #: names of those kernels, each once

    @property
    def flop(self) -> int:
        """Counted work of all `count` together, causal products whole."""
        return self.count * self.problem.flop


class Other(msgspec.Struct, frozen=True):
    """An operator that multiplies no matrices, or a kernel that no operator explains."""

    name: str
    count: int = 1
    phase: str = ""
    time_s: float | None = None  #: measured: of its kernels, all together
    bytes: int | None = None  #: its inputs read and its outputs written once, all together; None where nobody tells
    kernels: tuple[str, ...] = ()
    flop: int | None = None  #: counted by `elementwise.flop_of`, all together; None where nobody tells


class Unread(msgspec.Struct, frozen=True):
    """A multiplication whose sizes the source does not say: named, never guessed."""

    operator: str
    why: str
    count: int = 1
    time_s: float | None = None


class Workload(msgspec.Struct, frozen=True):
    """What a source yields: multiplications, everything else, and what could not be read."""

    source: str  #: what the user named
    kind: str  #: trace, model, topology or table
    calls: tuple[Call, ...] = ()
    others: tuple[Other, ...] = ()
    unread: tuple[Unread, ...] = ()
    steps: int = 1  #: how many times the program's step is in it
    marked: bool = True  #: the source says where steps begin and end; else the whole recording is taken as one
    span_s: float | None = None  #: measured: from the first kernel's start to the last one's end, all steps
    busy_s: float | None = None  #: measured: of the span, what at least one kernel was running
    chip: str = ""  #: the device, in the source's own words
    settings: tuple[tuple[str, str], ...] = ()  #: what was respected: `autocast` `bfloat16`
    notes: tuple[str, ...] = ()  #: what else is to be said beside the answer
    sizes: tuple[tuple[str, int], ...] = ()  #: numbers of the model's configuration: `intermediate_size` 5461

    @property
    def flop(self) -> int:
        """Counted work of all multiplications."""
        return sum(call.flop for call in self.calls)
