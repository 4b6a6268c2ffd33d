"""`gemmlab explain` of whole networks: every source, every output, and what does not go together."""

import csv
import io
import json
import re
import subprocess
import sys
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
TRACE = Path(__file__).parents[1] / "workload/data/h200_decoder.json.gz"


@pytest.fixture
def explain(run):
    for name, content in FILES.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return lambda *words: run("explain", *words)


def test_a_topology_is_answered_with_the_conclusion_first(explain):
    result = explain("gemms.csv", "--format", "bfloat16")
    assert result.status == 0, result.err
    said = " ".join(result.out.split())
    assert said.startswith(
        "gemms.csv; topology; bfloat16 predicted for one h100-sxm, data sheet only If every multiplication were"
    )
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


def test_the_summary_is_of_a_step_and_the_records_stay_as_they_are(explain):
    lone = json.loads(explain(TRACE, "--summary", "-").out)
    both = explain(TRACE, "--summary", "summary.json", "--json")
    assert json.loads(Path("summary.json").read_text()) == lone
    assert lone["steps"] == 2
    assert {record.call.steps for record in both.records} == {2}
    total = sum(record.call.time_s for record in both.records)
    assert lone["multiplying_s"] == pytest.approx(total / 2)
    parts = ("multiplying_s", "rest_s", "idle_s", "unread_s")
    assert sum(lone[name] for name in parts) == pytest.approx(lone["time_s"], rel=0.05)
    assert sum(other["time_s"] for other in lone["others"]) == pytest.approx(lone["rest_s"])
    assert len(both.records) == lone["rows"]
    assert lone["limit_s"] == pytest.approx(lone["time_s"] * (1 - lone["perfect_gain"]))
    pad = next(change for change in lone["changes"] if change["cause"] == "alignment")
    assert pad["rows"] == [1, 2, 3]
    assert pad["gain_s"] == pytest.approx(sum(record.call.gain_s for record in both.records[:3]) / 2)


def test_the_csv_has_the_best_change_of_each_row(explain):
    rows = list(csv.DictReader(io.StringIO(explain("gemms.csv", "--format", "bfloat16", "--csv", "-").out)))
    head = next(row for row in rows if row["call.places"] == "head")
    assert head["call.changes.0.cause"] == "alignment"
    assert "5030" in head["call.changes.0.line"] or "5026" in head["call.changes.0.line"]
    assert float(head["call.changes.0.gain_s"]) == float(head["call.gain_s"]) > 0


def test_a_list_of_shapes_keeps_its_table_and_has_the_answer_for_the_asking(explain):
    assert "most above its limit" in explain("shapes.csv").out
    answered = explain("shapes.csv", "--top", "1")
    assert "If every multiplication were at its limit" in " ".join(answered.out.split())
    assert "1 more:" in answered.out
    suite = ("waves", "--top", "2", "--json")
    assert explain("--suite", *suite).out == explain(*suite).out != ""


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
    ("missing.py", "missing.py does not exist", "model.py:NAME"),
    ("8 8 8 --summary -", "--summary is of a whole network", "trace.json"),
    ("gemms.csv --json --summary -", "--summary - and --json", "--summary FILE"),
    ("gemms.csv --csv - --summary -", "--summary - and --csv -", "--summary FILE"),
    ("--diff gemms.csv padded.csv --summary a.json", "--summary writes one network", "--json"),
    ("gemms.csv --summary nowhere/a.json", "nowhere", "create"),
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


def test_a_trace_is_told_in_measured_times_and_predicted_for_its_own_chip(explain):
    result = explain(TRACE)
    assert result.status == 0, result.err
    said = " ".join(result.out.split())
    assert "recorded on NVIDIA H200 predicted for one h200-sxm" in said
    assert "no kernel runs" in said
    one, all_steps = explain(TRACE, "--json", "--step", "2"), explain(TRACE, "--json")
    assert sum(r.call.count for r in one.records) * 2 == sum(r.call.count for r in all_steps.records)
    assert {r.call.known for r in all_steps.records} == {"measured"}
    assert explain(TRACE, "--step", "99").status == 2


def test_what_a_trace_does_not_say_is_named_where_lines_are_for_programs(explain):
    trace = TRACE.with_name("h200_products.json.gz")
    text, lines = explain(trace), explain(trace, "--json")
    assert lines.status == 0, lines.err
    assert ("could not be read" in text.out) == ("not read: " in lines.err)


def test_what_is_beside_a_trace_is_predicted_for_its_chip(explain):
    for words in ((TRACE, "alexnet.csv"), ("alexnet.csv", TRACE)):
        both = explain("--diff", *words)
        assert both.out.count("h200-sxm") == 2
        assert "h100" not in both.out
    assert "h100" in explain("--diff", "alexnet.csv", "alexnet.csv").out


#: what a file of Python holds, and what is said of it where it is given without a name
NAMELESS = {
    "import torch\nfrom torch import nn\nclass Part(nn.Module): pass\nclass Net(Part): pass\nclass Other: pass\n": (
        "`net.py` names no model; models in it: Part, Net\n\nhint: net.py:Net\n"
    ),
    "def build(): pass\n": "functions in it: build\n\nhint: net.py:build\n",
    "x = 1\n": "`net.py` names no model, and none is seen in it\n\nhint: net.py:NAME\n",
    "def (": "`net.py` cannot be read as Python",
}


@pytest.mark.parametrize("text", NAMELESS)
@pytest.mark.parametrize("words", [("net.py",), ("net.py:",), ("net.py", "--inputs", "8x8")])
def test_a_python_file_without_a_name_is_told_its_models(explain, tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(text)
    failed = explain(*words)
    assert (failed.status, failed.out) == (2, "")
    assert NAMELESS[text] in failed.err


def loaded_by(*words):
    script = f"import json, sys\nfrom gemmlab.cli import main\nassert main({list(map(str, words))!r}) == 0\n"
    script += "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_one_multiplication_loads_nothing_of_networks():
    loaded = loaded_by("explain", 512, 384, 256)
    networks = ("gemmlab.workload", "gemmlab.experiment.workload", "gemmlab.report.workload", "gemmlab.cli.workload")
    assert not [name for name in loaded if name.startswith(networks)]


def test_traces_and_topologies_need_no_torch(explain):
    for source in (TRACE, Path("alexnet.csv").resolve()):
        assert not loaded_by("explain", source) & {"torch", "numba", "matplotlib", "transformers"}


MODEL = """
from torch import nn

inputs = "8x16"

class Odd(nn.Module):
    def __init__(self, outputs: int = 1001):
        super().__init__()
        self.up, self.head = nn.Linear(16, 64), nn.Linear(64, outputs)

    def forward(self, x):
        return self.head(self.up(x).relu())

class Fails(Odd):
    def forward(self, x):
        return x + self.nope

class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3))

    def forward(self, x):
        return self.layers(x)
"""


@pytest.fixture
def of_model(explain):
    pytest.importorskip("torch", reason="needs `pip install torch`")
    Path("odd.py").write_text(MODEL)
    return explain


def sides_of(result):
    assert result.status == 0, result.err
    return sorted({(r.problem.m, r.problem.n, r.problem.k, r.call.phase) for r in result.records})


def test_a_model_is_traced_with_its_settings(of_model):
    step = of_model("odd.py:Odd", "--inputs", "8x16", "--json")
    assert {phase for *_, phase in sides_of(step)} == {"forward", "backward"}
    forward = of_model("odd.py:Odd", "--inputs", "8x16", "--inference", "--json")
    assert sides_of(forward) == [(8, 64, 16, "forward"), (8, 1001, 64, "forward")]
    other = of_model("odd.py:Odd", "--inputs", "8x16", "--inference", "--json", "--arguments", "outputs=24")
    assert (8, 24, 64, "forward") in sides_of(other)
    half = of_model("odd.py:Odd", "--inputs", "8x16", "--inference", "--json", "--autocast", "bfloat16")
    assert {r.problem.a_format for r in half.records} == {"bfloat16"}
    high = of_model("odd.py:Odd", "--inputs", "8x16", "--inference", "--json", "--matmul-precision", "high")
    assert {r.problem.a_format for r in high.records} == {"tfloat32"}
    assert "head" in of_model("odd.py:Odd", "--inputs", "8x16").out


def test_several_inputs_and_arguments_are_words_or_one_word_or_flags(of_model):
    Path("two.py").write_text(
        "from torch import nn\nclass Two(nn.Module):\n"
        "    def __init__(self, a: int = 4, b: int = 4):\n"
        "        super().__init__()\n        self.one, self.two = nn.Linear(16, a), nn.Linear(16, b)\n"
        "    def forward(self, x, y):\n        return self.one(x), self.two(y)\n"
    )
    ways = [
        ("--inputs", "x=8x16", "y=4x16", "--arguments", "a=24", "b=40", "--inference"),
        ("--inputs", "x=8x16 y=4x16", "--arguments", "a=24 b=40", "--inference"),
        ("--inputs", "x=8x16", "--inputs", "y=4x16", "--arguments", "a=24", "--arguments", "b=40", "--inference"),
        ("--inference", "--inputs=x=8x16", "y=4x16", "--arguments=a=24", "b=40"),
    ]
    for words in ways:
        for order in (("two.py:Two", *words), (*words, "two.py:Two")):
            assert sides_of(of_model(*order, "--json")) == [(4, 40, 16, "forward"), (8, 24, 16, "forward")], order
    hinted = of_model("two.py:Two").err
    assert "--inputs input_ids=8x512:int64 labels=8x512:int64" in hinted


def test_formats_of_eight_bits_are_advised_for_the_asking(of_model):
    words = ("odd.py:Odd", "--inputs", "8192x4096:bfloat16", "--dtype", "bfloat16", "--inference", "--json")
    Path("odd.py").write_text(MODEL.replace("nn.Linear(16, 64)", "nn.Linear(4096, 8192)").replace("64, o", "8192, o"))
    plain, narrow = (of_model(*words, *more).records for more in ((), ("--float8",)))
    lines = [" ".join(c.line for r in found for c in r.call.changes) for found in (plain, narrow)]
    assert "float8" not in lines[0]
    assert "float8" in lines[1]


def test_channels_last_and_compile_are_respected(of_model):
    words = ("odd.py:Pictures", "--inputs", "2x3x16x16", "--inference")
    first, last = (of_model(*words, *more, "--json").records for more in ((), ("--channels-last",)))
    assert [r.problem.layout for r in first] != [r.problem.layout for r in last]
    assert "compiled" in of_model(*words, "--compile").out


def test_a_model_that_cannot_be_traced_is_told_and_nothing_printed(of_model):
    for words, named, hinted in [
        ("odd.py:Fails --inputs 8x16", "nope", "PyTorch"),
        ("odd.py:Absent --inputs 8x16", "`Absent`", "Odd"),
        ("odd.py:Odd --inputs 8y16", "`8y16`", "8x512:int64"),
        ("odd.py:Odd --inputs 8x16 --matmul-precision hihg", "`hihg`", "high"),
        ("odd.py:Odd --inputs 8x16 --arguments outputs", "`outputs`", "NAME=VALUE"),
        ("odd.py:Odd --inputs 8x16 --autocast int8", "int8", "bfloat16"),
        ("gone.py:Odd --inputs 8x16", "`gone.py`", "FILE.py:NAME"),
    ]:
        result = of_model(*words.split())
        assert (result.status, result.out) == (2, ""), words
        assert named in result.err
        assert hinted in result.err
        assert "Traceback" not in result.err


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
