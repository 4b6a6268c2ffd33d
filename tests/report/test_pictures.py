"""The pictures: well-formed, alike every time, no label on another or off the sheet, points where they belong."""

import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.record import Record
from gemmlab.report import ladder_svg, plot_svg, roofline_svg, story, tile_svg, waterfall_svg
from gemmlab.report.axis import LABEL_GAP, LogAxis, stagger, tick_text
from gemmlab.report.plots import FIGURES, sheet
from gemmlab.report.svg import ADVANCE, PALETTE, Drawing, fit, text_lines, text_width
from gemmlab.report.tile import wave_rectangles
from report.random_records import random_records
from report.records import ALL, hostile, ragged, square

WRITERS = (roofline_svg, ladder_svg, tile_svg, waterfall_svg, plot_svg)
SVG = "{http://www.w3.org/2000/svg}"
SETTINGS = settings(max_examples=60, deadline=None)


def check_labels(drawing):
    for index, box in enumerate(drawing.boxes):
        assert box.left >= 0, box
        assert box.top >= 0, box
        assert box.right <= drawing.width, box
        assert box.bottom <= drawing.height, box
        for other in drawing.boxes[:index]:
            assert not box.overlaps(other), (box, other)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("width", [560, 340])
def test_labels_neither_overlap_nor_leave_the_sheet(name, figure, width):
    drawing = FIGURES[figure](ALL[name](), width)
    if drawing is not None:
        assert drawing.boxes
        check_labels(drawing)


@pytest.mark.parametrize("figure", FIGURES)
@SETTINGS
@given(record=random_records())
def test_labels_of_any_record_keep_apart(figure, record):
    for width in (560, 340):
        drawing = FIGURES[figure](record, width)
        if drawing is not None:
            check_labels(drawing)
            ET.fromstring(drawing.svg())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("write", WRITERS)
def test_svg_is_xml_with_title_and_description_and_nothing_from_outside(name, write):
    text = write(ALL[name]())
    assert text == write(ALL[name]())
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    ids = {element.get("id") for element in root if element.tag in (f"{SVG}title", f"{SVG}desc")}
    assert ids == set(root.get("aria-labelledby").split())
    assert root.find(f"{SVG}title").text
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ALLOWED
        assert not [key for key in element.attrib if "href" in key or key.startswith("on")]


ALLOWED = {
    "svg", "title", "desc", "style", "g", "rect", "line", "path", "circle", "polygon", "text", "tspan",
}  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_the_sheet_keeps_its_pictures_apart(name):
    check_labels(sheet(ALL[name]()))


def test_the_sheet_holds_every_picture():
    text = plot_svg(square())
    for head in ("Rooflines", "From floor to raw", "One tile", "Where the time goes"):
        assert head in text


def test_what_is_missing_is_said():
    assert "No roofline" in roofline_svg(Record())
    assert "No tile" in tile_svg(Record())


def test_hostile_names_are_text():
    text = plot_svg(hostile())
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def texts(drawing):
    return [box.text for box in drawing.boxes]


def test_knees_and_levels_are_labelled():
    shown = texts(FIGURES["roofline"](square(), 560))
    for said in (
        "dram knee 161",
        "l2 knee 65.0",
        "shared knee 16.0",
        "peak 312 TFLOP/s",
        "1.94 TB/s",
        "dram",
        "register",
    ):
        assert said in shown
    assert "dram, bounds it" in texts(FIGURES["roofline"](ALL["skinny"](), 560))


def test_the_ladder_climbs_from_floor_to_raw():
    rungs = story.ladder(square())
    assert all(a.value <= b.value for a, b in pairwise(rungs))
    assert rungs[0].label == "floor: each matrix once"
    assert rungs[-1].label == "raw: loads asked for"
    shown = texts(FIGURES["ladder"](square(), 560))
    for said in ("17.2 GB", "403 MB", "8.88 ms", "208 us", "between 1.50 GB and 5.30 GB", "memory-bound above 6.82 GB"):
        assert said in shown


def test_ragged_edges_and_the_first_wave_are_said():
    said = " ".join(texts(FIGURES["tile"](ragged(), 560)))
    assert "ragged last column of tiles: 81 of 256 used" in said
    assert "ragged last row" not in said
    assert "first wave: 264 of 6304 tiles" in said


def test_the_steps_of_time_meet_and_end_at_the_total():
    for make in ALL.values():
        prediction = make().prediction
        if prediction is None:
            continue
        steps = story.time_steps(prediction)
        assert all(math.isclose(b.start_s, a.start_s + a.time_s) for a, b in pairwise(steps))
        assert math.isclose(steps[-1].start_s + steps[-1].time_s, prediction.time_s, rel_tol=1e-3)


@SETTINGS
@given(st.floats(1e-9, 1e9), st.floats(1.5, 1e12), st.floats(0, 1))
def test_the_axis_is_logarithmic_and_has_an_inverse(low, ratio, share):
    axis = LogAxis(low, low * ratio, 50, 550)
    value = axis.value(50 + 500 * share)
    assert math.isclose(axis.at(value), 50 + 500 * share, abs_tol=1e-3)
    assert math.isclose(math.log(value / low), share * math.log(ratio), rel_tol=1e-6, abs_tol=1e-9)
    wide = axis.longer(20, 600)
    assert math.isclose(wide.at(value), axis.at(value), abs_tol=1e-3)
    ticks = axis.ticks(40)
    assert all(b - a >= 39.9 for a, b in pairwise([axis.at(tick) for tick in ticks]))


def test_ticks_are_round_and_short():
    assert LogAxis(1, 1000, 0, 600).ticks(40) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    assert LogAxis(1, 1e6, 0, 300).ticks(60) == [1, 100, 10_000, 1_000_000]
    assert [tick_text(v, "B") for v in (1e3, 5e5, 2e12, 1e24)] == ["1 kB", "500 kB", "2 TB", "1e24 B"]
    assert [tick_text(v) for v in (0.1, 20, 1e4)] == ["0.1", "20", "10 k"]


@SETTINGS
@given(st.lists(st.tuples(st.floats(0, 300), st.floats(5, 120)), max_size=7))
def test_staggered_labels_meet_neither_labels_nor_leaders(places):
    rows = stagger(places)
    spans = [(row, left, left + width) for row, (left, width) in zip(rows, places, strict=True)]
    for index, (row, left, right) in enumerate(spans):
        for other, (their_row, their_left, their_right) in enumerate(spans):
            if index == other:
                continue
            assert row != their_row or right + LABEL_GAP <= their_left + 1e-9 or their_right + LABEL_GAP <= left + 1e-9
            assert not (their_row > row and left < their_left < right)  # their leader would cross this label


@SETTINGS
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 14), st.integers(0, 160))
def test_the_first_wave_equals_walking_the_programs(down, across, group, count):
    walked = []
    for base in range(0, down, group):
        tall = min(group, down - base)
        walked += [(base + index % tall, index // tall) for index in range(tall * across)]
    covered = [
        (r, c)
        for row, column, rows, columns in wave_rectangles(down, across, group, count)
        for r in range(row, row + rows)
        for c in range(column, column + columns)
    ]
    assert len(covered) == len(set(covered))
    assert set(covered) == set(walked[:count])


def test_every_printable_character_has_a_width():
    assert {chr(code) for code in range(32, 127)} == set(ADVANCE)
    assert text_width("Wi", 10) == pytest.approx(13.2)


@given(st.text(max_size=80), st.floats(30, 300))
def test_fitted_text_fits(text, width):
    assert text_width(fit(text, 12, width), 12) <= width
    for line in text_lines(text, 12, width):
        assert text_width(line, 12) <= width or len(line) == 1


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("role", ["ink", "quiet", "teal", "ochre", "plum", "sky", "brick"])
def test_text_is_readable_on_its_paper(role, side):
    a, b = sorted(luminance(PALETTE[name][side]) for name in (role, "paper"))
    assert (b + 0.05) / (a + 0.05) >= 4.5  # WCAG 2.2, 1.4.3


def test_embedding_moves_the_boxes():
    inner, outer = Drawing(50, 20, "in", ""), Drawing(100, 100, "out", "")
    inner.text(5, 15, "x")
    outer.embed(inner, 40, 60)
    assert outer.boxes[0].left == 45
    assert outer.boxes[0].bottom == pytest.approx(inner.boxes[0].bottom + 60)
