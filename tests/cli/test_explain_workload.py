"""`gemmlab explain` of whole networks: every source, every output, and what does not go together."""

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gemmlab.record import Record

ALEXNET = (
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
    "Conv1, 224, 224, 11, 11, 3, 96, 4,\nConv2, 27, 27, 5, 5, 96, 256, 1,\nFC, 1, 1, 1, 1, 4096, 1000, 1,\n"
)
GEMMS = "Layer, M, N, K,\nqkv, 8192, 2304, 768,\nhead, 8192, 50257, 768,\nup, 8192, 3072, 768,\n"
SHAPES = "m,n,k,count,name,format\n8192,2304,768,12,qkv,bfloat16\n8192,50257,768,1,head,bfloat16\n"
FILES = {
    "alexnet.csv": ALEXNET,
    "gemms.csv": GEMMS,
    "padded.csv": GEMMS.replace("50257", "50304"),
    "shapes.csv": SHAPES,
    "other.json": '{"one": 1}',
    "cut.json": '{"traceEvents": [{"ph": "X", "na',
    "binary.bin": b"\x00\xff\x00",
    "net.py": "x = 1\n",
    "short.csv": "Layer, M, N, K,\nqkv, 8192, 2304,\n",
}


@pytest.fixture
def explain(run):
    for name, content in FILES.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return lambda *words: run("explain", *words)


def test_a_topology_is_answered_with_the_conclusion_first(explain):
    result = explain("gemms.csv", "--format", "bfloat16")
    assert result.status == 0, result.err
    said = " ".join(result.out.split())
    assert said.startswith("gemms.csv; topology predicted for h100-sxm, data sheet only If every multiplication were")
    rows = re.findall(r"^ ?(\d) 8192 x (\d+) x 768 ", result.out, re.MULTILINE)
    assert rows[0] == ("1", "50257")
    assert "alignment (change 1)" in said
    assert "50304" in said or "50264" in said
    assert max(map(len, result.out.splitlines())) <= 80


def test_json_is_a_record_a_row_with_its_call(explain):
    result = explain("alexnet.csv", "--json")
    assert result.err == ""
    records = result.records
    assert len(records) == 3
    assert {record.call.places for record in records} == {("Conv1",), ("Conv2",), ("FC",)}
    assert sum(record.call.flop_share for record in records) == pytest.approx(1.0)
    assert [Record.from_json(record.to_json()) for record in records] == records
    gains = [record.call.gain_s for record in records]
    assert gains == sorted(gains, reverse=True)


def test_pages_pictures_and_csv(explain):
    result = explain("gemms.csv", "--html", "page.html", "--plot", "map.svg", "--csv", "-")
    assert result.status == 0
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert {row["call.source"] for row in rows} == {"gemms.csv"}
    assert {row["call.places"] for row in rows} == {"qkv", "head", "up"}
    assert ElementTree.parse("map.svg").getroot().tag.endswith("svg")
    assert 'id="view-gain"' in Path("page.html").read_text()


def test_a_list_of_shapes_keeps_its_table_and_has_the_answer_for_the_asking(explain):
    assert "most above its limit" in explain("shapes.csv").out
    answered = explain("shapes.csv", "--top", "1")
    assert "If every multiplication were at its limit" in " ".join(answered.out.split())
    assert "1 more:" in answered.out


def test_the_chip_and_the_format_matter(explain):
    half, full = (explain("gemms.csv", "--json", "--format", name).records for name in ("float16", "float32"))
    assert {record.problem.a_format for record in half} == {"float16"}
    assert sum(r.call.time_s for r in half) < sum(r.call.time_s for r in full)
    assert {r.chip.name for r in explain("gemms.csv", "--json", "--chip", "a100-pcie-80gb").records} == {
        "a100-pcie-80gb"
    }


@pytest.mark.parametrize("width", [40, 57, 80, 100])
def test_text_keeps_to_its_width(explain, width):
    for words in (("alexnet.csv",), ("--diff", "gemms.csv", "padded.csv")):
        lines = explain(*words, "--width", width).out.splitlines()
        assert lines
        assert max(map(len, lines)) <= width


#: the words of a command, what its error names, and what its hint does
REFUSED = [
    ("missing.json", "missing.json does not exist", "trace.json.gz"),
    ("other.json", "other.json", "export_chrome_trace"),
    ("cut.json", "cut.json", ""),
    ("binary.bin", "binary.bin", "trace.json"),
    ("nowhere.bin", "`nowhere.bin`", "model.py:NAME"),
    ("short.csv", "line 2: 2 sizes", "M, N, K"),
    ("shapes.csv --autocast bfloat16", "--autocast", "a model"),
    ("gemms.csv --step 3", "--step", "a trace"),
    ("gemms.csv --batch 3", "--batch", "a list of shapes"),
    ("gemms.csv --tile 128x128", "--tile", "one multiplication"),
    ("gemms.csv --measured 3us", "--measured", "one multiplication"),
    ("gemms.csv --no-advice", "--no-advice", "--top"),
    ("gemms.csv --top 0", "--top: 0", "at least 1"),
    ("gemms.csv --chip h200-smx", "`h200-smx`", "h200-sxm"),
    ("gemms.csv --format bfloat61", "`bfloat61`", "bfloat16"),
    ("missing.json --inputs 8x8", "--inputs", "a model"),
    ("8 8 8 --step 3", "--step is of a whole network", "trace.json"),
    ("--inputs 8x8", "there is no SOURCE", "trace.json"),
    ("gemms.csv --diff gemms.csv padded.csv", "two sources", "alone"),
    ("--diff gemms.csv", "--diff has no value", "A B"),
    ("--diff gemms.csv missing.json", "missing.json", "trace.json"),
    ("--diff gemms.csv padded.csv --plot a.svg", "--plot", "--html"),
    ("--diff gemms.csv padded.csv --csv a.csv", "--csv", "--json"),
    ("gemms.csv --html nowhere/page.html", "nowhere", "create"),
]


@pytest.mark.parametrize(("words", "named", "hinted"), REFUSED, ids=[case[0] for case in REFUSED])
def test_is_refused(explain, words, named, hinted):
    result = explain(*words.split())
    assert result.status == 2
    assert result.out == ""
    assert sorted(path.name for path in Path().iterdir()) == sorted(FILES)
    error, _, hint = result.err.rstrip("\n").partition("\n\n")
    assert error.startswith("error: ")
    assert named in error
    assert "Traceback" not in result.err
    assert not hinted or (hint.startswith("hint: ") and hinted in hint)


def test_two_networks_beside_each_other(explain):
    result = explain("--diff", "gemms.csv", "padded.csv", "--format", "bfloat16")
    assert result.status == 0, result.err
    said = " ".join(result.out.split())
    assert "8192 x 50257 x 768" in said
    assert "8192 x 50304 x 768" in said
    same = explain("--diff", "gemms.csv", "gemms.csv")
    assert "8192 x 3072 x 768" not in same.out
    lines = [json.loads(line) for line in explain("--diff", "gemms.csv", "padded.csv", "--json").out.splitlines()]
    assert [line["what"][0] for line in lines] == ["shape"]
    assert (lines[0]["before"]["problem"]["n"], lines[0]["after"]["problem"]["n"]) == (50257, 50304)
    assert explain("--diff", "gemms.csv", "padded.csv", "--html", "page.html").status == 0
    assert Path("page.html").read_text().count("<svg") >= 2
