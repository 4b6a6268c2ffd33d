"""The order of programs, beside the loops that it stands for."""

import random

import numpy as np
import pytest

from gemmlab.kernels import get, program_tile, program_tiles, tiles
from gemmlab.problem import Gemm


def plain_order(down, across, group_m):
    """Groups of group_m rows; in a group, column after column, down the group's rows."""
    return [
        (row, column)
        for first in range(0, down, group_m)
        for column in range(across)
        for row in range(first, min(first + group_m, down))
    ]


def triton_tutorial(pid, down, across, group_m):
    """`matmul_kernel` of Triton's matrix multiplication tutorial, its variables renamed."""
    in_group = group_m * across
    first = pid // in_group * group_m
    size = min(down - first, group_m)
    return first + (pid % in_group) % size, (pid % in_group) // size


def test_grouped_order_is_the_tutorials():
    rng = random.Random(1)
    for _ in range(200):
        down, across, group = rng.randint(1, 13), rng.randint(1, 13), rng.randint(1, 16)
        kernel = get("tensor", group_m=group)
        order = [program_tile(pid, down, across, kernel)[:2] for pid in range(down * across)]
        assert order == plain_order(down, across, group)
        assert order == [triton_tutorial(pid, down, across, group) for pid in range(down * across)]


def test_row_and_column_major():
    rows = [program_tile(pid, 2, 3, get("tensor"))[:2] for pid in range(6)]
    assert rows == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    columns = [program_tile(pid, 2, 3, get("tensor", raster="m"))[:2] for pid in range(6)]
    assert columns == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


def test_raster_m_groups_columns():
    order = [program_tile(pid, 3, 5, get("tensor", raster="m", group_m=2))[:2] for pid in range(15)]
    assert order == [(row, column) for column, row in plain_order(5, 3, 2)]


@pytest.mark.parametrize("raster", ["m", "n"])
def test_array_version_equals_the_scalar_one(raster):
    rng = random.Random(2)
    for _ in range(60):
        down, across = rng.randint(1, 40), rng.randint(1, 40)
        kernel = get("tensor", raster=raster, group_m=rng.randint(1, 9), split_k=rng.randint(1, 4))
        programs = np.arange(down * across * kernel.split_k)
        scalar = [program_tile(pid, down, across, kernel) for pid in programs.tolist()]
        assert np.stack(program_tiles(programs, down, across, kernel), axis=1).tolist() == [list(t) for t in scalar]
        assert len(set(scalar)) == len(scalar)  # every tile and every range of k once
        assert {split for _, _, split in scalar} == set(range(kernel.split_k))


def test_ranges_of_k_come_one_after_another():
    kernel = get("tensor", split_k=2)
    assert [program_tile(pid, 1, 2, kernel) for pid in range(4)] == [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]


def test_tiles_cover_ragged_sides():
    problem = Gemm(4095, 50257, 64)
    assert tiles(problem.m, problem.n, get("tensor")) == (32, 393)
