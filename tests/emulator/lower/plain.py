"""Runs a program as it reads, thread after thread from barrier to barrier: what statements mean, and no counts."""

import math
import operator

import numpy as np

from gemmlab.emulator import program as p

OPS = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "lshift", "rshift", "xor")},
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "and": operator.and_,
    "or": operator.or_,
    "truediv": lambda x, y: x / y if y else x * math.inf,
    "floordiv": lambda x, y: x // y if y else x * 0,
    "mod": lambda x, y: x % y if y else x * 0,
    "pow": operator.pow,
    "min": min,
    "max": max,
}
UNARY = {"neg": operator.neg, "invert": operator.invert, "not": operator.not_}
ATOMICS = {**OPS, "exch": lambda old, new: new}


class Left(Exception):  # noqa: N818
    """A loop, a scope or the thread is left."""

    def __init__(self, statement):
        self.statement = statement


def number(kind, value):
    """A value as one of that type, as C converts."""
    if kind.startswith(("int", "uint")) and isinstance(value, int | np.integer):
        bits = int(kind.lstrip("uint"))
        low = int(value) % 2**bits
        return np.dtype(kind).type(low - 2**bits if kind[0] == "i" and low >= 2 ** (bits - 1) else low)
    return np.dtype(kind).type(value)


class Thread:
    """One thread: its variables and its place; `run` yields at barriers."""

    def __init__(self, program, arguments, shared, specials):
        self.program, self.arguments, self.specials = program, arguments, specials
        self.variables = {name: np.dtype(kind).type(0) for name, kind in program.variables.items()}
        self.arrays = dict(shared)
        for name, array in program.arrays.items():
            if array.space == "global":
                self.arrays[name] = arguments[name]
            elif array.space == "local":
                self.arrays[name] = np.zeros([x.value for x in array.extents], array.type)

    def value(self, x):
        match x:
            case p.Const(kind, value):
                return number(kind, value)
            case p.Var(kind, name):
                value = self.variables[name]
                assert value.dtype.name == kind, (name, kind, value.dtype)
                return value
            case p.Special(_, name):
                return np.int32(self.specials[name])
            case p.Param(kind, name):
                return number(kind, self.arguments[name])
            case p.Extent(name, axis):
                return np.int64(self.array(name).shape[axis])
            case p.Cast(kind, inner):
                return number(kind, self.value(inner))
            case p.Select(_, condition, x, y):
                return self.value(x) if self.value(condition) else self.value(y)
            case p.Logic(op, x, y):
                return np.bool_(OPS[op](self.value(x), self.value(y)))
            case p.Unary(kind, op, inner):
                return number(kind, UNARY[op](self.value(inner)))
            case p.Compare(op, x, y):
                left, right = self.value(x), self.value(y)
                assert left.dtype == right.dtype
                return np.bool_(OPS[op](left, right))
            case p.Binary(kind, op, x, y):
                left, right = self.value(x), self.value(y)
                assert left.dtype == right.dtype == np.dtype(kind)
                return number(kind, OPS[op](left, right))
        return self.function(x)

    def function(self, call):
        values = [self.value(item) for item in call.args]
        if call.name == "popc":
            return number(call.type, int(values[0]).bit_count())
        if call.name == "fma":
            return number(call.type, float(values[0]) * float(values[1]) + float(values[2]))
        return number(call.type, abs(values[0]) if call.name == "abs" else getattr(math, call.name)(*values))

    def array(self, name):
        array = self.program.arrays[name]
        if array.space != "view":
            return self.arrays[name]
        start = int(self.value(array.offset))
        return self.array(array.base)[start : start + int(self.value(array.extents[0]))]

    def assign(self, name, value):
        if name is not None:
            assert self.program.variables[name] == value.dtype.name, (name, value.dtype)
            self.variables[name] = value

    def place(self, statement):
        array = self.array(statement.array)
        index = tuple(self.value(x) for x in statement.index)
        assert all(x.dtype == np.int64 for x in index)
        assert len(index) == array.ndim
        return array, index

    def body(self, statements):
        for statement in statements:
            yield from self.statement(statement)

    def statement(self, s):
        match s:
            case p.Assign():
                self.assign(s.name, self.value(s.value))
            case p.Load():
                array, index = self.place(s)
                self.assign(s.name, array[index])
            case p.Store():
                array, index = self.place(s)
                value = self.value(s.value)
                assert value.dtype == array.dtype
                array[index] = value
            case p.Atomic():
                array, index = self.place(s)
                old, value = array[index], self.value(s.value)
                if s.op != "cas":
                    array[index] = ATOMICS[s.op](old, value)
                elif old == self.value(s.compare):
                    array[index] = value
                self.assign(s.name, old)
            case p.Barrier():
                yield
            case p.If():
                yield from self.body(s.then if self.value(s.condition) else s.orelse)
            case p.For():
                ends = [self.value(x) for x in (s.start, s.stop, s.step)]
                assert all(x.dtype == np.int64 for x in ends)
                for i in range(*map(int, ends)):
                    self.assign(s.name, number(self.program.variables[s.name], i))
                    if (yield from self.round(s.body)):
                        break
            case p.While():
                while True:
                    yield from self.body(s.before)
                    if not self.value(s.condition) or (yield from self.round(s.body)):
                        break
            case p.Scope():
                try:
                    yield from self.body(s.body)
                except Left as left:
                    if not (isinstance(left.statement, p.Leave) and left.statement.label == s.label):
                        raise
            case p.Break() | p.Continue() | p.Return() | p.Leave():
                raise Left(s)

    def round(self, body):
        """One round of a loop; whether it was the last."""
        try:
            yield from self.body(body)
        except Left as left:
            if isinstance(left.statement, p.Continue):
                return False
            if isinstance(left.statement, p.Break):
                return True
            raise
        return False

    def run(self):
        try:
            yield from self.body(self.program.body)
        except Left:
            return


def run(program, grid, block, *values):
    """A launch of one axis, its arrays written in place; dynamic shared memory is 64 bytes."""
    arguments = {argument.name: value for argument, value in zip(program.arguments, values, strict=True)}
    with np.errstate(all="ignore"):
        for number_of_block in range(grid):
            dynamic = np.zeros(64, np.uint8)
            shared = {}
            for name, array in program.arrays.items():
                if array.space == "shared":
                    shared[name] = np.zeros([x.value for x in array.extents], array.type)
                elif array.space == "dynamic":
                    shared[name] = dynamic.view(array.type)
            running = []
            for thread in range(block):
                specials = {f"{what}.{axis}": int(what.endswith("Dim")) for what in SPECIALS for axis in "xyz"}
                specials |= {
                    "threadIdx.x": thread,
                    "blockIdx.x": number_of_block,
                    "blockDim.x": block,
                    "gridDim.x": grid,
                }
                specials["laneid"] = thread % 32
                running.append(Thread(program, arguments, shared, specials).run())
            while running:
                running = [thread for thread in running if next(thread, "end") != "end"]


SPECIALS = ("threadIdx", "blockIdx", "blockDim", "gridDim")
