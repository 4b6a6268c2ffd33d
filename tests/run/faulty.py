"""Kernels of one's own, FUNC(a, b, d): one that is right, and one for everything that can go wrong."""

import ctypes
import os
import sys

import numpy as np


def right(a, b, d):
    np.matmul(a, b, out=d)


def chatty(a, b, d):
    print("on standard output")
    os.write(1, b"and past Python's own")
    np.matmul(a, b, out=d)


def wrong(a, b, d):
    np.matmul(a, b, out=d)
    d[1, 2] += 1


def nan(a, b, d):
    d[...] = np.nan


def lazy(a, b, d):
    np.matmul(a[:-1], b, out=d[:-1])


def once(a, b, d, done=set()):  # noqa: B006 - its memory is the fault: it writes each D once and never again
    if d.ctypes.data not in done:
        np.matmul(a, b, out=d)
        done.add(d.ctypes.data)


def abort(a, b, d):
    sys.stderr.write("the last words\n")
    sys.stderr.flush()
    os.abort()


def out_of_bounds(a, b, d):
    ctypes.memset(8, 0, 64)


def never(a, b, d):
    while True:
        pass


def memory(a, b, d):
    raise MemoryError("no room for panels")


def raises(a, b, d):
    raise RuntimeError("boom")


def leaves(a, b, d):
    os._exit(3)
