"""A rung of the CPU's ladder, told: its arrays, its own caches, and nothing that only a GPU has."""

import csv

import pytest

from gemmlab.chips import get, section
from gemmlab.chips.machine import Machine
from gemmlab.count.cpu import count_cpu
from gemmlab.kernels.ladder.cpu.tiling import tiling
from gemmlab.model.cpu import predict_cpu
from gemmlab.problem import Gemm
from gemmlab.record import Record
from gemmlab.report import csv_rows, html, story, terminal
from gemmlab.report.provenance import OF_GPUS, entries
from gemmlab.report.roofline import roofs

CHIP = get("sapphire-rapids-56c")
MACHINE = Machine(
    model="described", vendor="GenuineIntel", cores=56, threads=112, memory_bytes=0, nominal_hz=0.0,
    flags=frozenset({"avx2", "fma", "avx512f"}), l2_bytes=112 << 20, l3_bytes=105 << 20,
)  # fmt: skip


@pytest.fixture
def record():
    problem, sizes = Gemm(1500, 1500, 1500), tiling(4, 1, MACHINE, 48 << 10)
    counted = count_cpu(problem, "packed", 1, sizes)
    prediction = predict_cpu(problem, CHIP, "packed", counted, machine=MACHINE, l1_bytes=48 << 10, sizes=sizes)
    return Record(problem=problem.section(), chip=section(CHIP), count=counted, prediction=prediction)


def test_every_array_is_told(record):
    told = {fact.label: fact.value for fact in story.moves(record)}
    assert {f"{name}: loads, stores" for name in ("A", "B", "C", "packed A", "packed B", "edge")} <= set(told)
    assert told["A: loads, stores"] == "9.00 MB, 0 B"
    assert "to" not in told["DRAM traffic"].split()
    text = terminal(record, width=80)
    assert "rectangles of C, a thread each" in text
    assert "resident on an SM" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_levels_are_the_cores_own_caches(record):
    assert [row.name for row in story.limits(record)] == ["compute", "dram", "l3", "l2", "l1"]
    drawn = {roof.name: roof for roof in roofs(record)}
    for level in record.prediction.levels:
        assert drawn[level.name].knee == pytest.approx(level.knee_flop_per_byte)
    # The chip's file calls L3 `l2`, by its role; it is not what is drawn as L2.
    assert drawn["l2"].bandwidth < 0.1 * record.chip.levels[1].bandwidth_bytes_per_s


def test_what_only_gpus_have_is_not_listed(record):
    found = {entry.path: entry.source for entry in entries(record)}
    assert not any(path.startswith(OF_GPUS) for path in found)
    assert found["count.programs"] == "rectangles of C, a thread each"
    assert not any("thread blocks" in source or "launch order" in source for source in found.values())
    assert "count.arrays.packed A.load_bytes" in found
    assert "resident on an SM" not in html(record)


def test_a_line_of_csv_has_arrays_and_caches(record):
    (row,) = csv.DictReader(csv_rows([record]))
    told = dict(each.split("=") for each in row["count.arrays"].split("; "))
    assert told["B"] == f"{4 * 1500**2}/0"
    assert float(row["prediction.levels.l3.bytes"]) > 0
    assert not any("ArrayCount" in value for value in row.values())
