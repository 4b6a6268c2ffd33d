"""The page: well-formed, self-contained, escaped, and holding every number with its kind."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from gemmlab.record import Record
from gemmlab.report import html
from gemmlab.report.page import TOLD
from gemmlab.report.provenance import entries
from gemmlab.report.words import KINDS
from report.random_records import random_records
from report.records import ALL, hostile, ragged, square

VOID = {"meta", "br", "img", "link", "hr", "input", "wbr"}


class Checker(HTMLParser):
    """Balance of tags, ids, and anything that could load or run."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.shown = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert not [name for name in attrs if name.startswith("on")]
        assert not {"src", "srcset", "data", "action"} & set(attrs)
        self.tags.append(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if "href" in attrs else []
        if tag == "script":
            assert attrs["type"] == "application/json"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.shown.append(data)


def read(text):
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    return checker


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="records">(.*?)</script>', text, re.S)[1])


@pytest.mark.parametrize("name", ALL)
def test_a_page_is_balanced_closed_and_the_same_twice(name):
    text = html(ALL[name]())
    checker = read(text)
    assert checker.tags.count("script") == 1
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "url(" not in text
    assert text == html(ALL[name]())
    text.encode("utf-8")


@settings(max_examples=25, deadline=None)
@given(random_records())
def test_any_record_makes_a_page(record):
    read(html(record))


def test_the_record_is_embedded_for_machines():
    text = html(ragged())
    assert [Record.from_json(json.dumps(item)) for item in embedded(text)] == [ragged()]


def test_hostile_names_stay_text():
    text = html(hostile())
    assert "<script>" not in text
    assert "<script>alert('x')</script>" in "".join(read(text).shown)
    assert embedded(text)[0]["kernel"]["name"].startswith("<script>alert('x')</script> & \x1b[31mred")


def shown_in(record):
    return " ".join("".join(read(html(record)).shown).replace("\xa0", " ").split())


def test_the_questions_are_answered_or_it_is_said_that_they_are_not():
    shown = shown_in(square())
    for said in ("What does it move?", "17.2 GB asked for, 403 MB at the least", "Neither measured nor its digits",
                 "not Strassen's", "memory-bound above"):  # fmt: skip
        assert said in shown
    shown = shown_in(ragged())
    for said in ("What should change?pad n from 50257 to 50304: 3.21x", "How fast is it really?1.02 ms"):
        assert said in shown
    assert "Neither measured" not in shown


def numbers(value):
    if isinstance(value, dict):
        return sum(numbers(item) for item in value.values())
    if isinstance(value, list):
        return sum(numbers(item) for item in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


@pytest.mark.parametrize("name", ["square", "ragged", "tiny", "batched", "counted_only", "empty", "right", "wrong"])
def test_every_number_of_the_record_has_a_kind_and_a_source(name):
    record = ALL[name]()
    found = entries(record)
    assert len(found) == numbers(json.loads(record.to_json()))
    assert len({entry.path for entry in found}) == len(found)
    for entry in found:
        assert entry.kind in KINDS
        assert entry.source


def test_numbers_are_called_what_they_are():
    kinds = {entry.path: (entry.value, entry.kind) for entry in entries(ragged())}
    assert kinds["count.flop"] == ("316,189,704,192 (316 GFLOP)", "counted")
    assert kinds["prediction.compute_time_s"] == ("320 us", "datasheet")
    assert kinds["prediction.lower_bounds.compulsory"] == ("495,191,552 (495 MB)", "counted")
    assert kinds["prediction.levels.dram.knee_flop_per_byte"] == ("295 FLOP/B", "predicted")
    assert kinds["chip.peak_flop_per_s.bfloat16"] == ("989 TFLOP/s", "datasheet")
    assert kinds["measurement.time_s"] == ("1.02 ms", "measured")
    assert kinds["problem.n"] == ("50,257", "given")


def test_a_sweep_has_a_table_with_links_that_lead_somewhere():
    text = html([make() for make in ALL.values()])
    checker = read(text)
    assert [link.removeprefix("#") for link in checker.links] == [f"r{i}" for i in range(1, len(ALL) + 1)]
    assert {link.removeprefix("#") for link in checker.links} <= set(checker.ids)
    assert len(embedded(text)) == len(ALL)


def test_a_long_sweep_tells_the_first_in_full_and_embeds_all():
    text = html(square() for _ in range(TOLD + 3))
    assert text.count("<article") == TOLD
    assert len(embedded(text)) == TOLD + 3


def test_no_record_at_all_is_a_page_too():
    assert "0 multiplications" in html([])
    read(html([]))
