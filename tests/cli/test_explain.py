"""`gemmlab explain`: every flag reaches the Record, and every output holds it."""

import csv
import io
import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gemmlab.record import Record
from gemmlab.units import seconds_text

SHAPE = ("explain", 512, 384, 256)

#: a flag with its value, and where in the Record it must be found
FLAGS = [
    ("--format bfloat16", "problem.a_format", "bfloat16"),
    ("--format bfloat16", "problem.d_format", "bfloat16"),
    ("--a-format float16", "problem.a_format", "float16"),
    ("--format float32 --a-format float16", "problem.a_format", "float16"),
    ("--format float16 --b-format bfloat16", "problem.b_format", "bfloat16"),
    ("--format float16 --c-format float32", "problem.c_format", "float32"),
    ("--format float16 --d-format float32", "problem.d_format", "float32"),
    ("--format float16 --accumulate float16", "problem.accumulate", "float16"),
    ("--layout nt", "problem.layout", "nt"),
    ("--lda 300", "problem.lda", 300),
    ("--ldb 400", "problem.ldb", 400),
    ("--ldc 500", "problem.ldc", 500),
    ("--a-offset-bytes 4", "problem.a_offset_bytes", 4),
    ("--b-offset-bytes 8", "problem.b_offset_bytes", 8),
    ("--c-offset-bytes 12", "problem.c_offset_bytes", 12),
    ("--batch 3", "problem.batch", 3),
    ("--alpha 0.5", "problem.alpha", 0.5),
    ("--beta -2", "problem.beta", -2.0),
    ("--epilogue bias+gelu", "problem.epilogue", "bias+gelu"),
    ("--format float8_e4m3fn --scale float8_e8m0fnu/32", "problem.scale", "float8_e8m0fnu/32"),
    ("--format float16 --structure sparse_2_4", "problem.structure", "sparse_2_4"),
    ("--chip v100-sxm2-16gb", "chip.name", "v100-sxm2-16gb"),
    ("--kernel tiled", "kernel.name", "tiled"),
    ("--kernel tiled --tile 8x8x8", "kernel.block_k", 8),
    ("--tile 64x128", "kernel.block_n", 128),
    ("--format float16 --tile 128x256x64", "kernel.block_k", 64),
    ("--format float16 --stages 2", "kernel.stages", 2),
    ("--format float16 --warps 8", "kernel.warps", 8),
    ("--registers 200", "kernel.registers", 200),
    ("--shared-bytes 20000", "kernel.shared_bytes", 20000),
    ("--split-k 4", "kernel.split_k", 4),
    ("--raster m", "kernel.raster", "m"),
    ("--group-m 8", "kernel.group_m", 8),
    ("--format float16 --cluster 2x1", "kernel.cluster_m", 2),
    ("--measured 208us", "measurement.time_s", pytest.approx(208e-6)),
    ("--measured 1.3ms", "measurement.time_s", pytest.approx(1.3e-3)),
]


def line(run, text):
    return run(*text.split())


def found(record, path):
    for name in path.split("."):
        record = getattr(record, name)
    return record


@pytest.mark.parametrize(("flags", "path", "value"), FLAGS, ids=[f"{flags} {path}" for flags, path, _ in FLAGS])
def test_a_flag_reaches_the_record(run, flags, path, value):
    result = run(*SHAPE, *flags.split(), "--json", "--no-advice")
    assert result.status == 0, result.err
    assert found(result.records[0], path) == value


def test_bands_and_groups(run):
    banded = line(run, "explain 256 64 256 --structure banded --lower-band 2 --upper-band 3 --json --no-advice")
    assert (banded.records[0].problem.lower_band, banded.records[0].problem.upper_band) == (2, 3)
    grouped = line(run, "explain --groups 128x256x64,64x256x64 --format bfloat16 --json --no-advice")
    assert grouped.records[0].problem.groups == ((128, 256, 64), (64, 256, 64))
    assert grouped.records[0].problem.a_format == "bfloat16"


def test_json_is_one_line_that_reads_back(run):
    result = run(*SHAPE, "--json")
    assert result.status == 0
    assert result.err == ""
    assert result.out.count("\n") == 1
    record = Record.from_json(result.out)
    assert record.to_json() == result.out.rstrip("\n")
    assert record.advice is not None
    assert set(json.loads(result.out)) == set(Record.__struct_fields__)


def test_no_advice(run):
    assert run(*SHAPE, "--json", "--no-advice").records[0].advice is None


def test_the_published_counts(run):
    naive, tiled = (
        run("explain", 1024, 1024, 1024, "--json", "--no-advice", "--chip", "a100-pcie-80gb", *words).records[0].count
        for words in (("--kernel", "naive"), ("--kernel", "tiled", "--tile", "16x16x16"))
    )
    assert naive.global_load_elements == 2_147_483_648
    assert round(naive.intensity_flop_per_byte, 4) == 0.2499
    assert tiled.global_load_elements == 134_217_728
    assert round(tiled.intensity_flop_per_byte, 2) == 3.97


def test_a_table_of_shapes(run):
    Path("shapes.csv").write_text("name,m,n,k,format\nfirst,128,256,64,float16\nsecond,64,64,64,\n")
    records = run("explain", "shapes.csv", "--format", "float32", "--json", "--no-advice").records
    assert [(r.problem.m, r.problem.a_format) for r in records] == [(128, "float16"), (64, "float32")]
    text = run("explain", "shapes.csv", "--no-advice").out
    assert "128 x 256 x 64" in text
    assert "64 x 64 x 64" in text


def test_a_table_ends_with_what_all_take(run):
    Path("shapes.csv").write_text("m,n,k,count\n4096,4096,4096,3\n2048,4096,4096,5\n")
    one, other = (r.prediction.time_s for r in run("explain", "shapes.csv", "--json", "--no-advice").records)
    last = run("explain", "shapes.csv", "--no-advice").out.splitlines()[-1]
    assert last == f"all 8 of them one after another: {seconds_text(3 * one + 5 * other)} predicted"


def test_suites_by_flag_and_by_bare_name(run):
    flagged = run("explain", "--suite", "waves", "--json", "--no-advice")
    bare = run("explain", "waves", "--json", "--no-advice")
    assert flagged.out == bare.out
    assert len(flagged.records) == 10
    decode = line(run, "explain --suite gpt2 --batch 4 --sequence 1 --context 128 --json --no-advice")
    assert decode.records[0].problem.m == 4
    vllm = line(run, "explain --suite vllm --tokens 16 --tp 2 --json --no-advice")
    assert {record.problem.m for record in vllm.records} == {16}
    sample = line(run, "explain --suite stream-k --count 3 --multiple 64 --json --no-advice")
    assert [record.problem.m % 64 for record in sample.records] == [0, 0, 0]


def test_csv_to_a_file_and_to_standard_output(run):
    printed = run(*SHAPE, "--csv", "-", "--no-advice")
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert rows[0]["problem.m"] == "512"
    written = run(*SHAPE, "--csv", "out.csv", "--no-advice")
    assert Path("out.csv").read_text() == printed.out
    assert "512 x 384 x 256" in written.out
    assert "wrote out.csv" in written.err


def test_pictures_and_pages(run):
    result = run(*SHAPE, "--plot", "plot.svg", "--html", "page.html", "--no-advice", "--json")
    assert result.out.count("\n") == 1
    assert ElementTree.parse("plot.svg").getroot().tag.endswith("svg")
    page = Path("page.html").read_text()
    inside = re.search(r'<script type="application/json" id="records">(.*?)</script>', page, re.DOTALL)[1]
    assert Record.from_json(json.dumps(json.loads(inside)[0])) == Record.from_json(result.out)


def test_a_page_of_several_shapes(run):
    Path("shapes.csv").write_text("m,n,k\n128,256,64\n64,64,64\n")
    assert run("explain", "shapes.csv", "--html", "page.html", "--no-advice").status == 0
    assert Path("page.html").read_text().count("<article") == 2


@pytest.mark.parametrize("width", [40, 57, 80, 100])
def test_text_keeps_to_its_width(run, width):
    Path("shapes.csv").write_text("m,n,k\n128,256,64\n4096,50257,768\n")
    for source in (SHAPE, ("explain", "shapes.csv")):
        lines = run(*source, "--width", width).out.splitlines()
        assert lines
        assert max(map(len, lines)) <= width


def test_no_colour_where_nobody_looks_or_nobody_wants_it(run, monkeypatch):
    assert "\x1b" not in run(*SHAPE).out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = run(*SHAPE).out
    assert "\x1b[" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = run(*SHAPE).out
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_chip_of_ones_own(run):
    Path("wide.toml").write_text('base = "h100-sxm"\nname = "wide"\nsm_count = 66\n')
    record = run(*SHAPE, "--chip", "wide.toml", "--json", "--no-advice").records[0]
    assert (record.chip.name, record.chip.sm_count) == ("wide", 66)


@pytest.mark.skipif(os.name == "nt", reason="/dev/full is Linux's")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said(run):
    result = run(*SHAPE, "--csv", "/dev/full", "--no-advice")
    assert result.status == 2
    assert result.out == ""
    assert "No space left" in result.err
