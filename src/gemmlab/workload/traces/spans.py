"""How long the steps that are read take, and what of it the device works."""

from __future__ import annotations

from itertools import pairwise

from gemmlab.workload.traces.forest import common, union
from gemmlab.workload.traces.work import Work


class Spans:
    """Seconds from the first kernel's start to the last one's end, and of them those with a kernel running.

    Kernels that overlap, on several streams, count once. `waiting_s` are the seconds in which no kernel ran while an
    operator did on the CPU: what launches cost. All None where the trace times nothing; in a trace of a CPU alone
    operators stand for kernels, and nothing waits.
    """

    def __init__(self, work: Work) -> None:
        self.span_s: float | None = None
        self.busy_s: float | None = None
        self.waiting_s: float | None = None
        tally = work.tally
        if not tally.starts or not work.collected.timed:
            return
        running = union(tally.starts, tally.ends)
        first, last = running[0][0], running[-1][1]
        self.span_s = (last - first) / 1e9
        self.busy_s = sum(end - start for start, end in running) / 1e9
        if len(work.gathered.kernels):
            idle = [(before[1], after[0]) for before, after in pairwise(running)]
            table = work.gathered.operators
            self.waiting_s = common(idle, union(table["start"], table["end"])) / 1e9
