"""The search for a tuned plan, with a clock of our own in a GPU's place, and the candidates that it begins with."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace
from tests.kernels import machine_code
from tests.peak.fake_gpu import Torch, chain_of
from tests.peak.test_choosing import requests
from tests.peak.test_store import H200, SQUARE, folders, order  # noqa: F401 - a fixture

from gemmlab.peak import store, trying, tuning
from gemmlab.peak.candidates import SLOWEST, decided, kind_of, variants, various
from gemmlab.peak.choosing import plan_for, plans
from gemmlab.peak.engine import Engine
from gemmlab.peak.trying import Tried
from gemmlab.record import GemmlabError


class Clock:
    """Times that a rule gives, with noise that is told; remembers who was asked in which rounds."""

    def __init__(self, seconds, noise=0.0, wrong=(), seed=1):
        self.seconds, self.noise, self.wrong, self.asked = seconds, noise, wrong, []
        self.source = random.Random(seed)

    def __call__(self, plans, rounds):
        self.asked.append((list(plans), rounds))
        return [
            Tried(plan, fault="wrong")
            if plan in self.wrong
            else Tried(plan, tuple(self.seconds(plan) * (1 + self.noise * self.source.random()) for _ in range(rounds)))
            for plan in plans
        ]


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


@given(requests(), st.randoms())
@settings(max_examples=40)
def test_variants_change_one_size_and_no_order(request_, source):
    plan = source.choice(list(plans(request_)))
    for other in variants(request_, plan):
        assert other != plan
        assert order(other) == order(plan)
        before, after = asdict(plan.kernel), asdict(other.kernel)
        changed = {name for name in before if before[name] != after[name]}
        assert len(changed - {"stages", "lag"}) + (other.group_m != plan.group_m) <= 1  # these two make room
        assert replace(other, kernel=plan.kernel, group_m=plan.group_m) == plan
        assert store.held(other.kernel)


def test_variants_of_a_square():
    plan = plan_for(SQUARE)
    found = list(variants(SQUARE, plan))
    assert {each.group_m for each in found} == {1, 2, 4, 8, 16}
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
    last, rounds = clock.asked[-1]
    assert rounds == tuning.FINAL_ROUNDS
    assert {plan_for(SQUARE), fast, best} <= set(last)
    assert len(last) <= tuning.FINAL + 1
    assert {each.plan for each in found.tried} == {plan for asked, _ in clock.asked for plan in asked}
    assert all(len(each.seconds) == (rounds if each.plan in last else tuning.BRIEF_ROUNDS) for each in found.tried)


def test_no_plan_is_timed_twice_in_the_brief_rounds():
    clock = Clock(by_model)
    tuning.search(SQUARE, clock)
    brief = [plan for asked, rounds in clock.asked if rounds == tuning.BRIEF_ROUNDS for plan in asked]
    assert len(brief) == len(set(brief))


@pytest.mark.parametrize(("gain", "noise", "better"), [(0.02, 0.001, True), (0.02, 0.2, False), (0.0, 0.01, False)])
def test_the_model_stays_unless_the_gain_is_more_than_the_spread(gain, noise, better):
    fast = various(SQUARE, 12)[4]
    taken = 0
    for seed in range(20):
        clock = Clock(lambda plan: 1e-4 * (1 - gain) if plan == fast else 1e-4, noise, seed=seed)
        found = tuning.search(SQUARE, clock)
        assert found.plan == plan_for(SQUARE) or found.better
        assert found.model_s >= found.measured_s
        taken += found.better
    assert taken == 20 if better else taken <= 2


def test_a_wrong_plan_is_never_chosen_however_fast():
    first, second = various(SQUARE, 12)[1:3]
    clock = Clock(lambda plan: {first: 1e-6, second: 2e-6}.get(plan, 1e-4), wrong=[first])
    assert tuning.search(SQUARE, clock).plan == second


def test_where_the_model_s_own_fails_the_fastest_right_one_is_taken():
    clock = Clock(by_model, wrong=[plan_for(SQUARE)])
    found = tuning.search(SQUARE, clock)
    assert found.model_s is None
    assert found.better


def test_where_all_fail_it_says_so():
    with pytest.raises(GemmlabError, match="no plan gives a right result: wrong"):
        tuning.search(SQUARE, lambda plans, rounds: [Tried(plan, fault="wrong") for plan in plans])


def test_what_is_wrong_when_measured_again_is_refused():
    def wrong_later(plans, rounds):
        return Clock(by_model)(plans, rounds) if rounds < tuning.FINAL_ROUNDS else [Tried(plan) for plan in plans]

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


def test_kernels_are_compiled_once_and_their_faults_told(monkeypatch):
    made = []

    def code(kernel):
        made.append(kernel)
        if kernel.block_n == 208:
            raise RuntimeError("NVRTC_ERROR_COMPILATION")
        return b""

    monkeypatch.setattr(trying, "code_of", code)
    compiler, candidates = trying.Compiler(2), various(SQUARE, 12)
    compiler.begin(candidates)
    compiler.begin(candidates)
    for plan in candidates:
        if plan.kernel.block_n == 208:
            with pytest.raises(RuntimeError, match="COMPILATION"):
                compiler.end(plan)
        else:
            compiler.end(plan)
    assert sorted(map(repr, made)) == sorted({repr(plan.kernel) for plan in candidates})
    assert any(plan.kernel.block_n == 208 for plan in candidates)
    compiler.stop()


def test_threads_compile_the_same_code_as_one(tmp_path, monkeypatch):
    machine_code.need("cuda.bindings")
    kernels = [plan.kernel for plan in various(SQUARE, 3)]
    found = []
    for folder, workers in (("one", 1), ("many", 3)):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
        with ThreadPoolExecutor(workers) as pool:
            found.append(list(pool.map(trying.code_of, kernels)))
    assert found[0] == found[1]
    assert len(set(found[0])) == 3


def test_a_copy_lies_as_what_it_is_of():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    memory = torch.randn(1000).bfloat16()
    for of in (memory[1:].as_strided((7, 9), (11, 1)), memory[8:].as_strided((9, 7), (1, 16)), memory.view(10, 100)):
        found = trying.alike(torch, of).copy_(of)
        assert torch.equal(found, of)
        assert found.stride() == of.stride()
        assert found.data_ptr() % 16 == of.data_ptr() % 16
        assert found.data_ptr() != of.data_ptr()


SMALL = replace(SQUARE, m=64, n=96, k=128)


@pytest.fixture
def bench(monkeypatch):
    """A bench of a small multiplication on a GPU in words, and that GPU; `group_m` tells plans apart."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    fake = Torch(torch)
    torch.manual_seed(0)

    def multiply(plan, a, b):
        found = a.float() @ b.float()
        found[0, 0] += {2: 3.0, 4: float("nan")}.get(plan.group_m, 0.0)
        if plan.group_m == 16:
            raise RuntimeError("CUDA error: unspecified launch failure")
        return found

    def seconds(plan):
        return 1e-6 * plan.group_m

    monkeypatch.setattr(trying, "Chain", chain_of(fake, seconds, multiply))
    monkeypatch.setattr(trying, "code_of", lambda kernel: b"")
    monkeypatch.setattr(trying.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(trying, "L2_BYTES", 1e5)
    a, b = torch.randn(64, 128).bfloat16(), torch.randn(96, 128).bfloat16().t()
    compiler = trying.Compiler(1)
    found = trying.Bench(fake, a, b, torch.empty(64, 96, dtype=torch.bfloat16), compiler)
    fake.known = {each.data_ptr(): each for operands in found.sets for each in operands}
    yield found, fake
    compiler.stop()


def grouped(group):
    return replace(plan_for(SMALL), group_m=group)


def test_a_bench_times_one_multiplication_by_turns(bench):
    bench, fake = bench
    assert len(bench.sets) == 6  # three times the L2 of operands and results
    found = bench.tried([grouped(8), grouped(1)], 3)
    for each, group in zip(found, (8, 1), strict=True):
        assert each.seconds == pytest.approx([1e-6 * group] * 3)
        assert each.error < 4e-3
        assert not each.fault
    _, count, whole = bench.graphs[grouped(1)]
    assert count == 6 * (trying.MOST_CALLS // 6)
    assert whole == pytest.approx(1e-6 * count)
    before = fake.cuda.launches
    bench.tried([grouped(1)], 2)
    assert fake.cuda.launches == before + 1 + 2 * count  # it is held against float64 again, and not captured again


@pytest.mark.parametrize(("group", "said"), [(2, "error 3"), (4, "error inf"), (16, "unspecified launch failure")])
def test_a_bench_refuses_what_is_wrong(bench, group, said):
    bench, _ = bench
    right, wrong = bench.tried([grouped(8), grouped(group)], 2)
    assert right.seconds
    assert not wrong.seconds
    assert said in wrong.fault


def test_what_is_right_once_and_wrong_in_a_graph_is_refused(bench):
    bench, fake = bench
    launch, plan = bench.launch, grouped(1)

    def late(of, operands):
        launch(of, operands)
        if fake.cuda.recording is not None and of == plan and operands is bench.sets[-1]:
            fake.cuda.run(operands[2].zero_)

    bench.launch = late
    right, wrong = bench.tried([grouped(8), plan], 2)
    assert right.seconds
    assert not wrong.seconds
    assert wrong.fault.startswith("error")


def test_a_compiler_s_refusal_is_a_fault(bench, monkeypatch):
    bench, _ = bench
    other = various(SMALL, 2)[1]

    def code(kernel):
        raise RuntimeError("NVRTC_ERROR_COMPILATION: registers")

    monkeypatch.setattr(trying, "code_of", code)
    (found,) = bench.tried([other], 1)
    assert (found.seconds, found.fault) == ((), "NVRTC_ERROR_COMPILATION: registers")


def test_a_search_on_a_bench(bench):
    bench, _ = bench
    found = tuning.search(SMALL, bench.tried, [grouped(8), grouped(1), grouped(2)])
    assert found.plan == grouped(1)
    assert found.model_s == pytest.approx(8e-6)
    assert found.measured_s == pytest.approx(1e-6)


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
