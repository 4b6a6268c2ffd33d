"""The search for a tuned plan, with a clock of our own in a GPU's place, and the candidates that it begins with."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace
from tests.kernels import machine_code
from tests.peak.test_choosing import requests
from tests.peak.test_store import H200, SQUARE, folders, order  # noqa: F401 - a fixture

from gemmlab.peak import store, tuning
from gemmlab.peak.candidates import (
    SHORT_S,
    SLOWEST,
    WIDE,
    beside,
    decided,
    frugal,
    kind_of,
    variants,
    various,
    width_of,
)
from gemmlab.peak.choosing import plan_for, plans
from gemmlab.peak.engine import Engine
from gemmlab.peak.paired import LEAST_GAIN, LEVEL
from gemmlab.peak.trying import Tried
from gemmlab.record import GemmlabError


class Clock:
    """Times that a rule gives, by turns: each with noise of its own, all of a round with a drift that wanders.

    Remembers who was asked in which rounds.
    """

    def __init__(self, seconds, noise=0.0, wrong=(), seed=1, drift=0.0):
        self.seconds, self.noise, self.wrong, self.drift, self.asked = seconds, noise, wrong, drift, []
        self.source, self.level = random.Random(seed), 1.0

    def __call__(self, plans, rounds, *, loaded=False):
        self.asked.append((list(plans), rounds))
        self.loaded = loaded
        times = {plan: [] for plan in plans if plan not in self.wrong}
        for _ in range(rounds):
            self.level *= 1 + self.source.gauss(0, self.drift)
            for plan, found in times.items():
                found.append(self.seconds(plan) * self.level * (1 + self.source.gauss(0, self.noise)))
        return [Tried(plan, tuple(times[plan])) if plan in times else Tried(plan, fault="wrong") for plan in plans]


def by_model(plan):
    return plan.predicted_s


@given(requests(), st.integers(1, 12))
@settings(max_examples=40)
def test_candidates_answer_begin_with_the_model_s_and_differ(request_, most):
    found = various(request_, most)
    assert found[0] == plan_for(request_)
    assert len(set(found)) == len(found) <= most
    possible = list(plans(request_))
    assert all(plan in possible for plan in found)
    assert all(plan.predicted_s <= SLOWEST * found[0].predicted_s for plan in found)


def test_candidates_are_of_several_kinds():
    found = various(SQUARE, 12)
    assert len(found) == 12
    assert len({kind_of(decided(plan)) for plan in found}) >= 4
    assert len({plan.kernel.block_n for plan in found}) >= 3


@given(requests())
@settings(max_examples=20)
def test_forty_candidates_hold_every_width_of_a_large_tile_within_reach(request_):
    found = various(request_, 40)
    large = [plan for plan in plans(request_) if getattr(plan.kernel, "consumers", 0) == 2]
    reach = {width_of(decided(p)) for p in large if p.predicted_s <= SLOWEST * found[0].predicted_s} - {WIDE}
    assert reach <= {width_of(decided(plan)) for plan in found if getattr(plan.kernel, "consumers", 0) == 2}


def test_the_widest_tile_is_tried_where_the_model_thinks_it_wastes_a_wave():
    request_ = replace(SQUARE, m=3072, n=3072, k=3072)
    found = various(request_, 24)
    assert found[0].kernel.block_n == 192
    tiles = [plan.kernel for plan in found if plan.kernel.consumers == 2 and plan.kernel.shares == 1]
    assert {256, 240, 224, 208, 192} <= {tile.block_n for tile in tiles}
    assert len({-(-tile.tiles(3072, 3072) // 132) for tile in tiles}) >= 3  # numbers of waves


@given(requests(), st.randoms())
@settings(max_examples=40)
def test_variants_change_one_size_and_no_order(request_, source):
    plan = source.choice(list(plans(request_)))
    for other in variants(request_, plan):
        assert other != plan
        assert order(other) == order(plan)
        before, after = asdict(plan.kernel), asdict(other.kernel)
        changed = {name for name in before if before[name] != after[name]}
        # to make room; none on their way; what cannot be held back does not begin early, or beside others
        follows = {"stages", "lag"} | ({"blocks"} if "direct" in changed else set())
        follows |= {"early", "lean"} if "hold" in changed else set()
        assert len(changed - follows) + (other.group_m != plan.group_m) <= 1
        assert replace(other, kernel=plan.kernel, group_m=plan.group_m) == plan
        assert store.held(other.kernel)


@given(requests(), st.randoms())
@settings(max_examples=40)
def test_what_runs_beside_a_short_plan_is_a_plan_of_one_wave(request_, source):
    plan = source.choice(list(plans(request_)))
    own = set(plans(request_))
    for other in beside(request_, plan):
        assert other in own - {plan}
        assert plan.predicted_s <= SHORT_S
        assert other.kernel.tiles(request_.m, request_.n, request_.batch) <= request_.sm_count


def test_two_programs_on_an_sm_are_tried_where_launches_are_short():
    """Two of 48 columns take a ninth less than any single one, measured; neither is a step from what the model says."""
    small = replace(SQUARE, m=512, n=512, k=512)
    plan = plan_for(small)
    assert (plan.kernel.block_n, plan.kernel.resident) != (48, 2)
    assert (48, 2) in {(each.kernel.block_n, each.kernel.resident) for each in beside(small, plan)}
    assert not [*beside(SQUARE, plan_for(SQUARE))]

    def trial(tried, rounds, *, loaded=False):
        fast = {True: 3.24e-6, False: 3.65e-6}
        return [Tried(each, (fast[is_fast(each)],) * rounds, 1e-3) for each in tried]

    def is_fast(each):
        return isinstance(each.kernel, Engine) and (each.kernel.block_n, each.kernel.resident) == (48, 2)

    assert is_fast(tuning.search(small, trial).plan)


@pytest.mark.parametrize(
    "others", [{"early": False}, {"early": False, "lean": True}, {"early": True, "lean": True}, {}]
)
def test_a_launch_is_held_back_from_wherever_the_search_is(others):
    """Of 512 x 512 x 16384 the fastest so was out of reach from those that begin late, and 5 % ahead of them."""
    four = {"block_n": 128, "stages": 6, "spread": 2, "across": 2, "groups": 7, "later": True} | {"early": True}
    names = dict.fromkeys(("a_format", "b_format", "d_format"), "bfloat16")
    request_ = replace(SQUARE, m=512, n=512, k=16384)
    plan = replace(plan_for(request_), kernel=Engine(**names | four | others))
    held = [each for each in variants(request_, plan) if each.kernel.hold]
    assert [(each.kernel.early, each.kernel.lean) for each in held] == [(True, False)]
    back = {(each.kernel.hold, each.kernel.early, each.kernel.lean) for each in variants(request_, held[0])}
    assert {(False, True, False), (False, False, False), (False, True, True)} <= back


def test_variants_of_a_square():
    plan = plan_for(SQUARE)
    found = list(variants(SQUARE, plan))
    assert {each.group_m for each in found} == {1, 2, 4, 8, 16, min(32, -(-SQUARE.m // plan.kernel.block_m))}
    assert plan.kernel.stages - 1 in {each.kernel.stages for each in found}
    assert {each.kernel.early for each in found} == {True, False}
    one_column = replace(SQUARE, n=8)
    wide = next(p for p in plans(one_column) if isinstance(p.kernel, Engine) and not p.kernel.swapped)
    assert {each.group_m for each in variants(one_column, wide)} <= {1, wide.group_m}


def test_the_fastest_is_found_and_times_are_the_last_round_s():
    fast = next(plan for plan in various(SQUARE, 12)[1:])
    best = next(variants(SQUARE, fast))
    clock = Clock(lambda plan: {fast: 0.5e-4, best: 0.4e-4}.get(plan, 1e-4))
    found = tuning.search(SQUARE, clock)
    assert found.plan == best
    assert (found.measured_s, found.model_s, found.spread_s) == (0.4e-4, 1e-4, 0.0)
    assert found.better
    semifinal, final = clock.asked[-2:]
    assert [rounds for _, rounds in (semifinal, final)] == [tuning.SEMIFINAL_ROUNDS, tuning.FINAL_ROUNDS]
    assert set(final[0]) == {plan_for(SQUARE), best, fast}
    assert set(final[0]) <= set(semifinal[0])
    assert len(semifinal[0]) == tuning.SEMIFINAL + 1
    assert {each.plan for each in found.tried} == {plan for asked, _ in clock.asked for plan in asked}
    for each in found.tried:
        last = [rounds for asked, rounds in clock.asked if each.plan in asked][-1]
        assert len(each.seconds) == (last if last != tuning.MORE_ROUNDS else tuning.FIRST_ROUNDS + last)
    assert all(plan_for(SQUARE) in asked for asked, _ in clock.asked)  # so that rounds can be compared


def test_plans_far_behind_are_timed_once_and_none_twice_before_the_semifinal():
    slow = various(SQUARE, 12)[2:8]
    clock = Clock(lambda plan: 1.2e-4 if plan in slow else 1e-4, noise=0.001)
    tuning.search(SQUARE, clock)
    for rounds in (tuning.FIRST_ROUNDS, tuning.MORE_ROUNDS):
        asked = [plan for plans_, of in clock.asked if of == rounds for plan in plans_]
        assert sorted(map(asked.count, {*asked} - {plan_for(SQUARE)}))[-1] == 1
        assert set(slow) & set(asked) == (set(slow) if rounds == tuning.FIRST_ROUNDS else set())
    assert plan_for(SQUARE) in asked


def test_the_variants_of_the_best_variant_are_tried_too():
    start = various(SQUARE, 12)[1]
    step = next(each for each in variants(SQUARE, start) if each.group_m == 2)
    far = next(each for each in variants(SQUARE, step) if each.kernel.stages == step.kernel.stages - 1)
    assert far not in variants(SQUARE, start)
    clock = Clock(lambda plan: {start: 0.97e-4, step: 0.95e-4, far: 0.9e-4}.get(plan, 1e-4))
    assert tuning.search(SQUARE, clock).plan == far


def better(noise, drift, gain, searches):
    """How many searches find another plan than the model's: all are equal but for one that gains; and their spreads."""
    first = various(SQUARE, 12)
    fast = first[4] if gain else None
    found = []
    for seed in range(searches):
        clock = Clock(lambda plan: 1e-4 * (1 - gain) if plan == fast else 1e-4, noise, drift=drift, seed=seed)
        found.append(tuning.search(SQUARE, clock, first))
        assert found[-1].plan in [each.plan for each in found[-1].tried]
        assert not found[-1].better or found[-1].measured_s < found[-1].model_s
    if gain > noise:  # what is adopted is what gains, but for the share that may be adopted of equal plans too
        assert sum(each.plan not in (plan_for(SQUARE), fast) for each in found) <= LEVEL * searches
    return sum(each.better for each in found) / searches, [each.spread_s for each in found]


@pytest.mark.parametrize("drift", [0.0, 0.01])
@pytest.mark.parametrize("noise", [0.003, 0.01, 0.05])
def test_of_equal_plans_the_model_s_stays(noise, drift):
    assert better(noise, drift, gain=0.0, searches=150)[0] <= LEVEL


@pytest.mark.parametrize(("noise", "drift"), [(0.001, 0.0), (0.005, 0.0), (0.005, 0.01), (0.006, 0.005)])
def test_a_gain_is_found_whatever_drift_the_plans_share(noise, drift):
    share, spreads = better(noise, drift, gain=0.015, searches=60)
    assert share >= 0.95
    if drift == 0.01:  # the plans' own times are spread wider than what is gained
        assert sorted(spreads)[len(spreads) // 2] > 0.015e-4


def test_a_gain_that_is_sure_and_tiny_is_not_worth_a_plan():
    assert better(0.0, 0.0, gain=0.9 * LEAST_GAIN, searches=1)[0] == 0
    assert better(0.0, 0.0, gain=1.1 * LEAST_GAIN, searches=1)[0] == 1


def test_long_multiplications_are_judged_under_load():
    first = various(SQUARE, 12)
    restless, frugal, slow = first[2:5]  # fast after a pause; at the power limit; and there, but else slow
    rested = {restless: 1.19e-3, frugal: 1.195e-3, slow: 1.25e-3}
    at_limit = {restless: 1.45e-3, frugal: 1.39e-3, slow: 1.3e-3}

    def seconds(plan):
        return scale * (at_limit.get(plan, 1.4e-3) if clock.loaded else rested.get(plan, 1.2e-3))

    for scale, plan, times in ((1.0, frugal, at_limit), (0.5, restless, rested)):
        clock = Clock(seconds)
        found = tuning.search(SQUARE, clock, first)
        assert found.plan == plan
        assert found.measured_s == scale * times[plan]
        assert found.loaded == (scale == 1.0)
        assert clock.asked[-1][1] == (tuning.LOADED_ROUNDS if found.loaded else tuning.FINAL_ROUNDS)
        paused = {each.plan: each.seconds[0] for each in found.tried}
        assert all(paused[plan] == scale * of for plan, of in rested.items())  # what is fitted to is not mixed


LARGE = replace(SQUARE, m=8192, n=8192, k=8192)


@given(requests())
@settings(max_examples=40)
def test_frugal_plans_change_free_sizes_alone(request_):
    own = {order(plan) for plan in plans(request_)}
    for plan in frugal(request_):
        assert order(plan) in own
        assert store.held(plan.kernel)
        assert plan.kernel.block_n >= 256


def test_under_load_a_frugal_plan_is_found_that_nothing_tells_after_a_pause():
    most = frugal(LARGE)
    best = next(plan for plan in most if plan.kernel.swapped and plan.kernel.spread == 2 and plan.kernel.blocks == 1)
    first = various(LARGE, 12)
    assert best not in first
    assert len({plan.kernel.block_n for plan in frugal(LARGE)}) == 3
    assert len(list(frugal(LARGE))) == len(set(frugal(LARGE)))

    def seconds(plan):
        return 1.58e-3 if clock.loaded and plan == best else 1.6e-3 if clock.loaded else 1.35e-3

    clock = Clock(seconds, noise=0.003)
    found = tuning.search(LARGE, clock, first)
    assert (found.plan, found.loaded) == (best, True)
    assert clock.asked[-1][1] == tuning.LOADED_ROUNDS
    assert len(clock.asked[-1][0]) <= 1 + tuning.LOADED_FINAL + tuning.FINAL


def test_what_load_does_not_tell_apart_is_judged_with_pauses():
    """Of 16384^3 one plan took 10.8 ms after a pause and the model's 11.9, at the power limit 12.8 both."""
    first = various(SQUARE, 12)
    fast, slow = first[2:4]  # the other, as fast after a pause, is slower under load

    def seconds(plan):
        if clock.loaded:
            return 1.35e-3 if plan == slow else 1.28e-3
        return {fast: 1.08e-3, slow: 1.079e-3}.get(plan, 1.19e-3)

    clock = Clock(seconds, noise=0.002)
    found = tuning.search(SQUARE, clock, first)
    assert (found.plan, found.loaded) == (fast, False)
    assert clock.asked[-1] == ([plan_for(SQUARE), fast], tuning.FINAL_ROUNDS)
    assert found.measured_s < 1.1e-3 < found.model_s < 1.25e-3


def test_under_load_the_model_s_stays_where_none_surely_beats_it():
    taken = 0
    for seed in range(60):
        clock = Clock(lambda plan: 1.2e-3 * (1.001 if plan == plan_for(SQUARE) else 1.0), noise=0.003, seed=seed)
        taken += tuning.search(SQUARE, clock, various(SQUARE, 12)).better
    assert taken <= 3


def test_a_wrong_plan_is_never_chosen_however_fast():
    first, second = various(SQUARE, 12)[1:3]
    clock = Clock(lambda plan: {first: 1e-6, second: 2e-6}.get(plan, 1e-4), wrong=[first])
    assert tuning.search(SQUARE, clock).plan == second


def test_where_the_model_s_own_fails_the_fastest_right_one_is_taken():
    clock = Clock(by_model, wrong=[plan_for(SQUARE)])
    found = tuning.search(SQUARE, clock)
    assert found.model_s is None
    assert found.better


@pytest.mark.parametrize("calls", [1, 3])
def test_the_model_s_own_may_fail_after_some_rounds(calls):
    fast = various(SQUARE, 12)[5]
    clock = Clock(lambda plan: 0.9e-4 if plan == fast else 1e-4, noise=0.001)

    def fails_later(plans, rounds, loaded):
        clock.wrong = [plan_for(SQUARE)] if len(clock.asked) >= calls else []
        return clock(plans, rounds)

    found = tuning.search(SQUARE, fails_later)
    assert (found.plan, found.model_s) == (fast, None)


def test_what_fails_after_its_first_round_is_left_out():
    first, second = various(SQUARE, 12)[3:5]
    clock = Clock(lambda plan: {first: 0.8e-4, second: 0.9e-4}.get(plan, 1e-4))

    def fails_later(plans, rounds, loaded):
        clock.wrong = [first] if rounds > tuning.FIRST_ROUNDS else []
        return clock(plans, rounds)

    found = tuning.search(SQUARE, fails_later)
    assert found.plan == second
    assert [each.fault for each in found.tried if each.plan == first] == ["wrong"]


def test_where_all_fail_it_says_so():
    with pytest.raises(GemmlabError, match="no plan gives a right result: wrong"):
        tuning.search(SQUARE, lambda plans, rounds, loaded: [Tried(plan, fault="wrong") for plan in plans])


def test_what_is_wrong_under_load_is_refused():
    def wrong_under_load(plans, rounds, *, loaded=False):
        return [Tried(plan, fault="wrong") if loaded else Tried(plan, (1.3e-3,) * rounds) for plan in plans]

    with pytest.raises(GemmlabError, match="measured again"):
        tuning.search(LARGE, wrong_under_load)


def test_what_is_wrong_when_measured_again_is_refused():
    def wrong_later(plans, rounds, loaded):
        return Clock(by_model)(plans, rounds) if rounds < tuning.SEMIFINAL_ROUNDS else [Tried(plan) for plan in plans]

    with pytest.raises(GemmlabError, match="measured again"):
        tuning.search(SQUARE, wrong_later)


def test_a_better_plan_is_remembered_and_a_worse_one_forgotten(folders):  # noqa: F811
    fast = various(SQUARE, 12)[1]
    for seconds, plan in ((0.5e-4, fast), (2e-4, plan_for(SQUARE))):
        found = tuning.search(SQUARE, Clock(lambda each, seconds=seconds: seconds if each == fast else 1e-4))
        tuning.remember(found, H200, {"torch": "2.11"})
        assert store.chosen(SQUARE, H200) == plan
        assert len(store.read(store.own_file(H200), H200)) == (plan == fast)
    store.keep(H200, [tuning.entry_of(found._replace(plan=fast), {})], store.SHIPPED / H200.file)
    tuning.remember(found, H200, {})
    assert store.chosen(SQUARE, H200) == plan_for(SQUARE)  # the package's file says otherwise


def test_versions_are_plain_words_and_go_into_a_file(folders):  # noqa: F811
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    machine_code.need("cuda.bindings")
    versions = tuning.versions_of(torch)
    assert {"torch", "nvrtc", "kernels"} <= set(versions)
    fast = various(SQUARE, 2)[1]
    found = tuning.search(SQUARE, Clock(lambda plan: 0.5e-4 if plan == fast else 1e-4))
    tuning.remember(found, H200, versions)
    (entry,) = store.read(store.own_file(H200), H200)
    assert entry.versions == versions
    assert all(type(word) is str for word in versions.values())
