"""`gemmlab chips`: the list, every figure of one, the check."""

import json
from pathlib import Path

import pytest

from gemmlab import chips
from gemmlab.record import Record


def test_the_list_has_every_chip(run):
    result = run("chips")
    listed = [line.split()[0] for line in result.out.split("\n\n")[0].splitlines()[1:]]
    assert tuple(listed) == chips.names()
    assert len(listed) >= 25
    a100 = next(line for line in result.out.splitlines() if line.startswith("a100-pcie-80gb"))
    assert a100.split()[1:7] == ["108", "19.5", "312", "624", "1935", "161"]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("words", [("chips",), ("chips", "rtx-4090"), ("chips", "tpu-v1", "m1")])
def test_text_keeps_to_its_width(run, words, width):
    lines = run(*words, "--width", width).out.splitlines()
    assert max(map(len, lines)) <= width


def test_one_chip_with_every_figure_its_source_and_its_doubts(run):
    chip = chips.get("rtx-4090")
    out = run("chips", "rtx-4090", "--width", 100).out
    flat = " ".join(out.split())
    for entry in chips.figures(chip):
        assert entry.path in out
        assert " ".join(entry.source.split()) in flat
        assert " ".join(entry.note.split()) in flat
    assert out.count(" unsure") == sum(not entry.sure for entry in chips.figures(chip))


def test_json_is_a_record_with_one_more_key(run):
    result = run("chips", "h100-sxm", "a100-pcie-80gb", "--json")
    assert [record.chip.name for record in result.records] == ["h100-sxm", "a100-pcie-80gb"]
    first = json.loads(result.out.splitlines()[0])
    assert set(first) == {*Record.__struct_fields__, "figures"}
    assert len(first["figures"]) == len(chips.figures(chips.get("h100-sxm")))
    assert len(run("chips", "--json").records) == len(chips.names())


def test_every_built_in_chip_agrees_with_itself(run):
    result = run("chips", "--check")
    assert result.status == 0
    assert all(name in result.out for name in chips.names())


def test_a_peak_beyond_one_percent_is_status_1(run):
    peak = 'base = "a100-pcie-80gb"\n[peaks.float16]\nflop_per_s = {}\n'
    Path("near.toml").write_text(peak.format("314e12"))
    Path("far.toml").write_text(peak.format("624e12"))
    assert run("chips", "--check", "near.toml").status == 0
    result = run("chips", "--check", "far.toml")
    assert result.status == 1
    assert "wrong: peaks.float16.flop_per_s" in result.out
    assert "`gemmlab chips far.toml` says" in result.out
    assert result.err == ""
    found = json.loads(run("chips", "--check", "far.toml", "--json").out)
    assert [finding["path"] for finding in found["findings"] if not finding["ok"]] == ["peaks.float16.flop_per_s"]


def test_here_names_this_processor(run, monkeypatch):
    monkeypatch.setattr(chips, "here", lambda: [chips.get("m1")])
    assert run("chips", "here").out == run("chips", "m1").out
