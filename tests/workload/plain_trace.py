"""A trace read the plain way: all of it as Python values, and every question asked of all events in turn."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from gemmlab.problem import Gemm
from gemmlab.workload.operation import Operation, Settings, Tensor
from gemmlab.workload.operators import Product, UnreadableError
from gemmlab.workload.traces.kernel_names import multiplies

#: where A and B stand among the inputs of the operators that these tests multiply with
OPERANDS = {"aten::mm": (0, 1), "aten::addmm": (1, 2), "aten::matmul": (0, 1), "toy::pair": (0, 1)}


def products(operation: Operation, settings: Settings) -> tuple[Product, ...] | None:
    """What a few operators multiply: the judge of these tests, in place of the whole table of operators."""
    if operation.name not in OPERANDS:
        return None
    tensors = [operation.inputs[at] if at < len(operation.inputs) else None for at in OPERANDS[operation.name]]
    if not all(isinstance(each, Tensor) for each in tensors):
        raise UnreadableError("its inputs have no shapes")
    a, b = tensors
    name = "tfloat32" if a.format == "float32" and settings.matmul_tf32 else a.format
    one = Product(Gemm(a.shape[0], b.shape[1], a.shape[1], name), (a, b))
    return (one, one) if operation.name == "toy::pair" else (one,)


class Plain:
    """The operators of a trace, and what is to be known of each: asked of all others, once."""

    def __init__(self, ops: list[dict]) -> None:
        self.ops = ops
        self.reading = [reading(op) for op in ops]
        parents = [enclosing(ops, op["tid"], begin(op), end(op), rank(op)) for op in ops]
        self.parents = [-1 if parent is None else index_of(ops, parent) for parent in parents]
        self.lineages = [self.lineage(place) for place in range(len(ops))]
        self.below = [[inner for inner, up in enumerate(self.lineages) if place in up[1:]] for place in range(len(ops))]

    def lineage(self, place: int) -> list[int]:
        """An operator and all that contain it, itself first."""
        found = []
        while place >= 0:
            found.append(place)
            place = self.parents[place]
        return found

    def reads(self, place: int) -> bool:
        return isinstance(self.reading[place], tuple)

    def hides(self, place: int) -> bool:
        return isinstance(self.reading[place], str)

    def counts(self, place: int) -> bool:
        return self.reads(place) and not any(self.reads(inner) for inner in self.below[place])

    def unread(self, place: int) -> bool:
        told = any(self.counts(up) for up in self.lineages[place]) or any(self.reads(i) for i in self.below[place])
        return self.hides(place) and not told and not any(self.hides(inner) for inner in self.below[place])

    def owner(self, place: int, by_name: bool) -> int:
        counted = next((up for up in self.lineages[place] if self.counts(up)), -1)
        return counted if counted >= 0 and (self.hides(place) or by_name) else place

    def phase(self, place: int) -> str:
        names = [self.ops[up]["name"] for up in self.lineages[place]]
        return "backward" if any(re.search(r"Backward\d*$", name) for name in names) else "forward"


def plain(path: Path) -> dict[str, dict]:
    """Sums of calls, others and unread multiplications by what tells them apart, in nanoseconds."""
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    ops = [event for event in events if event["cat"] == "cpu_op"]
    launches = [event for event in events if event["cat"] == "cuda_runtime"]
    kernels = [event for event in events if event["cat"] in ("kernel", "gpu_memset", "gpu_memcpy")]
    found: dict[str, dict] = {"calls": defaultdict(zero), "others": defaultdict(zero), "unread": defaultdict(zero)}
    known = Plain(ops)
    mine: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for kernel in kernels:
        launch = next((each for each in launches if each["args"]["correlation"] == kernel["args"]["correlation"]), None)
        op = None if launch is None else enclosing(ops, launch["tid"], begin(launch), begin(launch))
        if op is None:
            key = "unread" if multiplies(kernel["name"]) else "others"
            add(found[key], (kernel["name"],) if key == "unread" else (kernel["name"], ""), 1, length(kernel))
        else:
            place = known.owner(index_of(ops, op), multiplies(kernel["name"]))
            mine[place].append((kernel["name"], length(kernel)))
    for place in range(len(ops)):
        if kernels and known.counts(place) and not mine[place]:
            mine[place] = [each for inner in known.below[place] for each in mine.pop(inner, [])]
    if not kernels:
        for place, op in enumerate(ops):
            inside = sum(length(each) for at, each in enumerate(ops) if known.parents[at] == place)
            mine[known.owner(place, False)].append(("", length(op) - inside))
    launched = [bool(kernels and mine[place]) for place in range(len(ops))]
    for place, op in enumerate(ops):
        spent = mine[place]
        total = sum(time for _, time in spent)
        if known.counts(place):
            for product in known.reading[place]:
                key = (op["name"], product.problem.m, product.problem.n, product.problem.k, known.phase(place))
                add(found["calls"], key, 1, total / len(known.reading[place]))
        elif known.unread(place) and (mine[place] or not any(launched[inner] for inner in known.below[place])):
            add(found["unread"], (op["name"],), 1, total)
        else:
            named = [time for name, time in spent if multiplies(name)]
            rest = [time for name, time in spent if not multiplies(name)]
            if named:
                add(found["unread"], (op["name"],), 1, sum(named))
            if rest:
                add(found["others"], (op["name"], known.phase(place)), 1, sum(rest))
    timed = kernels or [op for place, op in enumerate(ops) if known.parents[place] < 0]
    moments = sorted({point for each in timed for point in (begin(each), end(each))})
    found["span"] = {
        "span": moments[-1] - moments[0],
        "busy": sum(
            right - left
            for left, right in pairwise(moments)
            if any(begin(each) <= left and right <= end(each) for each in timed)
        ),
    }
    return found


def zero() -> list[float]:
    return [0, 0]


def add(table: dict, key: tuple, count: int, time: float) -> None:
    table[key][0] += count
    table[key][1] += time


def begin(event: dict) -> int:
    return round(event["ts"] * 1000)


def length(event: dict) -> int:
    return round(event["dur"] * 1000)


def end(event: dict) -> int:
    return begin(event) + length(event)


def rank(op: dict) -> tuple[int, int, int]:
    return begin(op), -length(op), op["args"]["External id"]


def enclosing(ops: list[dict], thread: int, first: int, last: int, before: tuple | None = None) -> dict | None:
    """The innermost operator of a thread that contains a stretch of time: the last that begins."""
    around = [op for op in ops if op["tid"] == thread and begin(op) <= first and last <= end(op)]
    around = [op for op in around if before is None or rank(op) < before]
    return max(around, key=rank, default=None)


def index_of(ops: list[dict], op: dict) -> int:
    return next(place for place, each in enumerate(ops) if each is op)


def reading(op: dict) -> tuple[Product, ...] | str | None:
    """What an operator multiplies; a text where it does not say."""
    args = op["args"]
    inputs = []
    for shape, kind in zip(args.get("Input Dims", []), args.get("Input type", []), strict=True):
        inputs.append(Tensor(tuple(shape), "float32") if kind == "float" else None)
    try:
        return products(Operation(op["name"], tuple(inputs)), Settings())
    except UnreadableError as error:
        return str(error)
