"""Programs of the CPU's ladder: each computes the product within its bound, whatever shape, layout, format and gap."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

from gemmlab.check import check_bounds, operands
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cpu.contenders import CONTENDERS
from gemmlab.run.backends.cpu.program import threads_given

SHAPES = ((1, 1, 1), (7, 5, 3), (13, 29, 31), (100, 70, 33), (129, 257, 63))
BY_NAME = {each.name: each for each in CONTENDERS}


def program_of(name, problem):
    module, _, factory = BY_NAME[name].source.partition(":")
    try:
        return getattr(importlib.import_module(module), factory)(problem)
    except GemmlabError as error:
        if "no AMX" in error.text or "not installed" in error.text:
            pytest.skip(error.text)
        raise


def verdict(name, problem, copies=1):
    program, given = program_of(name, problem), operands(problem, seed=problem.m)
    program.place(given, copies)
    program.poison()
    assert program.elapsed(range(copies)) > 0
    unit = 2.0**-53 if problem.a_format == "float64" else BY_NAME[name].unit_roundoff
    return [
        check_bounds(problem, given.a.array, given.b.array, program.result(copy), unit_roundoff=unit)
        for copy in range(copies)
    ]


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("threads", ["1", "2"])
def test_equals_the_product_at_ragged_shapes(name, threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    for form in BY_NAME[name].formats:
        for m, n, k in SHAPES:
            assert all(each.ok for each in verdict(name, Gemm(m, n, k, form))), (form, m, n, k)


def multiplies_gaps(problem):
    """Whether torch's own product takes in what lies between rows of A or B: oneDNN's of bfloat16 does so on AMX."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    given, kind = operands(problem, seed=problem.m), getattr(torch, problem.a_format)
    words = [each.view(np.int16) if problem.a_format == "bfloat16" else each for each in (given.a.array, given.b.array)]
    a, b = (torch.from_numpy(each).view(kind) for each in words)
    return bool(torch.mm(a, b).isnan().any())


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("layout", ["nt", "tn", "tt"])
def test_equals_the_product_in_every_layout_with_gaps_and_offsets(name, layout):
    stored = {"lda": 140, "ldb": 150, "ldc": 130, "a_offset_bytes": 8, "b_offset_bytes": 24, "c_offset_bytes": 40}
    problem = Gemm(67, 129, 83, BY_NAME[name].formats[-1], layout=layout, **stored)
    found = verdict(name, problem, copies=2)
    if name == "torch" and multiplies_gaps(problem):  # its own fault, which must be seen
        assert not any(each.ok for each in found)
    else:
        assert all(each.ok for each in found)


@pytest.mark.parametrize("name", ["ikj", "packed", "numpy"])
def test_batches_and_groups_are_multiplied_one_by_one(name):
    assert verdict(name, Gemm(20, 17, 9, batch=3))[0].ok
    assert verdict(name, Gemm.grouped([(3, 4, 5), (30, 4, 17)]))[0].ok


def test_gaps_between_rows_of_d_stay_untouched():
    program = program_of("packed", problem := Gemm(13, 21, 9, ldc=40))
    program.place(operands(problem), 1)
    program.elapsed([0])
    storage, (d,) = program.made[0]
    assert np.isfinite(d).all()
    assert np.isfinite(storage).sum() == d.size


def test_poison_is_seen_where_nothing_was_multiplied():
    program = program_of("packed", problem := Gemm(13, 21, 9))
    program.place(given := operands(problem), 2)
    program.elapsed([1])
    results = [
        check_bounds(problem, given.a.array, given.b.array, program.result(copy), unit_roundoff=2.0**-24)
        for copy in range(2)
    ]
    assert [each.unwritten_elements for each in results] == [13 * 21, 0]


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (Gemm(8, 8, 8, "float16"), "does not multiply float16"),
        (Gemm(8, 8, 8, "float32", "float64"), "does not multiply float32 by float64"),
        (Gemm(8, 8, 8, d_format="bfloat16"), "does not write bfloat16"),
        (Gemm(8, 8, 8, accumulate="float64"), "does not sum in float64"),
        (Gemm(8, 8, 8, alpha=2.0), "D = A @ B alone"),
        (Gemm(8, 8, 8, beta=1.0), "D = A @ B alone"),
    ],
)
def test_what_it_cannot_do_is_refused(problem, words):
    with pytest.raises(GemmlabError, match=words):
        program_of("packed", problem)


def test_threads_are_those_that_libraries_are_given(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_given() == 1
    assert program_of("packed", Gemm(8, 8, 8)).environment["threads"] == "1"
    assert program_of("packed", Gemm(8, 8, 8)).environment["timed"] == "CPU time of the one thread"
    monkeypatch.setenv("OMP_NUM_THREADS", "two")
    assert threads_given() >= 1


def test_numpy_names_its_kernels_and_threads():
    environment = program_of("numpy", Gemm(8, 8, 8)).environment
    if "blas" not in environment:
        pytest.skip("numpy was built with another BLAS than OpenBLAS, or this is not Linux")
    assert environment["blas"].startswith("OpenBLAS")
    assert environment["blas_kernels"]
    assert int(environment["blas_threads"]) >= 1


def test_the_table_of_contenders_loads_neither_numpy_nor_numba():
    code = "import sys, json, gemmlab.run.backends.cpu.contenders; print(json.dumps(list(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert not {"numpy", "numba", "torch"} & set(loaded)
