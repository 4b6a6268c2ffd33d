"""Random programs in which threads share memory, between barriers and across them."""

import numpy as np

from emulator.proof.building import BX, GX, TX, Kernel, binary, compare
from gemmlab.emulator import program as p
from gemmlab.emulator.launch import launch_of

THREADS = 4


class Racer:
    """Draws a program for blocks of four threads, with eight shared elements."""

    def __init__(self, rng):
        self.rng, self.depth, self.loops, self.labels = rng, 0, 0, []
        self.k = Kernel(a=("float32", 1), b=("float32", 1), n=("int64", None))
        self.k.array("s", "shared", "float32", 8)
        self.uniform, self.private, self.counters = [], [], []

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def chance(self, share):
        return self.rng.random() < share

    def shared(self):
        """A whole number that all threads of a block hold alike."""
        k = self.k
        x = self.pick(TX * 0, BX, k.extent("a", 0), k.param("n"), *self.uniform, *self.uniform)
        return x + self.pick(0, 0, 1, 2)

    def index(self):
        own = self.pick(TX, TX, TX, TX + 4, TX * 2, TX + 1, *self.private)
        match self.pick("own", "own", "moved", "mirrored", "alike", "half"):
            case "own":
                return own % 8
            case "moved":
                return (own + self.shared()) % 8
            case "mirrored":
                return binary("sub", 3, TX) % 8
            case "alike":
                return self.shared() % 8
            case "half":
                return (self.shared() % 2) * 4 + TX

    def condition(self):
        k = self.k
        return self.pick(
            compare(self.pick("lt", "eq", "ge"), self.shared(), self.shared()),
            compare(self.pick("lt", "eq", "ne"), TX, self.pick(0, 1, 2, self.shared())),
            k.extent("b", 0) > BX * THREADS + TX,
        )

    def statement(self):
        k = self.k
        match self.pick(
            "store", "store", "read", "barrier", "barrier", "assign", "if", "for", "for", "while", "global", "leave",
            "scope", "grow"
        ):  # fmt: skip
            case "store":
                k.store("s", (self.index(),), 1.0)
            case "read":
                k.load(f"f{len(k.sites)}", "s", self.index())
            case "barrier":
                k.barrier()
            case "assign":
                name = f"v{len(k.sites)}"
                self.pick(*[lambda: self.uniform.append(k.assign(name, self.shared()))] * 2,
                          lambda: self.private.append(k.assign(name, self.index())))()  # fmt: skip
            case "grow":
                held = self.pick(self.uniform, self.private)
                if held:
                    x = self.pick(*held)
                    k.assign(x.node.name, x + self.pick(1, 4, 8, self.shared()))
            case "if":
                self.inside(lambda: k.when(self.condition()))
                if self.chance(0.4):
                    self.inside(k.otherwise)
            case "for":
                stop = self.pick(2, 3, binary("min", self.shared(), 4), binary("min", TX, 3))
                start, step = self.pick(0, 0, 1, binary("min", BX, 2)), self.pick(1, 1, 2, GX)
                self.inside(lambda: k.loop(f"i{len(k.sites)}", start, stop, step), loop=True)
            case "while":
                self.whiled()
            case "global":
                with k.when(k.extent("b", 0) > BX * THREADS + TX):
                    k.store("b", (self.pick(BX * THREADS + TX, BX * 0 + TX, BX),), 1.0)
            case "leave" if self.depth:
                with k.when(self.condition()):
                    if self.labels and self.chance(0.6):
                        k.leave_scope(self.labels[-1])
                    else:
                        k.leave(self.pick(p.Return, *((p.Break, p.Continue) * 2 if self.loops else ())))
            case "scope":
                label = len(k.sites)
                self.labels.append(label)
                self.inside(lambda: k.scope(label))
                self.labels.pop()

    def whiled(self):
        k = self.k
        count = k.assign(f"w{len(k.sites)}", self.pick(0, 0, TX))
        with k.repeat(count < self.pick(2, 3, binary("min", self.shared(), 4))):
            k.assign(count.node.name, count + self.pick(1, 2))
            self.depth, self.loops = self.depth + 1, self.loops + 1
            kept = list(self.uniform), list(self.private)
            self.statements(3)
            self.uniform, self.private = kept
            self.depth, self.loops = self.depth - 1, self.loops - 1

    def inside(self, enter, loop=False):
        self.depth += 1
        kept, loops = (list(self.uniform), list(self.private)), self.loops
        self.loops += loop
        with enter() as variable:
            if loop:
                self.pick(self.uniform, self.private).append(variable)
            self.statements(4 if loop else 2)
        self.uniform, self.private = kept
        self.loops = loops
        self.depth -= 1

    def statements(self, most):
        for _ in range(self.rng.integers(1, most + 1)):
            if self.depth < 3:
                self.statement()
        if not self.k.bodies[-1]:
            self.k.assign("nothing", 0)

    def program(self):
        for _ in range(self.rng.integers(2, 6)):
            self.statement()
        return self.k.program()


def launch_at(program, rng):
    """A launch of it at some small shape and grid."""
    sides = rng.integers(1, 11, 2)
    arrays = [np.zeros(side, np.float32) for side in sides]
    return launch_of(program, int(rng.integers(1, 4)), THREADS, (*arrays, int(rng.integers(0, 5))))
