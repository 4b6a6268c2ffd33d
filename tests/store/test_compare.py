"""A comparison says what two runs can be told to differ by, and no more."""

import math
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.record import GemmlabError, Measurement, Record
from gemmlab.store import compare, open_store
from gemmlab.store.compare import FASTER, NOT_TOLD_APART, SLOWER, verdict_of
from report.records import verdict
from store.made import item, timed


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as opened:
        yield opened


def filled(store, *kept, suite="squares"):
    run = store.begin(suite)
    store.keep(run, kept)
    return store, store.run(run.id)


def row(time_s=1e-3, spread=0.01, **fields):
    made = item(**fields)
    return made, timed(made, time_s, spread)


def faulty(fault="crashed", **fields):
    made = item(**fields)
    return made, Record(measurement=Measurement(backend="cpu", fault=fault, fault_detail="because"))


def test_ratios_verdicts_and_their_mean(store):
    a = filled(store, row(2e-3, 0.01, m=1), row(1e-3, 0.01, m=2), row(1.00e-3, 0.01, m=3))
    b = filled(store, row(1e-3, 0.01, m=1), row(4e-3, 0.01, m=2), row(1.01e-3, 0.01, m=3))
    found = compare(a, b)
    assert [pair.verdict for pair in found.pairs] == [FASTER, SLOWER, NOT_TOLD_APART]
    assert [pair.ratio for pair in found.pairs] == pytest.approx([2.0, 0.25, 1 / 1.01])
    assert found.pairs[0].ratio_low == pytest.approx(2 * 0.99 / 1.01)
    assert found.pairs[0].ratio_high == pytest.approx(2 * 1.01 / 0.99)
    assert found.ratio == pytest.approx((2.0 * 0.25 / 1.01) ** (1 / 3))
    assert found.ratio_low == pytest.approx(found.ratio * 0.99 / 1.01)
    assert found.verdict == SLOWER
    assert (found.count(FASTER), found.count(SLOWER), found.count(NOT_TOLD_APART)) == (1, 1, 1)


TIMES = st.tuples(st.floats(1e-7, 10), st.floats(0, 0.3))


@given(TIMES, TIMES)
def test_told_apart_exactly_where_the_ranges_of_both_times_do_not_meet(tmp_path_factory, a, b):
    """Against the plain statement: no time of one lies within the other's quartiles."""
    (a_time, a_spread), (b_time, b_spread) = a, b
    a_low, a_high, b_low, b_high = a_time * (1 - a_spread), a_time * (1 + a_spread), b_time * (1 - b_spread), b_time * (
        1 + b_spread
    )  # fmt: skip
    meet = a_low <= b_high and b_low <= a_high
    found = verdict_of(a_low / b_high, a_high / b_low)
    if abs(a_low / b_high - 1) > 1e-12 and abs(a_high / b_low - 1) > 1e-12:
        assert found == (NOT_TOLD_APART if meet else FASTER if a_time > b_time else SLOWER)


def test_exchanging_the_runs_turns_every_answer_over(store):
    rng = random.Random(5)
    a, b = (filled(store, *(row(rng.uniform(1, 1.2) * 1e-3, 0.02, m=m) for m in range(1, 40))) for _ in "ab")
    there, back = compare(a, b), compare(b, a)
    turned = {FASTER: SLOWER, SLOWER: FASTER, NOT_TOLD_APART: NOT_TOLD_APART}
    assert {pair.verdict for pair in there.pairs} == set(turned)
    for one, other in zip(there.pairs, back.pairs, strict=True):
        assert turned[one.verdict] == other.verdict
        assert one.ratio * other.ratio == pytest.approx(1)
        assert one.ratio_low * other.ratio_high == pytest.approx(1)
    assert there.ratio * back.ratio == pytest.approx(1)


@pytest.mark.parametrize("without", [{"time_s_low": None, "time_s_high": None}, {"samples": (1e-3, 1e-3)}])
def test_a_time_without_a_spread_is_never_told_apart(store, without):
    made, record = row(1e-3, m=1)
    bare = msgspec.structs.replace(record.measurement, **without)
    a = filled(store, (made, msgspec.structs.replace(record, measurement=bare)), row(5e-3, m=2))
    b = filled(store, row(1e-9, m=1), row(1e-3, m=2))
    found = compare(a, b)
    assert [pair.verdict for pair in found.pairs] == [NOT_TOLD_APART, FASTER]
    assert (found.pairs[0].ratio_low, found.pairs[0].ratio_high) == (None, None)
    assert (found.ratio_low, found.verdict) == (None, NOT_TOLD_APART)


def test_a_wrong_or_failed_row_is_named_and_its_time_never_compared(store):
    made, record = row(1e-9, m=3)
    wrong = made, msgspec.structs.replace(record, verdict=verdict(ok=False, wrong_elements=4))
    a = filled(store, faulty(m=1), row(m=2), wrong, row(m=4), faulty("never ended", m=5))
    b = filled(store, row(m=1), faulty("out of memory", m=2), row(m=3), row(m=4), faulty("refused", m=5))
    found = compare(a, b)
    assert [pair.problem for pair in found.pairs] == ["4x64x64 float32"]
    assert [(each.a_fault, each.b_fault) for each in found.untimed] == [
        ("crashed", ""), ("", "out of memory"), ("wrong", ""), ("never ended", "refused"),
    ]  # fmt: skip


def test_rows_of_one_run_alone_are_named(store):
    a = filled(store, row(m=1), row(m=2), row(m=2, kernel="naive"))
    b = filled(store, row(m=2), row(m=2, threads=2))
    found = compare(a, b)
    assert list(found.only_a) == [item(m=1).key, item(m=2, kernel="naive").key]
    assert list(found.only_b) == [item(m=2, threads=2).key]
    assert len(found.pairs) == 1


def test_runs_without_a_common_time_say_so(store):
    found = compare(filled(store, row(m=1), faulty(m=3)), filled(store, row(m=2), row(m=3)))
    assert (found.ratio, found.verdict, found.pairs) == (None, "", ())


def test_runs_of_two_files(store, tmp_path):
    with open_store(tmp_path / "other.sqlite") as other:
        found = compare(filled(store, row(2e-3)), filled(other, row(1e-3)))
    assert found.pairs[0].ratio == pytest.approx(2)


def test_different_chips_are_compared_only_when_asked(store):
    a, b = filled(store, row(2e-3)), filled(store, row(1e-3, chip="xeon-8481c"))
    with pytest.raises(GemmlabError, match=r"is on epyc-7b13, .* on xeon-8481c") as caught:
        compare(a, b)
    assert "--any-chip" in caught.value.hint
    found = compare(a, b, any_chip=True)
    assert [pair.verdict for pair in found.pairs] == [FASTER]
    assert found.only_a == found.only_b == ()


def test_what_else_differs_is_named_and_readings_are_not(store):
    def with_environment(**environment):
        made = item()
        return made, timed(made, environment=environment)

    found = compare(
        filled(store, with_environment(driver="550.1", numpy="2.1", power="300 W", load_before="0.1")),
        filled(store, with_environment(driver="560.2", numpy="2.1", power="290 W", libm="2.39")),
    )
    assert [(each.name, each.a, each.b) for each in found.changed] == [
        ("cpu driver", "550.1", "560.2"), ("cpu libm", "", "2.39"),
    ]  # fmt: skip


def test_what_surrounds_rows_of_one_run_alone_is_no_difference(store):
    alone = (made := item(kernel="other")), timed(made, environment={"blas": "OpenBLAS"})
    found = compare(filled(store, row()), filled(store, row(), alone))
    assert [each.kernel for each in found.only_b] == ["other"]
    assert found.changed == ()


def test_runs_that_cannot_be_compared(store):
    a = filled(store, row())
    for b, said, hint in (
        (a, "is both runs", "two different ones"),
        (filled(store, row(), suite="waves"), "is of squares, .* of waves", "one suite"),
        (filled(store), "has no Records", "--runs"),
    ):
        with pytest.raises(GemmlabError, match=said) as caught:
            compare(a, b)
        assert hint in caught.value.hint


def test_the_mean_of_many_ratios_is_that_of_their_logarithms(store):
    rng = random.Random(3)
    factors = [math.exp(rng.gauss(0, 1)) for _ in range(50)]
    a = filled(store, *(row(factor * 1e-3, m=m) for m, factor in enumerate(factors, 1)))
    b = filled(store, *(row(1e-3, m=m) for m in range(1, 51)))
    assert compare(a, b).ratio == pytest.approx(math.prod(factors) ** (1 / 50))
