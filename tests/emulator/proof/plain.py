"""A slow evaluator of typed programs, thread by thread: what statements of one block do, not what loads give."""

from collections import defaultdict
from contextlib import suppress

import numpy as np

from gemmlab.emulator import program as p
from gemmlab.emulator.proof.blocks import coordinates


class Left(Exception):  # noqa: N818
    """A loop, a scope or the thread is left."""

    def __init__(self, statement):
        self.statement = statement


OPS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y if y else 0,
    "mod": lambda x, y: x % y if y else 0,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "min": min,
    "max": max,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "ge": lambda x, y: x >= y,
    "gt": lambda x, y: x > y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
}


class Thread:
    """One thread of a block; `done` collects (site, rounds of loops, element, byte) of what it does."""

    def __init__(self, program, launch, block, thread):
        self.program, self.launch, self.block, self.thread = program, launch, block, thread
        self.args = dict(zip((a.name for a in program.arguments), launch.args, strict=True))
        self.variables, self.local, self.rounds, self.done = {}, {}, [], []
        self.epoch, self.epochs = 0, []

    def run(self):
        with suppress(Left):
            self.body(self.program.body)
        return self.done

    def value(self, e):
        match e:
            case p.Const():
                return e.value
            case p.Var():
                return self.variables.get(e.name, 0)
            case p.Special():
                name, axis = e.name.split(".")
                sides = {"threadIdx": self.thread, "blockIdx": self.block}
                sides |= {"blockDim": self.launch.block, "gridDim": self.launch.grid}
                return sides[name]["xyz".index(axis)]
            case p.Param():
                return self.args[e.name].item()
            case p.Extent():
                return self.extents(e.array)[e.axis]
            case p.Unary():
                x = self.value(e.x)
                return {"neg": -x, "not": not x, "invert": ~int(x)}[e.op]
            case p.Binary() | p.Compare():
                return OPS[e.op](self.value(e.x), self.value(e.y))
            case p.Logic():
                x, y = self.value(e.x), self.value(e.y)
                return (x and y) if e.op == "and" else (x or y)
            case p.Cast():
                return float(self.value(e.x)) if e.type.startswith("float") else int(self.value(e.x))
            case p.Select():
                return self.value(e.x if self.value(e.condition) else e.y)
        raise NotImplementedError(e)

    def extents(self, name):
        return (
            self.args[name].shape
            if name in self.args
            else tuple(self.value(x) for x in self.program.arrays[name].extents)
        )

    def body(self, body):
        for statement in body:
            self.step(statement)

    def note(self, s, *more):
        self.done.append((s.site, tuple(self.rounds), *more))
        self.epochs.append(self.epoch)

    def step(self, s):
        match s:
            case p.Assign():
                self.variables[s.name] = self.value(s.value)
            case p.Load() | p.Store() | p.Atomic():
                self.access(s)
            case p.Barrier():
                self.note(s, None, None)
                self.epoch += 1
            case p.If():
                truth = bool(self.value(s.condition))
                self.note(s, truth, None)
                self.body(s.then if truth else s.orelse)
            case p.For():
                start, stop, step = (self.value(x) for x in (s.start, s.stop, s.step))
                self.loop(s, iter(range(start, stop, step)))
            case p.While():
                self.loop(s, None)
            case p.Scope():
                depth = len(self.rounds)
                try:
                    self.body(s.body)
                except Left as left:
                    if not (isinstance(left.statement, p.Leave) and left.statement.label == s.label):
                        raise
                    del self.rounds[depth:]
            case _:
                raise Left(s)

    def loop(self, s, numbers):
        depth = len(self.rounds)
        self.rounds.append(0)
        while True:
            del self.rounds[depth + 1 :]
            assert self.rounds[depth] < 10_000
            if numbers is None:
                truth = bool(self.value(s.condition))
            else:
                number = next(numbers, None)
                truth = number is not None
            self.note(s, truth, None)
            if not truth:
                break
            if numbers is not None:
                self.variables[s.name] = number
            try:
                self.body(s.body)
            except Left as left:
                if isinstance(left.statement, p.Break):
                    break
                if not isinstance(left.statement, p.Continue):
                    raise
            self.rounds[-1] += 1
        del self.rounds[depth:]

    def access(self, s):
        array, extents = self.program.arrays[s.array], self.extents(s.array)
        index = [self.value(x) for x in s.index]
        wrapped = tuple(i + n if -n <= i < 0 else i for i, n in zip(index, extents, strict=True))
        inside = all(0 <= i < n for i, n in zip(wrapped, extents, strict=True))
        if s.array in self.args:
            strides = self.args[s.array].strides
            byte = sum(i * stride for i, stride in zip(wrapped, strides, strict=True))
            byte += self.args[s.array].ctypes.data % 256
        else:
            byte = int(np.ravel_multi_index(wrapped, extents)) * np.dtype(array.type).itemsize if inside else 0
        self.note(s, wrapped if inside else None, byte if inside else None)
        key = s.array, wrapped
        if isinstance(s, p.Store):
            if array.space == "local" and inside:
                self.local[key] = self.value(s.value)
        elif s.name:
            self.variables[s.name] = self.local.get(key, 0) if array.space == "local" else 0


def block_counts(program, launch, number):
    """Of each site: threads, requests, pieces, splits and accesses out of range, of one block."""
    bx, by, _ = launch.block
    block = coordinates(number, launch)
    requests = defaultdict(list)
    for t in range(launch.threads):
        thread = t % bx, t // bx % by, t // (bx * by)
        for site, rounds, what, byte in Thread(program, launch, block, thread).run():
            requests[site, rounds, t // 32].append((what, byte))
    counts = defaultdict(lambda: [0, 0, 0, 0, 0])
    for (site, _, _), lanes in requests.items():
        row, kind = counts[site], program.sites[site].kind
        row[0] += len(lanes)
        row[1] += 1
        if kind in ("load", "store", "atomic"):
            bytes_ = {byte for _, byte in lanes if byte is not None}
            row[4] += sum(byte is None for _, byte in lanes)
            if program.arrays[program.sites[site].array].space == "global":
                row[2] += len({byte // 32 for byte in bytes_})
            else:
                words = {byte // 4 for byte in bytes_}
                row[2] += max((sum(w % 32 == bank for w in words) for bank in range(32)), default=0)
        elif kind != "barrier":
            row[3] += len({what for what, _ in lanes}) > 1
    return {site: tuple(row) for site, row in counts.items()}


def written_elements(program, launch, number):
    """Elements of global arrays that a block reads, and those it writes."""
    bx, by, _ = launch.block
    block = coordinates(number, launch)
    reads, writes = set(), set()
    for t in range(launch.threads):
        thread = t % bx, t // bx % by, t // (bx * by)
        for site, _, what, byte in Thread(program, launch, block, thread).run():
            kind, array = program.sites[site].kind, program.sites[site].array
            if byte is not None and program.arrays[array].space == "global":
                (reads if kind == "load" else writes).add((array, what))
    return reads, writes


def faults(program, launch):
    """What goes wrong: indices out of range, threads apart at a barrier, conflicts within blocks and between them."""
    found, whole = set(), defaultdict(set)
    bx, by, _ = launch.block
    for number in range(launch.blocks):
        block, waits, touched = coordinates(number, launch), set(), defaultdict(set)
        for t in range(launch.threads):
            thread = Thread(program, launch, block, (t % bx, t // bx % by, t // (bx * by)))
            waited = []
            for (site, rounds, what, byte), epoch in zip(thread.run(), thread.epochs, strict=True):
                kind, array = program.sites[site].kind, program.sites[site].array
                if kind == "barrier":
                    waited.append((site, rounds))
                if kind not in ("load", "store", "atomic"):
                    continue
                if byte is None:
                    found.add(("bounds", site))
                    continue
                space = program.arrays[array].space
                if space != "local":
                    touched[array, what, epoch].add((t, kind))
                if space == "global":
                    whole[array, what].add((number, kind))
            waits.add(tuple(waited))
        if len(waits) > 1:
            found.add(("barrier", 0))
        found |= {("race", array) for (array, _, _), who in touched.items() if conflict(who)}
    return found | {("blocks", array) for (array, _), who in whole.items() if conflict(who)}


def conflict(who):
    """Whether two of those that touch an element conflict."""
    return any(x[0] != y[0] and {x[1], y[1]} not in ({"load"}, {"atomic"}) for x in who for y in who)
