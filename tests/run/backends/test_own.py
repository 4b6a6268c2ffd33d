"""Kernels of one's own on a GPU, as far as they go without one: how they are called, and what is refused before."""

from pathlib import Path

import pytest

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cpu import own as on_cpu
from gemmlab.run.backends.cuda import numba_program
from gemmlab.run.backends.triton import program as triton_program
from gemmlab.run.registry import contenders

PROBLEM = Gemm(100, 200, 30)
FILE = '''
from numba import cuda


@cuda.jit
def kernel(a, b, c):
    pass


@cuda.jit
def with_sizes(a, b, c, m, n, k):
    pass


def plain(a, b, c, scale=1.0):
    pass


def of_two(a, b):
    pass


class Jitted:
    """As triton.jit makes of a kernel."""

    def __call__(self, *arguments):
        raise RuntimeError("cannot be called directly")

    def __getitem__(self, grid):
        return self


in_triton = Jitted()
number = 7
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A file of kernels; programs are made of it as if packages and a GPU were there."""
    (tmp_path / "mine.py").write_text(FILE)
    monkeypatch.setattr(numba_program, "numba_cuda", lambda: (None, "0"))
    monkeypatch.setattr(numba_program, "NumbaProgram", lambda problem, kernel, grid, block: (kernel, grid, block))
    monkeypatch.setattr(triton_program, "require_triton", lambda: "0")
    monkeypatch.setattr(triton_program, "TorchProgram", Made)
    return str(tmp_path / "mine.py")


class Made:
    def __init__(self, problem, multiply):
        self.multiply, self.environment = multiply, {}


@pytest.mark.parametrize(
    ("options", "grid", "block"),
    [
        ("", (13, 7, 1), (16, 16, 1)),
        (";block=32x8", (7, 13, 1), (32, 8, 1)),
        (";block=256", (1, 100, 1), (256, 1, 1)),
        (";grid=4x2", (4, 2, 1), (16, 16, 1)),
        (";block=8x8x2;grid=1x2x3", (1, 2, 3), (8, 8, 2)),
    ],
)
def test_a_launch_covers_c_unless_it_is_given(mine, options, grid, block):
    kernel, *launch = numba_program.own(PROBLEM, f"{mine}:kernel{options}")
    assert kernel.py_func.__name__ == "kernel"
    assert launch == [grid, block]


def test_a_function_for_triton_is_called_as_it_is(mine):
    made = triton_program.own(PROBLEM, f"{mine}:plain")
    assert made.multiply.__name__ == "plain"
    assert made.environment == {"compiler": "Triton 0"}


@pytest.mark.parametrize(
    ("make", "name", "words", "hint"),
    [
        (numba_program.own, "absent", "`mine.py` has no function `absent`", "FILE.py:FUNC"),
        (numba_program.own, "number", "`mine.py` has no function `number`", "FILE.py:FUNC"),
        (numba_program.own, "plain", "`plain` of mine.py is no kernel, but of type function", "@cuda.jit"),
        (
            numba_program.own,
            "with_sizes",
            "`with_sizes` of mine.py takes (a, b, c, m, n, k), and is called with 3 arguments",
            "a kernel of (a, b, c), 2-d arrays of float32",
        ),
        (numba_program.own, "kernel;block=64x32", "`block=64x32` is 2,048 threads", "at most 1,024"),
        (numba_program.own, "kernel;blocks=2", "`blocks=2` is no block or grid", "block=16x16"),
        (triton_program.own, "absent", "`mine.py` has no function `absent`", "FILE.py:FUNC"),
        (
            triton_program.own,
            "in_triton",
            "`in_triton` of mine.py is a kernel, and nothing says how it is launched",
            "FUNC(a, b, c) that launches it",
        ),
        (triton_program.own, "of_two", "`of_two` of mine.py takes (a, b), and is called with 3", "FUNC(a, b, c)"),
        (on_cpu.program, "absent", "`mine.py` has no function `absent`", "FILE.py:FUNC"),
        (on_cpu.program, "of_two", "`of_two` of mine.py takes (a, b), and is called with 3", "FUNC(a, b, d)"),
    ],
)
def test_what_cannot_be_launched_is_said(mine, make, name, words, hint):
    with pytest.raises(GemmlabError) as refused:
        make(PROBLEM, f"{mine}:{name}")
    assert words in refused.value.text
    assert hint in refused.value.hint


@pytest.mark.parametrize("make", [numba_program.own, triton_program.own])
def test_a_file_that_there_is_not(mine, make, tmp_path):
    with pytest.raises(GemmlabError, match=r"no file `.*absent\.py`"):
        make(PROBLEM, f"{tmp_path / 'absent.py'}:kernel")


def test_a_triton_kernel_itself_is_told_from_a_function(mine):
    triton = pytest.importorskip("triton")

    @triton.jit
    def kernel(a, b, c):
        pass

    assert hasattr(kernel, "__getitem__")


@pytest.mark.parametrize("backend", ["cpu", "cuda", "triton"])
def test_the_first_backend_that_takes_it_runs_it(mine, backend):
    (found,) = contenders([f"{mine}:kernel"], [backend])
    assert found.backend == backend
    assert found.source.endswith(f"{Path(mine)}:kernel")
