"""Which operator launched a kernel."""

from __future__ import annotations

import re

import numpy as np

from gemmlab.record import GemmlabError
from gemmlab.workload.traces.forest import Forest
from gemmlab.workload.traces.gathering import NONE, Gathered

GRAPH = re.compile(r"GraphLaunch")
CAPTURE = re.compile(r"Stream(Begin|End)Capture")
SKEW = 100_000  # nanoseconds: how far clocks of the CPU's two recorders are apart at most (about 10 us are known)


class Joined:
    """For each kernel: the operator that launched it, by its position in the forest of operators, or -1.

    A kernel carries the correlation id of the call of the runtime that launched it; the innermost operator on that
    call's thread that was running then asked for it. Where the profiler's own id (`External id`) names an operator
    within that one, the clocks of runtime and operators are apart, and it is right; older versions of Kineto wrote
    other ids there (pytorch/kineto issue 843), so that it is not believed otherwise. A kernel whose launch is not in
    the trace has that id alone. Kernels of a CUDA graph belong to the graph's launch, which tells no operator of each.
    """

    def __init__(self, gathered: Gathered, forest: Forest) -> None:
        self.forest = forest
        self.by_id = operators_by_id(gathered, forest)
        self.operators: list[int] = []
        self.launched: list[int] = []  #: when: the launch's start, else the kernel's own
        self.graphs: list[str] = []  #: the name of the graph's launch; empty for all other kernels
        kernels, launches = gathered.kernels, gathered.launches
        rows = launches_by_correlation(gathered)
        threads, starts = launches["thread"].tolist(), launches["start"].tolist()
        externals, names = launches["external"].tolist(), launches["name"].tolist()
        graph_names = {number for number, name in enumerate(gathered.names) if GRAPH.search(name)}
        columns = (kernels[name].tolist() for name in ("correlation", "external", "start"))
        for correlation, external, start in zip(*columns, strict=True):
            launch = rows.get(correlation)
            if launch is None:
                self.note(self.named(external, start), start, "")
                continue
            told = external if external != NONE else externals[launch]
            operator = self.launcher(threads[launch], starts[launch], told)
            graph = gathered.names[names[launch]] if names[launch] in graph_names else ""
            self.note(operator, starts[launch], graph)

    def note(self, operator: int, launched: int, graph: str) -> None:
        """One more kernel."""
        self.operators.append(operator)
        self.launched.append(launched)
        self.graphs.append(graph)

    def launcher(self, thread: int, time: int, told: int) -> int:
        """The operator that was running at a launch; one within it, or where none was running, that its id names."""
        running = self.forest.innermost(thread, time)
        named = self.by_id.get(told, -1)
        if named < 0 or named == running:
            return running
        if running < 0:
            return named
        near = self.forest.starts[named] - SKEW <= time <= self.forest.ends[named] + SKEW
        return named if near and self.within(named, running) else running

    def within(self, inner: int, outer: int) -> bool:
        """Whether an operator runs inside another."""
        while inner > outer:
            inner = self.forest.parents[inner]
        return inner == outer

    def named(self, external: int, start: int) -> int:
        """The operator with an id, if it began before the kernel."""
        operator = self.by_id.get(external, -1)
        return operator if operator >= 0 and self.forest.starts[operator] <= start else -1


def launches_by_correlation(gathered: Gathered) -> dict[int, int]:
    """The row of the launch that each correlation id names: of several, as a driver's within a runtime's, the first.

    Raises GemmlabError where two processes launch under one id, as in the merged traces of several ranks.
    """
    wanted = set(gathered.kernels["correlation"].tolist()) - {NONE}
    correlations, threads = (gathered.launches[name].tolist() for name in ("correlation", "thread"))
    processes = [process for process, _ in gathered.threads]
    rows: dict[int, int] = {}
    for row in np.argsort(gathered.launches["start"], kind="stable").tolist():
        correlation = correlations[row]
        if correlation not in wanted:
            continue
        first = rows.setdefault(correlation, row)
        if processes[threads[first]] != processes[threads[row]]:
            raise GemmlabError(
                f"{gathered.path} holds several processes, {processes[threads[first]]} and {processes[threads[row]]}, "
                f"that launch kernels under the same ids, such as {correlation}: whose a kernel is cannot be told",
                "give the trace of one rank, as it was before merging",
            )
    return rows


def operators_by_id(gathered: Gathered, forest: Forest) -> dict[int, int]:
    """Operators' positions by `External id`; an id that several carry, as in merged traces, names none."""
    found: dict[int, int] = {}
    if not len(gathered.kernels):
        return found
    for place, external in enumerate(gathered.operators["external"][forest.order].tolist()):
        if external != NONE:
            found[external] = place if external not in found else -1
    return found


def has_graphs(gathered: Gathered) -> bool:
    """Whether the trace launches CUDA graphs."""
    return any(GRAPH.search(gathered.names[number]) for number in set(gathered.launches["name"].tolist()))


def captures(gathered: Gathered) -> dict[int, list[tuple[int, int]]]:
    """When each thread was recording a CUDA graph: what it calls then runs at the graph's launches only."""
    launches = gathered.launches
    edges: dict[int, list[tuple[int, bool]]] = {}
    marks = {n: "Begin" in name for n, name in enumerate(gathered.names) if CAPTURE.search(name)}
    if not marks:
        return {}
    for thread, start, name in zip(*(launches[key].tolist() for key in ("thread", "start", "name")), strict=True):
        if name in marks:
            edges.setdefault(thread, []).append((start, marks[name]))
    found: dict[int, list[tuple[int, int]]] = {}
    for thread, times in edges.items():
        begun = None
        for time, begins in sorted(times):
            if begins:
                begun = time
            elif begun is not None:
                found.setdefault(thread, []).append((begun, time))
                begun = None
    return found
