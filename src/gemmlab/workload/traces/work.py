"""A trace's work by operator: each kernel's time, or where only a CPU ran each operator's own."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

import msgspec
import numpy as np

from gemmlab.workload.operation import Settings
from gemmlab.workload.traces.collecting import Collected, Spent
from gemmlab.workload.traces.counting import Counting, Readings
from gemmlab.workload.traces.forest import Forest
from gemmlab.workload.traces.gathering import NONE, Gathered
from gemmlab.workload.traces.joining import Joined, captures
from gemmlab.workload.traces.kernel_names import multiplies
from gemmlab.workload.traces.phases import Phases
from gemmlab.workload.traces.steps import Steps


class Tally(msgspec.Struct):
    """What was seen beside the parts of the answer."""

    outside: int = 0  #: nanoseconds of work outside of all steps that are read
    orphans: int = 0  #: kernels that no operator launched
    orphan_time: int = 0
    graphs: int = 0  #: kernels of CUDA graphs
    graph_time: int = 0
    captured: int = 0  #: multiplications recorded into a graph
    starts: list[int] = msgspec.field(default_factory=list)  #: of the device's work, all steps that are read
    ends: list[int] = msgspec.field(default_factory=list)
    devices: set[int] = msgspec.field(default_factory=set)


class Work:
    """Everything that the operators and kernels of a trace do in the steps that are read."""

    def __init__(self, gathered: Gathered, steps: Steps, settings: Settings, timed: bool) -> None:
        table = gathered.operators
        external = table["external"]
        ties = external if not np.any(external == NONE) else np.arange(len(table), dtype=np.int64)
        self.gathered, self.steps = gathered, steps
        self.forest = Forest(table["thread"], table["start"], table["end"], ties)
        self.signatures: list[int] = table["signature"][self.forest.order].tolist()
        self.readings = Readings(list(gathered.signatures), settings)
        self.counting = Counting(self.forest, self.signatures, self.readings)
        self.phases = Phases(gathered, self.forest)
        self.collected = Collected(self.readings, timed)
        self.tally = Tally()
        self.named_by: dict[str, str] = {}  #: a kernel of each operator that multiplies by its kernels' names alone
        if len(gathered.kernels):
            self.by_kernels()
        else:
            self.by_operators()

    def by_kernels(self) -> None:
        """Join kernels to operators, then collect operator by operator, in order of time."""
        spent = self.gathered_up(self.joined())
        recorded = captures(self.gathered)
        counting = self.counting
        wanted = (place for place in range(len(self.forest)) if counting.counted[place] or counting.unread[place])
        for place in sorted({*chain(spent, wanted)}, key=self.forest.starts.__getitem__):
            start = self.forest.starts[place]
            if not self.steps.has(start):
                continue
            mine = spent.get(place)
            windows = recorded.get(int(self.forest.threads[place]), ()) if mine is None else ()
            if any(begin <= start <= end for begin, end in windows):
                self.tally.captured += 1
            else:
                self.collect(place, mine)

    def gathered_up(self, spent: dict[int, Spent]) -> dict[int, Spent]:
        """The kernels of each operator, where one that counts has none the kernels of those within it.

        They do its work under names that say nothing. One whose sizes are hidden, and that launches nothing itself
        while others within it do, only calls those: it is no multiplication of its own.
        """
        counting, parents = self.counting, self.forest.parents
        empty = {place for place, counts in enumerate(counting.counted) if counts and place not in spent}
        found: dict[int, Spent] = defaultdict(list)
        for place in sorted(spent):
            counts = counting.counts_at[place]
            found[counts if counts in empty else place] += spent[place]
        for place in spent:
            above = parents[place]
            while above >= 0:
                if above not in spent:
                    counting.unread[above] = False
                above = parents[above]
        return found

    def joined(self) -> dict[int, Spent]:
        """The kernels of each operator that some belong to; those that no operator launched are collected at once."""
        kernels, names, tally = self.gathered.kernels, self.gathered.names, self.tally
        joined = Joined(self.gathered, self.forest)
        spent: dict[int, Spent] = defaultdict(list)
        in_graphs: dict[str, Spent] = defaultdict(list)
        numbers, starts, ends, devices = (kernels[key].tolist() for key in ("name", "start", "end", "device"))
        for row in np.lexsort((kernels["name"], kernels["start"])).tolist():
            name, time = names[numbers[row]], ends[row] - starts[row]
            operator, graph = joined.operators[row], joined.graphs[row]
            if not self.steps.has(self.forest.starts[operator] if operator >= 0 else joined.launched[row]):
                tally.outside += time
                continue
            tally.starts.append(starts[row])
            tally.ends.append(ends[row])
            tally.devices.add(devices[row])
            if graph:
                in_graphs[graph].append((name, time))
            elif operator >= 0:
                spent[self.counting.owner(operator, multiplies(name))].append((name, time))
            else:
                tally.orphans += 1
                tally.orphan_time += time
                self.orphan(name, time)
        for graph, all_of_it in in_graphs.items():
            self.graph(graph, all_of_it)
        return spent

    def orphan(self, name: str, time: int) -> None:
        """A kernel that no operator explains."""
        if multiplies(name):
            self.collected.hide(name, "no operator in the trace launched it", 1, [(name, time)])
        else:
            self.collected.other(name, "", 1, [(name, time)])

    def graph(self, launch: str, spent: Spent) -> None:
        """The kernels of CUDA graphs, which belong to the graphs' launches alone."""
        self.tally.graphs += len(spent)
        self.tally.graph_time += sum(time for _, time in spent)
        products = [each for each in spent if multiplies(each[0])]
        rest = [each for each in spent if not multiplies(each[0])]
        if products:
            why = "a CUDA graph's launch tells no operator, and so no sizes, of its kernels"
            self.collected.hide(launch, why, len(products), products)
        if rest:
            self.collected.other(launch, "", len(rest), rest)

    def by_operators(self) -> None:
        """Collect by each operator's own time, less that of the operators within it."""
        spent: dict[int, int] = defaultdict(int)
        for place, time in enumerate(self.forest.own_times().tolist()):
            if self.steps.has(self.forest.starts[place]):
                spent[self.counting.owner(place, False)] += time
                if self.forest.parents[place] < 0:
                    self.tally.starts.append(self.forest.starts[place])
                    self.tally.ends.append(self.forest.ends[place])
            elif self.forest.parents[place] < 0:
                self.tally.outside += self.forest.ends[place] - self.forest.starts[place]
        moved = self.moved()
        for place in sorted(spent, key=self.forest.starts.__getitem__):
            self.collect(place, [("", spent[place])], moved[place])

    def moved(self) -> list[int | None]:
        """Bytes of each operator that multiplies nothing: none of those within one that tells them or multiplies.

        How a processor's operator is made of others is not how a GPU's kernel is.
        """
        told = [self.readings.moved(signature) for signature in self.signatures]
        within = self.forest.inherited([place if each is not None else -1 for place, each in enumerate(told)])
        parents, counts = self.forest.parents, self.counting.counts_at
        return [
            None if counts[place] >= 0 or (parents[place] >= 0 and within[parents[place]] >= 0) else each
            for place, each in enumerate(told)
        ]

    def collect(self, place: int, spent: Spent | None, moved: int | None = None) -> None:
        """One operator: a multiplication, one without sizes, or another, of which `moved` are the bytes."""
        signature = self.signatures[place]
        name = self.readings.signatures[signature][0]
        phase = self.phases.phase(place)
        if self.counting.counted[place]:
            self.collected.call(signature, phase, self.phases.place(place), spent)
        elif self.counting.unread[place]:
            self.collected.hide(name, self.readings.whys[signature], 1, spent or [])
        else:
            products = [each for each in spent or () if multiplies(each[0])]
            rest = [each for each in spent or () if not multiplies(each[0])]
            if products:
                kernel = self.named_by.setdefault(name, products[0][0])
                why = f"nothing describes it, and its kernel `{kernel:.60}` multiplies by its name"
                self.collected.hide(name, why, 1, products)
            if rest:
                flop = self.readings.flop[signature] if self.counting.reckons[place] else None
                self.collected.other(name, phase, 1, rest, flop, moved)
