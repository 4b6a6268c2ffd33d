"""Kernels of one's own, FUNC(a, b, d): one that is right, and one for everything that can go wrong."""

import ctypes
import os
import signal
import subprocess
import sys
import time

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


class MuteError(Exception):
    def __str__(self):
        raise ValueError("no words")


def mute(a, b, d):
    raise MuteError


def crooked(a, b, d):
    raise RuntimeError("a file \udcff of another locale")


def interrupts(a, b, d):
    raise KeyboardInterrupt


def forks(a, b, d):
    os.fork()
    np.matmul(a, b, out=d)


def orphans(a, b, d):
    """Ends while what it started still holds all that it had open."""
    if os.fork() == 0:
        time.sleep(600)
    os._exit(5)


def leaves_children(a, b, d):
    if not hasattr(leaves_children, "child"):
        leaves_children.child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(os.environ["GEMMLAB_TEST_PIDS"], "w") as file:
            file.write(str(leaves_children.child.pid))
    np.matmul(a, b, out=d)


def closes(a, b, d):
    os.closerange(0, 64)
    time.sleep(600)


def kills_its_group(a, b, d):
    os.kill(0, signal.SIGKILL)


def scribbles(a, b, d):
    for place in range(3, 16):
        try:
            os.write(place, b"\xff" * 64)
        except OSError:
            continue
    np.matmul(a, b, out=d)


def spends(a, b, d):
    a[...] = 0
    np.matmul(a, b, out=d)


def returns(a, b, d):
    return a @ b


def spends_slowly(a, b, d):
    """So slow that no copy of the operands is taken twice."""
    time.sleep(0.003)
    np.matmul(a, b, out=d)
    a[...] = 0
