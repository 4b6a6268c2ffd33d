"""Kernels from a few lines of text, as if they stood in a file."""

import itertools
import linecache
import textwrap

import numpy as np

from gemmlab.emulator.lower import listing, program_of

HEADER = """\
import math
import numpy as np
from numba import cuda, float32
TILE = 8
"""
LINES_BEFORE = HEADER.count("\n")
_numbers = itertools.count()

F = np.zeros(8, np.float32)
M = np.zeros((8, 8), np.float32)


def module(text):
    """The names that a file of this text defines."""
    file = f"<written {next(_numbers)}>"
    whole = HEADER + textwrap.dedent(text)
    linecache.cache[file] = (len(whole), None, whole.splitlines(keepends=True), file)
    names = {"__name__": "written"}
    exec(compile(whole, file, "exec"), names)
    return names


def kernel(body, parameters="a, m, n"):
    """A kernel of that body."""
    return module(f"@cuda.jit\ndef k({parameters}):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n")["k"]


def program(body, *values, parameters="a, m, n"):
    """The program of a kernel of that body; `a` is of one axis, `m` of two, both of float32, `n` an int."""
    return program_of(kernel(body, parameters), *(values or (F, M, 3)))


def text(body, *values, parameters="a, m, n"):
    """The lines of its statements."""
    made = program(body, *values, parameters=parameters)
    skipped = 1 + len(made.arrays) + len(made.variables)
    return listing(made).splitlines()[skipped:]
