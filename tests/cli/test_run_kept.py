"""`gemmlab run SUITE`: kept, resumed, told again, compared; and everything that can be asked for wrongly."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gemmlab import chips
from gemmlab.experiment import running
from gemmlab.record import Record
from gemmlab.store import open_store
from run.patience import with_patience
from store.made import item, timed

FAULTY = Path(__file__).parents[1] / "run" / "faulty.py"
QUICK = ("--backend", "cpu", "--kernel", "numpy", "--threads", 1, "--rounds", 3)


@pytest.fixture(autouse=True)
def chip(monkeypatch, tmp_path):
    """A chip that need not be measured, and a data folder of the test's own."""
    monkeypatch.setattr(running, "chip_of", lambda backend, device=0: chips.get("sapphire-rapids-56c"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def shapes(tmp_path):
    (tmp_path / "shapes.csv").write_text("m,n,k\n24,20,28\n8,8,8\n")
    return "shapes.csv"


@pytest.fixture
def two(tmp_path):
    """A store with two runs of a suite, one of another, and one on another chip."""
    ids = []
    with open_store(tmp_path / "runs.sqlite") as store:
        for suite, factor, chip_ in (
            ("squares", 2, "epyc"),
            ("squares", 1, "epyc"),
            ("waves", 1, "epyc"),
            ("squares", 1, "xeon"),
        ):
            run = store.begin(suite)
            store.keep(run, [(each := item(m=m, chip=chip_), timed(each, factor * m * 1e-3)) for m in (1, 2)])
            store.finish(run)
            ids.append(run.id)
    return ids


def test_a_sweep_is_kept_in_the_users_data_folder(run, shapes, tmp_path):
    ran = run("run", shapes, *QUICK)
    assert ran.status == 0
    assert "Over all 2 multiplications" in ran.out
    assert "2 of 2: 8x8x8 float32: numpy" in ran.err
    assert max(map(len, ran.out.splitlines())) <= 80
    with open_store(tmp_path / "data" / "gemmlab" / "runs.sqlite", write=False) as store:
        (only,) = store.runs()
        assert (only.suite, only.records, only.chips) == ("shapes.csv", 2, ("sapphire-rapids-56c",))
        assert only.finished
        assert all(row.record.verdict.ok and row.record.measurement.time_s > 0 for row in store.records())
    assert only.id in ran.err


def test_formats_and_the_same_command_again_is_another_run(run, shapes):
    first = run("run", shapes, *QUICK, "--format", "float32,float64", "--store", "here.sqlite", "--json")
    again = run("run", shapes, *QUICK, "--format", "float32,float64", "--store", "here.sqlite", "--json")
    assert [(r.problem.m, r.problem.a_format) for r in first.records] == [
        (24, "float32"), (24, "float64"), (8, "float32"), (8, "float64"),
    ]  # fmt: skip
    assert "going on" not in again.err
    assert len(run("run", "--runs", "--store", "here.sqlite", "--json").out.splitlines()) == 2


def test_what_no_kernel_takes_is_left_out_and_said(run, tmp_path):
    (tmp_path / "mixed.csv").write_text("m,n,k,format\n8,8,8,float32\n8,8,8,int4\n8,9,8,int4\n8,8,8,float8_e5m2\n")
    ran = run("run", "mixed.csv", *QUICK)
    assert ran.status == 0
    assert "3 of 4 multiplications are left out: no kernel takes int4, float8_e5m2\n" in ran.err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names there are bytes")
def test_a_file_of_shapes_whose_name_is_no_utf_8(run, tmp_path):
    name = os.fsdecode(b"\xfe.csv")
    (tmp_path / name).write_text("m,n,k\n8,8,8\n")
    assert run("run", name, *QUICK, "--store", "runs.sqlite").status == 0
    assert r"\udcfe.csv" in run("run", "--runs", "--store", "runs.sqlite").out


def test_faults_are_records_and_the_rest_is_measured(run, shapes):
    names = ",".join(f"{FAULTY}:{name}" for name in ("out_of_bounds", "never", "nan"))
    words = ("run", shapes, *QUICK[:2], "--kernel", f"{names},numpy", "--rounds", 3, "--fresh", "--json")
    ran = with_patience(
        lambda limit_s: run(*words, "--timeout", f"{limit_s}s"),
        lambda ran: [record.measurement.fault for record in ran.records],
        hanging=2,
    )
    assert ran.status == 1
    faults = [(r.problem.m, r.measurement.kernel, r.measurement.fault) for r in ran.records]
    assert faults == [
        (m, kernel, fault)
        for m in (24, 8)
        for kernel, fault in (
            ("out_of_bounds", "crashed"), ("never", "never ended"), ("nan", "wrong"), ("numpy", ""),
        )
    ]  # fmt: skip
    assert all((r.measurement.time_s is None) == bool(r.measurement.fault) for r in ran.records)


def test_an_interrupted_sweep_goes_on_and_a_fresh_one_begins_again(run, shapes, monkeypatch):
    measured = []
    plain = running.run_together

    def stops(problem, contenders, options, *more):
        if problem.m == 8 and not measured.count(8):
            measured.append(8)
            raise KeyboardInterrupt
        measured.append(problem.m)
        return plain(problem, contenders, options, *more)

    monkeypatch.setattr("gemmlab.experiment.running.run_together", stops)
    stopped = run("run", shapes, *QUICK)
    assert stopped.status == 130
    assert stopped.out == ""
    assert "stopped: 1 of 2 are kept" in stopped.err
    assert "the same command goes on with the rest" in stopped.err
    went_on = run("run", shapes, *QUICK, "--json")
    assert "1 of 2 are kept" in went_on.err
    assert [record.problem.m for record in went_on.records] == [24, 8]
    assert measured == [24, 8, 8]
    run("run", shapes, *QUICK, "--fresh")
    assert measured == [24, 8, 8, 24, 8]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is a signal")
@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_of_the_command_itself_and_who_asks_it_to_end(how, status, tmp_path):
    (tmp_path / "many.csv").write_text("m,n,k\n" + "".join(f"{m},64,64\n" for m in range(1, 41)))
    command = [sys.executable, "-m", "gemmlab", "run", "many.csv", *map(str, QUICK), "--store", "runs.sqlite"]
    started = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "1 of 40" in started.stderr.readline()
    os.kill(started.pid, how)
    out, err = started.communicate(timeout=120)
    assert started.returncode == status
    assert out == ""
    assert "Traceback" not in err
    with open_store(tmp_path / "runs.sqlite", write=False) as store:
        (only,) = store.runs()
        assert 1 <= only.records < 40
        assert only.finished is None
        assert f"stopped: {only.records} of 40 are kept as {only.id}" in err


def test_one_multiplication_is_kept_where_a_store_is_named(run, tmp_path):
    assert run("run", 8, 8, 8, *QUICK).status == 0
    assert not (tmp_path / "data").exists()
    assert run("run", 8, 8, 8, *QUICK, "--store", "here.sqlite").status == 0
    (only,) = map(json.loads, run("run", "--runs", "--store", "here.sqlite", "--json").out.splitlines())
    assert (only["suite"], only["records"]) == ("8x8x8", 1)


def test_two_runs_are_compared_by_id_and_by_file(run, two, tmp_path):
    words = ("--compare", two[0], two[1], "--store", "runs.sqlite")
    ran = run("run", *words)
    assert ran.status == 0
    assert "B, 2 rows: 2 faster, 0 slower, 0 not told apart" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    whole = json.loads(run("run", *words, "--json").out)
    assert whole["ratio"] == pytest.approx(2)
    assert [pair["verdict"] for pair in whole["pairs"]] == ["faster", "faster"]
    table = list(csv.DictReader(io.StringIO(run("run", *words, "--csv", "-").out)))
    assert [line["verdict"] for line in table] == ["faster", "faster"]
    with open_store(tmp_path / "other.sqlite") as store:
        begun = store.begin("squares")
        store.keep(begun, [(each := item(m=m, chip="epyc"), timed(each, m * 2e-3)) for m in (1, 2)])
    by_file = json.loads(run("run", "--compare", "other.sqlite", two[1], "--store", "runs.sqlite", "--json").out)
    assert by_file["ratio"] == pytest.approx(2)
    other = run("run", "--compare", two[0], two[3], "--any-chip", "--store", "runs.sqlite", "--json")
    assert json.loads(other.out)["ratio"] == pytest.approx(2)


def test_a_run_is_shown_and_exported(run, two):
    ran = run("run", "--show", two[0], "--store", "runs.sqlite", "--csv", "out.csv", "--json")
    assert ran.status == 0
    assert [Record.from_json(json.dumps(json.loads(line)["record"])).problem.m for line in ran.out.splitlines()] == [
        1,
        2,
    ]
    assert [line["key.run"] for line in csv.DictReader(io.StringIO(Path("out.csv").read_text()))] == [two[0]] * 2
    assert "Over all 2 multiplications" in run("run", "--show", two[0], "--store", "runs.sqlite").out
    assert "4 runs" in run("run", "--runs", "--store", "runs.sqlite").out


BAD = [
    ("--compare {0}", "--compare has no value", "--compare A B"),
    ("--compare {0} {0} --store runs.sqlite", "is both runs", "two different ones"),
    ("--compare {0} {2} --store runs.sqlite", "is of squares", "one suite"),
    ("--compare {0} {3} --store runs.sqlite", "is on epyc", "--any-chip"),
    ("--compare {0} nonsense --store runs.sqlite", "unknown run `nonsense`", ""),
    ("--compare {0} 1999-01-01 --store runs.sqlite", "no run of 1999-01-01", "there are runs of"),
    ("--compare {0} absent.sqlite --store runs.sqlite", "there is no store absent.sqlite", "a run's id"),
    ("--compare {0} text.txt --store runs.sqlite", "is no store", "--store FILE"),
    ("--compare {0} {1}", "there is no store", "gemmlab run SUITE"),
    ("--compare {0} {1} --store .", "is a folder", "runs.sqlite"),
    ("--compare {0} {1} --threads 2", "--compare takes no --threads", "--any-chip"),
    ("--compare {0} {1} 8 8 8", "--compare runs nothing, but SOURCE `8`", "one of them"),
    ("--compare {0} {1} --store runs.sqlite --json --csv -", "both print on standard output", "--csv FILE"),
    ("--compare {0} {1} --store runs.sqlite --csv no/where.csv", "folder", "create it"),
    ("--runs --csv -", "--runs takes no --csv", "--json"),
    ("--show nonsense --store runs.sqlite", "unknown run `nonsense`", ""),
    ("--show {0} --store text.txt", "is no store", "--store FILE"),
    ("shapes.csv --store text.txt --backend cpu", "is no store", "--store FILE"),
    ("shapes.csv --store . --backend cpu", "is a folder", "runs.sqlite"),
    ("shapes.csv --store text.txt/runs.sqlite --backend cpu", "cannot open the store", "--store FILE"),
    ("shapes.csv --plot x.svg", "--plot draws one multiplication", "one multiplication"),
    ("shapes.csv --format float32,flaot64 --backend cpu", "`flaot64`", "float64"),
    ("shapes.csv --format float32, --backend cpu", "lacks a name", "commas"),
    ("shapes.csv --format int8 --backend cpu --kernel naive", "none of the kernels takes any shape", "--format"),
    ("shapes.csv --backend cpu --kernel nmupy", "`nmupy`", "numpy"),
    ("shapes.csv --devices 0,0", "names a GPU twice", "0,1,2,3"),
    ("shapes.csv --devices 0,-1", "--devices: -1 is no device", "from 0"),
    ("8 8 8 --device -1 --backend cpu", "--device: -1 is no device", "from 0"),
    ("shapes.csv --devices x", "--devices: `x`", ""),
    ("--suite deepgmm", "`deepgmm`", "deepgemm"),
    ("--suite deepgemm --tokens 4", "takes no --tokens", "--format"),
    ("8 8 8 --fresh", "--fresh is of a sweep", "a suite"),
    ("8 8 8 --devices 0,1", "--devices is of a sweep", "a suite"),
    ("8 8 8 --json --csv -", "both print on standard output", "--csv FILE"),
    ("8 8 8 --csv no/where.csv", "folder", "create it"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said", "hint"), BAD, ids=[words for words, *_ in BAD])
def test_bad_input(run, two, shapes, tmp_path, words, said, hint):
    (tmp_path / "text.txt").write_text("m,n,k\n" * 400)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".txt", ".sqlite")}
    ran = run("run", *words.format(*two).split())
    assert ran.status == 2
    assert ran.out == ""
    assert said in ran.err.partition("hint: ")[0]
    assert hint in ran.err.partition("hint: ")[2]
    assert "Traceback" not in ran.err
    assert {path: path.read_bytes() for path in before} == before
