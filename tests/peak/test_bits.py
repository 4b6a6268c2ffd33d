"""What a deterministic plan gives on a CPU: near float64, and the same whatever stands beside it."""

import ml_dtypes
import numpy as np
import pytest

from gemmlab.numerics import gemm
from gemmlab.numerics.schedule import Schedule
from gemmlab.peak.bits import reproduced, split_parts
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.request import Request
from gemmlab.peak.tf32x3 import OTHERWISE
from gemmlab.peak.tf32x3_bits import by_three
from gemmlab.record import GemmlabError

TYPES = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
}
BOUND = {"float32": 3e-7, "float16": 3e-4, "bfloat16": 3e-3, "float8_e4m3fn": 3e-3}


def planned(form, m, n, k, **more):
    d_format = "bfloat16" if form.startswith("float8") else form
    fields = {"a_format": form, "b_format": form, "d_format": d_format, "deterministic": True}
    return plan_for(Request(m=m, n=n, k=k, **{**fields, **more}))


def drawn(form, m, n, k, seed=0):
    random = np.random.default_rng(seed)
    return tuple(random.standard_normal(sides).astype(np.float32).astype(TYPES[form]) for sides in ((m, k), (k, n)))


@pytest.mark.parametrize("form", TYPES)
@pytest.mark.parametrize("sides", [(40, 24, 200), (1, 8, 64), (70, 33, 129)])
def test_near_float64(form, sides):
    a, b = drawn(form, *sides)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = reproduced(planned(form, *sides), a, b).astype(np.float64)
    assert np.linalg.norm(found - exact) <= BOUND[form] * np.linalg.norm(exact)


@pytest.mark.parametrize("form", TYPES)
def test_a_part_has_the_bits_of_the_whole(form):
    a, b = drawn(form, 90, 70, 160, seed=3)
    whole = reproduced(planned(form, 90, 70, 160), a, b)
    part = reproduced(planned(form, 7, 12, 160), a[5:12], b[:, 9:21])
    assert part.tobytes() == np.ascontiguousarray(whole[5:12, 9:21]).tobytes()


def test_a_plan_is_the_unit_and_the_schedule_that_it_names():
    a, b = drawn("float8_e4m3fn", 20, 30, 300)
    plan = planned("float8_e4m3fn", 20, 30, 300)
    assert plan.schedule == Schedule(promote=128)
    told = gemm(a, b, unit=plan.unit, schedule=plan.schedule, d_format="bfloat16")
    assert reproduced(plan, a, b).tobytes() == told.tobytes()


@pytest.mark.parametrize("accuracy", ["vendor", "best", "fast"])
@pytest.mark.parametrize("form", TYPES)
def test_every_accuracy_has_its_bits(form, accuracy):
    a, b = drawn(form, 9, 16, 140)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = reproduced(planned(form, 9, 16, 140, accuracy=accuracy), a, b).astype(np.float64)
    bound = 2e-3 if (form, accuracy) == ("float32", "fast") else BOUND[form]
    assert np.linalg.norm(found - exact) <= bound * np.linalg.norm(exact)


def test_parts_add_up_to_the_scaled_number():
    random = np.random.default_rng(1)
    rows = (random.standard_normal((50, 40)) * 2.0 ** random.integers(-100, 100, (50, 1))).astype(np.float32)
    rows[3] = 0
    rows[4, 7] = 0
    high, low, back = split_parts(rows)
    assert np.frexp(back)[0].tolist() == [0.5] * 50  # powers of two
    whole = (high.astype(np.float64) + low.astype(np.float64) * 2.0**-11) * back.astype(np.float64)[:, None]
    largest = np.abs(rows).max(axis=1, keepdims=True).astype(np.float64)
    assert (np.abs(whole - rows) <= 2.0**-22 * np.abs(rows) + 2.0**-49 * largest).all()
    assert ((np.abs(high).max(axis=1) >= 2.0**14) | (largest[:, 0] == 0)).all()


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e-30])
def test_rows_that_cannot_be_split_are_refused(value):
    rows = np.ones((2, 4), np.float32)
    rows[1, 2] = value
    with pytest.raises(GemmlabError, match="2\\^28 apart"):
        split_parts(rows)


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e-30, 3.4e38])
def test_refused_rows_and_columns_alone_are_made_by_six_products(value):
    a, b = drawn("float32", 9, 16, 140)
    plan = planned("float32", 9, 16, 140)
    plain = reproduced(plan, a, b)
    a[4, 17], b[33, 2] = value, value
    found, six = reproduced(plan, a, b), by_three(OTHERWISE, a, b)
    others = np.ones(found.shape, bool)
    others[4], others[:, 2] = False, False
    assert np.array_equal(found[others], plain[others])
    assert found[~others].tobytes() == six[~others].tobytes()


def test_an_order_of_threads_is_refused():
    plan = plan_for(Request(m=1, n=4096, k=4096, a_format="bfloat16", b_format="bfloat16", d_format="bfloat16"))
    with pytest.raises(GemmlabError, match="not one alone"):
        reproduced(plan, *drawn("bfloat16", 1, 8, 8))
