"""Random typed programs whose control and addresses are the launch's alone."""

import numpy as np

from emulator.proof.building import BX, BY, BZ, DX, DY, GX, TX, TY, TZ, Kernel, binary
from gemmlab.emulator import program as p
from gemmlab.emulator.launch import launch_of

KINDS = ("float16", "float32", "float64", "int8")


class Maker:
    """Draws a program of a few statements."""

    def __init__(self, rng):
        self.rng = rng
        self.k = Kernel(
            a=(rng.choice(KINDS).item(), 2), b=(rng.choice(KINDS).item(), 1), n=("int64", None), m=("int64", None)
        )
        self.k.array("s", "shared", rng.choice(KINDS).item(), 7, 5)
        self.k.array("l", "local", "int64", 4)
        self.known, self.depth = [], 0

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def number(self):
        return int(self.rng.integers(0, 12))

    def leaf(self):
        k = self.k
        choices = [TX, TY, TZ, BX, BY, BZ, DX, GX, BX * DX + TX, BY * DY + TY, k.param("n"), k.param("m")]
        choices += [k.extent("a", 0), k.extent("a", 1), k.extent("b", 0), *self.known, *self.known]
        return self.pick(*choices)

    def whole(self, depth=2):
        if depth == 0 or self.rng.random() < 0.3:
            return self.leaf()
        x = self.whole(depth - 1)
        match self.pick("add", "sub", "mul", "scale", "shift", "floordiv", "mod", "min", "max", "divide", "select"):
            case "scale":
                return x * self.pick(1, 2, 3, 4, 8, 16)
            case "shift":
                return x + self.pick(-3, -1, 1, 2, 5)
            case "floordiv":
                return x // self.pick(1, 2, 3, 4, 8)
            case "mod":
                return x % self.pick(2, 3, 4, 5, 8)
            case "divide":
                return self.pick(x // self.leaf(), x % self.leaf())
            case "select":
                y = self.whole(depth - 1)
                return type(x)(p.Select("int64", self.condition(0).node, x.node, y.node))
            case op:
                return binary(op, x, self.whole(depth - 1))

    def condition(self, depth=1):
        x, y = self.whole(1), self.pick(self.leaf(), TX * 0 + self.number())
        kind = self.pick("lt", "le", "ge", "gt", "eq", "ne", "lt", "ge")
        found = type(x)(p.Compare(kind, x.node, y.node))
        if depth and self.rng.random() < 0.4:
            return self.pick(found & self.condition(0), found | self.condition(0))
        if self.rng.random() < 0.1:
            return type(x)(p.Unary("bool", "not", found.node))
        return found

    def statement(self):
        k = self.k
        match self.pick("assign", "assign", "load", "store", "shared", "if", "for", "while", "keep", "leave", "again"):
            case "assign":
                self.known.append(k.assign(f"v{len(k.sites)}", self.whole()))
            case "again" if self.known:
                k.assign(self.pick(*self.known).node.name, self.whole())
            case "load":
                k.load(f"f{len(k.sites)}", "a", self.whole(1), self.whole(1))
            case "store":
                k.store("b", (self.whole(),), 1)
            case "shared":
                k.store("s", (self.whole(1), self.pick(TX, TY, self.whole(1))), 1)
            case "keep":
                k.store("l", (self.pick(0, 1, TX),), self.whole(1))
                self.known.append(k.load(f"v{len(k.sites)}", "l", self.pick(0, 1, 2)))
            case "leave" if self.depth:
                with k.when(self.condition()):
                    k.leave(self.pick(p.Return, *((p.Break, p.Continue) if self.loops else ())))
            case "if":
                self.inside(lambda: k.when(self.condition()))
                if self.rng.random() < 0.5:
                    self.inside(k.otherwise)
            case "for":
                start, stop, step = (
                    self.pick(0, 1, TX, BX, self.leaf()),
                    self.bound(),
                    self.pick(1, 1, 2, 3, -1, DX, DX * GX),
                )
                self.inside(lambda: k.loop(f"i{len(k.sites)}", start, stop, step), loop=True)
            case "while":
                self.whiled()

    def bound(self):
        return binary("min", self.whole(1), self.number())

    loops = 0

    def whiled(self):
        k = self.k
        name = f"w{len(k.sites)}"
        count = k.assign(name, self.pick(0, TX, BX, BX * DX + TX))
        loops, self.loops = self.loops, 0
        with k.repeat(count < self.bound()):
            k.assign(name, count + self.pick(1, 2, 5, 9, 12, DX))
            self.depth += 1
            self.known.append(k.assign(f"{name}_seen", count))
            self.statements(2)
            k.assign(name, binary("max", count, count + 1))
            self.depth -= 1
        self.loops = loops

    def inside(self, enter, loop=False):
        self.depth += 1
        known, loops = list(self.known), self.loops
        self.loops += loop
        with enter() as variable:
            if loop:
                self.known.append(variable)
            self.statements(2)
        self.known, self.loops = known, loops
        self.depth -= 1

    def statements(self, most):
        for _ in range(self.rng.integers(1, most + 1)):
            if self.depth < 3:
                self.statement()
        if not self.k.bodies[-1]:
            self.k.assign("nothing", 0)

    def program(self):
        for _ in range(self.rng.integers(3, 8)):
            self.statement()
        return self.k.program()


def case(rng):
    """A program and a launch of it: odd blocks, ragged shapes, strided and misaligned views."""
    program = Maker(rng).program()
    a, b = (x.type for x in program.arguments[:2])
    rows, columns = rng.integers(1, 40, 2)
    matrix = np.zeros((rows + 3, columns + 5), a)[rng.integers(0, 3) :, rng.integers(0, 4) :][:rows, :columns]
    if rng.random() < 0.2:
        matrix = matrix.T
    vector = np.zeros(100, b)[rng.integers(0, 5) :: rng.integers(1, 4)][: rng.integers(1, 30)]
    grid = tuple(int(x) for x in (rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 3)))
    block = [(5, 3, 1), (40, 1, 1), (4, 2, 2), (3, 5, 1), (8, 1, 1)][rng.integers(5)]
    return program, launch_of(program, grid, block, (matrix, vector, int(rng.integers(0, 50)), int(rng.integers(0, 9))))
