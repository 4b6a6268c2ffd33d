"""The ladder's programs: every rung multiplies, is shown as it is, and is loaded only when asked for."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gemmlab.emulator.reference import run_reference
from gemmlab.kernels import get
from gemmlab.kernels.ladder import BROKEN, RUNGS, load

ROOT = Path(__file__).parents[2]
LADDER = ROOT / "src/gemmlab/kernels/ladder"
PROGRAMS = sorted(path.name for path in LADDER.glob("*.py") if path.name not in ("__init__.py", "rungs.py"))


def test_the_table_loads_no_kernel():
    text = "import sys, gemmlab.kernels.ladder; assert not {'numba', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src")})


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_examples_show_the_very_programs(program):
    assert (ROOT / "examples/ladder" / program).read_text() == (LADDER / program).read_text()


def test_every_program_stands_in_the_table():
    named = {entry.source.partition(":")[0] + ".py" for entry in (*RUNGS.values(), *BROKEN.values())}
    assert named == set(PROGRAMS)


@pytest.mark.parametrize("twin", BROKEN.values(), ids=BROKEN)
def test_a_twin_is_launched_as_its_rung(twin):
    assert load(twin.source).py_func.__code__.co_varnames[:3] == ("a", "b", "c")
    assert twin.rung in RUNGS


@pytest.mark.parametrize("rung", [rung for rung in RUNGS.values() if rung.counted_by], ids=lambda rung: rung.name)
def test_the_counting_kernel_has_the_rungs_tile_and_threads(rung):
    kernel = get(rung.counted_by, **rung.settings)
    assert (kernel.block_m, kernel.block_n) == rung.tile
    assert kernel.threads == np.prod(rung.block)
    assert kernel.split_k == rung.parts


@pytest.mark.parametrize("shape", [(18, 9, 7), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("name", ["uncoalesced", "naive", "coalesced", "tiled", "split_k"])
def test_a_rung_multiplies(name, shape):
    """The larger tiles are run by the emulator's own tests: an interpreter is slow at them."""
    a, b, c = matrices(*shape)
    outcome = run_reference(load(RUNGS[name].source), *RUNGS[name].launch(*shape[:2]), a, b, c)
    assert (c == a @ b).all()
    assert outcome.faults == ()


def test_other_software_runs_them_as_well():
    """numba's own simulator, a thread of the system for each of a block: all in one process, as it starts slowly."""
    text = """
import numpy as np
from gemmlab.kernels.ladder import RUNGS, load
a, b = np.arange(7 * 5, dtype="f4").reshape(7, 5), np.arange(5 * 9, dtype="f4").reshape(5, 9)
for name in ("uncoalesced", "naive", "coalesced", "tiled", "split_k", "register_1d"):
    c = np.zeros((7, 9), "f4")
    load(RUNGS[name].source)[RUNGS[name].launch(7, 9)](a, b, c)
    assert (c == a @ b).all(), name
"""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", text], check=True, env=environment)


def matrices(m, n, k):
    random = np.random.default_rng(m + n + k)
    a, b = random.integers(-3, 4, (m, k)).astype(np.float32), random.integers(-3, 4, (k, n)).astype(np.float32)
    return a, b, np.zeros((m, n), np.float32)
