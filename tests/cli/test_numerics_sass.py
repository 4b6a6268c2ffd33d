"""`gemmlab numerics sass`: what is told of a kernel's machine code, the exit status, and what is refused."""

import pytest

from gemmlab.numerics import sass
from gemmlab.numerics.sass import Compiled

FELL = Compiled(
    kernel="gemm", architecture="sm_90", compiler="3.8.0",
    instruction="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    opcodes={"F2FP.F16.E4M3.UNPACK_B": 128, "HMMA.16816.F32": 64}, unit_name="hopper.mma.float16",
    a_format="float8_e4m3fn", b_format="float8_e4m3fn", fell=True, notes=("fell to the float16 tensor cores",),
)  # fmt: skip


@pytest.fixture
def compiled(monkeypatch):
    """Calls of the compiler, which answers with a kernel that fell."""
    calls = []

    def answer(*given, **more):
        calls.append((given, more))
        return FELL

    monkeypatch.setattr(sass, "compile_dot", answer)
    monkeypatch.setattr(sass, "compile_kernel", answer)
    return calls


def test_a_kernel_that_fell_is_said(run, compiled):
    done = run(
        "numerics", "sass", "--format", "float8_e4m3fn", "--warps", "2", "--tile", "64x32x32", "--imprecise", "0"
    )
    assert done.status == 0
    assert compiled == [(("float8_e4m3fn", "sm_90"), {"warps": 2, "tile": (64, 32, 32), "imprecise": 0})]
    for said in ("hopper.mma.float16", "HMMA.16816.F32", "fell to the float16 tensor cores", "counted"):
        assert said in done.out
    told = run("numerics", "sass", "--json").records[0].numerics
    assert (told.sass, told.architecture) == (FELL.opcodes, "sm_90")


def test_status_1_where_it_is_another_unit(run, compiled):
    assert run("numerics", "sass", "--unit", "hopper.wgmma.float8_e4m3fn").status == 1
    assert run("numerics", "sass", "--unit", "hopper.mma.float16").status == 0


def test_a_kernel_of_ones_own(run, compiled):
    run(
        "numerics",
        "sass",
        "mine.py:kernel",
        "--arg",
        "a=*float16",
        "--arg",
        "BLOCK=64",
        "--arch",
        "sm_80",
        "--stages",
        "2",
    )
    assert compiled == [(("mine.py:kernel", {"a": "*float16", "BLOCK": "64"}, "sm_80"), {"stages": 2})]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.py:x", "b.py:y"), "2 kernels are named"),
        (("a.py:x", "--tile", "64x64x64"), "--tile is of gemmlab's own GEMM"),
        (("--arg", "a=*float16"), "--arg is of a kernel of one's own"),
        (("a.py:x", "--arg", "a"), "--arg `a` is no NAME=TYPE"),
        (("--tile", "64x64"), "`64x64` is not M x N x K"),
        (("--unit", "hopper.mma.float61"), "unknown unit"),
    ],
)
def test_bad_input(run, compiled, words, said):
    done = run("numerics", "sass", *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert not compiled


def test_without_triton_it_says_how_to_have_it(run):
    try:
        import triton  # noqa: F401
    except ImportError:
        done = run("numerics", "sass")
        assert (done.status, done.out) == (2, "")
        assert "triton cannot be imported" in done.err
        assert "hint: pip install" in done.err
    else:
        pytest.skip("triton is installed")
