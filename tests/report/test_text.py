"""The terminal report: it keeps its width, adds up, needs no colour, and survives any name."""

import io
import re

import pytest
from hypothesis import given, settings

from gemmlab.record import Record
from gemmlab.report import print_record, terminal
from gemmlab.report.canvas import Canvas, cells, shorten, wrap
from report.random_records import random_records
from report.records import ALL, hostile, ragged, square

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Screen(io.StringIO):
    """A stream that says what it is."""

    def __init__(self, tty, encoding="utf-8"):
        super().__init__()
        self.tty, self.coded = tty, encoding

    def isatty(self):
        return self.tty

    @property
    def encoding(self):
        return self.coded


def check_lines(text, width):
    for line in text.split("\n"):
        assert cells(line) <= width, line
        assert line == line.rstrip()
    assert text == text.strip("\n")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", [100, 80, 67, 60, 40])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal(name, width, unicode):
    text = terminal(ALL[name](), width=width, color=False, unicode=unicode)
    check_lines(text, width)
    assert unicode or text.isascii()
    assert text == terminal(ALL[name](), width=width, color=False, unicode=unicode)


@settings(max_examples=60, deadline=None)
@given(random_records())
def test_any_record_keeps_to_forty_and_eighty_columns(record):
    for width in (40, 80):
        check_lines(terminal(record, width=width, color=False, unicode=True), width)


def test_narrower_than_forty_is_forty():
    assert terminal(square(), width=10, color=False) == terminal(square(), width=40, color=False)


@pytest.mark.parametrize("name", ALL)
def test_colour_only_adds_escapes(name):
    plain = terminal(ALL[name](), width=80, color=False, unicode=True)
    assert "\x1b" not in plain
    painted = terminal(ALL[name](), width=80, color=True, unicode=True)
    assert ESCAPE.sub("", painted) == plain


def test_a_terminal_gets_colour_a_file_does_not(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Canvas.of(Screen(True), 80, None, None).color
    assert not Canvas.of(Screen(False), 80, None, None).color


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Canvas.of(Screen(True), 80, None, None).color
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not Canvas.of(Screen(True), 80, None, None).color


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", None])
def test_a_stream_that_is_not_utf8_gets_ascii(encoding):
    screen = Screen(False, encoding)
    print_record(square(), screen)
    assert screen.getvalue().isascii()
    assert "#####" in screen.getvalue()


def test_utf8_gets_bars_and_one_line_end():
    screen = Screen(False)
    print_record(square(), screen)
    assert "████" in screen.getvalue()
    assert screen.getvalue().endswith("\n")
    assert not screen.getvalue().endswith("\n\n")


def test_columns_sets_the_width_of_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "57")
    assert Canvas.of(Screen(True), None, None, None).width == 57
    assert Canvas.of(Screen(False), None, None, None).width == 80


def waterfall_lines(text):
    part = text.split("Where the time goes")[1].split("\n\n")[0]
    return re.findall(r"(-?\d+\.?\d*(?:e\d+)?) (?:ms|us|ns|s) +(?:[<>]?-?\d+%)", part)


@pytest.mark.parametrize("name", ["square", "ragged", "tiny", "skinny", "deep", "batched", "unexplained", "hostile"])
@pytest.mark.parametrize("width", [80, 40])
def test_the_shown_waterfall_adds_up_to_the_digit(name, width):
    *parts, total = waterfall_lines(terminal(ALL[name](), width=width, color=False, unicode=False))
    assert len(parts) >= 2
    places = len(total.partition(".")[2])
    assert round(sum(map(float, parts)), places) == float(total)


def test_what_the_terms_leave_open_is_said():
    assert "not explained" in terminal(ALL["unexplained"](), color=False)
    assert "not explained" not in terminal(square(), color=False)


def test_the_published_numbers_stand_in_the_text():
    text = terminal(square(), width=80, color=False)
    for said in ("1.10 TFLOP", "17.2 GB", "403 MB", "3.52 ms", "161", "6.82 GB", "data sheet only", "Compute-bound"):
        assert said in text
    assert "not Strassen's" in " ".join(text.split())


def test_the_level_that_bounds_is_marked_by_a_word():
    lines = [x for x in terminal(square(), width=80, color=False).split("\n") if "bounds it" in x and "What" not in x]
    assert [line.split()[0] for line in lines] == ["compute"]
    lines = [x for x in terminal(ALL["skinny"](), width=40, color=False).split("\n") if x.endswith("bounds it")]
    assert [line.split()[0] for line in lines] == ["dram"]


def test_every_kind_of_number_is_tagged():
    text = terminal(ragged(), width=80, color=False)
    for kind in ("counted", "predicted", "measured", "datasheet"):
        assert kind in text


def test_names_cannot_control_the_terminal():
    text = terminal(hostile(), width=80, color=False, unicode=True)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", text)
    text.encode("utf-8")


def test_an_empty_record_says_so():
    text = terminal(Record(), color=False)
    assert "No multiplication" in text
    assert "No prediction" in text


def test_wrapping_loses_no_character():
    text = "a quite_long_word_that_is_cut and 漢字漢字漢字 then short ones"
    for width in range(4, 40):
        lines = wrap(text, width)
        assert all(cells(line) <= width for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())


def test_shortening_keeps_what_fits():
    assert shorten("twelve chars", 12) == "twelve chars"
    assert shorten("twelve chars", 9) == "twelve..."


@pytest.mark.parametrize("unicode", [True, False])
def test_bars_stay_in_their_room_and_meet(unicode):
    canvas = Canvas(80, False, unicode)
    for size in (5, 17):
        for start in range(11):
            for share in range(11 - start):
                bar = canvas.bar(start / 10, share / 10, size)
                assert cells(bar) <= size
                assert bool(bar.strip()) == (share > 0)
    assert canvas.bar(0, 1, 10) in ("█" * 10, "#" * 10)


def with_bounds(record, **bounds):
    import msgspec

    least = max(bounds["compulsory"], bounds["tight"])
    changed = msgspec.structs.replace(record.prediction, lower_bounds=bounds, lower_bound_bytes=least)
    return msgspec.structs.replace(record, prediction=changed)


def test_three_tiles_are_no_bound_and_stand_below_what_follows():
    text = terminal(with_bounds(square(), compulsory=4e8, tight=3e8, hong_kung=8e8), width=80, color=False)
    least, three = text.index("so at least"), text.index("Hong-Kung's three tiles")
    assert text.index("tight bound") < least < three
    assert "a schedule and no bound" in " ".join(text.split())


def test_bounds_that_say_nothing_are_left_out():
    text = terminal(with_bounds(square(), compulsory=4e8, tight=0.0, hong_kung=3e8), width=80, color=False)
    assert "so at least" in text
    assert "tight" not in text
    assert "three tiles" not in text


def test_predicted_traffic_below_the_floor_is_explained():
    below = "results that L2 still holds at the end"
    text = terminal(with_bounds(square(), compulsory=4e9, tight=0.0, hong_kung=3e8), width=80, color=False)
    assert below in " ".join(text.split())
    assert below not in " ".join(terminal(square(), width=80, color=False).split())


def test_a_kernel_in_clusters_says_so():
    import msgspec

    record = square()
    clustered = msgspec.structs.replace(record.kernel, cluster_m=2, warps=1, raster="m")
    text = terminal(msgspec.structs.replace(record, kernel=clustered), width=80, color=False)
    assert "1 warp, cluster 2x1, groups of 8 columns" in text
    assert "cluster" not in terminal(record, width=80, color=False)


def test_causes_whose_digits_are_all_zero_are_left_out():
    import msgspec

    from gemmlab.record import Term

    record = square()
    terms = (*record.prediction.terms, Term(cause="imperfect overlap", time_s=1e-9))
    prediction = msgspec.structs.replace(record.prediction, terms=terms)
    assert "imperfect overlap" not in terminal(msgspec.structs.replace(record, prediction=prediction), color=False)


def test_a_short_bar_is_as_short_as_what_it_shows():
    assert Canvas(80, False, True).bar(0.99, 0.002, 20).strip() == "▏"
