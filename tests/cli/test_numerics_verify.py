"""`gemmlab numerics verify`: recordings that agree, one that differs in one bit, and files that are none."""

from pathlib import Path

import numpy as np
import pytest

from gemmlab import formats
from gemmlab.numerics import dots
from gemmlab.report.canvas import cells

UNIT = "hopper.mma.float16"
SILICON = Path(__file__).parents[3] / "shared" / "data" / "silicon"


def float32_words(values):
    return np.asarray(values, np.float32).view(np.uint32)


@pytest.fixture
def recorded(run):
    """Arrays of 40 dot products as a chip of that unit gives them."""
    random = np.random.RandomState(0)
    a, b = (formats.round_array(random.standard_normal((40, 24)), "float16").astype(np.float32) for _ in "ab")
    c = random.standard_normal(40).astype(np.float32)
    narrow = formats.round_array(c, "float16").astype(np.float16)
    return {
        "a": float32_words(a),
        "b": float32_words(b),
        "c": float32_words(c),
        "d_float32": dots(UNIT, a, b, c).view(np.uint32),
        "d_float16": float32_words(dots(f"{UNIT}.float16", a, b, narrow).astype(np.float32)),
    }


def test_both_outputs_agree(run, recorded):
    np.savez("chip.npz", **recorded)
    done = run("numerics", "verify", "chip.npz", "--unit", UNIT)
    assert done.status == 0
    assert "0 mismatches of 80" in done.out
    (record,) = run("numerics", "verify", "chip.npz", "--unit", UNIT, "--json").records
    assert (record.numerics.mismatches, record.numerics.total, record.numerics.first_mismatch) == (0, 80, None)
    assert [each.unit for each in record.numerics.outputs] == [UNIT, f"{UNIT}.float16"]


def test_one_bit_is_found_and_explained(run, recorded):
    recorded["d_float32"][17] ^= 1
    np.savez("chip.npz", **recorded)
    done = run("numerics", "verify", "chip.npz", "--unit", UNIT, "--output", "float32", "--plot", "first.svg")
    assert done.status == 1
    assert "1 mismatch of 40" in done.out
    assert "d_float32, 17" in done.out
    assert "Output 17,0 term by term" in done.out
    assert all(cells(line) <= 80 for line in done.out.splitlines())
    (record,) = run("numerics", "verify", "chip.npz", "--unit", UNIT, "--json").records
    first = record.numerics.first_mismatch
    assert (record.numerics.mismatches, first.index, first.output) == (1, (17,), "d_float32")
    assert int(first.expected, 16) == recorded["d_float32"][17] == int(first.got, 16) ^ 1
    assert first.trace.code == first.got
    assert "<svg" in Path("first.svg").read_text()


def test_another_unit_differs(run, recorded):
    np.savez("chip.npz", **recorded)
    assert run("numerics", "verify", "chip.npz", "--unit", "volta.mma.float16").status == 1


def test_recorded_without_c(run, recorded):
    zero = np.zeros(40, np.float32)
    a, b = (recorded[name].view(np.float32) for name in "ab")
    recorded["d_float32"] = dots(UNIT, a, b, zero).view(np.uint32)
    np.savez("chip.npz", **recorded)
    words = ("numerics", "verify", "chip.npz", "--unit", UNIT, "--output", "float32")
    assert run(*words, "--without-c").status == 0
    told = run(*words)
    assert told.status == 0
    assert "C was left out" in " ".join(told.out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--unit", UNIT), "0 files are named"),
        (("chip.npz",), "there is no --unit"),
        (("none.npz", "--unit", UNIT), "cannot read none.npz"),
        (("text.npz", "--unit", UNIT), "text.npz"),
        (("chip.npz", "--unit", "hopper.mma.float15"), "unknown unit"),
        (("chip.npz", "--unit", UNIT, "--output", "float64"), "unknown output `float64`"),
        (("chip.npz", "--unit", UNIT, "--plot", "x.svg"), "none does"),
        (("chip.npz", "--unit", "amx.tdp.int8"), "accumulates int32"),
        (("chip.npz", "--unit", "hopper.mma.bfloat16"), "is no value of bfloat16"),
        (("lacking.npz", "--unit", UNIT), "no array"),
    ],
)
def test_bad_input(run, recorded, words, said, tmp_path):
    np.savez("chip.npz", **recorded)
    np.savez("lacking.npz", a=recorded["a"])
    Path("text.npz").write_text("text")
    before = sorted(tmp_path.iterdir())
    done = run("numerics", "verify", *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(not SILICON.is_dir(), reason="recordings of real chips are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "unit", "output", "status"),
    [
        ("h100_float16", "hopper.mma.float16", None, 0),
        ("a100_tfloat32", "ampere.mma.tfloat32", "float32", 0),
        ("b200_float8_e4m3fn", "blackwell.mma.float8_e4m3fn", None, 0),
        ("h100_float16", "ampere.mma.float16", None, 1),
    ],
)
def test_real_chips(run, name, unit, output, status):
    more = ("--output", output) if output else ()
    assert run("numerics", "verify", SILICON / f"{name}.npz", "--unit", unit, *more).status == status
