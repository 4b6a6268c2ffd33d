"""Numbers and names as reports say them."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.report.words import amount, bound_key, bound_phrase, clean, percent, plain, speedup, split_exactly


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (17_179_869_184, "B", "17.2 GB"),
        (12, "B", "12 B"),
        (0.4, "B", "<1 B"),
        (0, "B", "0 B"),
        (2, "FLOP", "2 FLOP"),
        (2.66e36, "FLOP", "2.66e36 FLOP"),
        (3.524e-3, "s", "3.52 ms"),
        (12_345.0, "s", "12,345 s"),
        (8.5e21, "s", "8.50e21 s"),
        (312e12, "FLOP/s", "312 TFLOP/s"),
        (float("nan"), "B", "-"),
        (float("inf"), "s", "-"),
        (None, "B", "-"),
    ],
)
def test_amounts(value, unit, text):
    assert amount(value, unit) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (1, "100%"), (0.001, "<1%"), (0.999, ">99%"), (0.34, "34%"), (-0.07, "-7%"), (None, "-")],
)
def test_percentages_never_claim_all_or_nothing_wrongly(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("bound", "key", "phrase"),
    [
        ("compute", "compute", "Compute-bound"),
        ("memory-bound", "dram", "Memory-bound"),
        ("DRAM", "dram", "Memory-bound"),
        ("alignment", "alignment", "Bound by alignment"),
        ("", "", "Bound by nothing named"),
    ],
)
def test_verdicts(bound, key, phrase):
    assert bound_key(bound) == key
    assert bound_phrase(bound) == phrase


def test_plain_numbers_and_gains():
    assert [plain(v) for v in (161.2, 0.25, 1.33e7, 0, float("nan"))] == ["161", "0.250", "1.33e7", "0", "-"]
    assert [speedup(v) for v in (3.214, 1.0, 1.002, float("nan"), 0)] == ["3.21x", "no gain", "no gain", "-", "-"]


def test_clean_text_is_one_printable_line():
    assert clean("a\n b\t c") == "a b c"
    assert clean("x\x1b[31m\x00\u202e\ud800y") == "x?[31m???y"
    assert clean("漢字 é µ") == "漢字 é µ"


@given(st.lists(st.floats(-1e3, 1e3), max_size=12), st.integers(0, 4))
def test_shown_parts_add_up_to_the_shown_total(parts, places):
    shown = [round(float(text) * 10**places) for text in split_exactly(parts, places)]
    running = 0.0
    for part in parts:
        running += part
    assert sum(shown) == round(running * 10**places)
    for part, text in zip(parts, shown, strict=True):
        assert abs(part * 10**places - text) <= 1.001


def test_a_terminal_report_loads_neither_the_page_nor_heavy_libraries():
    program = (
        "import sys; import gemmlab.report as r; r.terminal;"
        "heavy = ('numpy', 'rich', 'matplotlib', 'torch', 'numba', 'html', 'csv', 'gemmlab.report.page');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
