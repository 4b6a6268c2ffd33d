"""Plans tried on a GPU in words: compiled once, held against float64, and timed by turns."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from tests.kernels import machine_code
from tests.peak.fake_gpu import Torch, chain_of
from tests.peak.test_store import SQUARE

from gemmlab.peak import trying, tuning
from gemmlab.peak.candidates import various
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.paired import gains


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
    fake.slower = 0.0  # by which share of its time a launch is longer than the one before
    torch.manual_seed(0)

    def multiply(plan, a, b):
        found = a.float() @ b.float()
        found[0, 0] += {2: 3.0, 4: float("nan")}.get(plan.group_m, 0.0)
        if plan.group_m == 16:
            raise RuntimeError("CUDA error: unspecified launch failure")
        return found

    def seconds(plan):
        return 1e-6 * plan.group_m * (1 + fake.slower * fake.cuda.launches)

    monkeypatch.setattr(trying, "Chain", chain_of(fake, seconds, multiply))
    monkeypatch.setattr(trying, "code_of", lambda kernel: b"")
    monkeypatch.setattr(trying.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(trying, "L2_BYTES", 1e5)
    monkeypatch.setattr(trying, "MOST_CALLS", 24)
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


def test_rounds_go_forwards_and_backwards_so_that_a_drift_cancels(bench, monkeypatch):
    bench, fake = bench
    equal = [grouped(8), replace(plan_for(SMALL), kernel=replace(plan_for(SMALL).kernel, early=False), group_m=8)]
    order = []
    monkeypatch.setattr(
        bench, "replayed", lambda graph, *of: order.append(graph) or trying.Bench.replayed(bench, graph, *of)
    )
    fake.slower = 1e-5
    one, other = bench.tried(equal, 6)
    graphs = [bench.graphs[plan][0] for plan in equal]
    assert order == [*graphs, *graphs[::-1]] * 3
    assert all(second > first for first, second in zip(one.seconds, one.seconds[1:], strict=False))
    assert [gain > 0 for gain in gains(other, one)] == [False, True] * 3


def test_turns_under_load_have_no_pause_and_count_their_second_half(bench, monkeypatch):
    bench, fake = bench
    pauses, replays = [], []
    monkeypatch.setattr(trying.time, "sleep", pauses.append)

    def replay():
        replays.append(1)
        fake.cuda.now += 0.01 if len(replays) % 20 in range(1, 11) else 0.02  # the clock falls in the middle of a turn

    graph = SimpleNamespace(replay=replay)
    monkeypatch.setattr(bench, "prepare", lambda plan: bench.graphs.setdefault(plan, (graph, 4, 0.01)) and 0.0)
    found = bench.tried([grouped(8), grouped(1)], 3, loaded=True)
    assert len(replays) == 2 * 3 * round(trying.LOADED_S / 0.01) == 2 * 3 * 20
    assert [each.seconds for each in found] == [pytest.approx([0.02 / 4] * 3)] * 2
    assert not pauses


def test_long_rounds_are_fewer(bench, monkeypatch):
    bench, _ = bench
    both = [grouped(8), grouped(1)]
    taken = sum(bench.prepare(plan) * 0 + bench.graphs[plan][2] + trying.PAUSE_S for plan in both)
    for most_s, rounds in ((20.5 * taken, 20), (1e3, 31), (0.0, trying.LEAST_ROUNDS)):
        monkeypatch.setattr(trying, "MOST_S", most_s)
        assert {len(each.seconds) for each in bench.tried(both, 31)} == {rounds}
    assert {len(each.seconds) for each in bench.tried(both, 3)} == {3}


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
    assert found.plan.group_m == 1  # on which alone the time depends here
    assert found.model_s == pytest.approx(8e-6)
    assert found.measured_s == pytest.approx(1e-6)
