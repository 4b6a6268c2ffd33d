"""What is told of a unit: lines keep to the width, pictures keep their labels apart, a page has every number."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from gemmlab import formats
from gemmlab.experiment import Multiplication, multiplied
from gemmlab.experiment.unit_operands import drawn
from gemmlab.numerics import Schedule
from gemmlab.numerics.operands import typed
from gemmlab.numerics.units import unit, units
from gemmlab.record import (
    NumericsAmbiguity,
    NumericsError,
    NumericsEvidence,
    NumericsSection,
    NumericsSweepStep,
    Record,
)
from gemmlab.report import html, numerics_svg, terminal, unit_table, unit_text
from gemmlab.report.canvas import cells
from gemmlab.report.numerics import error_sentence
from gemmlab.report.numerics_picture import picture

WIDTHS = (40, 60, 80, 100)
#: one unit of each way of summing, and a schedule
SHOWN = {
    "hopper.wgmma.float8_e4m3fn": Schedule(promote=32, split_k=2, reduce="float16"),
    "hopper.mma.float8_e4m3fn": Schedule(),
    "ampere.mma.float16.float16": Schedule(),
    "amx.tdp.bfloat16": Schedule(),
    "amx.tdp.int8": Schedule(),
    "cdna1.mfma.float16": Schedule(),
    "cdna2.mfma.float16": Schedule(),
    "cdna3.mfma.float8_e4m3fnuz": Schedule(),
    "cpu.fma.float64": Schedule(),
    "blackwell.tcgen05.nvfp4": Schedule(),
}


def record(name, k=70, place=(1, 2), schedule=None, **more):
    chosen = unit(name)
    operands = drawn(chosen, (3, 4, k), "normal", 0, chosen.a_formats[0], chosen.b_formats[0])
    asked = Multiplication(chosen, **operands._asdict(), schedule=schedule or SHOWN[name], **more)
    predict = chosen.sum != "integer"
    return multiplied(asked, place=place, predict=predict)[0]


def special(codes):
    """A dot product of float16 that begins with these codes."""
    a = np.ones((1, 20), np.float16)
    a[0, : len(codes)] = np.array(codes, np.float16)
    asked = Multiplication(unit("hopper.mma.float16"), a, np.ones((20, 1), np.float16))
    return multiplied(asked, place=(0, 0))[0]


def check_labels(drawing):
    for index, box in enumerate(drawing.boxes):
        assert 0 <= box.left <= box.right <= drawing.width, box
        assert 0 <= box.top <= box.bottom <= drawing.height, box
        for other in drawing.boxes[:index]:
            assert not box.overlaps(other), (box, other)


@pytest.mark.parametrize("name", SHOWN)
def test_every_way_of_summing_keeps_to_the_width(name):
    told = record(name)
    for width in WIDTHS:
        text = terminal(told, width=width, color=False)
        assert all(cells(line) <= width for line in text.split("\n")), (name, width)
        assert "term by term" in text
        assert told.numerics.trace.result in text


@pytest.mark.parametrize("name", SHOWN)
def test_pictures_keep_their_labels_apart(name):
    told = record(name)
    drawing = picture(told)
    check_labels(drawing)
    root = ET.fromstring(numerics_svg(told))
    assert root.get("role") == "img"
    assert numerics_svg(told) == numerics_svg(record(name))


def test_wide_exponents_and_long_sums_still_fit():
    chosen = unit("cdna1.mfma.bfloat16")
    random = np.random.RandomState(0)
    for power in (1, 20, 60):
        drawn_at = (random.standard_normal(90) * 2.0 ** random.randint(-power, power, 90) for _ in "ab")
        a, b = (typed(formats.encode_array(each, "bfloat16"), "bfloat16") for each in drawn_at)
        told = multiplied(Multiplication(chosen, a.reshape(1, 90), b.reshape(90, 1)), place=(0, 0))[0]
        check_labels(picture(told))
        assert all(cells(line) <= 80 for line in terminal(told, width=80, color=False).split("\n"))


@pytest.mark.parametrize(("codes", "word"), [((np.inf, -np.inf), "NaN"), ((np.inf,), "infinity"), ((np.nan,), "NaN")])
def test_special_values_are_said(codes, word):
    told = special(codes)
    text = terminal(told, width=80, color=False)
    assert f"a rule for special values gives {word}" in text
    assert "1 of 1 outputs are NaN or infinite" in text
    check_labels(picture(told))
    html(told)


def test_lost_bits_are_told_by_more_than_colour():
    told = record("hopper.wgmma.float8_e4m3fn", k=400, schedule=Schedule())
    svg = numerics_svg(told)
    assert "cut off or rounded away" in svg
    assert "loses" in svg
    lost = [term for step in told.numerics.trace.steps for term in step.terms if term.lost != "0"]
    assert lost


def test_the_text_gives_what_the_cuts_take():
    told = record("hopper.wgmma.float8_e4m3fn")
    text = terminal(told, width=80, color=False).partition("Step by step")[2]
    for number, step in enumerate(told.numerics.trace.steps, 1):
        row = next(line for line in text.split("\n") if line.split()[:1] == [str(number)])
        assert step.result in row


def test_a_page_holds_each_number_but_not_each_term():
    told = record("hopper.wgmma.float8_e4m3fn")
    page = html(told)
    assert "numerics.error.max_relative" in page
    assert "numerics.schedule.promote" in page
    assert "<td>numerics.trace" not in page
    assert '"trace":{"row":1' in page
    assert Record.from_json(told.to_json()) == told


def revealed():
    fields = {"a_formats": ["float16"], "b_formats": ["float16"], "terms": 8, "align_bits": 24}
    return Record(
        numerics=NumericsSection(
            unit="revealed", kind="measured", backend="a callable", confirmed=True, mismatches=0, total=1000,
            fields=fields, order="((c 0..7) 8..15)", same_as=("ampere.mma.float16",),
            evidence=(NumericsEvidence(probe="storage", asked="C = 1 + 2^-n", answer="up to n = 23", says="23 bits"),),
            ambiguous=(NumericsAmbiguity(field="nan_code", values=("0x0", "0x7fffffff"), reason="no NaN was made"),),
            notes=("a note",), instruction="mma.sync", architecture="sm_80", sass={"HMMA.16816.F32": 12},
        )
    )  # fmt: skip


def swept():
    steps = tuple(NumericsSweepStep(bits=bits, unchanged=1.0 if bits <= 10 else 0.2 / bits) for bits in range(24))
    return Record(numerics=NumericsSection(unit="mine", kind="emulated", plateau=10, fraction_bits=13, sweep=steps))


@pytest.mark.parametrize("make", [revealed, swept])
def test_what_was_revealed_and_swept(make):
    told = make()
    for width in WIDTHS:
        assert all(cells(line) <= width for line in terminal(told, width=width, color=False).split("\n"))
    check_labels(picture(told))
    html(told)
    assert Record.from_json(told.to_json()) == told


def test_a_revealed_unit_names_its_rules_and_what_stays_open():
    text = " ".join(terminal(revealed(), width=80, color=False).split())
    rules = ("those of ampere.mma.float16", "terms 8", "nan_code: 0x0, or 0x7fffffff", "HMMA")
    for said in ("Confirmed: 1,000 of 1,000", *rules):
        assert said in text


def test_a_sweep_names_its_plateau():
    text = " ".join(terminal(swept(), width=80, color=False).split())
    assert "10 low bits can be cleared unseen: the accumulator hands on 13 fraction bits" in text
    assert "11 1.8%" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_units_keep_to_the_width(width, monkeypatch):
    told = unit_table(list(units().values()), width=width)
    assert all(cells(line) <= width for line in told.split("\n"))
    for each in units().values():
        text = unit_text(each, width=width)
        assert each.name in "".join(text.split())
        assert all(cells(line) <= width for line in text.split("\n"))


@pytest.mark.parametrize(
    ("bias", "said"), [(-0.033, ""), (-0.06, ", most of it toward zero"), (0.09, ", most of it away from zero")]
)
def test_most_of_an_error_is_more_than_half_of_it(bias, said):
    error = NumericsError(
        relative_frobenius=0.1, max_relative=0.1, bias=bias, correctly_rounded=0, total=1, not_finite=0, time_s=1.0,
        mac_per_s=1.0,
    )  # fmt: skip
    assert error_sentence(error) == f"Relative error 0.1{said}"
