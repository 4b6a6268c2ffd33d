"""`gemmlab report`: the page, the Records, the counts that `emulate` has too, and what is refused."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gemmlab import chips
from gemmlab.experiment import running
from gemmlab.experiment.lesson import times


def shown_counts(text):
    """Loads by formula and as met, by kernel, of the page's first table."""
    table = re.search(r'<table class="stack" id="table-loads">.*?</table>', text, re.S)[0]
    rows = re.findall(r"<tr><td class=name>(.*?)</td>(.*?)</tr>", table)
    cells = {name: re.findall(r'<td class="n".*?>(.*?)</td>', rest) for name, rest in rows}
    return {
        name: tuple(int(each.replace(",", "")) for each in found[:2] if each != "-") for name, found in cells.items()
    }


def test_it_states_the_very_counts_that_emulate_prints(run):
    assert run("report", 96, 80, 112, "--no-run", "--html", "page.html").status == 0
    stated = shown_counts(Path("page.html").read_text())
    for name, label in {"naive": "naive", "tiled_8": "tiled T = 8", "tiled": "tiled T = 16"}.items():
        (record,) = run("emulate", name, "--shape", 96, 80, 112, "--json").records
        elements = record.emulation.global_load.elements
        assert stated[label] == (elements, elements)


def test_published_counts_at_1024(run):
    ran = run("report", 1024, 1024, 1024, "--no-run")
    assert ran.status == 0
    assert ran.err == "wrote gemmlab-1024x1024x1024.html\n"
    stated = shown_counts(Path("gemmlab-1024x1024x1024.html").read_text())
    assert stated["naive"] == (2_147_483_648,) * 2
    assert stated["tiled T = 8"] == (268_435_456,) * 2
    assert stated["tiled T = 16"] == (134_217_728,) * 2
    for said in ("2,147,483,648", "268,435,456", "134,217,728", "0.2499", "3.969", "in lockstep", "race in shared"):
        assert said in ran.out.replace("lockstep:", "in lockstep")
    assert max(map(len, ran.out.splitlines())) <= 80


def test_json_is_one_record_a_line_and_no_file(run):
    ran = run("report", 3, 5, 7, "--no-run", "--json", "--format", "float16", "--chip", "a100-pcie-80gb")
    assert ran.status == 0
    assert ran.err == ""
    assert list(Path().iterdir()) == []
    first, *rest = ran.records
    assert (first.chip.name, first.problem.a_format) == ("a100-pcie-80gb", "float16")
    assert [r.emulation.kernel for r in rest if r.emulation] == [
        "naive", "tiled_8", "tiled", "tiled_without_first_barrier"
    ]  # fmt: skip
    assert sum(r.numerics is not None for r in rest) == 2


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (4096, 1, 1), (1 << 40, 3, 5_000_000)], ids=str)
def test_any_shape_is_told(run, shape):
    ran = run("report", *shape, "--no-run", "--html", "page.html")
    assert ran.status == 0
    assert f"{shape[0]} × {shape[1]} × {shape[2]}" in Path("page.html").read_text()
    if shape[0] > 4096:
        assert "more than can be launched" in ran.out.replace("\n    ", " ")


def test_its_pictures_are_one_sheet(run):
    ran = run("report", 33, 17, 50, "--no-run", "--json", "--plot", "sheet.svg")
    assert ran.status == 0
    assert ran.err == "wrote sheet.svg\n"
    words = "".join(ET.parse("sheet.svg").getroot().itertext())
    for said in ("33 x 17 x 50", "Loads", "Kernels under the roof", "no barrier between"):
        assert said in words


def test_kernels_that_are_named_are_those_that_are_told(run):
    ran = run("report", 64, 64, 64, "--no-run", "--kernel", "naive,register_2d", "--html", "page.html")
    assert ran.status == 0
    assert set(shown_counts(Path("page.html").read_text())) >= {"naive", "register_2d T = 128"}
    assert "tiled T" not in ran.out


def test_kernels_are_timed_and_a_smaller_size_says_so(run, monkeypatch):
    monkeypatch.setattr(running, "chip_of", lambda backend, device=0: chips.get("sapphire-rapids-56c"))
    monkeypatch.setattr(times, "takers", lambda problem: [("cpu", "numpy")])
    monkeypatch.setattr(times, "FIRST_FLOP", 1 << 10)
    monkeypatch.setattr(times, "MOST_PRODUCTS", 1 << 12)
    ran = run("report", 24, 20, 28, "--budget", "1s", "--json")
    assert ran.status == 0
    (record,) = [each for each in ran.records if each.measurement]
    assert record.verdict.ok
    assert record.measurement.time_s > 0
    assert (record.problem.m, record.problem.n, record.problem.k) == (12, 10, 14)


CASES = [
    ("report", "there is no SOURCE", "M N K"),
    ("report 0 4 4", "m=0", "at least 1"),
    ("report 4 -5 4", "n=-5", "at least 1"),
    ("report 4 4 4611686018427387904", "k=4611686018427387904", "digit"),
    ("report 4.5 4 4", "`4.5` is not a whole number", "4096"),
    ("report 1 2", "2 words", "SOURCE is"),
    ("report waves", "`waves` is not one multiplication", "1024"),
    ("report 8 8 8 --format bfloat61", "`bfloat61`", "bfloat16"),
    ("report 8 8 8 --chip h200-smx", "`h200-smx`", "h200-sxm"),
    ("report 8 8 8 --chip nope.toml", "nope.toml", "TOML"),
    ("report 8 8 8 --chip tpu-v1", "unknown format on tpu-v1 `float32`", "int8"),
    ("report 8 8 8 --kernel tild", "`tild`", "tiled"),
    ("report 8 8 8 --kernel mine.py:fast", "`mine.py:fast`", "gemmlab emulate"),
    ("report 8 8 8 --kernel naive,,tiled", "lacks a name", "commas"),
    ("report 8 8 8 --html nowhere/page.html", "nowhere", "create"),
    ("report 8 8 8 --html .", "folder", "name a file"),
    ("report 8 8 8 --html -", "`-`", ""),
    ("report 8 8 8 --plot a.png", "`a.png`", "a.svg"),
    ("report 8 8 8 --html same --plot same", "same file", "own"),
    ("report 8 8 8 --seed -1", "-1 is no seed", "whole number"),
    ("report 8 8 8 --seed x", "--seed: `x`", ""),
    ("report 8 8 8 --budget 5", "--budget: `5`", "208us"),
    ("report 8 8 8 --budget 9000s", "9000 s", "up to"),
    ("report 8 8 8 --budget 5s --no-run", "--no-run times nothing", "leave one"),
    ("report 8 8 8 --width 5", "--width: 5", "40 to 100"),
    ("report 8 8 8 --hmtl page", "`--hmtl`", "--html"),
    ("report 8 8 8 --tile 8x8", "`--tile`", ""),
]


@pytest.mark.parametrize(("words", "named", "hinted"), CASES, ids=[case[0] for case in CASES])
def test_is_refused(run, words, named, hinted):
    ran = run(*words.split())
    assert ran.status == 2
    assert ran.out == ""
    assert list(Path().iterdir()) == []
    error, _, hint = ran.err.rstrip("\n").partition("\n\n")
    assert error.startswith("error: ")
    assert named in error
    assert not hinted or (hint.startswith("hint: ") and hinted in hint)


def test_a_disagreement_is_status_1(run, monkeypatch):
    from gemmlab.experiment.lesson import kernels

    monkeypatch.setattr(kernels.Counted, "agrees", property(lambda self: False))
    ran = run("report", 3, 5, 7, "--no-run", "--html", "page.html")
    assert ran.status == 1
    assert "disagree" in Path("page.html").read_text()


def test_the_records_in_the_page_are_those_of_json(run):
    words = ("report", 24, 20, 28, "--no-run")
    printed = [json.loads(line) for line in run(*words, "--json").out.splitlines()]
    run(*words, "--html", "page.html")
    text = re.search(r'id="records">(.*?)</script>', Path("page.html").read_text(), re.S)[1]

    def timeless(records):
        for each in records:
            if each["numerics"] and each["numerics"]["error"]:
                each["numerics"]["error"] |= {"time_s": 0, "mac_per_s": 0}
        return records

    assert timeless(json.loads(text)) == timeless(printed)
