"""The treemap's layout: areas in proportion, none over another, all inside; and the picture that is drawn from it."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.problem import Gemm
from gemmlab.report import workload_picture as picture
from gemmlab.report.svg import text_width
from gemmlab.report.treemap import Area, squarified
from gemmlab.report.workload_pieces import VIEWS, Piece, coarse, looks_of, merged, parts_of
from gemmlab.report.workload_rows import own_name
from gemmlab.report.workload_story import Story
from gemmlab.workload import Call
from report.answers import ALL, gpt2, huge, traced

VALUES = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6), st.integers(1, 10**15).map(float)), max_size=60)
SIDES = st.floats(1.0, 3000.0)


def overlap(a, b):
    across = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    down = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
    return max(across, 0.0) * max(down, 0.0)


@settings(max_examples=200, deadline=None)
@given(VALUES, SIDES, SIDES)
def test_areas_are_in_proportion_apart_and_inside(values, width, height):
    within = Area(3.0, 5.0, width, height)
    areas = squarified(values, within)
    total = sum(values)
    assert len(areas) == len(values)
    tiny = 1e-9 * within.size
    for value, area in zip(values, areas, strict=True):
        expected = value / total * within.size if total else 0.0
        assert area.size == pytest.approx(expected, rel=1e-6, abs=tiny)
        assert area.x >= within.x - 1e-6
        assert area.y >= within.y - 1e-6
        assert area.x + area.width <= within.x + within.width + 1e-6
        assert area.y + area.height <= within.y + within.height + 1e-6
    seen = [area for area in areas if area.size > 0]
    for index, area in enumerate(seen):
        assert all(overlap(area, other) <= 1e-6 * within.size for other in seen[:index])


def test_the_paper_s_example():
    # 6, 6, 4, 3, 2, 2, 1 in 6 by 4 (Bruls, Huizing, van Wijk 2000, figure 3)
    areas = squarified([6, 6, 4, 3, 2, 2, 1], Area(0, 0, 6, 4))
    assert areas[0] == Area(0, 0, 3, 2)
    assert areas[1] == Area(0, 2, 3, 2)
    ratios = [max(area.width / area.height, area.height / area.width) for area in areas[2:4]]
    assert ratios == pytest.approx([49 / 36, 49 / 27])  # the second is the paper's worst of this row


def test_equal_values_in_a_square_are_squares():
    for area in squarified([1.0] * 16, Area(0, 0, 8, 8)):
        assert area.width == pytest.approx(area.height)


def test_order_does_not_matter():
    values = [5.0, 1.0, 3.0, 2.0]
    forward, backward = squarified(values, Area(0, 0, 9, 7)), squarified(values[::-1], Area(0, 0, 9, 7))
    assert forward == backward[::-1]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("size", [picture.WIDE, picture.PHONE])
def test_texts_stay_inside_and_apart(name, view, size):
    told = Story(ALL[name]())
    drawing = picture.treemap(told, view, size, looks_of([told]), "x")
    ElementTree.fromstring(drawing.svg("x"))
    for index, box in enumerate(drawing.boxes):
        assert 0 <= box.left <= box.right <= size[0], box
        assert 0 <= box.top <= box.bottom <= size[1], box
        assert not [other for other in drawing.boxes[:index] if other.overlaps(box)], box


@pytest.mark.parametrize("name", ["gpt2", "traced", "huge"])
def test_areas_of_the_picture_are_what_they_say(name):
    told = Story(ALL[name]())
    answer = told.answer
    assert sum(p.value for p in parts_of(told, "time")) == pytest.approx(answer.time_s)
    assert sum(p.value for p in parts_of(told, "work")) == pytest.approx(answer.workload.flop)
    gained = sum(row.record.call.gain_s for row in answer.rows)
    assert sum(p.value for p in parts_of(told, "gain")) == pytest.approx(gained)


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 1))
def test_merging_loses_nothing(share):
    parts = parts_of(Story(huge(60)), "time")
    whole = sum(part.value for part in parts)
    assert sum(part.value for part in merged(parts, share * whole)) == pytest.approx(whole)


def test_what_is_drawn_is_bounded_however_many_there_are():
    told = Story(huge(3000))
    drawn = picture.treemap(told, "time", picture.WIDE, looks_of([told]), "x")
    assert drawn.svg("x").count("<title") < 2 * picture.MOST_PIECES


def test_each_look_has_a_colour_and_a_pattern_of_its_own():
    told = Story(huge())
    looks = {look.name: look for look in looks_of([told]).values()}
    assert len({(look.colour, look.pattern) for look in looks.values()}) == len(looks)
    coloured = [look for look in looks.values() if look.pattern]
    assert len({look.pattern for look in coloured}) == len(coloured)
    svg = picture.treemap(told, "time", picture.WIDE, looks_of([told]), "x").svg("x")
    used = set(re.findall(r"url\(#([^)]+)\)", svg))
    assert used
    assert used <= set(re.findall(r'<pattern id="([^"]+)"', svg))


def test_parts_are_made_fewer_until_they_can_be_told_apart():
    assert coarse(["a.b", "a.c"]) == ["a.b", "a.c"]
    assert set(coarse([f"net.{i % 4}.{i}" for i in range(40)])) == {f"net.{i}" for i in range(4)}
    assert len(coarse([str(i) for i in range(40)])) == 40


def test_a_tooltip_tells_all_with_its_kind():
    told = Story(gpt2())
    svg = picture.treemap(told, "time", picture.WIDE, looks_of([told]), "x", links=1).svg("x")
    assert '<a href="#row-1">' in svg
    assert '<a href="#row-2">' not in svg
    assert "31% of the FLOP, counted; 4.20 ms, 41% of the time, predicted; 2.00 ms to gain, predicted" in svg
    assert "no kernel runs" in picture.workload_svg(traced())


def test_a_name_is_said_whole_shorter_broken_or_not_at_all():
    piece = Piece(1.0, "attn, backward", ("12 us",), "", "fine", 13, ("attn back", "attn"))

    def at(least):
        return picture.label(piece, Area(0, 0, text_width(least, 11, True) + 12.01, 40.0), 11)

    assert at("13 attn, backward") == ["13 attn, backward", "12 us"]
    assert at("13 attn, backwar") == at("13 attn back") == ["13 attn back", "12 us"]
    assert at("13 attn bac") == at("13 attn") == ["13 attn", "12 us"]
    assert at("13 att") == at("attn") == ["13", "attn"]
    assert at("13") == ["13"]
    assert at("1") == []
    long = Piece(1.0, "native_layer_norm_backward", (), "", "fine")
    assert picture.label(long, Area(0, 0, 80, 80), 11) == ["native_", "layer_", "norm_", "backward"]
    for width in range(10, 200):
        for each in (piece, long):
            lines = picture.label(each, Area(0, 0, width, 60), 11)
            assert all(text_width(line, 11, line not in each.lines) <= width - 12 for line in lines), lines


def test_attention_and_numbered_layers_have_names():
    problem = Gemm(64, 64, 64, batch=8)
    fused = Call(problem, "aten::sdpa", places=("h.0", "h.1"), fused="flash attention")
    assert own_name(fused) == "attention"
    assert own_name(Call(problem, places=("layers.3.sc.0",))) == "sc"
    assert own_name(Call(problem, places=("h.0", "h.1"))) == "h"
