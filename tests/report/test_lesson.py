"""A lesson's page and summary: closed in itself, every figure with its kind, readable at any shape."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations

import pytest

from gemmlab.record import Record
from gemmlab.report.lesson import lesson_html, lesson_text
from gemmlab.report.lesson.cells import conflict, patches, wrong_cells
from gemmlab.report.lesson.parts import PHONE, WIDE
from gemmlab.report.lesson.pictures import ladder_bars, loads_bars
from gemmlab.report.lesson.rooflines import kernels_roofline
from gemmlab.report.lesson.words import least_tile, loads, problem_of, too_large
from gemmlab.report.words import KINDS
from report.lessons import SHAPES, lesson
from report.test_page import embedded, read

COMMAND = "gemmlab report 1 2 3"
PICTURES = {
    "loads": loads_bars,
    "ladder": ladder_bars,
    "roofline": lambda told, width: kernels_roofline(loads(told), width),
    "cells": lambda told, width: wrong_cells(told.broken, width),
    "conflict": lambda told, width: conflict(told.broken, width),
}


def page(name):
    return lesson_html(lesson(*SHAPES[name]), COMMAND)


@pytest.mark.parametrize("name", SHAPES)
def test_a_page_is_balanced_and_asks_no_network_for_anything(name):
    text = page(name)
    checker = read(text)
    assert checker.tags.count("script") == 1
    assert {link.removeprefix("#") for link in checker.links} <= set(checker.ids)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "url(" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("name", SHAPES)
def test_every_figure_and_every_column_of_numbers_says_what_it_is(name):
    text = page(name)
    figures = re.findall(r"<figure.*?</figure>", text, re.S)
    assert len(figures) >= 7
    kind = re.compile(rf'<span class="tag ({"|".join(KINDS)})">')
    assert all(kind.search(each.partition("<figcaption>")[2]) for each in figures)
    for table in re.findall(r'<table class="stack".*?</table>', text, re.S):
        heads = re.findall(r"<th class=n>.*?</th>", table, re.S)
        assert heads
        assert all(kind.search(each) for each in heads)
    for said in re.findall(r"<p>(.*?)</p>", text, re.S):
        if re.search(r"\d[\d,.]*\s*(?:[GMTk]?(?:FLOP|B|B/s|FLOP/s)|[mun]?s|times)\b", said):
            assert kind.search(said), said


def test_every_question_is_answered_and_led_to():
    text = page("even")
    for ident in ("loads", "bound", "time", "barrier", "here", "digits"):
        assert f'href="#{ident}"' in text
        assert f'<section id="{ident}"><h2>' in text
    assert text.count("?</h2>") == 7


def test_all_records_are_embedded():
    told = lesson(*SHAPES["even"])
    assert [Record.from_json(json.dumps(each)) for each in embedded(page("even"))] == told.records


def test_what_others_named_stays_text():
    text = page("even")
    assert "A processor &lt;of&gt; ours" in text
    assert '<b>"' not in text
    assert "signal 11 &lt;b&gt;" in text


def test_a_figure_of_another_size_says_so():
    shown = "".join(read(page("deep")).shown)
    assert "500 x 37 x 100000" in shown
    huge = "".join(read(page("huge")).shown)
    assert "393,216 at 256 × 3 × 256" in huge


def test_a_disagreement_is_told():
    told = lesson(*SHAPES["ragged"])
    first = told.kernels[0]
    wrong = replace(told, kernels=(replace(first, due=first.due + 1), *told.kernels[1:]))
    assert not wrong.ok
    assert "Formula and emulator disagree for naive" in lesson_html(wrong, COMMAND)
    assert "formula and emulator disagree" in lesson_text(wrong)
    assert "disagree" not in lesson_html(told, COMMAND)


def test_a_lesson_without_times_or_unit_has_no_such_chapter():
    told = replace(lesson(*SHAPES["ragged"]), times=(), digits=None, broken=None)
    text = lesson_html(told, COMMAND)
    read(text)
    for ident in ("here", "digits", "barrier"):
        assert f'id="{ident}"' not in text
    assert "How fast" not in lesson_text(told)


@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_well_formed_and_no_text_meets_another(picture, name, width):
    drawing = PICTURES[picture](lesson(*SHAPES[name]), width)
    ET.fromstring(drawing.svg("x"))
    for box in drawing.boxes:
        assert box.left >= 0
        assert box.right <= drawing.width + 0.5, box
        assert box.bottom <= drawing.height, box
    for one, other in combinations(drawing.boxes, 2):
        assert not one.overlaps(other), (one, other)


def test_patches_cover_the_wrong_cells_and_no_other():
    import numpy as np

    random = np.random.default_rng(3)
    for _ in range(50):
        wrong = random.random((9, 7)) < random.random()
        drawn = np.zeros_like(wrong, dtype=int)
        for row, tall, start, stop in patches(wrong):
            drawn[row : row + tall, start:stop] += 1
        assert (drawn == wrong).all()


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("name", SHAPES)
def test_the_summary_keeps_its_width(name, width):
    text = lesson_text(lesson(*SHAPES[name]), width=width, color=False, unicode=True)
    assert max(map(len, text.splitlines())) <= width
    assert "How often is each number fetched?" in text


def test_the_knee_asks_for_the_published_tile():
    assert least_tile(lesson(96, 80, 112, "float32", "a100-pcie-80gb")) == 41
    assert least_tile(lesson(96, 80, 112, "float16", "a100-pcie-80gb")) == 323


def told_text(*shape, **given):
    return " ".join(lesson_text(lesson(*shape, **given), width=80, color=False, unicode=False).split())


def test_a_tile_larger_than_the_matrices_is_said_to_be():
    wide = least_tile(lesson(*SHAPES["even"]))
    assert too_large(wide, problem_of(lesson(*SHAPES["ragged"]))) == "which m = 3 and n = 5 have no room for"
    assert "which m = 3 and n = 5 have no room for" in told_text(*SHAPES["ragged"])
    assert "which m = 3 and n = 5 have no room for" in page("ragged")
    assert too_large(80, problem_of(lesson(*SHAPES["even"]))) == ""


def test_operands_that_are_cut_already_are_said_to_be_with_the_error():
    for text in (told_text(*SHAPES["even"]), page("even")):
        assert "the operands are tfloat32 already" in text
    assert "2 cores had a load of 4" in told_text(*SHAPES["even"])


def test_cells_that_touch_have_sharp_edges_and_dotted_lines_lie_beneath_the_ticks():
    told = lesson(*SHAPES["even"])
    sharp = wrong_cells(told.broken, WIDE).svg().count('shape-rendering="crispEdges"')
    assert sharp == sum(1 + len(patches(found)) for _, found in told.broken.maps) > 3
    drawn = kernels_roofline(loads(told), WIDE)
    assert min(box.left for box in drawn.boxes) >= 0
    assert next(box for box in drawn.boxes if box.text == "FLOP/s").left >= 16
    assert drawn.svg().rindex('stroke-dasharray="2 3"') < drawn.svg().index(">FLOP/s<")
