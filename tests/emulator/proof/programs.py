"""Kernels as typed programs, written by hand."""

import numpy as np

from emulator.proof.building import BX, BY, BZ, DX, DY, TX, TY, Kernel, binary
from gemmlab.emulator.launch import launch_of

MATRICES = {"a": ("float32", 2), "b": ("float32", 2), "c": ("float32", 2)}


def naive():
    k = Kernel(**MATRICES)
    row, col = k.assign("row", BY * DY + TY), k.assign("col", BX * DX + TX)
    with k.when((row < k.extent("c", 0)) & (col < k.extent("c", 1))):
        s = k.assign("s", 0.0)
        with k.loop("i", 0, k.extent("a", 1)) as i:
            x, y = k.load("x", "a", row, i), k.load("y", "b", i, col)
            s = k.assign("s", s + x * y)
        k.store("c", (row, col), s)
    return k.program()


def tiled(tile, first=True, second=True, masked=True, early=False):
    k = Kernel(**MATRICES)
    k.array("sa", "shared", "float32", tile, tile)
    k.array("sb", "shared", "float32", tile, tile)
    row, col = k.assign("row", BY * tile + TY), k.assign("col", BX * tile + TX)
    m, n, depth = k.extent("a", 0), k.extent("b", 1), k.extent("a", 1)
    if early:
        with k.when((row >= m) | (col >= n)):
            k.leave()
    s = k.assign("s", 0.0)
    with k.loop("t", 0, (depth + (tile - 1)) // tile) as t:
        for shared, array, index, inside in (
            ("sa", "a", (row, t * tile + TX), (row < m) & (t * tile + TX < depth)),
            ("sb", "b", (t * tile + TY, col), (t * tile + TY < depth) & (col < n)),
        ):
            if masked:
                with k.when(inside):
                    k.store(shared, (TY, TX), k.load("v", array, *index))
                with k.otherwise():
                    k.store(shared, (TY, TX), 0.0)
            else:
                k.store(shared, (TY, TX), k.load("v", array, *index))
        if first:
            k.barrier()
        with k.loop("i", 0, tile) as i:
            x, y = k.load("x", "sa", TY, i), k.load("y", "sb", i, TX)
            s = k.assign("s", s + x * y)
        if second:
            k.barrier()
    with k.when((row < m) & (col < n)):
        k.store("c", (row, col), s)
    return k.program()


def gather():
    k = Kernel(x=("float32", 1), at=("int64", 1), y=("float32", 1))
    i = k.assign("i", BX * DX + TX)
    with k.when(i < k.extent("y", 0)):
        j = k.load("j", "at", i)
        k.store("y", (i,), k.load("v", "x", j))
    return k.program()


def split_k():
    k = Kernel(**MATRICES, chunk=("int64", None))
    row, col = k.assign("row", BY * DY + TY), k.assign("col", BX * DX + TX)
    chunk = k.param("chunk")

    with k.when((row < k.extent("c", 0)) & (col < k.extent("c", 1))):
        s = k.assign("s", 0.0)
        with k.loop("i", BZ * chunk, binary("min", (BZ + 1) * chunk, k.extent("a", 1))) as i:
            x, y = k.load("x", "a", row, i), k.load("y", "b", i, col)
            s = k.assign("s", s + x * y)
        k.atomic(None, "c", (row, col), s)
    return k.program()


def flat(guarded=True):
    """The naive kernel of matrices that each lie in one axis."""
    sides = dict.fromkeys("mnk", ("int64", None))
    k = Kernel(**dict.fromkeys("abc", ("float32", 1)), **sides)
    m, n, depth = (k.param(name) for name in "mnk")
    row, col = k.assign("row", BY * DY + TY), k.assign("col", BX * DX + TX)
    with k.when((row < m) & (col < n) if guarded else row < m):
        s = k.assign("s", 0.0)
        with k.loop("i", 0, depth) as i:
            x, y = k.load("x", "a", row * depth + i), k.load("y", "b", i * n + col)
            s = k.assign("s", s + x * y)
        k.store("c", (row * n + col,), s)
    return k.program()


def grid_stride(counted, step):
    """y[i] for i from the thread's place in steps of `step`, by a For or a While."""
    k = Kernel(y=("float32", 1))
    start = k.assign("start", BX * DX + TX)
    if counted:
        with k.loop("i", start, k.extent("y", 0), step) as i:
            k.store("y", (i,), 1.0)
    else:
        i = k.assign("i", start)
        with k.repeat(i < k.extent("y", 0)):
            k.store("y", (i,), 1.0)
            k.assign("i", i + step)
    return k.program()


def matrices(m, n, k, dtype=np.float32):
    return np.zeros((m, k), dtype), np.zeros((k, n), dtype), np.zeros((m, n), dtype)


def covering(program, m, n, k, block, depth=1, extra=()):
    bx, by = block
    return launch_of(program, (-(-n // bx), -(-m // by), depth), block, (*matrices(m, n, k), *extra))
