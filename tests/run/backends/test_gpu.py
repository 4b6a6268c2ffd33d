"""The GPU's backends as far as they go without one: tables, settings, and what they refuse with which words."""

import importlib
import subprocess
import sys
from importlib import util

import pytest

from gemmlab import kernels
from gemmlab.kernels.ladder import RUNGS
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cuda.numba_program import size_of
from gemmlab.run.backends.cuda.program import require
from gemmlab.run.backends.cuda.text import aligned
from gemmlab.run.backends.triton.program import require_alignment, settings_of
from gemmlab.run.registry import contenders_of
from gemmlab.run.worker import made

BACKENDS = ("cuda", "triton", "torch")
ALL = [contender for backend in BACKENDS for contender in contenders_of(backend)]


def test_the_tables_load_no_framework():
    tables = "".join(f", gemmlab.run.backends.{backend}.contenders" for backend in BACKENDS)
    text = f"import sys{tables}; assert not {{'numba', 'torch', 'triton', 'cuda'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_every_rung_of_the_ladder_is_a_contender():
    assert [each.name for each in contenders_of("cuda")] == list(RUNGS)


@pytest.mark.parametrize("contender", ALL, ids=lambda each: f"{each.backend}:{each.name}")
def test_a_contender_has_a_factory_and_a_count(contender):
    module, name = contender.source.split(":")[:2]
    assert callable(getattr(importlib.import_module(module), name))
    if contender.counted_by:
        problem = Gemm(512, 512, 512, contender.formats[0])
        assert kernels.get(contender.counted_by, problem=problem, **contender.settings)


@pytest.mark.parametrize("contender", ALL, ids=lambda each: f"{each.backend}:{each.name}")
def test_without_gpu_or_package_a_program_says_what_is_missing(contender):
    if util.find_spec("torch") and importlib.import_module("torch").cuda.is_available():
        pytest.skip("there is a GPU")
    layout = "nt" if "float8" in contender.name else "nn"
    with pytest.raises(GemmlabError, match=r"is not installed|no NVIDIA GPU is found|torch finds no GPU"):
        made(contender.source, Gemm(64, 64, 64, contender.formats[0], layout=layout))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"alpha": 2.0}, "alpha=2"),
        ({"beta": 1.0}, "beta=1"),
        ({"batch": 2}, "no batch"),
        ({"a_format": "float16"}, "does not multiply float16"),
        ({"layout": "tn"}, "layout tn"),
        ({"structure": "lower_triangular"}, "lower_triangular"),
    ],
)
def test_what_the_kernels_do_not_multiply_is_refused(fields, words):
    with pytest.raises(GemmlabError, match=words):
        require(Gemm(64, 64, 64, **fields), ("float32",))


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (Gemm(63, 64, 64), True),
        (Gemm(64, 63, 64), False),
        (Gemm(64, 64, 63), False),
        (Gemm(64, 64, 64, lda=66), False),
        (Gemm(64, 64, 64, b_offset_bytes=4), False),
        (Gemm(64, 64, 64, b_offset_bytes=16, ldc=128), True),
    ],
)
def test_wide_loads_only_where_every_row_is_aligned(problem, expected):
    assert aligned(problem) is expected


@pytest.mark.parametrize(("text", "expected"), [("block=32x8", ("block", (32, 8, 1))), ("grid=7", ("grid", (7, 1, 1)))])
def test_sizes_of_ones_own_launch(text, expected):
    assert size_of(text) == expected


@pytest.mark.parametrize("text", ["block", "block=", "block=0", "block=1x2x3x4", "blocks=2", "grid=-1", "grid=x"])
def test_sizes_that_are_none(text):
    with pytest.raises(GemmlabError, match="no block or grid"):
        size_of(text)


def test_settings_of_a_triton_rung():
    assert settings_of("BLOCK_M=64,num_stages=4") == ({"BLOCK_M": 64}, {"num_stages": 4})
    assert settings_of("") == ({}, {})
    for text in ("BLOCK_M", "BLOCK_M=x", "stages=2", "num_stages=-1"):
        with pytest.raises(GemmlabError, match="no setting"):
            settings_of(text)


@pytest.mark.parametrize("fields", [{"n": 60}, {"k": 60}, {"lda": 66}, {"c_offset_bytes": 8}])
def test_descriptors_need_aligned_rows(fields):
    sides = {"m": 64, "n": 64, "k": 64}
    require_alignment(Gemm(**sides, a_format="bfloat16"))
    with pytest.raises(GemmlabError, match="16-byte aligned"):
        require_alignment(Gemm(**{**sides, **fields}, a_format="bfloat16"))
