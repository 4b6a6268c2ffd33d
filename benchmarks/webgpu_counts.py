"""Loads of the rungs in WGSL three ways: by formula, counted on the adapter, and in the emulator, of their twins.

    python benchmarks/webgpu_counts.py --out benchmarks/results/webgpu_counts.json

Any adapter will do, a software one too: what a kernel loads does not depend on it. Every result is checked. Leaves with
status 1 where two counts differ or a result is wrong.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from gemmlab import kernels
from gemmlab.check import operands
from gemmlab.count import count
from gemmlab.emulator import emulate
from gemmlab.kernels.ladder import RUNGS, load
from gemmlab.problem import Gemm
from gemmlab.run.backends.webgpu.contenders import CONTENDERS
from gemmlab.run.backends.webgpu.program import program
from gemmlab.run.checking import judged

SHAPES = ((64, 64, 64), (128, 128, 128), (100, 70, 33), (33, 70, 100), (17, 15, 33), (256, 256, 256))


def row_of(name: str, sides: tuple[int, int, int]) -> dict[str, Any]:
    """The three counts of a rung on one multiplication, and whether its result was right."""
    problem, contender = Gemm(*sides), next(each for each in CONTENDERS if each.name == name)
    given, made = operands(problem, 0), program(problem, name)
    made.place(given, 1)
    counted = made.counted()
    kernel = kernels.get(contender.counted_by, problem=problem, **contender.settings)
    return {
        "kernel": name,
        "sides": list(sides),
        "formula": count(problem, kernel).global_load_elements,
        "adapter": sum(counted),
        "emulated": emulated(name, *sides),
        "right": judged(problem, given, made.result(0), contender).ok,
        "environment": made.environment,
    }


def emulated(name: str, m: int, n: int, k: int) -> int:
    """Loads of the rung of that name in numba.cuda, as the emulator counts them."""
    a, b, c = np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.zeros((m, n), np.float32)
    rung = RUNGS[name]
    found = emulate(load(rung.source), *rung.launch(m, n), a, b, c, outputs=("c",), prove=False)
    return int(found.global_load.elements)


def main() -> int:
    """Count all, write the rows, say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = [row_of(name, sides) for sides in SHAPES for name in ("naive", "tiled")]
    wrong = [row for row in rows if not (row["right"] and row["formula"] == row["adapter"] == row["emulated"])]
    for row in rows:
        print(row["kernel"], *row["sides"], row["formula"], row["adapter"], row["emulated"], row["right"])
    if given.out:
        found = {"date": datetime.date.today().isoformat(), "rows": rows}
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for row in wrong:
        print(f"not the same, or not right: {row}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
