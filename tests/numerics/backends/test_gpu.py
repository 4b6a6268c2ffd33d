"""The GPU backends as far as no GPU is needed: assembled, interpreted, and refusing clearly."""

import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import chain

import ml_dtypes
import numpy as np
import pytest

from gemmlab.numerics.backends import device, ptx
from gemmlab.numerics.backends.ptx import Mma
from gemmlab.numerics.backends.torch import Torch
from gemmlab.numerics.backends.triton import Triton
from gemmlab.record import GemmlabError

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"
CONVERTED = {"F2FP": 12, "HMMA": 2}


@needs_triton
@pytest.mark.parametrize(
    ("a_format", "b_format", "accumulate", "architecture", "unit", "expected"),
    [
        ("float16", None, None, "sm_90", "hopper.mma.float16", {"HMMA": 1}),
        ("float16", None, "float16", "sm_80", "ampere.mma.float16.float16", {"HMMA": 1}),
        ("bfloat16", None, None, "sm_80", "ampere.mma.bfloat16", {"HMMA": 1}),
        ("tfloat32", None, None, "sm_90", "hopper.mma.tfloat32", {"HMMA": 1}),
        ("int8", "uint8", None, "sm_90", "hopper.mma.int8", {"IMMA": 1}),
        (E4M3, E5M2, None, "sm_90", "hopper.mma.float8_e4m3fn", CONVERTED | {"FADD": 4}),
        (E5M2, None, "float16", "sm_90", "hopper.mma.float8_e5m2.float16", CONVERTED | {"HADD2": 2}),
        (E4M3, None, None, "sm_100", "blackwell.mma.float8_e4m3fn", CONVERTED | {"FADD": 4}),
        (E4M3, None, None, "sm_89", "ada.mma.float8_e4m3fn", {"QMMA": 1}),
        (E4M3, None, None, "sm_120", "rtx-blackwell.mma.float8_e4m3fn", {"QMMA": 1}),
    ],
)
def test_one_instruction_becomes(a_format, b_format, accumulate, architecture, unit, expected):
    """float8's mma.sync is 12 conversions, two float16 instructions and an addition of C where no QMMA exists."""
    found = ptx.compile_mma(a_format, architecture, b_format=b_format, accumulate=accumulate)
    counts = {}
    for name, count in found.opcodes.items():
        counts[name.split(".")[0]] = counts.get(name.split(".")[0], 0) + count
    assert counts == expected
    assert found.unit_name == unit
    assert found.fell == ("F2FP" in expected)
    assert found.unit().a_formats


@needs_triton
def test_no_float8_instruction_before_ada():
    with pytest.raises(GemmlabError, match="ptxas refuses it for sm_80"):
        ptx.compile_mma(E4M3, "sm_80")


def fragments():
    """(row of A, byte) of x0..x3 and (column of B, byte) of y0, y1 for each lane, as the PTX above computes them."""
    for lane in range(32):
        g, t = lane >> 2, lane & 3
        yield [(g, 4 * t), (g + 8, 4 * t), (g, 16 + 4 * t), (g + 8, 16 + 4 * t)], [(g, 4 * t), (g, 16 + 4 * t)]


def test_the_lanes_read_each_byte_once():
    a, b = zip(*fragments(), strict=True)
    assert sorted(chain(*a)) == [(row, byte) for row in range(16) for byte in range(0, 32, 4)]
    assert sorted(chain(*b)) == [(column, byte) for column in range(8) for byte in range(0, 32, 4)]


def test_stores_undo_loads():
    assert ptx.stored(ptx.NARROW).splitlines() == [
        " st.global.b32 [d], z0;", " add.u64 d, d, step;", " st.global.b32 [d], z1;"
    ]  # fmt: skip
    assert ptx.stored(ptx.WIDE).splitlines()[2] == " st.global.v2.b32 [d], {z2, z3};"


def test_operands_are_padded_with_zeros():
    a = np.arange(1, 7, dtype=np.float16).reshape(2, 3)
    asked = device.problem(a, a.T, np.full((2, 2), 5, np.float32), "float16", "float16", "float32")
    whole = device.padded(asked, 16, 8, 16)
    assert asked.shape == (2, 2, 3)
    assert whole.shape == (16, 8, 16)
    assert (whole.a[:2, :3].view(np.float16) == a).all()
    assert (whole.b[:2, :3].view(np.float16) == a).all()  # B as (n, k)
    assert whole.a.sum() == asked.a.sum()
    assert whole.c.sum() == asked.c.sum()


def test_shapes_that_do_not_match():
    a = np.zeros((2, 3), np.float16)
    for b, c, words in (
        (np.zeros((2, 3), np.float16), None, "do not multiply"),
        (np.zeros((3, 4), np.float16), np.zeros((2, 3), np.float32), "C has shape"),
        (np.full((3, 4), 1e9), None, "no value of float16"),
    ):
        with pytest.raises(GemmlabError, match=words):
            device.problem(a, b, c, "float16", "float16", "float32")


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
@pytest.mark.parametrize("backend", [Triton, Mma, Torch])
def test_says_that_torch_is_missing(backend):
    with pytest.raises(GemmlabError, match="torch cannot be imported") as told:
        backend("float16")
    assert told.value.hint


def test_formats_that_no_instruction_multiplies():
    for make, words in (
        (lambda: ptx.instruction("float16", "bfloat16", "float32"), "no mma.sync multiplies"),
        (lambda: ptx.instruction("int8", E4M3, "int32"), "no mma.sync multiplies"),
        (lambda: ptx.instruction("bfloat16", "bfloat16", "float16"), "unknown accumulator"),
        (lambda: ptx.instruction("float64", "float64", "float64"), "unknown format"),
        (lambda: Triton("float16", b_format="int8"), "no instruction multiplies"),
        (lambda: Torch("float16", b_format="bfloat16"), "torch does not multiply"),
        (lambda: Torch(E5M2), "takes no float8_e5m2 x float8_e5m2"),
    ):
        with pytest.raises(GemmlabError, match=words):
            make()


INTERPRETED = """
import ml_dtypes, numpy as np
from gemmlab.numerics.backends.triton import Triton
draw = np.random.default_rng(4)
for a_format, b_format, accumulate in (("float16", "float16", "float32"), ("float16", "float16", "float16"),
        ("tfloat32", "tfloat32", "float32"), ("float8_e4m3fn", "float8_e5m2", "float32"), ("int8", "int8", "int32")):
    kind = lambda name: np.dtype(getattr(ml_dtypes, name, {"tfloat32": "float32"}.get(name, name)))
    a = draw.integers(-8, 9, (33, 70)).astype(kind(a_format))
    b = draw.integers(-8, 9, (70, 20)).astype(kind(b_format))
    c = draw.integers(-8, 9, (33, 20)).astype(kind(accumulate))
    d = Triton(a_format, b_format=b_format, accumulate=accumulate)(a, b, c)
    assert d.dtype == c.dtype and d.shape == c.shape
    assert (d.astype(float) == a.astype(float) @ b.astype(float) + c.astype(float)).all(), a_format
unit = Triton("float16")
a, b = draw.standard_normal((2, 64, 64)).astype(np.float16)
words = lambda x: x.view(np.int32)
one, two = (a[:, half].astype(np.float32) @ b[half].astype(np.float32) for half in (slice(32), slice(32, None)))
for bits in (0, 5, 16):
    clear = lambda x, half=0: ((words(x) + half) & -(1 << bits)).view(np.float32)
    half = (1 << bits) >> 1 if bits else 0
    for mode, action, due in (("outside", "mask", clear(one) + clear(two)),
            ("outside", "round", clear(one, half) + clear(two, half)),
            ("chained", "mask", clear(clear(one) + two)),
            ("chained", "round", clear(clear(one, half) + two, half))):
        found = unit.swept(a, b, bits, block_k=32, mode=mode, action=action)
        step = 2.0 ** (bits - 23) * np.maximum(abs(one) + abs(two), 2.0**-10)
        assert (abs(found - due) <= 4 * step + 1e-5).all(), (bits, mode, action)
        if mode == "chained" and bits:
            assert (words(found) & ((1 << bits) - 1) == 0).all()
from gemmlab.numerics import truncation_sweep
told = truncation_sweep(unit, "float16", bits=(0, 12), shape=(32, 32, 64), block_k=32)
assert told.plateau == 0 and not told.contradicted and told.unchanged[1] < 10
print("right")
"""


@pytest.mark.skipif(find_spec("torch") is None or find_spec("triton") is None, reason="torch and triton not installed")
def test_triton_kernels_interpreted():
    """Values of the kernel, without a GPU and so without a tensor core: exact where every sum is."""
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED], env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "right", done.stderr[-2000:]


def has_gpu():
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


@pytest.mark.gpu
@pytest.mark.skipif(not has_gpu(), reason="no NVIDIA GPU")
@pytest.mark.parametrize("make", [Triton, lambda name: Triton(name, instruction="mma"), Mma])
@pytest.mark.parametrize("name", ["float16", "bfloat16", E4M3, E5M2])
def test_a_gpu_gives_the_bits_of_its_unit(make, name):
    from gemmlab import numerics

    backend = make(name)
    draw = np.random.default_rng(5)
    kind = np.dtype(getattr(ml_dtypes, name, name))
    a, b = (draw.standard_normal(shape).astype(kind) for shape in ((33, 96), (96, 20)))
    c = draw.standard_normal((33, 20)).astype(np.float32)
    d = backend(a, b, c)
    due = numerics.mma(backend.compiled.unit(), a, b, c)
    assert (d.view(np.uint32) == due.view(np.uint32)).all()
