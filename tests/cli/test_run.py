"""`gemmlab run`: kernels as they are named, what is printed, the exit status, and what is refused."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gemmlab import chips
from gemmlab.experiment import running
from run.patience import with_patience

FAULTY = Path(__file__).parents[1] / "run" / "faulty.py"
SHAPE = ("run", 24, 20, 28, "--rounds", 3, "--backend", "cpu", "--threads", 1)


@pytest.fixture(autouse=True)
def chip(monkeypatch):
    """A chip that need not be measured."""
    monkeypatch.setattr(running, "chip_of", lambda backend, device=0: chips.get("sapphire-rapids-56c"))


def test_a_right_kernel_is_timed(run):
    ran = run(*SHAPE, "--kernel", "numpy")
    assert ran.status == 0
    assert ran.err == ""
    line = next(line for line in ran.out.splitlines() if " numpy " in line)
    assert line.split()[0] == "1"
    assert line.endswith("right")
    assert "24 x 20 x 28" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_one_record_a_line(run):
    ran = run(*SHAPE, "--kernel", f"numpy,{FAULTY}:right", "--seed", 3, "--json")
    assert ran.status == 0
    assert [record.measurement.kernel for record in ran.records] == ["numpy", "right"]
    for record in ran.records:
        assert record.verdict.ok
        assert record.measurement.time_s > 0
        assert len(record.measurement.samples) == 3


def test_faults_are_rows_and_status_1(run):
    names = ",".join(f"{FAULTY}:{name}" for name in ("nan", "out_of_bounds", "never", "right"))
    ran = with_patience(
        lambda limit_s: run(*SHAPE, "--kernel", names, "--timeout", f"{limit_s}s", "--json"),
        lambda ran: [record.measurement.fault for record in ran.records],
    )
    assert ran.status == 1
    faults = {record.measurement.kernel: record.measurement.fault for record in ran.records}
    assert faults == {"nan": "wrong", "out_of_bounds": "crashed", "never": "never ended", "right": ""}


def test_a_wrong_kernel_has_no_time_in_the_table(run):
    ran = run(*SHAPE, "--kernel", f"{FAULTY}:wrong")
    assert ran.status == 1
    assert "wrong: of 480 elements 1 wrong" in ran.out
    assert "of limit  result\n-   wrong" in ran.out


def test_one_that_nobody_named_may_refuse(run, monkeypatch):
    from gemmlab.run import registry

    both = [registry.contenders(["numpy"], ["cpu"])[0], registry.own(f"{FAULTY}:absent", ["cpu"])]
    monkeypatch.setattr(registry, "contenders", lambda *given: both)
    assert run(*SHAPE).status == 0
    assert run(*SHAPE, "--kernel", "numpy,absent").status == 1


def test_the_picture(run, tmp_path):
    ran = run(*SHAPE, "--kernel", "numpy", "--plot", "run.svg")
    assert ran.status == 0
    assert ran.err == "wrote run.svg\n"
    assert "numpy" in " ".join(ET.parse(tmp_path / "run.svg").getroot().itertext())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run",), "there is no SOURCE"),
        ((*SHAPE, "--kernel", "nunpy"), "unknown kernel `nunpy`\n\nhint: the nearest: numpy"),
        ((*SHAPE, "--kernel", "numpy,,naive"), "--kernel: `numpy,,naive` lacks a name"),
        (("run", 8, 8, 8, "--backend", "gpu"), "unknown backend `gpu`"),
        ((*SHAPE, "--format", "int4"), "no kernel of cpu takes int4"),
        ((*SHAPE, "--epilogue", "relu"), "epilogue `relu` cannot be run"),
        ((*SHAPE, "--seed", 2**32), "--seed: 4294967296 is no seed"),
        ((*SHAPE, "--timeout", "60"), "--timeout: `60` is not a time with its unit"),
        ((*SHAPE, "--plot", "a.png"), "--plot `a.png`: the pictures are SVG"),
        (("run", 8, 8, 8, "--rounds", 0), "--rounds: 0 is not a size"),
        (("run", 8, 8, 8, "--kernels", "numpy"), "unknown flag `--kernels`"),
        ((*SHAPE, "--block", "32x8"), "--block is of one's own kernel, and none is named"),
        ((*SHAPE, "--block", "32y8"), "--block: `32y8` is not one to three sizes"),
        (
            (*SHAPE, "--grid", "4x2", "--kernel", "numpy,mine.py:f"),
            "--grid launches a kernel in numba.cuda",
        ),
    ],
)
def test_bad_input(run, words, said):
    ran = run(*words)
    assert ran.status == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert said in ran.err


def test_a_launch_goes_with_every_kernel_of_ones_own(run, tmp_path):
    from gemmlab.cli import run as verb

    (tmp_path / "mine.py").write_text("")
    given = {"kernel": ("naive", "mine.py:f", "mine.py:g"), "backend": ("cuda",), "block": (32, 8), "grid": (4,)}
    found = verb.contenders_of(given, ("float32", "float32"))
    assert [each.name for each in found] == ["naive", "f;block=32x8;grid=4", "g;block=32x8;grid=4"]
    assert all(each.source.endswith(f":{each.name}") for each in found)
    plain = verb.contenders_of({name: given[name] for name in ("kernel", "backend")}, ("float32", "float32"))
    assert [each.name for each in plain] == ["naive", "f", "g"]


def test_help_lists_the_flags(run):
    ran = run("run", "--help")
    assert ran.status == 0
    for flag in ("--backend", "--kernel", "--threads", "--rounds", "--sustained", "--timeout", "--seed", "--json"):
        assert flag in ran.out
