"""Vectors of the film: what its chapters count, made by the parts of the package that say the same.

Every row is what was asked for, then what the package answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from gemmlab import Gemm, chips, kernels
from gemmlab.experiment import explain
from gemmlab.formats import get, round_to
from gemmlab.systolic import Array, closed_form

#: tiles down and across, rows of tiles in a group, programs at once
GRIDS = ((6, 12, 1, 12), (6, 12, 3, 12), (64, 64, 1, 108), (64, 64, 8, 108), (5, 7, 2, 9), (1, 9, 4, 20), (7, 3, 7, 10))
#: rows and columns of PEs, rows of A
ARRAYS = ((4, 4, 6), (1, 1, 1), (8, 4, 30), (4, 8, 1), (16, 16, 1000), (256, 256, 256))
ADDING_ONES = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def film() -> Any:
    """All of it, by chapter."""
    return {
        "strips": [[*each, strips(*each)] for each in GRIDS],
        "rounds": list(rounds()),
        "arrays": list(arrays()),
        "sticking": [[name, get(name).mantissa_bits, sticks(name), neighbours(name)] for name in ADDING_ONES],
        "late": list(late()),
    }


def strips(down: int, across: int, group: int, programs: int) -> int:
    """Rows and columns of tiles that the first so many programs touch together."""
    kernel = kernels.get("tiled", group_m=group)
    at = [kernels.program_tile(number, down, across, kernel) for number in range(min(programs, down * across))]
    return len({row for row, _, _ in at}) + len({column for _, column, _ in at})


def rounds() -> Iterator[list[Any]]:
    """Chip, its SMs, tiles; the share of the SMs' time that is used when each has one tile at a time."""
    for name in ("a100-pcie-80gb", "h100-sxm"):
        chip = chips.get(name)
        for down, across in ((11, 10), (9, 12), (1, 1), (20, 33), (27, 8)):
            problem = Gemm(256 * down, 128 * across, 256, "float16")
            kernel = kernels.get("tensor", problem=problem, tile=(256, 128, 32))
            found = explain(problem, chip, kernel, advice=False).prediction
            assert found is not None
            assert found.programs_per_sm == 1
            assert chip.sm_count is not None
            yield [name, int(chip.sm_count), down * across, found.wave_efficiency]


def arrays() -> Iterator[list[Any]]:
    """Rows, columns, rows of A; cycles, utilisation and words of A that enter, weights loaded before the first row."""
    for rows, columns, m in ARRAYS:
        found = closed_form(Gemm(m, columns, rows, "int8"), Array(rows=rows, cols=columns))
        yield [rows, columns, m, found.cycles, found.utilisation, found.reads.a]


def sticks(name: str) -> float:
    """Where a sum in the format stays, when one is added again and again."""
    total = 0.0
    while (more := round_to(total + 1, name)) != total:
        total = more
    return total


def neighbours(name: str) -> list[list[float]]:
    """Some numbers from 1 to where the sum stays, and the distance to the next that the format has."""
    found, at = [], 1.0
    while at <= sticks(name):
        step = 2.0**-20
        while round_to(at + step, name, "rz") == at:
            step *= 2
        found.append([at, step])
        at *= 2
    return found


def late() -> Iterator[list[Any]]:
    """T, a row of A, a column of B; the sum as it should be, and as thread 0 makes it when all others are a step ahead.

    The kernel is the tiled one without its second barrier.
    """
    import numpy as np

    from gemmlab.emulator.launch import launch_of
    from gemmlab.emulator.lower import arguments_of, lower
    from gemmlab.emulator.serial import Schedule, run_schedule
    from gemmlab.emulator.source import load
    from gemmlab.kernels.ladder.broken import without_second_barrier

    draw = random.Random(4)
    for side, deep in ((2, 4), (2, 8), (4, 12), (4, 4)):
        kernel = without_second_barrier(side)  # type: ignore[no-untyped-call]
        row, column = ([draw.randint(1, 9) for _ in range(deep)] for _ in "ab")
        if (side, deep) == (2, 4):
            row, column = [1, 2, 3, 4], [5, 6, 7, 8]
        a, b, c = (np.zeros(shape, np.float32) for shape in ((side, deep), (deep, side), (side, side)))
        a[0], b[:, 0] = row, column
        program = lower(load(kernel), arguments_of(load(kernel), [a, b, c]))
        launch = launch_of(program, 1, (side, side), [a, b, c])
        run_schedule(program, launch, Schedule("serial", last=(0,)))
        yield [side, row, column, int(np.dot(row, column)), float(c[0, 0])]
