"""Typed programs written by hand: expressions with Python's operators, statements one after another."""

from contextlib import contextmanager

from gemmlab.emulator import program as p

LINE = p.Line(0, 1)


class E:
    """An int64 or bool expression that takes Python's operators."""

    def __init__(self, node):
        self.node = node

    def __add__(self, other):
        return binary("add", self, other)

    def __sub__(self, other):
        return binary("sub", self, other)

    def __mul__(self, other):
        return binary("mul", self, other)

    def __floordiv__(self, other):
        return binary("floordiv", self, other)

    def __mod__(self, other):
        return binary("mod", self, other)

    def __lt__(self, other):
        return compare("lt", self, other)

    def __ge__(self, other):
        return compare("ge", self, other)

    def __and__(self, other):
        return E(p.Logic("and", self.node, other.node))

    def __or__(self, other):
        return E(p.Logic("or", self.node, other.node))


def expr(x):
    if isinstance(x, E):
        return x
    return E(p.Const("float32" if isinstance(x, float) else "int64", x))


def binary(op, x, y):
    x, y = expr(x), expr(y)
    return E(p.Binary(x.node.type, op, x.node, y.node))


def compare(op, x, y):
    return E(p.Compare(op, expr(x).node, expr(y).node))


def special(name):
    return E(p.Cast("int64", p.Special("int32", name)))


TX, TY, TZ = (special(f"threadIdx.{axis}") for axis in "xyz")
BX, BY, BZ = (special(f"blockIdx.{axis}") for axis in "xyz")
DX, DY, DZ = (special(f"blockDim.{axis}") for axis in "xyz")
GX, GY, GZ = (special(f"gridDim.{axis}") for axis in "xyz")


class Kernel:
    """A program in the making: each statement is on a line of its own."""

    def __init__(self, **arguments):
        self.arguments = tuple(p.Argument(n, t, ndim) for n, (t, ndim) in arguments.items())
        self.arrays = {
            n: p.Array(n, "global", t, tuple(p.Extent(n, axis) for axis in range(ndim)), LINE)
            for n, (t, ndim) in arguments.items()
            if ndim is not None
        }
        self.sites, self.variables, self.bodies = [], {}, [[]]

    def array(self, name, space, kind, *extents):
        self.arrays[name] = p.Array(name, space, kind, tuple(p.Const("int64", x) for x in extents), LINE)

    def param(self, name):
        return E(p.Param("int64", name))

    def extent(self, name, axis):
        return E(p.Extent(name, axis))

    def site(self, kind, array=""):
        self.sites.append(p.Site(p.Line(0, len(self.sites) + 10), kind, array))
        return len(self.sites) - 1

    def add(self, statement):
        self.bodies[-1].append(statement)

    def assign(self, name, value):
        value = expr(value)
        self.variables[name] = value.node.type
        self.add(p.Assign(self.site("assign"), name, value.node))
        return E(p.Var(value.node.type, name))

    def load(self, name, array, *index):
        kind = self.arrays[array].type
        self.variables[name] = kind
        self.add(p.Load(self.site("load", array), name, array, tuple(expr(i).node for i in index)))
        return E(p.Var(kind, name))

    def store(self, array, index, value):
        value = value if isinstance(value, E) else E(p.Const(self.arrays[array].type, value))
        self.add(p.Store(self.site("store", array), array, tuple(expr(i).node for i in index), value.node))

    def atomic(self, name, array, index, value, op="add"):
        kind = self.arrays[array].type
        if name:
            self.variables[name] = kind
        index = tuple(expr(i).node for i in index)
        value = value.node if isinstance(value, E) else p.Const(kind, value)
        self.add(p.Atomic(self.site("atomic", array), name, op, array, index, value))
        return E(p.Var(kind, name))

    def barrier(self):
        self.add(p.Barrier(self.site("barrier"), "sync"))

    def leave(self, kind=p.Return):
        self.add(kind(self.site(kind.__name__.lower())))

    def inner(self):
        self.bodies.append([])

    def ended(self):
        return tuple(self.bodies.pop())

    @contextmanager
    def when(self, condition):
        site = self.site("if")
        self.inner()
        yield
        self.add_if(site, condition, self.ended(), ())

    @contextmanager
    def otherwise(self):
        made = self.bodies[-1].pop()
        self.inner()
        yield
        self.add(p.If(made.site, made.condition, made.then, self.ended()))

    def add_if(self, site, condition, then, orelse):
        self.add(p.If(site, condition.node, then, orelse))

    @contextmanager
    def loop(self, name, start, stop, step=1):
        site = self.site("for")
        self.variables[name] = "int64"
        self.inner()
        yield E(p.Var("int64", name))
        body = self.ended()
        self.add(p.For(site, name, expr(start).node, expr(stop).node, expr(step).node, body))

    @contextmanager
    def repeat(self, condition):
        site = self.site("while")
        self.inner()
        yield
        body = self.ended()
        self.add(p.While(site, (), condition.node, body))

    @contextmanager
    def scope(self, label):
        site = self.site("scope")
        self.inner()
        yield
        self.add(p.Scope(site, label, self.ended()))

    def leave_scope(self, label):
        self.add(p.Leave(self.site("leave"), label))

    def program(self):
        (body,) = self.bodies
        return p.Program(
            "hand", ("hand.py",), self.arguments, self.arrays, self.variables, tuple(body), tuple(self.sites)
        )
