"""The reader against the plain one, on random nested operators, launches and overlapping kernels."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.workload import operators
from gemmlab.workload.traces import read_trace
from workload import plain_trace
from workload.kineto import Kineto

NAMES = (
    "aten::mm", "aten::addmm", "aten::matmul", "toy::pair", "aten::copy_", "aten::linear", "toy::fused",
    "autograd::engine::evaluate_function: MmBackward0",
)  # fmt: skip
KERNELS = ("nvjet_tst_64x64_TNT", "void at::native::vectorized_elementwise_kernel<4>", "Memset (Device)", "ampere_gemm")
SHAPES = {
    "aten::mm": ([4, 8], [8, 16]),
    "aten::addmm": ([16], [4, 8], [8, 16]),
    "aten::matmul": ([2, 3], [3, 5]),
    "toy::pair": ([2, 4], [4, 6]),
}


@pytest.fixture(autouse=True)
def judge(monkeypatch):
    monkeypatch.setattr(operators, "products", plain_trace.products)


def grow(draw: random.Random, trace: Kineto, thread: int, start: int, end: int, depth: int, gpu: bool) -> None:
    """Operators between two moments (nanoseconds), one after another, each with others in it and launches."""
    at = start
    while at < end and draw.random() < 0.85:
        begin = at + draw.choice((0, 0, 1, draw.randrange(20)))
        stop = min(end, begin + draw.randrange(1, max(2, (end - start) // 2)))
        if begin >= stop:
            return
        name = draw.choice(NAMES)
        inputs = SHAPES.get(name, ([3, 3],)) if draw.random() < 0.7 else ()
        trace.op(name, begin / 1000, (stop - begin) / 1000, *inputs, thread=thread)
        if gpu and draw.random() < 0.6:
            moment = draw.randrange(begin, stop + 1)
            begun = draw.randrange(3000)
            correlation = trace.launch(moment / 1000, thread)
            trace.kernel(draw.choice(KERNELS), begun / 1000, draw.randrange(200) / 1000, correlation, draw.randrange(3))
        if depth:
            grow(draw, trace, thread, begin, stop, depth - 1, gpu)
        at = stop


def random_trace(seed: int, gpu: bool) -> Kineto:
    draw = random.Random(seed)
    trace = Kineto(None if gpu else [])
    trace.op("aten::copy_", 0, 0.001, [1])  # shapes are recorded
    if gpu:
        trace.kernel("Memcpy HtoD (Pinned -> Device)", 0.0, 0.01, -1)
    for thread in range(1, 1 + draw.randrange(1, 4)):
        grow(draw, trace, thread, draw.randrange(10, 100), draw.randrange(200, 3000), draw.randrange(3), gpu)
    draw.shuffle(trace.events)
    return trace


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.booleans())
def test_equals_the_plain_reader(tmp_path_factory, seed, gpu):
    path = random_trace(seed, gpu).write(tmp_path_factory.mktemp("traces") / "trace.json")
    expected = plain_trace.plain(path)
    workload = read_trace(path)
    calls = [((c.operator, c.problem.m, c.problem.n, c.problem.k, c.phase), c.count, c.time_s) for c in workload.calls]
    assert total(calls) == rounded(expected["calls"])
    assert total([((o.name, o.phase), o.count, o.time_s) for o in workload.others]) == rounded(expected["others"])
    assert total([((u.operator,), u.count, u.time_s) for u in workload.unread]) == rounded(expected["unread"])
    assert round(workload.span_s * 1e9) == expected["span"]["span"]
    assert round(workload.busy_s * 1e9) == expected["span"]["busy"]


def total(rows: list[tuple[tuple, int, float | None]]) -> dict[tuple, tuple[int, int]]:
    sums: dict[tuple, list[float]] = {}
    for key, count, time in rows:
        entry = sums.setdefault(key, [0, 0.0])
        entry[0] += count
        entry[1] += time or 0.0
    return {key: (count, round(time * 1e9)) for key, (count, time) in sums.items()}


def rounded(table: dict[tuple, list[float]]) -> dict[tuple, tuple[int, int]]:
    return {key: (count, round(time)) for key, (count, time) in table.items()}


@settings(max_examples=30)
@given(st.integers(0, 10**9))
def test_the_order_of_events_in_the_file_means_nothing(tmp_path_factory, seed):
    trace = random_trace(seed, gpu=True)
    folder = tmp_path_factory.mktemp("orders")
    first = read_trace(trace.write(folder / "trace.json"))
    trace.events.reverse()
    again = read_trace(trace.write(folder / "trace.json"))
    assert set(again.calls) == set(first.calls)
    assert {other.name: other.time_s for other in again.others} == {other.name: other.time_s for other in first.others}
