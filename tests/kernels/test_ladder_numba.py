"""The rungs in numba.cuda, without a GPU: counts and values in the emulator, instructions in numba-cuda's PTX."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gemmlab import kernels
from gemmlab.count import count
from gemmlab.emulator import emulate
from gemmlab.kernels.ladder import RUNGS, load
from gemmlab.problem import Gemm
from kernels.machine_code import SHARED_LIMIT, having, instructions, lacking, need, there

ROOT = Path(__file__).parents[2]
APART = Path(sys.prefix) / "numba-cuda"

#: what each rung's idea comes to: barriers, loads from shared memory and outputs of a thread
SHAPES = {
    "uncoalesced": (0, 0, 1),
    "naive": (0, 0, 1),
    "coalesced": (0, 0, 1),
    "tiled": (2, 2, 1),
    "padded": (2, 2, 1),
    "register_1d": (2, 9, 8),
    "register_2d": (2, 16, 64),
    "vectorised": (2, 16, 64),
    "warp_tile": (1, 24, 128),
    "split_k": (2, 2, 1),
}


@pytest.mark.parametrize("shape", [(130, 131, 37), (1, 1, 1), (128, 256, 32), (5, 300, 17)], ids=str)
@pytest.mark.parametrize("name", RUNGS)
def test_a_rung_multiplies_and_loads_as_the_catalogue_counts(name, shape):
    m, n, k = shape
    random = np.random.default_rng(m)
    a, b = random.integers(-3, 4, (m, k)).astype(np.float32), random.integers(-3, 4, (k, n)).astype(np.float32)
    rung = RUNGS[name]
    c = np.full((m, n), 0 if rung.parts > 1 else np.nan, np.float32)
    found = emulate(load(rung.source), *rung.launch(m, n), a, b, c, outputs=("c",), fill="nan", threads=1)
    assert found.ok
    assert (c == a @ b).all()
    problem = Gemm(m, n, k)
    expected = count(problem, kernels.get(rung.counted_by, problem=problem, **rung.settings))
    if rung.parts == 1:
        assert found.global_load.elements == expected.global_load_elements
        assert found.global_store.bytes == expected.global_store_bytes
    else:  # the catalogue's kernel stores its parts' sums, loads them and stores C; this one's atomics do all three
        sums = rung.parts * m * n
        assert found.global_load.elements == expected.global_load_elements - sums
        assert found.global_atomic.elements == sums
        assert found.global_store.bytes == 0
        assert expected.global_store_bytes == 4 * (sums + m * n)


@cache
def ptx():
    """Of every rung: made once, in a process of its own."""
    need("cuda.bindings", "cuda.core", "nvidia")
    if not there("numba_cuda") and not (APART / "numba_cuda").is_dir():
        lacking("numba-cuda")
    paths = os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests"), str(APART)))
    command = [sys.executable, "-m", "kernels.in_ptx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_every_rung_is_described():
    assert list(SHAPES) == list(RUNGS)


@pytest.mark.parametrize("name", RUNGS)
def test_ptx_has_the_loads_that_the_idea_says(name):
    text = ptx()[name]
    assert ".target sm_90" in text
    found = instructions(text)
    barriers, loads, outputs = SHAPES[name]
    assert having(found, "bar", "sync") == barriers
    # unrolled loops repeat an inner step: so many loads from shared memory, or from global, a product for each output
    products = having(found, "fma")
    assert products % outputs == 0 < products
    steps = products // outputs
    assert having(found, "ld", "shared") == loads * steps
    if loads == 0:
        assert having(found, "ld", "global") == 2 * steps
    assert having(found, "atom", "add", "f32") == (1 if RUNGS[name].parts > 1 else 0)
    assert having(found, "st", "global") == (0 if RUNGS[name].parts > 1 else outputs)


@pytest.mark.parametrize("name", RUNGS)
def test_arrays_of_a_thread_stay_in_registers(name):
    """No memory of a thread's own: a sum there would be a load and a store for each product."""
    text = ptx()[name]
    assert having(instructions(text), "local") == 0
    assert ".local" not in text
    shared = sum(map(int, re.findall(r"\.shared .*\[(\d+)\];", text)))
    assert shared <= SHARED_LIMIT
    assert (shared > 0) == (SHAPES[name][1] > 0)


def test_only_cuda_c_has_the_wide_loads_of_the_vectorised_rung():
    """Why that rung has a text of its own: numba.cuda knows no float4, and its compiler makes none."""
    widths = Counter(name for name in instructions(ptx()["vectorised"]) if ".v2." in name or ".v4." in name)
    assert not widths
