"""Forward, backward or optimizer: which part of a step an operator is of, and which forward operator it undoes."""

from __future__ import annotations

import re

from gemmlab.workload.traces.forest import Forest
from gemmlab.workload.traces.gathering import NONE, Gathered
from gemmlab.workload.traces.places import Layer, Places

EVALUATE = "autograd::engine::evaluate_function: "
NODE = re.compile(r"Backward\d*$")
OPTIMIZER = re.compile(r"Optimizer\.")


class Phases:
    """The phase and place of each operator, by its position in the forest of operators."""

    def __init__(self, gathered: Gathered, forest: Forest) -> None:
        self.forest = forest
        self.names = gathered.names
        table = gathered.operators
        order = forest.order
        nodes = {n for n, name in enumerate(self.names) if name.startswith(EVALUATE) or NODE.search(name)}
        names, forward = table["name"][order].tolist(), table["forward_thread"][order].tolist()
        self.sequences: list[int] = table["sequence"][order].tolist()
        own = [
            place if name in nodes or thread > 0 else -1
            for place, (name, thread) in enumerate(zip(names, forward, strict=True))
        ]
        self.nodes = forest.inherited(
            own
        )  #: the node of the backward graph that an operator runs in; -1 in the forward
        optimizer = {number for number, name in enumerate(self.names) if OPTIMIZER.match(name)}
        self.optimizer = Layer(gathered.annotations, optimizer).forest
        self.stacks: list[int] = table["stack"][order].tolist()
        self.places = Places(gathered)
        self.forwards = self.forward_operators()

    def forward_operators(self) -> dict[int, int]:
        """The forward operator of each sequence number: the last that begins under it, which made the graph's node.

        Threads count for themselves, so a number that two of them use names no operator: -1.
        """
        found: dict[int, int] = {}
        threads = self.forest.threads
        if not any(node >= 0 for node in self.nodes):
            return found
        for place, sequence in enumerate(self.sequences):
            if sequence == NONE or self.nodes[place] == place:
                continue  # what runs within a node has a number only where it is a forward recomputed
            before = found.get(sequence)
            same = before is None or (before >= 0 and threads[before] == threads[place])
            found[sequence] = place if same else -1
        return found

    def phase(self, operator: int) -> str:
        """Of which part of the step an operator is."""
        if self.nodes[operator] >= 0:
            return "backward"
        thread, start = int(self.forest.threads[operator]), self.forest.starts[operator]
        return "optimizer" if self.optimizer.innermost(thread, start) >= 0 else "forward"

    def place(self, operator: int) -> str:
        """Where an operator was called; for the backward, where the operator that it undoes was.

        A forward that is recomputed in the backward, as by torch.utils.checkpoint, is in modules of its own.
        """
        node = self.nodes[operator]
        thread, start = int(self.forest.threads[operator]), self.forest.starts[operator]
        recomputed = self.places.module(thread, start, self.forest.starts[node]) if node >= 0 else ""
        if recomputed:
            return recomputed
        while node >= 0 and self.sequences[node] == NONE:
            parent = self.forest.parents[node]
            node = self.nodes[parent] if parent >= 0 else -1
        undone = self.forwards.get(self.sequences[node], -1) if node >= 0 else -1
        return self.own_place(undone if undone >= 0 else operator)

    def own_place(self, operator: int) -> str:
        """Where an operator itself was called."""
        thread, start = int(self.forest.threads[operator]), self.forest.starts[operator]
        return self.places.of(thread, start, self.names[self.stacks[operator]])
