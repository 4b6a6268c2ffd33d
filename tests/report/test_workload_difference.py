"""Two networks beside each other: the verdict first, what differs, on one scale, and nothing that does not."""

import json
import re

import msgspec
import pytest

from gemmlab.experiment.workload.differing import difference
from gemmlab.record import Record
from gemmlab.report.canvas import cells
from gemmlab.report.workload_difference import Sides, difference_json, difference_text
from gemmlab.report.workload_difference_page import difference_html
from gemmlab.report.workload_picture import PHONE, treemap
from gemmlab.report.workload_pieces import looks_of
from gemmlab.report.workload_story import Story
from report.answers import ALL, gpt2, huge, traced
from report.test_page import embedded, read

PAIRS = [(a, b) for a in ALL for b in ("gpt2", a)]


def shown(a, b, **more):
    return " ".join(difference_text(difference(a, b), width=80, color=False, unicode=False, **more).split())


def test_the_verdict_and_what_changed():
    text = shown(gpt2(), gpt2(50304))
    assert "B takes 19.6% less time than A: 10.2 ms to 8.20 ms, 1.24x" in text
    assert "8192 x 50257 x 768 -> 8192 x 50304 x 768 4.20 ms 2.20 ms -2.00 ms" in text
    assert "shape, time; alignment -> none; forward of lm_head" in text
    assert "4 multiplications of both without a difference" in text
    assert "multiplications' work 2.02 TFLOP 2.02 TFLOP +0.03%" in text
    back = shown(gpt2(50304), gpt2())
    assert "B takes 24.4% more time than A: 8.20 ms to 10.2 ms" in back
    assert "+2.00 ms" in back


def test_the_same_twice_does_not_differ():
    text = shown(gpt2(), gpt2())
    assert "Both take the same time" in text
    assert "that differ" not in text
    assert "5 multiplications of both without a difference" in text


def test_figures_are_of_one_step_of_each():
    one = msgspec.structs.replace(traced().workload, steps=1)
    text = shown(traced(), msgspec.structs.replace(traced(), workload=one))
    assert "B takes 200% more time than A: 13.7 ms to 41.1 ms" in text


def test_what_is_only_in_one_is_named():
    text = shown(traced(), gpt2())
    assert "4096 x 4096 x 4096 -> nothing" in text
    assert "nothing -> 8192 x 50257 x 768" in text
    assert "A: mylib::fused_mlp" in text
    assert "A measured, B predicted" in text


def test_rows_that_are_not_shown_are_summed_up():
    found = difference(huge(40), gpt2())
    text = " ".join(difference_text(found, top=3, width=80, color=False).split())
    assert f"{len(found.rows) - 3} more:" in text
    assert f"--top {len(found.rows)} shows all" in text


@pytest.mark.parametrize("width", [40, 68, 80, 100])
@pytest.mark.parametrize("pair", PAIRS)
def test_no_line_is_wider_than_the_terminal(pair, width):
    a, b = (ALL[name]() for name in pair)
    for line in difference_text(difference(a, b), width=width, color=False).split("\n"):
        assert cells(line) <= width


@pytest.mark.parametrize("pair", PAIRS)
def test_a_page_is_balanced_and_needs_nothing_else(pair):
    text = difference_html(difference(*(ALL[name]() for name in pair)))
    checker = read(text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(checker.ids)
    assert "<script>alert" not in text


def test_areas_of_both_are_on_one_scale():
    a, b = Story(gpt2()), Story(gpt2(50304))
    looks = looks_of([a, b])
    scale = b.step_s / a.step_s

    def area(told, share):
        svg = treemap(told, "time", PHONE, looks, "x", scale=share, legends=looks).svg("x")
        return sum(float(w) * float(h) for w, h in re.findall(r'width="([\d.]+)" height="([\d.]+)" fill="#', svg)[5:])

    assert area(b, scale) / area(a, 1.0) == pytest.approx(scale, rel=0.06)  # frames and names take the rest


def test_lines_for_programs_hold_both_records():
    found = difference(gpt2(), gpt2(50304))
    (line,) = difference_json(found)
    told = json.loads(line)
    assert told["time_s"] == pytest.approx(-2e-3)
    assert Record.from_json(json.dumps(told["before"])) == found.rows[0].before.record
    assert embedded(difference_html(found))[1] == told["after"]
    went = [json.loads(line) for line in difference_json(difference(traced(), gpt2()))]
    assert {item["what"][0] for item in went} == {"went", "came"}
    assert all((item["before"] is None) == (item["what"] == ["came"]) for item in went)


def test_what_is_no_multiplication_is_told_where_it_changes():
    sides = Sides.of(difference(gpt2(), traced()))
    assert {line.name for line in sides.others()} >= {"aten::gelu", "aten::add"}
    assert Sides.of(difference(gpt2(), gpt2())).others() == []


def test_two_readings_of_one_kernel_are_no_difference():
    def slower(factor):
        first = made.rows[0]
        call = msgspec.structs.replace(first.record.call, time_s=first.record.call.time_s * factor)
        row = msgspec.structs.replace(first, record=msgspec.structs.replace(first.record, call=call))
        return msgspec.structs.replace(made, rows=(row,))

    made = traced()
    near, far = shown(made, slower(1.03)), shown(made, slower(1.5))
    assert "4096 x 4096" not in near
    assert "1 multiplication differs in time alone, by no more than two readings of one kernel do" in near
    assert "4096 x 4096" in far
    assert "in time alone" not in far


def test_a_trace_and_a_list_are_of_two_things():
    listed = msgspec.structs.replace(gpt2(), workload=msgspec.structs.replace(gpt2().workload, kind="topology"))
    text = shown(traced(), listed)
    assert "A is a trace and B a topology: their times, a step of 13.7 ms and all of it, 10.2 ms, are of two" in text
    assert "less time than" not in text
    assert "more time than" not in text
