"""The report of a systolic array: figures that add up, pictures whose labels keep apart, pages that hold everything."""

import re
import xml.etree.ElementTree as ET

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab import Gemm
from gemmlab.chips import load
from gemmlab.experiment import Simulated, array_of, explain, simulate, still_of
from gemmlab.record import Record
from gemmlab.report import html, systolic_svg, systolic_text, terminal
from gemmlab.report import systolic_story as told
from gemmlab.report.provenance import entries
from gemmlab.report.systolic_page import systolic_html
from gemmlab.report.systolic_picture import panels, sheet
from gemmlab.systolic import Array
from report.test_pictures import check_labels


def asked(m=20, n=30, k=40, rows=8, cols=8, **fields):
    return Simulated(Gemm(m, n, k, "int8"), Array(rows=rows, cols=cols, **fields))


def on_chip(name, form, *sides):
    chip = load(name)
    found = array_of(chip, form)
    problem = Gemm(*sides, form)
    return Simulated(problem, found.array, units=found.units, chip=chip, validated=found.validated, notes=found.notes)


CASES = {
    "one": asked(1, 1, 1, 1, 1),
    "small": asked(8, 8, 8, 4, 4),
    "named": asked(10, 7, 9, 6, 6, dataflow="os"),
    "ragged": asked(33, 17, 41, 7, 5, dataflow="is", weights="single"),
    "wide": asked(5, 200, 5, 2, 100),
    "tall": asked(5, 5, 200, 100, 2),
    "drained": asked(9, 9, 9, 16, 16, dataflow="os", drain="bottom"),
    "huge array": asked(3000, 3000, 3000, 1024, 1024),
    "long": asked(1_000_000, 100, 100, 64, 64),
    "far along": asked(1_000_000, 8, 8, 4, 4),
    "tpu-v1": on_chip("tpu-v1", "int8", 200, 600, 600),
    "tpu-v6e": on_chip("tpu-v6e", "bfloat16", 600, 600, 600),
}


@pytest.mark.parametrize("width", [720, 560, 340])
@pytest.mark.parametrize("name", CASES)
def test_labels_neither_overlap_nor_leave_the_sheet(name, width):
    case = CASES[name]
    record, still = simulate(case), still_of(case)
    for drawing in panels(record, still, width).values():
        check_labels(drawing)
        ET.fromstring(drawing.svg())
    check_labels(sheet(record, still, width))


@given(
    st.integers(1, 40), st.integers(1, 40), st.integers(1, 40), st.integers(1, 12), st.integers(1, 12),
    st.sampled_from(["ws", "is", "os"]), st.integers(0, 10**6),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_any_cycle_can_be_drawn(m, n, k, rows, cols, dataflow, seed):
    case = asked(m, n, k, rows, cols, dataflow=dataflow)
    record = simulate(case)
    still = still_of(case, seed % record.systolic.cycles)
    drawing = sheet(record, still)
    check_labels(drawing)
    assert drawing.svg() == sheet(record, still).svg()


@pytest.mark.parametrize("name", CASES)
def test_classes_add_up_to_all_cycles(name):
    section = simulate(CASES[name]).systolic
    rows = told.shares(section)
    whole = [row for row in rows if not row.part]
    assert [row.name for row in whole] == ["array active", "weight stall", "weight shift", "non-matrix"]
    assert sum(row.cycles for row in whole) == section.cycles
    assert sum(row.share for row in whole) == pytest.approx(1)
    active = next(row for row in rows if row.name == "array active")
    parts = [row.cycles for row in rows if row.name in ("useful MACs", "unused MACs")]
    assert sum(parts) == pytest.approx(active.cycles)


@pytest.mark.parametrize("name", CASES)
def test_text_of_every_width_and_without_unicode(name):
    record = simulate(CASES[name])
    for width in (40, 67, 68, 80, 100):
        for unicode in (True, False):
            text = systolic_text(record, width=width, color=False, unicode=unicode)
            assert max(len(line) for line in text.splitlines()) <= width
            assert unicode or text.isascii()
    assert terminal(record, width=80, color=False) == systolic_text(record, width=80, color=False)


@pytest.mark.parametrize("name", CASES)
def test_the_page_has_every_number_and_the_record(name):
    record = simulate(CASES[name])
    page = systolic_html([record], still_of(CASES[name]))
    assert page.count("<figure>") == 3
    assert f"{record.systolic.cycles:,} cycles" in page
    for entry in entries(record):
        assert entry.source, entry
    plain = html(record)
    assert "<figure>" not in plain
    assert f"{record.systolic.cycles:,} cycles" in plain


def test_tenths_never_say_nothing_or_all_of_what_is_neither():
    assert told.tenths(0) == "0.0%"
    assert told.tenths(1) == "100.0%"
    assert told.tenths(1e-9) == "<0.1%"
    assert told.tenths(1 - 1e-9) == ">99.9%"
    assert told.tenths(0.7488) == "74.9%"


def test_beside_a_chip_without_a_clock_there_is_no_time():
    record = simulate(asked())
    other = explain(Gemm(20, 30, 40, "int8"), "h100-sxm", advice=False)
    text = systolic_text([record, other], width=80, color=False)
    assert "predicted time" not in text
    assert "without --clock the array has no time" in text


def test_hostile_names_do_no_harm():
    record = simulate(asked())
    bad = "<b>\x1b[31m\n\ud800" + "x" * 300
    energy = msgspec.structs.replace(record.systolic.energy, table=bad, source=bad, node=bad)
    section = msgspec.structs.replace(record.systolic, notes=(bad,), energy=energy)
    record = msgspec.structs.replace(record, systolic=section)
    text = systolic_text(record, width=60, color=False)
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 60
    page = systolic_html([record])
    assert "<b>\x1b" not in page
    assert "&lt;b&gt;" in page
    page.encode()


def test_a_record_without_an_array():
    assert systolic_text(Record()) == ""
    ET.fromstring(systolic_svg(Record(), still_of(CASES["small"])))


def test_names_that_do_not_fit_their_cells_are_left_out():
    check_labels(sheet(simulate(CASES["far along"]), still_of(CASES["far along"], 1_500_000)))


@pytest.mark.parametrize("name", ["tpu-v1", "tpu-v6e"])
def test_every_number_of_the_page_says_what_must_stand_beside_it(name):
    record = simulate(CASES[name])
    rows = dict(re.findall(r"<tr><td>(systolic\.[^<]+)</td>(.*?)</tr>", systolic_html([record])))
    assert ("not validated" in rows["systolic.time_s"]) == (name != "tpu-v1")
    energies = [row for path, row in rows.items() if path.startswith("systolic.energy")]
    assert len(energies) > 5
    assert all("Horowitz" in row and "45 nm" in row for row in energies)
