"""Workloads from lists: a table of shapes, and what several sources do with calls that are the same."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gemmlab.problem import Shape
from gemmlab.workload.workload import Call, Workload


def workload_of(shapes: Iterable[Shape], source: str) -> Workload:
    """The workload of a list of shapes, each as often as the list says; its name is its place."""
    calls = [Call(each.problem, count=each.count, places=(each.name,) if each.name else ()) for each in shapes]
    return Workload(source, "table", tuple(together(calls)))


def together(calls: Iterable[Call]) -> list[Call]:
    """The same calls, those that differ in their places alone as one, in order of appearance; none has a time."""
    found: dict[Call, list[Call]] = {}
    for call in calls:
        found.setdefault(msgspec.structs.replace(call, count=1, places=()), []).append(call)
    return [
        msgspec.structs.replace(
            key,
            count=sum(each.count for each in same),
            places=tuple(dict.fromkeys(place for each in same for place in each.places)),
        )
        for key, same in found.items()
    ]
