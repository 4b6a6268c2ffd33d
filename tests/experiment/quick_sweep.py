"""A sweep of quick kernels: `python quick_sweep.py STORE none|threads` says each key once it is kept."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from gemmlab.experiment.sweep import items_of, sweep
from gemmlab.problem import Gemm, Shape
from gemmlab.store import open_store
from store.made import contender, item, timed

PLAN = "twelve shapes by five kernels"


def items():
    shapes = [Shape(Gemm(side, side + 1, 2 * side)) for side in range(1, 13)]
    return items_of(
        shapes, [contender(name) for name in ("naive", "ikj", "block", "packed", "numpy")], lambda _: "epyc"
    )


def run_one(problem, who, options):
    time.sleep(0.004)
    if who.name == "block" and problem.m % 4 == 0:
        raise RuntimeError("this one always fails")
    return timed(item(problem.m, problem.n, problem.k, kernel=who.name), problem.m * 1e-3)


class Teller:
    """Says on standard output what a sweep says that it did."""

    def begun(self, item):
        pass

    def ended(self, item, record):
        print(item.key, flush=True)


def main(path, how):
    executor = ThreadPoolExecutor(3) if how == "threads" else None
    with open_store(path) as store:
        run = store.begin("quick", PLAN)
        done = sweep(
            items(), run_one, lambda item, record: store.add(run, item, record),
            options=(0, 1, 2), done=store.keys(run), executor=executor, watcher=Teller(),
        )  # fmt: skip
        for _ in done:
            pass
        store.finish(run)
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
