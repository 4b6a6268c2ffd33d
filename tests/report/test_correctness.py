"""A verdict is told in text, page, table and JSON alike; without one, that nothing was checked."""

import csv

import pytest

from gemmlab.record import Record
from gemmlab.report import html, terminal
from gemmlab.report.correctness import sentence
from gemmlab.report.provenance import entries
from gemmlab.report.spreadsheet import columns, csv_rows
from report.records import exactly_right, right, square, uninformative, verdict, wrong

RECORDS = [right, wrong, uninformative, exactly_right]


def words(text):
    return " ".join(text.replace("\xa0", " ").split())


@pytest.mark.parametrize("make", RECORDS)
def test_json_keeps_a_verdict(make):
    assert Record.from_json(make().to_json()) == make()


@pytest.mark.parametrize("make", RECORDS)
@pytest.mark.parametrize("width", [40, 80])
def test_terminal_and_page_say_the_same_sentence(make, width):
    said = sentence(make().verdict)
    assert said in words(terminal(make(), width=width, color=False))
    assert said in words(html(make()))


def test_each_verdict_begins_with_its_word():
    assert sentence(right().verdict) == "right: 67,108,864 elements within what rounding explains"
    assert sentence(exactly_right().verdict) == "right: 1 element equal to the reference bit for bit"
    assert sentence(wrong().verdict).startswith("wrong: of 67,108,864 elements, 1,048,576 wrong, 16,384 never written")
    assert sentence(uninformative().verdict).endswith("would pass too: alpha ignored, a step of k dropped")


def test_a_fault_outweighs_a_lack_of_power():
    both = verdict(ok=False, informative=False, wrong_elements=2, missed_faults=("beta ignored",))
    assert sentence(both).startswith("wrong: ")


def test_the_worst_element_is_named():
    text = words(terminal(wrong(), width=80, color=False))
    assert "worst, D[77, 4095]" in text
    assert "-3.5, not 118.25, 4130 times the bound" in text
    assert "worst" not in terminal(right(), width=80, color=False).split("Is the result right")[1]


def test_only_a_record_without_a_verdict_says_that_its_digits_are_not_checked():
    assert "Neither measured nor its digits checked" in words(html(square()))
    assert "not checked" not in words(html(wrong()))
    assert "Not measured in this record." in words(html(right()))
    assert "Not measured" not in words(html(wrong()))
    assert "Is the result right" not in terminal(square(), color=False)


def test_its_numbers_are_called_checked():
    found = {entry.path: entry for entry in entries(wrong())}
    assert found["verdict.wrong_elements"].kind == "checked"
    assert found["verdict.wrong_elements"].value == "1,048,576"
    assert found["verdict.worst.error_over_bound"].source == "the element furthest off"


def test_a_table_has_its_columns():
    head, row = csv.reader(csv_rows([exactly_right()]))
    assert head == columns()
    cells = dict(zip(head, row, strict=True))
    assert cells["verdict.ok"] == "true"
    assert cells["verdict.elements"] == "1"
