"""Machine code tells the unit: of kernels compiled here where triton is installed, of recorded text everywhere."""

from importlib.metadata import version
from importlib.util import find_spec

import pytest

from gemmlab import numerics
from gemmlab.numerics import sass
from gemmlab.record import GemmlabError

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"
OWN = """
import triton
import triton.language as tl

@triton.jit
def mine(a, b, d, BLOCK: tl.constexpr, STEP: tl.constexpr = 32):
    at = tl.arange(0, BLOCK)
    k = tl.arange(0, STEP)
    x = tl.load(a + at[:, None] * STEP + k[None, :])
    y = tl.load(b + at[None, :] * STEP + k[:, None])
    tl.store(d + at[:, None] * BLOCK + at[None, :], tl.dot(x, y))

@triton.jit
def doubled(d, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(d + at, tl.load(d + at) * 2)
"""


def opcodes(found, start):
    return sum(count for name, count in found.opcodes.items() if name.split(".")[0] == start)


@needs_triton
@pytest.mark.parametrize(
    ("a_format", "architecture", "options", "unit", "opcode", "fell"),
    [
        (E4M3, "sm_90", {}, "hopper.wgmma.float8_e4m3fn", "QGMMA.64x64x32", False),
        (E5M2, "sm_90", {"b_format": E4M3}, "hopper.wgmma.float8_e5m2", "QGMMA.64x64x32", False),
        (E4M3, "sm_90", {"tile": (64, 32, 32), "warps": 2}, "hopper.mma.float16", "HMMA.16816", True),
        (E4M3, "sm_90", {"tile": (16, 64, 64)}, "hopper.mma.float16", "HMMA.16816", True),
        (E4M3, "sm_90", {"tile": (32, 64, 64)}, "hopper.mma.float16", "HMMA.16816", True),
        (E4M3, "sm_90", {"imprecise": 0}, "hopper.mma.float16", "HMMA.16816", True),
        ("float16", "sm_90", {}, "hopper.wgmma.float16", "HGMMA.64x64x16", False),
        ("float16", "sm_90", {"accumulate": "float16"}, "hopper.wgmma.float16.float16", "HGMMA.64x64x16.F16", False),
        ("bfloat16", "sm_90", {"tile": (32, 64, 64)}, "hopper.mma.bfloat16", "HMMA.16816.F32.BF16", False),
        ("tfloat32", "sm_90", {"tile": (128, 64, 32)}, "hopper.wgmma.tfloat32", "HGMMA.64x64x8.F32.TF32", False),
        ("int8", "sm_90", {}, "hopper.wgmma.int8", "IGMMA.64x64x32", False),
        (E4M3, "sm_89", {}, "ada.mma.float8_e4m3fn", "QMMA.16832", False),
        (E5M2, "sm_80", {}, "ampere.mma.float16", "HMMA.16816", True),
        (E4M3, "sm_100", {}, "blackwell.tcgen05.float8_e4m3fn", "UTCQMMA", False),
        ("float16", "sm_100", {}, "blackwell.tcgen05.float16", "UTCHMMA", False),
        (E4M3, "sm_120", {}, "rtx-blackwell.mma.float8_e4m3fn", "QMMA.16832", False),
    ],
)
def test_what_a_dot_becomes(a_format, architecture, options, unit, opcode, fell):
    found = sass.compile_dot(a_format, architecture, **options)
    assert found.compiler == version("triton")
    assert (found.unit_name, found.fell) == (unit, fell), (found.compiler, found)
    assert any(name.startswith(opcode) for name in found.matrix), (found.compiler, found.opcodes)
    assert a_format in found.unit().a_formats
    assert (opcodes(found, "F2FP") > 0) == (fell and architecture != "sm_80"), found.opcodes


@needs_triton
def test_the_spelling_decides_what_is_added_outside():
    """4 instructions of k = 32; each thread holds 64 of 128x64 outputs, added once a step, or once each 32 of k."""
    for options, additions in (
        ({}, 0),
        ({"spelling": "added"}, 64),
        ({"spelling": "summed"}, 64),
        ({"spelling": "masked"}, 0),
        ({"imprecise": 32}, 128),
    ):
        found = sass.compile_dot(E4M3, **options)
        assert opcodes(found, "QGMMA") == 4, (found.compiler, options)
        assert opcodes(found, "FADD") == additions, (found.compiler, options)
    assert opcodes(sass.compile_dot("float16", spelling="added"), "FADD") == 0  # folded back into the accumulator
    assert opcodes(sass.compile_dot("float16", spelling="summed"), "FADD") == 64


@needs_triton
def test_a_kernel_of_ones_own(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(OWN)
    pointers = {"a": "*float8_e5m2", "b": "*float8_e5m2", "d": "*float32"}
    found = sass.compile_kernel(f"{file}:mine", pointers | {"BLOCK": "64"})
    assert found.kernel == "mine"
    assert found.unit_name == "hopper.wgmma.float8_e5m2"
    found = sass.compile_kernel(f"{file}:mine", pointers | {"BLOCK": "32"})
    assert found.fell
    assert found.unit().order == "quads"
    plain = sass.compile_kernel(f"{file}:doubled", {"d": "*float32", "BLOCK": "64"})
    assert (plain.instruction, plain.unit_name, plain.matrix) == ("", "", {})
    for source, arguments, words in (
        (f"{file}:mine", pointers, "parameter `BLOCK`"),
        (f"{file}:mine", pointers | {"BLOCK": "64", "STEPS": "1"}, "unknown parameter"),
        (f"{file}:nine", {}, "unknown @triton.jit function"),
        (f"{file}:mine", pointers | {"BLOCK": "48"}, "power of 2"),
        (f"{tmp_path}/none.py:mine", {}, "there is no file"),
        ("mine", {}, "names no kernel"),
    ):
        with pytest.raises(GemmlabError, match=words):
            sass.compile_kernel(source, arguments)


def test_reads_opcodes_of_machine_code():
    text = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;             /* 0x00000a00ff017b82 */
                                                                      /* 0x000fe20000000a00 */
        /*0490*/              @!P0 HMMA.16816.F32 R4, R12, R20, R4 ;  /* 0x000000140c04723c */
        /*04a0*/             @UP0 HMMA.16816.F32 R8, R12, R22, R8 ;   /* 0x000000160c08723c */
        /*12340*/                  F2FP.F16.E4M3.UNPACK_B R9, R9.H1 ;
    """
    assert sass.read(text) == {"LDC": 1, "HMMA.16816.F32": 2, "F2FP.F16.E4M3.UNPACK_B": 1}


def machine(*names):
    return "\n".join(f"/*{at:04x}*/   {name} R4, R12 ;" for at, name in enumerate(names))


@pytest.mark.parametrize(
    ("architecture", "ptx", "names", "unit", "fell"),
    [
        ("sm_90", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", ("F2FP.F16.E4M3.UNPACK_B", "HMMA.16816.F32",
         "FADD"), "hopper.mma.float8_e4m3fn", True),
        ("sm_89", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("QMMA.16832.F32.E4M3.E4M3",),
         "ada.mma.float8_e4m3fn", False),
        ("sm_100", "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16", ("F2FP.F16.E5M2.UNPACK_B", "HMMA.16816.F16",
         "HADD2"), "blackwell.mma.float8_e5m2.float16", True),
        ("sm_90", "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8", ("IGMMA.64x64x32.S8.S8",), "hopper.wgmma.int8",
         False),
    ],
)  # fmt: skip
def test_judges_by_ptx_and_machine_code(architecture, ptx, names, unit, fell):
    found = sass.judged("k", architecture, "", f"  {ptx} {{%r1}};", machine(*names))
    assert (found.unit_name, found.instruction, found.fell) == (unit, ptx, fell)
    assert found.unit() == numerics.unit(unit)


def test_bad_input_is_told():
    for arguments, words in (
        (("float9",), "unknown format"),
        (("float16", "sm_91"), "unknown architecture"),
    ):
        with pytest.raises(GemmlabError, match=words):
            sass.compile_dot(*arguments)
    for options, words in (
        ({"b_format": "bfloat16"}, "no instruction multiplies"),
        ({"accumulate": "int32"}, "unknown accumulator"),
        ({"spelling": "folded"}, "unknown spelling"),
        ({"accumulate": "float16", "spelling": "masked"}, "bits of float32"),
    ):
        with pytest.raises(GemmlabError, match=words):
            sass.compile_dot("float16", **options)


@pytest.mark.skipif(find_spec("triton") is not None, reason="triton is installed")
def test_says_how_to_get_triton():
    with pytest.raises(GemmlabError, match="triton cannot be imported") as told:
        sass.compile_dot("float16")
    assert "gemmlab[triton]" in told.value.hint
