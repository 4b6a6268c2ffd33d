"""`gemmlab run --backend webgpu`: kernels in WGSL from the command to the store, on whichever adapter there is."""

import json
import sys
from pathlib import Path

import pytest

from gemmlab.experiment import running
from gemmlab.record import Record
from run.an_adapter import needs_adapter  # noqa: F401 - a fixture

SIDES = ("run", "96x80x112", "--rounds", 3, "--backend")
SHAPE = (*SIDES, "webgpu")
MINE = Path(__file__).parents[2] / "examples" / "rows.wgsl"


@pytest.fixture(autouse=True)
def forgotten():
    """No chip that another test found."""
    running.chip_of.cache_clear()


@pytest.mark.usefixtures("needs_adapter")
def test_every_kernel_is_timed_checked_and_counted(run):
    ran = run(*SHAPE, "--json")
    assert ran.status == 0
    by_name = {record.measurement.kernel: record for record in ran.records}
    assert list(by_name) == ["naive", "tiled_8", "tiled"]
    m, n, k = 96, 80, 112
    loads = {"naive": 2 * m * n * k, "tiled_8": 2 * m * n * k // 8, "tiled": 2 * m * n * k // 16}
    for name, record in by_name.items():
        assert record.verdict.ok
        assert record.verdict.informative
        assert record.measurement.time_s > 0
        assert record.measurement.environment["adapter"]
        assert record.count.global_load_elements == loads[name]


@pytest.mark.usefixtures("needs_adapter")
def test_a_software_adapter_says_so_and_ranks_with_no_chip(run):
    ran = run(*SIDES, "cpu,webgpu", "--kernel", "numpy,tiled")
    assert ran.status == 0
    lines = {words[1]: words for line in ran.out.splitlines() if len(words := line.split()) > 6}
    assert lines["numpy"][-1] == lines["tiled"][-1] == "right"
    if "a software adapter" not in ran.out:
        pytest.skip("the adapter is a GPU")
    assert "not ranked beside a chip's" in " ".join(ran.out.split())
    assert lines["numpy"][0] == "1"
    assert lines["tiled"][0] == "-"
    assert "fastest" not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.usefixtures("needs_adapter")
def test_a_run_is_kept_and_told_again(run, tmp_path):
    store = tmp_path / "runs.sqlite"
    ran = run(*SHAPE, "--kernel", "tiled", "--format", "float32,float16", "--store", store, "--json")
    assert {(r.problem.a_format, r.measurement.fault) for r in ran.records} <= {
        ("float32", ""),
        ("float16", ""),
        ("float16", "refused"),  # of adapters without shader-f16
    }
    again = run("run", "--show", ran.err.split("kept as ")[1].split()[0], "--store", store, "--json")
    rows = [json.loads(line) for line in again.out.splitlines()]
    assert [Record.from_json(json.dumps(row["record"])) for row in rows] == ran.records
    assert {row["record"]["measurement"]["software"] for row in rows} == {ran.records[0].measurement.software}


@pytest.mark.usefixtures("needs_adapter")
@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (";tile=4x64", 0, "right"),
        ("", 1, "never written"),  # by workgroups of 4x64, started for tiles of 16x16
        (";tile=4", 1, "`tile=4` is no tile"),
        ("x", 1, "does not compile"),
    ],
)
def test_a_kernel_of_ones_own(run, options, status, words):
    ran = run(*SHAPE, "--kernel", f"{MINE}:main{options}")
    assert ran.status == status
    assert words in " ".join(ran.out.split())


@pytest.mark.usefixtures("needs_adapter")
def test_an_adapter_that_is_not_there(run):
    ran = run(*SHAPE, "--device", 99)
    assert (ran.status, ran.out) == (2, "")
    assert "there is no adapter 99" in ran.err


def test_without_the_package_it_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "wgpu", None)
    monkeypatch.setattr("gemmlab.run.backends.webgpu.adapters.importlib.util.find_spec", lambda name: None)
    ran = run(*SHAPE)
    assert (ran.status, ran.out) == (2, "")
    assert "wgpu is not installed" in ran.err
    assert 'pip install "gemmlab[webgpu]"' in ran.err


def test_without_an_adapter_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setattr("gemmlab.run.backends.webgpu.adapters.importlib.util.find_spec", lambda name: True)
    monkeypatch.setattr(
        "gemmlab.run.backends.webgpu.adapters.subprocess.run", lambda *words, **how: type("Done", (), {"stdout": b"[]"})
    )
    ran = run(*SHAPE)
    assert (ran.status, ran.out) == (2, "")
    assert "no adapter" in ran.err
    assert "mesa-vulkan-drivers" in ran.err


def test_files_run_where_their_language_is_known(run):
    ran = run("run", "8x8x8", "--backend", "cpu", "--kernel", f"{MINE}:main")
    assert (ran.status, ran.out) == (2, "")
    assert ".wgsl files do not run on cpu" in ran.err
    assert "--backend webgpu" in ran.err
