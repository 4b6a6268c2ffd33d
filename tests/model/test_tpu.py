"""A TPU is predicted as matrix units fed from VMEM and DRAM, and nothing of a GPU's is said of it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab import Gemm, explain, simulate_array
from gemmlab.chips import load
from gemmlab.count import count
from gemmlab.experiment.workload.answering import answer_of
from gemmlab.kernels import default_for
from gemmlab.model.candidates import best_tiling
from gemmlab.model.constants import constants_of
from gemmlab.model.effects import ALL, NOTHING, Effects
from gemmlab.model.machine import machine_of
from gemmlab.model.many import predict_many
from gemmlab.model.outlook import Outlook
from gemmlab.model.pairs import pairs_of
from gemmlab.model.suited import suited
from gemmlab.model.time import times
from gemmlab.model.vmem import NAME, NEARLY_EQUAL, held_bytes
from gemmlab.record import GemmlabError
from gemmlab.report import terminal
from gemmlab.report.words import MATRIX_UNITS
from gemmlab.workload import Call, Workload
from model.plain_tpu import plain_time

LATER = ("tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e")
GPU_WORDS = ("L2", "warp", "16 bytes", "register", "SM", "wave,", "waves", "shared memory", "torch", "CUDA", "split-k")


def predicted(problem, chip):
    return explain(problem, chip, advice=False).prediction


@pytest.mark.parametrize("chip", LATER)
def test_a_large_cube_comes_near_the_published_peak_and_stays_below(chip):
    record = explain(Gemm(8192, 8192, 8192, "bfloat16"), chip)
    peak = float(load(chip).peaks["bfloat16"].flop_per_s)
    assert 0.9 * peak < record.count.flop / record.prediction.time_s < peak
    assert record.prediction.bound == "compute"


@pytest.mark.parametrize("chip", LATER[1:])
@pytest.mark.parametrize("sides", [(8, 4096, 4096), (1, 8192, 8192), (8, 4096, 14336), (8192, 8192, 16)])
def test_few_rows_or_a_short_k_stream_at_the_bandwidth_of_dram(chip, sides):
    prediction = predicted(Gemm(*sides, "bfloat16"), chip)
    assert prediction.bound == "dram"
    speed = float(load(chip).level("dram").bandwidth_bytes_per_s)
    assert 0.8 * speed < prediction.dram_bytes / prediction.time_s < speed


def test_two_units_shift_weights_in_more_slowly_than_dram_brings_them():
    """A TPU v2: 1024 tiles of 128 rows on two units take 94 us, 33.7 MB at 700 GB/s take 48."""
    prediction = predicted(Gemm(8, 4096, 4096, "bfloat16"), "tpu-v2")
    assert prediction.bound == "latency"
    assert prediction.time_s == pytest.approx(1024 * 128 / 2 / 700e6, rel=0.05)


def test_public_times_of_xla_on_a_v5e():
    """JAX, docs/pallas/tpu/matmul.ipynb: bfloat16 cubes, timed from the host. 1024^3 shows the host's share, 105 us."""
    read = {1024: 119.43e-6, 4096: 827.29e-6, 8192: 6047.15e-6}
    ours = {side: predicted(Gemm(side, side, side, "bfloat16"), "tpu-v5e").time_s for side in read}
    host = read[1024] - ours[1024]
    assert 90e-6 < host < 115e-6
    assert ours[4096] == pytest.approx(read[4096] - host, rel=0.04)
    assert ours[8192] == pytest.approx(read[8192] - host, rel=0.07)
    assert all(ours[side] < read[side] - host for side in (4096, 8192))  # short, never long


def test_the_vocabulary_that_was_called_compute_bound_at_15_percent():
    record = explain(Gemm(16384, 32000, 1024, "bfloat16"), "tpu-v4")
    assert record.prediction.time_s == pytest.approx(record.prediction.compute_time_s, rel=0.05)
    assert record.prediction.bound == "compute"
    first = record.prediction.terms[0]
    assert "arithmetic" in first.cause
    assert first.time_s > 0.95 * record.prediction.time_s


@pytest.mark.parametrize("sides", [(8192, 8192, 8192), (8, 4096, 4096), (4096, 50257, 768), (300, 200, 500), (1, 1, 1)])
@pytest.mark.parametrize("chip", ["tpu-v4", "tpu-v6e"])
def test_nothing_of_a_gpu_is_said(chip, sides):
    record = explain(Gemm(*sides, "bfloat16"), chip)
    said = " ".join(terminal(record, width=80, color=False).split())
    assert [word for word in GPU_WORDS if word in said] == []
    assert "predicted, not validated" in said
    assert {a.cause for a in record.advice} <= {"none", "padding", "format", "batch"}
    assert (record.kernel.warps, record.kernel.registers, record.kernel.name) == (0, 0, NAME)
    assert MATRIX_UNITS == NAME


def test_a_network_on_a_tpu_is_not_told_to_align_rows():
    """Its output layer of 50257 columns took nine times as long as an aligned one by a GPU's model."""
    odd, even = (Call(Gemm(4096, n, 768, "bfloat16")) for n in (50257, 50304))
    answers = [answer_of(Workload("x", "table", (call,)), "tpu-v4") for call in (odd, even)]
    assert answers[0].time_s == pytest.approx(answers[1].time_s, rel=0.01)
    for row in answers[0].rows:
        assert row.record.call.changes == ()


def test_kernels_of_threads_are_refused():
    with pytest.raises(GemmlabError, match="no threads"):
        explain(Gemm(64, 64, 64, "bfloat16"), "tpu-v4", "tiled")
    small = explain(Gemm(4096, 4096, 4096, "bfloat16"), "tpu-v4", "tensor", advice=False)
    assert small.prediction.bound == "dram"  # blocks as small as a GPU's read A and B too often
    assert small.prediction.dram_bytes > predicted(Gemm(4096, 4096, 4096, "bfloat16"), "tpu-v4").dram_bytes


def random_gemm(rng):
    sides = (rng.choice((1, 7, 8, 100, 128, 129, int(2 ** rng.uniform(0, 13)))) for _ in "mnk")
    return Gemm(*sides, rng.choice(("bfloat16", "float32")), batch=rng.choice((1, 1, 3)))


def test_equals_plain_loops():
    rng = random.Random(5)
    for _ in range(150):
        chip = load(rng.choice(LATER))
        problem = random_gemm(rng)
        machine, constants = machine_of(chip, problem.a_format), constants_of(chip)
        block = rng.choice((8, 64, 256, 1000)), rng.choice((128, 256, 1024)), rng.choice((128, 512))
        sizes = (4, 4, 4) if problem.a_format == "float32" else (2, 2, 2)
        sides = (problem.m, problem.n, problem.k)
        pairs = pairs_of(*sides, *block[:2], a_format=problem.a_format, block_k=block[2], batch=problem.batch)
        found = times(pairs, machine, constants)
        seconds, reads = plain_time(*sides, problem.batch, *block, sizes, machine, constants)
        assert float(found.total[0]) == pytest.approx(seconds, rel=1e-9)
        assert float(found.reads[0]) == reads


def test_blocks_fit_vmem_and_their_traffic_is_what_is_counted():
    rng = random.Random(6)
    for _ in range(60):
        chip = load(rng.choice(LATER))
        problem = random_gemm(rng).replace(batch=1)
        kernel = suited(problem, chip, default_for(problem))
        machine = machine_of(chip, problem.a_format)
        held = held_bytes(problem, kernel.block_m, kernel.block_n, kernel.block_k)
        assert held == kernel.shared_bytes <= machine.systolic.vmem_bytes
        whole = problem.replace(**{side: -(-getattr(problem, side) // 128) * 128 for side in "mnk"})
        prediction = predicted(whole, chip)  # whole tiles of 8 x 128: no byte is padding
        own = suited(whole, chip, default_for(whole))
        assert prediction.dram_read_bytes == count(whole, own).global_load_bytes
        assert prediction.dram_read_bytes >= whole.compulsory_read_bytes


def test_no_effect_takes_time_away():
    rng = random.Random(7)
    for _ in range(60):
        chip = load(rng.choice(LATER))
        problem = random_gemm(rng)
        machine, constants = machine_of(chip, problem.a_format), constants_of(chip)
        pairs = pairs_of(
            problem.m, problem.n, problem.k, 512, 1024, a_format=problem.a_format, block_k=512, batch=problem.batch
        )
        floor = float(times(pairs, machine, constants, NOTHING).total[0])
        roof = max(problem.flop / machine.peak_flop_per_s, problem.compulsory_bytes / machine.dram_bytes_per_s)
        assert floor == pytest.approx(roof, rel=1e-9)
        some = Effects(*(rng.random() < 0.6 for _ in Effects._fields))
        reached = float(times(pairs, machine, constants, some).total[0])
        for name in Effects._fields:
            more = float(times(pairs, machine, constants, some._replace(**{name: True})).total[0])
            assert more >= reached * (1 - 1e-12), name
        assert float(times(pairs, machine, constants, ALL).total[0]) >= roof


SIDE = st.integers(1, 20_000)


@settings(deadline=None, max_examples=60)
@given(SIDE, SIDE, SIDE, st.sampled_from("mnk"), st.integers(1, 3000), st.sampled_from(LATER))
def test_a_longer_side_is_never_faster(m, n, k, side, more, chip):
    chip = load(chip)
    small = Gemm(m, n, k, "bfloat16")
    large = small.replace(**{side: getattr(small, side) + more}, lda=0, ldb=0, ldc=0)
    before, after = (best_tiling(each, chip, constants_of(chip)).time_s for each in (small, large))
    assert before <= after * NEARLY_EQUAL


BESIDE = ((8192, 8192, 8192), (2048, 2048, 2048), (8, 4096, 4096), (200, 2048, 2048), (513, 1000, 700))


@pytest.mark.parametrize("chip", LATER)
@pytest.mark.parametrize("sides", BESIDE)
def test_agrees_with_the_systolic_array_but_for_what_that_one_waits_for(chip, sides):
    """`gemmlab systolic` gives each unit a part of VMEM and DRAM of its own; without its waits both count one array."""
    problem = Gemm(*sides, "bfloat16")
    waiting, free = (simulate_array(problem, chip, engine=engine).systolic for engine in ("tiles", "closed-form"))
    chip = load(chip)
    clock, constants = float(chip.clock_hz), constants_of(chip)
    outlook = Outlook(problem, chip, suited(problem, chip, default_for(problem)))
    assert float(outlook.times().sm[0]) == pytest.approx(free.cycles / clock, rel=0.03)
    assert outlook.time_s < 1.05 * waiting.cycles / clock / constants.dram_share


def test_many_at_once_are_the_same():
    found = predict_many([8, 8192], 8192, 8192, [8, 1024], [512, 2048], chip="tpu-v4", block_k=512)
    assert list(found.bound) == ["dram", "compute"]
    assert found.waves[1] == 8 * 4 / 2
