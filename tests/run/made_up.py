"""Programs with made-up clocks, by `FILE.py:factory`."""

import os

import numpy as np

from gemmlab.record import GemmlabError

COST_S = 0.001


class Program:
    """Right, and every multiplication takes as long as it is told to."""

    def __init__(self, problem, cost_s=COST_S):
        self.cost_s, self.orders = cost_s, []
        self.environment = {"library": "made up", "answer": 42}

    def place(self, operands, copies):
        self.a, self.b = operands.a.array, operands.b.array
        self.d = [np.copy(operands.d.array) for _ in range(copies)]
        self.code = np.copy(operands.d.array)

    def elapsed(self, order):
        for copy in set(order):
            np.matmul(self.a, self.b, out=self.d[copy])
        return self.cost_s * len(order)

    def poison(self):
        for d in self.d:
            d[...] = self.code

    def result(self, copy):
        return self.d[copy]


def steady(problem):
    return Program(problem)


def told(problem, cost_s):
    return Program(problem, float(cost_s))


def telling(problem):
    """Says which GPU its process was given."""
    program = Program(problem)
    program.environment = {"given": os.environ.get("CUDA_VISIBLE_DEVICES", "all")}
    return program


def flat(problem):
    program = Program(problem)
    program.result = lambda copy: program.d[copy].ravel()
    return program


def refusing(problem):
    raise GemmlabError("only multiples of 7 are multiplied", "pad m")


def changing(problem):
    program = Program(problem)
    program.environment["timed"] = "one clock"
    poison = program.poison

    def poisoned():
        poison()
        program.environment["timed"] = "another clock"

    program.poison = poisoned
    return program
