"""No emulated output is further from the exact sum than its bound."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest

from gemmlab import formats, numerics
from gemmlab.numerics import Schedule
from gemmlab.numerics.operands import operand
from gemmlab.numerics.predicting.bounds import bound
from gemmlab.numerics.predicting.magnitudes import side
from gemmlab.record import GemmlabError

UNITS = [name for name in numerics.unit_names() if not numerics.unit(name).scaled]
SCALED = [name for name in numerics.unit_names() if numerics.unit(name).scaled]
CASES = 1000


def codes(rng, name, shape, kind):
    """Random operands: all codes; or values that cancel, or grow."""
    form = formats.get(name)
    if form.bits < 64 and (kind == "bits" or form.kind == "int"):
        drawn = rng.integers(0, 1 << form.bits, shape).astype(np.uint64) << np.uint64(form.pad_bits)
        values = formats.decode_array(drawn, name)
        return np.where(np.isfinite(values), values, 0.0)
    spread = rng.integers(1, 4 + 2 * min(form.exponent_bits, 8))
    values = np.ldexp(rng.uniform(0.5, 1, shape), rng.integers(-spread, spread // 2 + 1, shape))
    if kind == "cancelling":
        values *= rng.choice([-1, 1], shape)
    return formats.round_array(values, name, saturate=True)


def case(rng, name):
    """One multiplication on a unit with some schedule."""
    unit = numerics.unit(name)
    m, n, k = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 3 * unit.k + 2) if unit.k < 64 else unit.k + 3
    kind = rng.choice(["bits", "cancelling", "growing"])
    fmt = str(rng.choice(unit.a_formats)), str(rng.choice(unit.b_formats))
    a, b = codes(rng, fmt[0], (m, k), kind), codes(rng, fmt[1], (k, n), kind)
    integer = unit.accumulate == "int32"
    schedule = Schedule(
        promote=0 if integer else int(rng.choice([0, unit.k, 2 * unit.k])),
        split_k=int(rng.choice([1, 1, 2, 3])),
        reduce="float32" if integer else str(rng.choice(["float32", "float16", "bfloat16"])),
        reduce_sum=str(rng.choice(["float32", "float16"])),
    )
    return unit, schedule, fmt, a, b


def test_holds_on_random_multiplications():
    rng = np.random.default_rng(0)
    tight = []
    for at in range(CASES):
        unit, schedule, fmt, a, b = case(rng, UNITS[at % len(UNITS)])
        left, right = operand(a, fmt[0]), operand(b, fmt[1])
        reach = bound(unit, schedule, side(unit, left, None, "A", False), side(unit, right, None, "B", True))
        wide = "float64" if unit.accumulate == "float64" else "float32"
        found = numerics.gemm(
            a, b, unit=unit, schedule=schedule, a_format=fmt[0], b_format=fmt[1],
            d_format="int32" if unit.accumulate == "int32" else wide,
        )  # fmt: skip
        for (i, j), value in np.ndenumerate(found):
            if not np.isfinite(reach.error[i, j]):
                continue
            exact = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a[i], b[:, j], strict=True))
            off = abs(Fraction(float(value)) - exact)
            assert off <= Fraction(reach.error[i, j]), (unit.name, schedule, a[i].tolist(), b[:, j].tolist())
            if reach.error[i, j]:
                tight.append(float(off) / reach.error[i, j])
    # A bound that is never approached would hold for any emulation.
    assert max(tight) > 0.3


@pytest.mark.parametrize("name", SCALED)
def test_holds_with_block_scales(name):
    unit = numerics.unit(name)
    rng = np.random.default_rng(1)
    k = unit.k + unit.scale_block
    blocks = k // unit.scale_block
    a, b = codes(rng, unit.a_formats[0], (3, k), "cancelling"), codes(rng, unit.b_formats[0], (k, 2), "cancelling")
    x, y = np.exp2(rng.integers(-3, 4, (3, blocks))), np.exp2(rng.integers(-3, 4, (blocks, 2)))
    scales = operand(x, unit.scale_formats[0]), operand(y, unit.scale_formats[0])
    left, right = operand(a, unit.a_formats[0]), operand(b, unit.b_formats[0])
    reach = bound(unit, Schedule(), side(unit, left, scales[0], "A", False), side(unit, right, scales[1], "B", True))
    found = numerics.gemm(a, b, unit=unit, a_scales=scales[0].codes, b_scales=scales[1].codes)
    exact = (a * np.repeat(x, unit.scale_block, axis=1)) @ (b * np.repeat(y, unit.scale_block, axis=0))
    assert (np.abs(found - exact) <= reach.error).all()


def test_hypothetical_units_keep_it_too():
    rng = np.random.default_rng(2)
    base = numerics.unit("hopper.mma.float16")
    for _ in range(150):
        terms = int(rng.integers(1, 20))
        unit = msgspec.structs.replace(
            base,
            terms=terms,
            instruction_k=0,
            align_bits=int(rng.integers(8, 30)),
            width=int(rng.integers(6, 24)),
            cut=str(rng.choice(["rz", "rne", "rna", "floor"])),
            rounding=str(rng.choice(["rz", "rne", "rna", "floor"])),
            c=str(rng.choice(["early", "late"])),
        )
        a, b = codes(rng, "float16", (2, 3 * terms), "cancelling"), codes(rng, "float16", (3 * terms, 2), "growing")
        left, right = operand(a, "float16"), operand(b, "float16")
        reach = bound(unit, Schedule(), side(unit, left, None, "A", False), side(unit, right, None, "B", True))
        found = numerics.gemm(a, b, unit=unit).astype(np.float64)
        assert (np.abs(found - a @ b) <= reach.error).all(), unit


HALF = {"a_formats": ("float16",), "b_formats": ("float16",), "nan_code": 0x7FFFFFFF}
FLOOR = HALF | {"align_bits": 24, "width": 1, "rounding": "floor", "c": "floor", "join_bits": 30, "terms": 2}
PAIRS = HALF | {"accumulate": "float64", "sum": "pairs", "terms": 32, "width": 52, "rounding": "rna"}
WIDE = HALF | {"accumulate": "float64", "align_bits": 30, "width": 52, "terms": 4, "product_overflow": True}


@pytest.mark.parametrize(
    ("fields", "a"),
    [
        pytest.param(HALF | {"align_bits": 5, "terms": 5, "instruction_k": 10, "cut": "floor"}, [6.785, 6.754],
                     id="the running sum is cut again where an instruction is filled up"),
        pytest.param(FLOOR | {"instruction_k": 8}, [3.0, 3.0, -5.0, 7.0, 1.5, -2.5], id="each group joins C"),
        pytest.param(HALF | {"align_bits": 1, "accumulate": "float16", "width": 10, "terms": 4, "instruction_k": 16,
                             "c": "late", "cut": "floor", "nan_code": 0x7FFF}, [-0.0029, 0.0012],
                     id="a subnormal sum counts as the smallest normal number"),
        pytest.param(HALF | {"sum": "exact", "terms": 4, "instruction_k": 8, "subnormal_inputs": False,
                             "accumulate": "float16", "width": 10, "nan_code": 0x7FFF}, [0.003],
                     id="a subnormal sum is read as zero"),
        pytest.param({"a_formats": ("float64",), "b_formats": ("float64",), "accumulate": "float64", "width": 52,
                      "sum": "exact", "rounding": "rne", "nan_code": 0x7FF8 << 48}, [1.7e-162, 2.2e-162],
                     id="products below float64's range"),
    ],
)  # fmt: skip
def test_corners(fields, a):
    unit = numerics.Unit(name="x", **fields)
    name = unit.a_formats[0]
    row = formats.round_array(np.array([a]), name)
    for column in (row.T, -row.T, row[:, ::-1].T):
        left, right = operand(row, name), operand(column, name)
        reach = bound(unit, Schedule(), side(unit, left, None, "A", False), side(unit, right, None, "B", True))
        found = numerics.gemm(row, column, unit=unit)
        exact = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(row[0], column[:, 0], strict=True))
        assert abs(Fraction(float(found[0, 0])) - exact) <= Fraction(reach.error[0, 0])


def test_roundings_below_the_last_place_of_one_are_counted():
    """Six roundings of a product on its way through pairs of 32: 1 + 2^-53 is 1 in float64."""
    unit = numerics.Unit(name="x", **PAIRS)
    ones = np.ones((1, 32))
    both = side(unit, operand(ones, "float16"), None, "A", False)
    assert bound(unit, Schedule(), both, both).error[0, 0] >= 32 * 6 * 2.0**-53


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_overflows_has_no_bound():
    unit = numerics.Unit(name="x", **WIDE | {"a_formats": ("bfloat16",), "b_formats": ("bfloat16",)})
    row = np.array([[2.0**70, 1.0]])
    ones = np.full((1, 256), -128.0)
    for chosen, a, b, split_k in (
        (unit, row, row.T, 1),
        (numerics.unit("cpu.fma.float64"), np.array([[1e200]]), np.array([[1e200]]), 2),
        (numerics.unit("amx.tdp.int8"), np.repeat(ones, 600, axis=1), np.repeat(ones, 600, axis=1).T, 2),
    ):
        left, right = operand(a, chosen.a_formats[0]), operand(b, chosen.b_formats[0])
        reach = bound(
            chosen, Schedule(split_k=split_k), side(chosen, left, None, "A", False),
            side(chosen, right, None, "B", True),
        )  # fmt: skip
        assert reach.error[0, 0] == np.inf


def test_operands_that_are_not_finite_are_named():
    a = np.array([[1.0, np.inf]], np.float16)
    with pytest.raises(GemmlabError, match=r"A\[0, 1\] is inf"):
        numerics.predict(a, a.T, unit="ampere.mma.float16")
