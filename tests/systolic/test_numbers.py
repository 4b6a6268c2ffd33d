"""Floats in the array's order: bit for bit what the unit of numerics gives, and near the exact product."""

import ml_dtypes
import msgspec
import numpy as np
import pytest

from gemmlab import Gemm
from gemmlab.numerics import Schedule, gemm, mma
from gemmlab.systolic import Array, Grid
from gemmlab.systolic.arithmetic import unit_of

FORMATS = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "float32")
DATAFLOWS = ("ws", "is", "os")


def kind(name):
    """The format as a dtype."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def drawn(problem, seed, wide=False):
    """Normal numbers; `wide` ones over all exponents, zeros, infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    made = []
    for form, shape in ((problem.a_format, (problem.m, problem.k)), (problem.b_format, (problem.k, problem.n))):
        values = rng.standard_normal(shape)
        if wide:
            codes = rng.integers(0, 1 << 8 * kind(form).itemsize, shape, dtype=np.uint64)
            made.append(codes.astype(f"u{kind(form).itemsize}").view(kind(form)))
        else:
            made.append(values.astype(kind(form)))
    return made


def in_order(problem, array, a, b):
    """The same by numerics: chains down the array, then float32 additions, where sums move; else one chain."""
    unit = unit_of(problem, array)
    if not array.moves_sums:
        return mma(unit, a, b)
    short = -problem.k % array.rows  # PEs past the edge multiply zeros
    a, b = np.pad(a, ((0, 0), (0, short))), np.pad(b, ((0, short), (0, 0)))
    return gemm(a, b, unit=unit, schedule=Schedule(promote=array.rows))


def same(d, due):
    """Equal bit for bit, but for the payloads of NaN."""
    assert d.dtype == due.dtype
    nan = np.isnan(due)
    np.testing.assert_array_equal(np.isnan(d), nan)
    bits = f"u{due.dtype.itemsize}"
    np.testing.assert_array_equal(np.where(nan, 0, d).view(bits), np.where(nan, 0, due).view(bits))


@pytest.mark.parametrize("dataflow", DATAFLOWS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("wide", [False, True])
def test_the_bits_of_the_unit(form, dataflow, wide):
    for seed in range(4):
        problem = Gemm(7, 6, 11, form)
        drain = ("side", "bottom", "shadow")[seed % 3]
        array = Array(rows=(3, 4, 11, 2)[seed], cols=4, dataflow=dataflow, drain=drain)
        a, b = drawn(problem, seed, wide)
        grid = Grid(problem, array, (a, b))
        d, found = grid.run()
        assert found.unit == unit_of(problem, array).name
        assert found.overflow is None
        same(d, in_order(problem, array, a, b))


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_this_machines_floats_are_the_units_where_it_is_safe(dataflow):
    problem, array = Gemm(64, 50, 70, "bfloat16"), Array(rows=16, cols=8, dataflow=dataflow)
    a, b = drawn(problem, 1)
    grid = Grid(problem, array, (a, b))
    assert not grid.load.plain
    same(grid.run()[0], in_order(problem, array, a, b))
    a[3, 3] = 1e-30  # its products with small numbers have bits below float32's normal range
    b[3, :] *= 1e-9
    grid = Grid(problem, array, (a, b))
    assert grid.load.plain


@pytest.mark.parametrize("rows", [8, 128, 256])
def test_the_height_of_the_array_is_in_the_error(rows):
    problem = Gemm(128, 128, 1024, "bfloat16")
    a, b = drawn(problem, 0)
    d, _ = Grid(problem, Array(rows=rows, cols=128), (a, b)).run()
    reference = a.astype(np.float64) @ b.astype(np.float64)
    sizes = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    error = np.abs(d - reference)
    chains = rows + 1024 // rows
    assert (error <= chains * 2.0**-24 * sizes * 1.01).all()
    assert 0 < error.max() < 1e-4


def test_a_unit_of_ones_own():
    problem = Gemm(5, 4, 9, "bfloat16")
    mine = msgspec.structs.replace(unit_of(problem, Array()), name="mine", width=10, rounding="rz")
    array = Array(rows=4, cols=3, unit=mine)
    a, b = drawn(problem, 2)
    d, found = Grid(problem, array, (a, b)).run()
    assert found.unit == "mine"
    same(d, in_order(problem, array, a, b))
    assert (d != Grid(problem, array.replace(unit=""), (a, b)).run()[0]).any()


def test_narrow_floats_keep_their_subnormals():
    problem = Gemm(1, 1, 1, "float8_e4m3fn")
    small = np.array([[2.0**-9]]).astype(ml_dtypes.float8_e4m3fn)
    d, _ = Grid(problem, Array(rows=1, cols=1), (small, small)).run()
    assert d[0, 0] == 2.0**-18
