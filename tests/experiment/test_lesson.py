"""A lesson: programs agree with formulas, the worst order's cells are those that were counted, sizes fit the time."""

import msgspec
import numpy as np
import pytest

from gemmlab import chips
from gemmlab.experiment.lesson import Settings, teach
from gemmlab.experiment.lesson import kernels as lesson_kernels
from gemmlab.experiment.lesson.digits import units_of
from gemmlab.experiment.lesson.fault import broken
from gemmlab.experiment.lesson.kernels import counted
from gemmlab.experiment.lesson.sizes import capped
from gemmlab.experiment.lesson.times import fits, ladder_of, placed
from gemmlab.numerics.units import names
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Measurement, Record

CHIP = chips.get("a100-pcie-80gb")
SHAPES = [(1, 1, 1), (3, 5, 7), (4096, 1, 1), (33, 17, 50), (16, 16, 16)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["naive", "tiled_8", "tiled", "register_2d", "split_k"])
def test_programs_meet_as_many_loads_as_formulas_give(name, shape):
    found = counted(Gemm(*shape), CHIP, name, 0)
    assert found.whole
    assert found.counted_here == found.due == found.loads
    assert found.valued.verdict.ok


def test_past_what_can_be_run_blocks_are_counted_by_class(monkeypatch):
    whole = counted(Gemm(150, 70, 90), CHIP, "tiled_8", 0)
    monkeypatch.setattr(lesson_kernels, "MOST_VALUES", 1000)
    monkeypatch.setattr(lesson_kernels, "VALUED", 64)
    classes = counted(Gemm(150, 70, 90), CHIP, "tiled_8", 0)
    assert not classes.emulated.emulation.values
    assert classes.counted_here == whole.counted_here
    p = classes.valued.problem
    assert (p.m, p.n, p.k) == (64 + 150 % 8, 64 + 70 % 8, 64 + 90 % 8)
    assert classes.valued.verdict.ok


def test_past_every_launch_a_smaller_size_is_emulated():
    found = counted(Gemm(1 << 40, 3, 5_000_000), CHIP, "tiled", 0)
    assert not found.whole
    assert found.agrees
    assert found.loads == (1 << 40) * 5_000_000 * 1 + 5_000_000 * 3 * (1 << 36)


@pytest.mark.parametrize("shape", [(32, 32, 32), (40, 41, 45), (3, 5, 7)], ids=str)
def test_the_cells_of_an_order_are_those_that_the_check_counts(shape):
    found = broken(Gemm(*shape), 0)
    assert found.worst is not None
    assert found.maps[-1][0] == found.worst
    for tried, wrong in found.maps:
        assert wrong.shape == shape[:2]
        assert int(wrong.sum()) == tried.wrong_elements
    assert found.maps[0][0].wrong_elements == 0


def test_the_missing_line_stands_between_the_two_that_race():
    found = broken(Gemm(64, 64, 64), 0)
    texts = dict(found.lines)
    assert found.race.other_line < found.missing <= found.race.line
    assert texts[found.missing - 1].strip() == "b_tile[y, x] = value"
    assert "a_tile[y, i] * b_tile[i, x]" in texts[found.race.line]


def test_where_no_order_does_harm_another_size_is_shown():
    found = broken(Gemm(1, 1, 1), 0)
    assert (found.harmless_at.m, found.harmless_at.n, found.harmless_at.k) == (1, 1, 1)
    assert found.worst.wrong_elements > 0
    assert broken(Gemm(64, 64, 64), 0).harmless_at is None


def test_a_smaller_size_keeps_the_edges():
    p = capped(Gemm(1000, 31, 513), 64, (16, 16, 16))
    assert (p.m, p.n, p.k) == (64 + 1000 % 16, 31, 64 + 513 % 16)
    assert capped(Gemm(64, 64, 64), 64, (16, 16, 16)) == Gemm(64, 64, 64)


@pytest.mark.parametrize("name", chips.names())
def test_units_of_every_chip_exist(name):
    chip = chips.get(name)
    for form in ("float64", "float32", "float16", "bfloat16", "int8", "float8_e4m3fn", "float4_e2m1fn"):
        assert set(units_of(Gemm(8, 8, 8, form), chip)) <= set(names())
    assert units_of(Gemm(8, 8, 8), chip)


def times(speeds, problem):
    return {
        ("cpu", name): Record(
            problem=problem.section(), measurement=Measurement(backend="cpu", kernel=name, time_s=problem.flop / speed)
        )
        for name, speed in speeds.items()
    }


def test_each_kernel_is_timed_at_the_largest_size_that_its_share_allows():
    sizes = ladder_of(Gemm(4096, 4096, 4096))
    assert [p.m for p in sizes] == [256, 512, 1024, 2048, 4096]
    chosen = placed(times({"slow": 1e9, "middle": 2e11, "fast": 1e13}, sizes[0]), sizes, 20.0)
    at = {name: size.m for size, keys in chosen for _, name in keys}
    assert at["fast"] == 4096
    assert 256 < at["middle"] < 4096
    assert at.get("slow", 256) <= at["middle"]


def test_one_with_a_fault_is_not_tried_again():
    sizes = ladder_of(Gemm(1024, 1024, 1024))
    found = times({"fine": 1e12, "lost": 1e12}, sizes[0])
    lost = found["cpu", "lost"]
    found["cpu", "lost"] = msgspec.structs.replace(lost, measurement=Measurement(backend="cpu", fault="crashed"))
    assert [name for _, keys in placed(found, sizes, 20.0) for _, name in keys] == ["fine"]


def test_what_memory_or_seconds_do_not_hold_is_not_drawn():
    assert fits(Gemm(256, 256, 256), 6)
    assert not fits(Gemm(1, 150_000, 150_000), 6)
    assert not fits(Gemm(1 << 40, 1, 1), 1)


def test_all_records_are_told_once_and_the_format_is_said():
    lesson = teach(Gemm(24, 20, 28, "bfloat16"), CHIP, Settings(run=False))
    assert lesson.ok
    assert len(lesson.records) == len(set(map(id, lesson.records))) == 1 + 2 * 3 + 1 + 2
    assert {each.emulated.problem.a_format for each in lesson.kernels} == {"float32"}
    assert any("emulated in float32" in said for said in lesson.left_out)
    assert lesson.explained.problem.a_format == "bfloat16"


def test_a_unit_that_nobody_knows_is_left_out():
    lesson = teach(Gemm(8, 8, 8, "int8"), chips.get("tpu-v1"), Settings(run=False))
    assert lesson.digits is None
    assert any("No unit of tpu-v1" in said for said in lesson.left_out)


def test_the_same_seed_is_the_same_lesson():
    once, again = (teach(Gemm(40, 24, 33), CHIP, Settings(run=False, seed=7)) for _ in range(2))
    assert once.digits.traced.numerics.trace == again.digits.traced.numerics.trace
    assert once.broken.record == again.broken.record
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(once.broken.maps, again.broken.maps, strict=True))


def test_other_kernels_than_the_ladders_are_refused():
    with pytest.raises(GemmlabError, match="tild"):
        teach(Gemm(8, 8, 8), CHIP, Settings(kernels=("tild",), run=False))
    with pytest.raises(GemmlabError, match="gemmlab emulate"):
        teach(Gemm(8, 8, 8), CHIP, Settings(kernels=("mine.py:fast",), run=False))


def test_the_kernels_of_a_gpu_are_timed_where_there_is_one(monkeypatch):
    from gemmlab.chips import nvidia
    from gemmlab.experiment.lesson.times import takers

    monkeypatch.setattr(nvidia, "gpus", list)
    assert {backend for backend, _ in takers(Gemm(8, 8, 8))} == {"cpu"}
    monkeypatch.setattr(nvidia, "gpus", lambda: [chips.get("h200-sxm")])
    found = takers(Gemm(8, 8, 8))
    assert {"cpu", "cuda", "torch"} <= {backend for backend, _ in found}
    assert {("cpu", "numpy"), ("cuda", "tiled")} <= set(found)
