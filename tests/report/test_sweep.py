"""CSV and the table of a sweep."""

import csv

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.problem import Gemm, Shape
from gemmlab.record import Record
from gemmlab.report import csv_rows, story, sweep_table
from gemmlab.report.canvas import cells
from gemmlab.units import seconds_text
from report.random_records import random_records
from report.records import ALL, FINE, deep, ragged, skinny, square


def read(records):
    return list(csv.DictReader(csv_rows(records)))


def test_columns_are_the_same_for_every_record_and_values_come_back():
    rows = read([make() for make in ALL.values()])
    first = rows[1]
    record = ragged()
    assert int(first["problem.n"]) == 50257
    assert int(first["count.raw_bytes"]) == record.count.raw_bytes
    assert float(first["prediction.time_s"]) == record.prediction.time_s
    assert float(first["prediction.levels.dram.bytes"]) == record.prediction.levels[0].bytes
    assert float(first["chip.peak_flop_per_s"]) == 989.4e12
    assert first["chip.calibrated"] == "true"
    assert first["advice.0.change"] == "pad n from 50257 to 50304"
    terms = dict(item.split("=") for item in first["prediction.terms"].split("; "))
    assert sum(map(float, terms.values())) == pytest.approx(record.prediction.time_s)
    assert all(None not in row and None not in row.values() for row in rows)


def test_a_shape_s_name_and_count_come_first():
    shapes = [Shape(Gemm(8192, 8192, 8192), 32, "up"), Shape(Gemm(4096, 50257, 768), 1, "=head")]
    rows = list(csv.DictReader(csv_rows([square(), ragged()], shapes)))
    assert [(row["name"], row["count"]) for row in rows] == [("up", "32"), ("'=head", "1")]
    assert list(rows[0])[:2] == ["name", "count"]


def test_what_a_record_lacks_is_empty():
    (row,) = read([Record()])
    assert set(row.values()) == {""}


def test_rows_come_one_by_one():
    def endless():
        while True:
            yield square()

    lines = csv_rows(endless())
    header, first, second = (next(lines) for _ in range(3))
    assert header.startswith("name,count,problem.m,problem.n,problem.k,")
    assert first == second
    assert "\n" not in first


@settings(max_examples=40, deadline=None)
@given(st.lists(random_records(), max_size=4))
def test_any_records_are_one_line_each(records):
    lines = list(csv_rows(records))
    assert len(lines) == len(records) + 1
    assert not any("\n" in line or "\r" in line for line in lines)
    table = list(csv.reader(lines))
    assert len({len(row) for row in table}) == 1
    for row in table[1:]:
        assert not any(cell[:1] in ("=", "+", "@") for cell in row)
    for width in (40, 80, 120):
        for line in sweep_table(records, width=width, color=False).split("\n"):
            assert cells(line) <= width


def test_formulas_are_harmless():
    base = square()
    evil = msgspec.structs.replace(base, chip=msgspec.structs.replace(base.chip, name="=HYPERLINK(1)"))
    assert read([evil])[0]["chip.name"] == "'=HYPERLINK(1)"


def test_the_table_has_one_line_a_shape():
    table = sweep_table([square(), ragged(), skinny(), deep()], width=140, color=False, unicode=False)
    head, *rows = table.split("\n\n")[0].split("\n")
    assert " ".join(head.split()) == "shape format time of all bound DRAM of limit which, and what to change"
    assert len(rows) == 4
    ragged_row = "4096 x 50257 x 768 bfloat16 944 us 19% alignment 520 MB 34% pad n from 50257 to 50304: 3.21x"
    assert " ".join(rows[1].split()) == ragged_row
    assert "predicted" in table


def test_what_all_share_is_said_once_above():
    head = sweep_table([ragged(), ragged()], width=80, color=False).split("\n")
    assert head[0] == "bfloat16, float32 accumulator; on h100-sxm, calibrated and validated"
    assert "format" not in head[2]


def test_names_and_counts_weigh_the_shapes():
    shapes = [Shape(Gemm(8192, 8192, 8192), 1, "up"), Shape(Gemm(4096, 50257, 768), 99, "head")]
    text = sweep_table([square(), ragged()], shapes, width=80, color=False)
    up, head = square().prediction, ragged().prediction
    total = up.time_s + 99 * head.time_s
    assert "    head, 99 of them: pad n from 50257 to 50304: 3.21x" in text.split("\n")
    assert f"{100 * 99 * head.time_s / total:.0f}%" in text
    # arithmetic, not DRAM, is the limit of both
    lost = 99 * (head.time_s - head.compute_time_s)
    last = " ".join(text.split("\n\n")[-1].split())
    said = f"most above its limit: 4096 x 50257 x 768 (head, 99 of them), {seconds_text(lost)}"
    assert f"{said} of {seconds_text(total)}" in last
    assert last.endswith(f"all 100 of them one after another: {seconds_text(total)} predicted")


def test_the_limit_of_what_reuses_nothing_is_dram():
    record = skinny()
    least = record.count.compulsory_bytes / 4.8e12
    assert story.limit_time(record) == pytest.approx(least)
    assert story.share_of_limit(record) == pytest.approx(least / record.prediction.time_s)
    assert story.limit_time(square()) == square().prediction.compute_time_s


def test_nothing_to_change_is_counted_not_repeated():
    fine = msgspec.structs.replace(square(), advice=(FINE,))
    text = sweep_table([fine, skinny(), ragged()], width=80, color=False)
    assert "2 of 3 shapes: nothing is predicted to gain 3%" in text
    assert "this shape is fine" not in text


@pytest.mark.parametrize("width", [120, 80, 60, 40])
def test_no_line_is_wider_than_the_terminal(width):
    table = sweep_table([make() for make in ALL.values()], width=width, color=False)
    assert all(cells(line) <= width for line in table.split("\n"))


def test_eighty_columns_hold_the_table_of_ordinary_shapes():
    table = sweep_table([square(), ragged(), skinny(), deep()], width=80, color=False)
    assert table.split("\n")[0].startswith("shape")
    assert "of limit" in table


def test_nothing_to_show():
    assert sweep_table([], color=False) == "no multiplications"
