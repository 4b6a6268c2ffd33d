"""The page of a workload: whole, self-contained, usable without a script, and escaped."""

import json
import re

import msgspec
import pytest

from gemmlab.record import Record
from gemmlab.report.provenance import entries
from gemmlab.report.words import KINDS
from gemmlab.report.workload_page import TOLD, workload_html
from report.answers import ALL, gpt2, huge, traced
from report.test_page import embedded, read


@pytest.mark.parametrize("name", ALL)
def test_a_page_is_balanced_and_needs_nothing_else(name):
    text = workload_html(ALL[name]())
    checker = read(text)
    assert checker.tags.count("script") == 1
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert {target for target in re.findall(r"url\(([^)]+)\)", text) if not target.startswith("#")} == set()
    assert {link.removeprefix("#") for link in checker.links} <= set(checker.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(checker.ids)
    text.encode("utf-8")


def shown_in(made):
    return " ".join("".join(read(workload_html(made)).shown).replace("\xa0", " ").split())


def test_areas_are_chosen_by_radio_buttons_and_all_are_printed():
    text = workload_html(gpt2())
    assert re.findall(r'<input type="radio" name="view" id="view-(\w+)"( checked)?>', text) == [
        ("time", " checked"),
        ("work", ""),
        ("gain", ""),
    ]
    for name in ("time", "work", "gain"):
        assert f'<label for="view-{name}">' in text
        assert f"#view-{name}:checked~.view.{name}" in text
    assert ".map .view.gain{font-weight:400;color:inherit" in text  # .gain alone is how a gain is written
    assert "@media print{.map,.map .view,.map .wide{display:block}.map input,.map label" in text


def test_rectangles_that_lead_to_their_rows_are_no_mere_image():
    text = workload_html(gpt2())
    assert text.count('role="group"') == text.count("<svg") == 6
    assert 'href="#row-1"' in text


def test_records_are_embedded():
    made = gpt2()
    found = [Record.from_json(json.dumps(item)) for item in embedded(workload_html(made))]
    assert found == [row.record for row in made.rows]


def test_what_the_page_says():
    said = shown_in(traced())
    for text in (
        *("a step is predicted to take", "torch.set_float32_matmul_precision", "mylib::fused_mlp", "no kernel runs"),
        *("12 kernels belong to no operator", "digits: operands keep 10 of 23"),
    ):
        assert text in said


def test_every_number_of_a_call_has_a_kind_and_a_source():
    for made, kind in ((gpt2(), "predicted"), (traced(), "measured")):
        found = {entry.path: entry for entry in entries(made.rows[0].record) if entry.path.startswith("call.")}
        assert found["call.count"].kind == "counted"
        assert found["call.time_s"].kind == found["call.time_share"].kind == kind
        assert {found["call.gain_s"].kind, found["call.limit_s"].kind} == {"predicted"}
        assert all(entry.source and entry.kind in KINDS for entry in found.values())


def test_a_large_network_tells_how_much_is_left_out():
    said = shown_in(huge())
    assert f"{700 - TOLD} more:" in said
    assert "smaller ones together" in workload_html(huge(2000), 10)


def test_hostile_names_stay_text():
    text = workload_html(ALL["hostile"]())
    assert "<script>alert" not in text
    assert "</pre><script>" not in text
    assert "&lt;/pre&gt;&lt;script&gt;" in text


def test_what_to_change_is_before_the_rows_and_parts_are_set_in():
    text = workload_html(gpt2())
    heads = re.findall(r"<h2>([^<]*)", text)
    assert [head.strip() for head in heads[:4]] == [
        "Where the time of a step goes", "The step at a glance", "What to change",
        "Multiplications, most time to gain first",
    ]  # fmt: skip
    parts = re.findall(r"<tr class=part><td>([^<]*)", text)
    assert [part.strip() for part in parts] == ["multiplications", "everything else"]


def test_operators_break_between_their_words_and_have_one_kind_for_all():
    text = workload_html(gpt2())
    assert "aten::<wbr>native_<wbr>layer_<wbr>norm<" in text
    assert 'What is not multiplication <span class="tag predicted">' in text
    rest = text.partition("What is not multiplication")[2].partition("</section>")[0]
    assert rest.count('class="tag') == 1


def test_words_are_explained_on_the_page():
    assert "alignment its sizes, strides or addresses" in shown_in(gpt2()).replace("alignmentits", "alignment its")


def test_few_rows_hide_no_change_and_no_link_leads_nowhere():
    from gemmlab.problem import Gemm
    from gemmlab.workload import Call
    from report.answers import PAD, answer

    calls = [Call(Gemm(512, 512, 64 + each), "aten::mm", 1, (f"l{each}",)) for each in range(14)]
    changes = [(msgspec.structs.replace(PAD, line=f"change({each})"),) for each in range(14)]
    made = answer([(call, 3e-3, 1e-3, "precision", change) for call, change in zip(calls, changes, strict=True)])
    for top, told in ((1, 10), (12, 12), (None, 14)):
        text = workload_html(made, top)
        assert len(re.findall(r'id="change-\d+"', text)) == told
        checker = read(text)
        assert {link.removeprefix("#") for link in checker.links} <= set(checker.ids)
