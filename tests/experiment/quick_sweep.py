"""A sweep of quick kernels: `python quick_sweep.py STORE none|threads [SHAPES]` says each key once it is kept.

After so many SHAPES it waits to be killed.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from gemmlab.experiment.sweep import items_of, sweep
from gemmlab.problem import Gemm, Shape
from gemmlab.store import open_store
from store.made import contender, item, timed

PLAN = "shapes by kernels"


def items():
    shapes = [Shape(Gemm(side, side + 1, 2 * side)) for side in range(1, 41)]
    return items_of(shapes, [contender(name) for name in ("naive", "packed")], lambda _: "epyc")


def run_one(problem, who):
    time.sleep(0.003)
    if problem.m == 7:
        raise RuntimeError("this one always fails")
    return timed(item(problem.m, problem.n, problem.k, kernel=who.name), problem.m * 1e-3)


def run(problem, contenders, options):
    return [run_one(problem, who) for who in contenders]


class Teller:
    """Says on standard output what a sweep says that it did."""

    def __init__(self, most):
        self.left = most

    def begun(self, batch):
        pass

    def ended(self, done):
        for each in done:
            print(each.item.key, flush=True)
        self.left -= 1
        if self.left == 0:
            time.sleep(3600)


def main(path, how, most=0):
    executor = ThreadPoolExecutor(3) if how == "threads" else None
    with open_store(path) as store:
        begun = store.begin("quick", PLAN)
        done = sweep(
            items(), run, lambda done: store.keep(begun, done),
            options=(0, 1, 2), done=store.keys(begun), executor=executor, watcher=Teller(int(most)),
        )  # fmt: skip
        for _ in done:
            pass
        store.finish(begun)
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
