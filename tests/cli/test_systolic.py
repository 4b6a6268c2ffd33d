"""`gemmlab systolic`: what it prints, writes, and refuses."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from gemmlab.record import Record

#: the words of a command, what its error names, and what its hint does
REFUSED = [
    ("systolic", "there are no sizes", "M N K"),
    ("systolic 8 8", "2 sizes", "M N K"),
    ("systolic 8 8 x", "`x` is not a whole number", "4096"),
    ("systolic 0 8 8", "0 is not a size", "at least 1"),
    ("systolic 8 8 8 --array 0x4", "rows=0", "1"),
    ("systolic 8 8 8 --array 4", "--array: `4`", "128x128"),
    ("systolic 8 8 8 --array 99999999x4", "rows=99999999", "16384"),
    ("systolic 8 8 8 --dataflow rs", "`rs`", "ws"),
    ("systolic 8 8 8 --weights doubel", "`doubel`", "double"),
    ("systolic 8 8 8 --dataflow os --drain top", "`top`", "side"),
    ("systolic 8 8 8 --edges soft", "`soft`", "exact"),
    ("systolic 8 8 8 --array 16x16 --accumulators 4", "4 accumulators", "at least 16"),
    ("systolic 8 8 8 --format int64", "int64", ""),
    ("systolic 8 8 8 --format bfloat61", "`bfloat61`", "bfloat16"),
    ("systolic 8 8 8 --format float4_e2m1fn", "float4_e2m1fn", ""),
    ("systolic 8 8 8 --dram-bandwidth 34GHz", "--dram-bandwidth: `34GHz`", "34GB/s"),
    ("systolic 8 8 8 --dram-bandwidth 34GB/s", "without a clock", "clock"),
    ("systolic 8 8 8 --dram-bandwidth 0GB/s --clock 1GHz", "`0GB/s`", "34GB/s"),
    ("systolic 8 8 8 --clock fast", "--clock: `fast`", "700MHz"),
    ("systolic 8 8 8 --sram some", "--sram: `some`", "24MiB"),
    ("systolic 800 800 800 --sram 1KiB", "SRAM of 1 KiB", "more SRAM"),
    ("systolic 8 8 8 --resident a,x", "`x`", "a, b, c"),
    ("systolic 8 8 8 --units 0", "--units: 0", "at least 1"),
    ("systolic 8 8 8 --chip tpu-v9", "`tpu-v9`", "tpu-v"),
    ("systolic 8 8 8 --chip h100-sxm", "h100-sxm", "--beside h100-sxm"),
    ("systolic 8 8 8 --chip tpu-v1 --format bfloat16", "`bfloat16`", "int8"),
    ("systolic 8 8 8 --chip tpu-v5e --format int8", "2 times what 128x128", "--format bfloat16"),
    ("systolic 8 8 8 --engine wave", "`wave`", "tiles"),
    ("systolic 8 8 8 --units 2 --engine grid", "not of 2", "--units 1"),
    ("systolic 8 8 8 --seed 1", "--seed is of values", "--engine grid"),
    ("systolic 8 8 8 --engine grid --seed -1", "--seed: -1", "whole number"),
    ("systolic 8 8 8 --state -1", "no cycle -1", "from 0"),
    ("systolic 8 8 8 --array 4x4 --state 4000 --plot x.svg", "no cycle 4,000", "from 0 to"),
    ("systolic 8 8 8 --energy horowtiz-45nm", "`horowtiz-45nm`", "horowitz-45nm"),
    ("systolic 8 8 8 --energy none.toml", "none.toml", "source"),
    ("systolic 8 8 8 --beside h1oo-sxm", "`h1oo-sxm`", "h100-sxm"),
    ("systolic 8 8 8 --compat zigzag", "`zigzag`", "scalesim"),
    ("systolic 8 8 8 --plot x.png", "the pictures are SVG", "x.svg"),
    ("systolic 8 8 8 --plot no/folder/x.svg", "no/folder", ""),
    ("systolic 8 8 8 --plot x.svg --html x.svg", "the same file", "its own"),
    ("systolic 8 8 8 --width 12", "--width: 12", "40"),
    ("systolic 8 8 8 --arary 4x4", "`--arary`", "--array"),
    ("systolic 99999999999999999999 8 8", "99999999999999999999", ""),
]


@pytest.mark.parametrize(("words", "named", "hint"), REFUSED, ids=[words for words, _, _ in REFUSED])
def test_bad_input(run, words, named, hint, tmp_path):
    done = run(*words.split())
    assert done.status == 2
    assert done.out == ""
    error, _, remedy = done.err.partition("\n\nhint: ")
    assert named in error
    assert hint in remedy
    assert not list(tmp_path.iterdir())


def test_the_published_case(run):
    done = run("systolic", 1024, 1024, 1024)
    assert done.status == 0
    assert "65,918 cycles: 99.4%" in done.out
    single = run("systolic", 1024, 1024, 1024, "--weights", "single", "--edges", "full")
    assert "89,984 cycles: 72.8%" in single.out
    assert "double-buffered weights" in single.out


def test_four_by_four(run):
    (record,) = run("systolic", 4, 4, 4, "--array", "4x4", "--dataflow", "os", "--json").records
    assert record.systolic.cycles == 10


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize(
    "words",
    [
        "200 2048 2048 --chip tpu-v1 --beside h100-sxm",
        "600 600 600 --chip tpu-v6e --beside a100-sxm-80gb",
        "33 17 5 --array 4x4 --dataflow os --drain shadow",
        "100000 100000 100000 --array 256x256 --clock 1GHz",
    ],
)
def test_text_keeps_to_its_width(run, words, width):
    done = run("systolic", *words.split(), "--width", width)
    assert done.status == 0
    assert max(len(line) for line in done.out.splitlines()) <= width


def test_time_is_never_told_without_what_it_was_compared_with(run):
    late = run("systolic", 512, 512, 512, "--chip", "tpu-v4", "--beside", "h100-sxm").out
    lines = late.splitlines()
    told = [at for at, line in enumerate(lines) if "predicted" in line and (" us" in line or " ns" in line)]
    assert told
    for at in told:
        if "J" not in lines[at]:
            assert "not validated" in lines[at] + lines[at + 1], lines[at]
    first = run("systolic", 512, 512, 512, "--chip", "tpu-v1").out
    assert "compared with" in first
    for flags in (("--clock", "1GHz"), ("--engine", "closed-form"), ("--array", "512x512"), ("--units", 2)):
        changed = run("systolic", 512, 512, 512, "--chip", "tpu-v1", *flags).out
        assert "not validated" in changed
        assert "compared with" not in changed


def test_energy_is_never_told_without_its_table(run):
    done = run("systolic", 512, 512, 512)
    told = " ".join(done.out.split())
    assert "table horowitz-45nm: Horowitz" in told
    assert "45 nm" in told
    (record,) = run("systolic", 512, 512, 512, "--json").records
    energy = record.systolic.energy
    assert record.systolic.energy_j == energy.energy_j
    assert energy.source
    assert energy.node


def test_beside_prints_two_records(run):
    first, second = run("systolic", 512, 512, 512, "--chip", "tpu-v1", "--beside", "h200-sxm", "--json").records
    assert first.systolic.cycles
    assert first.chip.name == "tpu-v1"
    assert second.prediction.time_s
    assert second.chip.name == "h200-sxm"
    assert first.problem == second.problem


def test_the_record_survives_json(run):
    done = run("systolic", 33, 17, 40, "--array", "8x8", "--chip", "tpu-v1", "--json")
    (record,) = done.records
    assert record.to_json() == done.out.strip()
    assert record.systolic.units == 1


def test_pictures_and_page(run, tmp_path):
    files = ("--plot", "p.svg", "--html", "p.html")
    done = run("systolic", 20, 30, 40, "--array", "8x8", "--clock", "1GHz", "--state", 31, *files)
    assert done.status == 0
    svg = (tmp_path / "p.svg").read_text()
    ElementTree.fromstring(svg)
    assert "cycle 31" in svg
    page = (tmp_path / "p.html").read_text()
    assert "systolic array" in page
    records = json.loads(page.partition('id="records">')[2].partition("</script>")[0])
    assert Record.from_json(json.dumps(records[0])).systolic.rows == 8
    assert "<script>" not in page


def test_a_page_with_another_chip(run, tmp_path):
    assert run("systolic", 64, 64, 64, "--chip", "tpu-v1", "--beside", "h100-sxm", "--html", "p.html").status == 0
    page = (tmp_path / "p.html").read_text()
    assert "Beside h100-sxm" in page
    assert page.count("<article") == 2


def test_several_units_do_all_of_the_work(run):
    (one,) = run("systolic", 600, 700, 800, "--json").records
    for units in (2, 3, 8):
        (many,) = run("systolic", 600, 700, 800, "--units", units, "--json").records
        assert many.systolic.useful_macs == one.systolic.useful_macs
        assert many.systolic.cycles < one.systolic.cycles
        assert many.systolic.writes.c == one.systolic.writes.c
        assert many.systolic.utilisation <= 1


def test_help_names_every_flag(run):
    from gemmlab.cli.systolic_options import SYSTOLIC

    done = run("systolic", "--help")
    assert done.status == 0
    for section in SYSTOLIC:
        for flag in section.flags:
            assert flag.typed in done.out
    assert "systolic" in run("--help").out


@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
@pytest.mark.parametrize("form", ["int8", "bfloat16", "float8_e4m3fn"])
def test_the_grid_carries_values_and_checks_them(run, dataflow, form):
    words = ("systolic", 9, 10, 11, "--array", "4x4", "--dataflow", dataflow, "--format", form, "--no-advice", "--json")
    done, plain = run(*words, "--engine", "grid"), run(*words)
    assert done.status == 0
    (record,), (counted,) = done.records, plain.records
    assert record.verdict.ok
    assert record.verdict.elements == 90
    assert record.systolic.engine == "grid"
    for name in ("cycles", "reads", "writes", "stalls", "utilisation", "tiles"):
        assert getattr(record.systolic, name) == getattr(counted.systolic, name)


def test_sums_that_leave_their_range_are_said_with_status_1(run):
    done = run("systolic", 4, 4, 4096, "--array", "4x4", "--format", "int16", "--engine", "grid", "--no-advice")
    assert done.status == 1
    assert "left the accumulator's range" in done.out
    again = run("systolic", 4, 4, 4096, "--array", "4x4", "--format", "int16", "--engine", "grid", "--json")
    assert again.status == 1
    assert again.records[0].systolic.overflow.outputs > 0
    assert again.records[0].verdict is None


def test_the_seed_chooses_the_values(run):
    states = [run("systolic", 4, 4, 4, "--array", "4x4", "--state", 6, "--seed", seed).out for seed in (0, 0, 1)]
    assert states[0] == states[1] != states[2]


def test_state_is_json_of_every_register(run):
    done = run("systolic", 4, 4, 4, "--array", "4x4", "--dataflow", "os", "--state", 3)
    assert done.status == 0
    state = json.loads(done.out)
    assert (state["cycle"], state["rows"], state["cols"]) == (3, 4, 4)
    at_work = [element for line in state["right"]["elements"] for element in line if element is not None]
    assert len(at_work) == 10  # i + j <= 3
    assert state["right"]["elements"][3][0] == [3, 0]
    past = run("systolic", 4, 4, 4, "--array", "4x4", "--dataflow", "os", "--state", 10)
    assert past.status == 2
    assert past.out == ""


def test_a_chip_with_many_units_shows_one(run):
    done = run("systolic", 4, 4, 4, "--chip", "tpu-v4", "--engine", "grid", "--no-advice", "--json")
    assert done.status == 0
    assert done.records[0].systolic.units == 1


def test_the_figures_of_another_program_stand_beside(run):
    done = run("systolic", 4, 4, 4, "--array", "4x4", "--dataflow", "os", "--compat", "scalesim")
    assert "10 cycles" in done.out
    assert "SCALE-Sim 3.0.0 reports, faults included" in done.out
    (record,) = run("systolic", 4, 4, 4, "--array", "4x4", "--dataflow", "os", "--compat", "scalesim", "--json").records
    assert record.systolic.compat.cycles == 9  # one less than it takes
    one = run("systolic", 1, 1, 1, "--array", "1x1", "--dataflow", "os", "--compat", "scalesim")
    assert "divides by zero" in one.out


def test_a_batch_is_done_one_after_another(run, tmp_path):
    (one,), (three,) = (
        run("systolic", 20, 30, 40, "--array", "8x8", "--batch", batch, "--json", "--plot", "p.svg").records
        for batch in (1, 3)
    )
    assert three.systolic.cycles == 3 * one.systolic.cycles
    assert three.systolic.useful_macs == 3 * one.systolic.useful_macs
    assert "first batch entry" in (tmp_path / "p.svg").read_text()


def test_a_bare_number_is_in_the_unit_that_help_names(run):
    said = ("systolic", 64, 64, 64, "--array", "16x16", "--json")
    units = run(*said, "--clock", "700MHz", "--dram-bandwidth", "50GB/s", "--sram", "1MiB").records[0]
    bare = run(*said, "--clock", "700e6", "--dram-bandwidth", "50e9", "--sram", 1048576).records[0]
    assert bare.systolic == units.systolic
