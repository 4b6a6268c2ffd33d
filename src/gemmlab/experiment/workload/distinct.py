"""Distinct multiplications: calls that differ in nothing but where the program makes them, counted together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from gemmlab.workload import Call


class Distinct(NamedTuple):
    """One multiplication as often as the program makes it."""

    call: Call  #: all of them: counts and times added, places and kernels each once
    members: tuple[Call, ...]  #: as the source gave them, with the parameters that they multiply


def key_of(call: Call) -> tuple[Any, ...]:
    """What two calls share where only their place, their parameter and their time differ.

    A call that the trace has no time for stays apart from those that it has: their times are not known alike.
    """
    operands = tuple((each.shape, each.format, each.strides, each.offset_bytes) for each in call.operands)
    way = (call.convolution, call.convolution_pass, call.fused, call.causal)
    return call.operator, call.phase, call.problem, operands, *way, call.time_s is None


def distinct(calls: Iterable[Call]) -> list[Distinct]:
    """Each multiplication once, in order of appearance."""
    found: dict[tuple[Any, ...], list[Call]] = {}
    for call in calls:
        found.setdefault(key_of(call), []).append(call)
    return [Distinct(merged(same), tuple(same)) for same in found.values()]


def merged(same: list[Call]) -> Call:
    """Calls of one key as one."""
    return msgspec.structs.replace(
        same[0],
        count=sum(call.count for call in same),
        places=tuple(dict.fromkeys(place for call in same for place in call.places)),
        kernels=tuple(dict.fromkeys(kernel for call in same for kernel in call.kernels)),
        time_s=None if same[0].time_s is None else sum(call.time_s or 0.0 for call in same),
    )
