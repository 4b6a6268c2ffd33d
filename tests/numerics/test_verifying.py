"""Units against dot products of real chips, read where they lie; what is said of recordings that are none."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from gemmlab import formats, numerics
from gemmlab.numerics.reference import dot
from gemmlab.numerics.verifying import outputs
from gemmlab.record import GemmlabError

SILICON = Path(__file__).parents[3] / "shared/data/silicon"
CHIPS = {"v100": "volta", "a100": "ampere", "ada": "ada", "h100": "hopper", "h200": "hopper", "b200": "blackwell"}
CASES = [
    *(("v100", "float16", output) for output in ("float32", "float16")),
    *(
        (chip, name, output)
        for chip in ("a100", "ada", "h100", "h200", "b200")
        for name, made in (("float16", ("float32", "float16")), ("bfloat16", ("float32",)), ("tfloat32", ("float32",)))
        for output in made
    ),
    *(
        (chip, name, output)
        for chip in ("ada", "h100", "h200", "b200")
        for name in ("float8_e4m3fn", "float8_e5m2")
        for output in ("float32", "float16")
    ),
]
needs_silicon = pytest.mark.skipif(not SILICON.is_dir(), reason=f"no recordings of real chips at {SILICON}")


def unit_of(chip, name, output):
    """Which unit made what; float8 with a float32 accumulator was recorded with wgmma on Hopper."""
    wgmma = chip in ("h100", "h200") and name.startswith("float8") and output == "float32"
    return f"{CHIPS[chip]}.{'wgmma' if wgmma else 'mma'}.{name}"


@needs_silicon
@pytest.mark.parametrize(("chip", "name", "output"), CASES)
def test_no_bit_differs_from_silicon(chip, name, output):
    found = numerics.verify(SILICON / f"{chip}_{name}.npz", unit_of(chip, name, output), output)
    assert (found.total, found.mismatches, found.first) == (2500, 0, None)
    # float8 on Hopper's wgmma is the one recording that left C out, and that is said.
    assert found.without_c == (".wgmma." in found.unit)
    assert ("C was left out" in found.note) == found.without_c


@needs_silicon
def test_every_recorded_output_is_among_the_cases():
    held = {
        (file.stem.split("_")[0], file.stem.split("_", 1)[1], output)
        for file in SILICON.glob("*.npz")
        for output in outputs(file)
    }
    assert held == set(CASES)


@needs_silicon
def test_the_reference_agrees_with_silicon_too():
    for chip, name, output in CASES:
        arrays = np.load(SILICON / f"{chip}_{name}.npz")
        unit = numerics.unit(unit_of(chip, name, output))
        unit = unit if output == "float32" else numerics.unit(f"{unit.name}.float16")
        few = slice(0, 2500, 50)
        a, b = (formats.encode_array(arrays[side][few].view(np.float32), name) for side in "ab")
        c = formats.encode_array(arrays["c"][few].view(np.float32), output)
        d = formats.encode_array(arrays[f"d_{output}"][few].view(np.float32), output)
        for i in range(len(d)):
            addend = 0 if ".wgmma." in unit.name else int(c[i])
            assert dot(unit, a[i].tolist(), b[i].tolist(), addend, name, name) == d[i], (unit.name, i)


@needs_silicon
@pytest.mark.parametrize(
    ("file", "wrong"),
    [
        ("h100_float16", "ampere.mma.float16"),  # 24 bits of alignment for 25, 8 terms for 16
        ("v100_float16", "turing.mma.float16"),
        ("b200_float8_e4m3fn", "blackwell.tcgen05.float8_e4m3fn"),  # not what mma.sync runs on
        ("ada_float8_e5m2", "hopper.wgmma.float8_e5m2"),  # 32 terms for 16
    ],
)
def test_another_chip_s_unit_differs(file, wrong):
    found = numerics.verify(SILICON / f"{file}.npz", wrong)
    assert 0 < found.mismatches <= 2500
    assert found.first is not None
    assert found.note == ""


def recording(unit="hopper.mma.float16", count=40, k=32, output="float32", seed=0):
    """Arrays as a chip that follows the unit would have left them."""
    unit = numerics.unit(unit)
    random = np.random.default_rng(seed)
    draw = [random.standard_normal(shape) * np.exp2(random.integers(-3, 4, shape)) for shape in ((count, k),) * 2]
    a, b = (formats.round_array(each, unit.a_formats[0]).astype(np.float32) for each in draw)
    c = random.standard_normal(count).astype(np.float16).astype(np.float32)
    d = numerics.dots(unit, a, b, c)
    return {"a": words(a), "b": words(b), "c": words(c), f"d_{output}": words(d.astype(np.float32))}


def words(array):
    """float32 bit patterns."""
    return np.ascontiguousarray(array, np.float32).view(np.uint32)


def test_the_first_that_differs_is_explained(tmp_path):
    arrays = recording()
    arrays["d_float32"][[7, 30]] ^= 1
    np.savez(tmp_path / "r.npz", **arrays)
    found = numerics.verify(tmp_path / "r.npz", "hopper.mma.float16")
    assert (found.unit, found.output, found.total, found.k, found.mismatches) == (
        "hopper.mma.float16", "float32", 40, 32, 2,
    )  # fmt: skip
    first = found.first
    assert (first.index, first.got ^ first.expected, len(first.a), first.a_format) == (7, 1, 32, "float16")
    assert [each.ks for each in first.sums] == [list(range(16)), list(range(16, 32))]
    assert first.sums[-1].result == first.got


def test_the_accumulator_chooses_among_siblings():
    arrays = recording("ada.mma.float8_e4m3fn.float16", output="float16")
    found = numerics.verify(arrays, "ada.mma.float8_e4m3fn", "float16")
    assert (found.unit, found.mismatches) == ("ada.mma.float8_e4m3fn.float16", 0)
    assert numerics.verify(arrays, "ada.mma.float8_e4m3fn.float16").mismatches == 0
    with pytest.raises(GemmlabError, match="no array d_float32"):
        numerics.verify(arrays, "ada.mma.float8_e4m3fn.float16", "float32")


def test_a_recording_without_c_is_told_apart():
    arrays = recording()
    left_out = dict(arrays, d_float32=recording()["d_float32"].copy())
    zero = dict(arrays, c=np.zeros_like(arrays["c"]))
    unit = numerics.unit("hopper.mma.float16")
    values = [arrays[side].view(np.float32).astype(np.float16) for side in "ab"]
    left_out["d_float32"] = words(numerics.dots(unit, *values))
    found = numerics.verify(left_out, unit)
    assert (found.mismatches, found.without_c) == (0, True)
    assert "with it 40 of 40 mismatch" in found.note or "mismatch, without it none" in found.note
    assert numerics.verify(left_out, unit, without_c=False).mismatches > 30
    assert numerics.verify(left_out, unit, without_c=True).mismatches == 0
    assert numerics.verify(zero | {"d_float32": left_out["d_float32"]}, unit).note == ""
    # one wrong output besides, and it is no recording without C but one that fails
    left_out["d_float32"][3] ^= 1
    found = numerics.verify(left_out, unit)
    assert found.mismatches > 30
    assert found.note == ""


def test_nan_equals_nan_unless_its_code_is_promised():
    arrays = recording("hopper.mma.float16", count=2)
    arrays["a"][0, 0] = 0x7FC00000
    arrays["d_float32"][0] = 0x7FFFFFFF
    assert numerics.verify(arrays, "hopper.mma.float16").mismatches == 0
    arrays["d_float32"][0] = 0x7FC00000
    assert numerics.verify(arrays, "hopper.mma.float16").mismatches == 1
    free = recording("amx.tdp.bfloat16", count=2)
    free["a"][0, 0] = 0x7FC00000
    free["d_float32"][0] = 0xFFC00001
    assert numerics.verify(free, "amx.tdp.bfloat16").mismatches == 0


def test_a_widened_float16_nan_keeps_its_code():
    arrays = recording("hopper.mma.float16.float16", count=2, output="float16")
    arrays["a"][0, 0] = 0x7FC00000
    widened = np.array([0x7FFF], np.uint16).view(np.float16).astype(np.float32)
    arrays["d_float16"][0] = words(widened)[0]
    assert numerics.verify(arrays, "hopper.mma.float16", "float16").mismatches == 0
    arrays["d_float16"][0] = 0x7FC00000
    assert numerics.verify(arrays, "hopper.mma.float16", "float16").mismatches == 1


def test_minus_zero_is_not_plus_zero():
    arrays = recording(count=1)
    arrays = {name: np.zeros_like(each) for name, each in arrays.items()}
    assert numerics.verify(arrays, "hopper.mma.float16").mismatches == 0
    arrays["d_float32"][0] = 1 << 31
    assert numerics.verify(arrays, "hopper.mma.float16").mismatches == 1


def test_operands_choose_the_first_format_that_holds_them():
    arrays = recording("hopper.wgmma.float8_e5m2", seed=3)
    arrays["a"][0, 0] = words([2.0**14])[0]  # past e4m3's range
    first = numerics.verify(arrays, "hopper.wgmma.float8_e4m3fn").first
    assert first.a_format == "float8_e5m2"
    with pytest.raises(GemmlabError, match=r"a\[0, 0\] = 16384.0 is no value of float8_e4m3fn"):
        numerics.verify(arrays, "hopper.wgmma.float8_e4m3fn", a_format="float8_e4m3fn")


def test_tfloat32_reads_no_low_bits():
    arrays = recording("hopper.mma.tfloat32")
    arrays["a"] |= 0x1FFF
    assert numerics.verify(arrays, "hopper.mma.tfloat32").mismatches == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"a": None}, "no array a"),
        ({"d_float32": None}, "no array d_float32"),
        ({"a": np.zeros((40, 32), np.float32)}, "a is of float32"),
        ({"c": np.zeros(40, np.int64)}, "c is of int64"),
        ({"b": np.zeros((40, 31), np.uint32)}, r"\(40, 31\)"),
        ({"a": np.zeros(40, np.uint32)}, r"a has shape \(40,\)"),
        ({"c": np.zeros(39, np.uint32)}, r"c has shape \(39,\)"),
        ({"d_float32": np.zeros((40, 1), np.uint32)}, r"d_float32 has shape \(40, 1\)"),
        ({"b": np.full((40, 32), 0x3F800001, np.uint32)}, r"b\[0, 0\] = 1.0000001 is no value of float16"),
        ({name: np.zeros((0, 4), np.uint32) for name in "ab"}, "something in them"),
        ({name: np.zeros((40, 0), np.uint32) for name in "ab"}, "something in them"),
    ],
)
def test_what_is_no_recording_is_refused(change, said):
    arrays = {name: each for name, each in (recording() | change).items() if each is not None}
    with pytest.raises(GemmlabError, match=said):
        numerics.verify(arrays, "hopper.mma.float16")


@pytest.mark.parametrize(
    ("unit", "output", "said"),
    [
        ("amx.tdp.int8", None, "int32"),
        ("blackwell.tcgen05.nvfp4", None, "block scales"),
        ("hopper.mma.float64", None, "float64"),
        ("hopper.mma.bfloat16", "float16", "accumulates float32"),
        ("hopper.mma.float16", "float64", "float64"),
        ("hopper.mma.half", None, "unknown unit"),
    ],
)
def test_units_without_such_recordings_are_refused(unit, output, said):
    with pytest.raises(GemmlabError, match=said):
        numerics.verify(recording(), unit, output)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(GemmlabError, match="cannot read"):
        numerics.verify(tmp_path / "none.npz", "hopper.mma.float16")
    with pytest.raises(GemmlabError, match="cannot read"):
        numerics.verify(tmp_path, "hopper.mma.float16")
    broken = tmp_path / "broken.npz"
    np.savez(broken, **recording())
    whole = broken.read_bytes()
    for text in (b"", b"text", whole[: len(whole) // 2]):
        broken.write_bytes(text)
        with pytest.raises(GemmlabError, match=r"no \.npz"):
            numerics.verify(broken, "hopper.mma.float16")
    for shape in ("True, 4", "99999999999, 99999", "-1, 4", "(((("):
        told = f"\x93NUMPY\x01\0v\0{{'descr': '<u4', 'fortran_order': False, 'shape': ({shape}), }}"
        with zipfile.ZipFile(broken, "w") as archive:
            for name in recording():
                archive.writestr(f"{name}.npy", told.ljust(128).encode("latin1") + bytes(64))
        with pytest.raises(GemmlabError, match=r"no \.npz"):
            numerics.verify(broken, "hopper.mma.float16")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(GemmlabError, match=r"no \.npz"):
        numerics.verify(tmp_path / "one.npy", "hopper.mma.float16")
    np.savez(broken, a=np.array([{}], dtype=object))
    with pytest.raises(GemmlabError, match=r"no \.npz"):
        outputs(broken)
    np.savez(broken, a=np.zeros(1, np.uint32))
    with pytest.raises(GemmlabError, match="d_float32 or d_float16"):
        outputs(broken)
