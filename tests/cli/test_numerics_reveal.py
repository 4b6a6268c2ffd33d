"""`gemmlab numerics reveal`: what is found can be computed with, and what is refused."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from gemmlab.experiment import revealing
from gemmlab.numerics import dots, reveal, unit
from gemmlab.numerics.probing.evidence import Difference

SEVENTEEN = Path(__file__).parents[2] / "examples" / "units" / "seventeen.toml"


def test_a_unit_of_ones_own_is_found_again(run):
    words = ("numerics", "reveal", "--unit", SEVENTEEN, "--format", "float16", "--confirm", "2000")
    done = run(*words, "--save", "found.toml", "--json")
    assert done.status == 0
    (record,) = done.records
    told = record.numerics
    assert (told.confirmed, told.mismatches, told.width_bits, told.fraction_bits) == (True, 0, 26, 17)
    assert {name: told.fields[name] for name in ("terms", "align_bits", "width", "cut", "rounding", "c")} == {
        "terms": 16, "align_bits": 20, "width": 17, "cut": "rz", "rounding": "rz", "c": "early",
    }  # fmt: skip
    found, mine = unit("found.toml"), unit(str(SEVENTEEN))
    random = np.random.RandomState(0)
    a, b = random.standard_normal((2, 50, 21)).astype(np.float16)
    c = random.standard_normal(50).astype(np.float16).astype(np.float32)
    assert (dots(found, a, b, c) == dots(mine, a, b, c)).all()


def test_a_known_unit_is_recognised(run):
    told = run("numerics", "reveal", "--unit", "ampere.mma.float16", "--confirm", "2000")
    assert told.status == 0
    said = " ".join(told.out.split())
    assert "ampere.mma.float16, found out from its answers" in said
    assert "its rules are those of ada.mma.float16, ampere.mma.float16" in said
    assert "align_bits 24" in said


def test_what_is_not_confirmed_ends_with_status_1_and_the_first_that_differs(run, monkeypatch):
    def not_quite(*given, **more):
        found = reveal("volta.mma.float16", confirm=500)
        one, nan = 0x3C00, 0x7FFFFFFF
        wrong = Difference(a=(one, one), b=(one, one), c=0, seen=nan, computed=0x40000000)
        return msgspec.structs.replace(found, mismatches=3, difference=wrong)

    monkeypatch.setattr(revealing, "reveal", not_quite)
    done = run("numerics", "reveal", "--unit", "volta.mma.float16", "--plot", "first.svg")
    assert done.status == 1
    said = " ".join(done.out.split())
    for words in ("Not confirmed", "The first that differs", "expected 0x7fffffff = nan", "the unit 0x40000000 = 2"):
        assert words in said
    assert "Step 1: 2 products, k 0..1" in said
    assert "<svg" in Path("first.svg").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "there is no --unit and no --backend"),
        (("--unit", "volta.mma.float16", "--backend", "amx"), "two targets"),
        (("volta.mma.float16",), "`volta.mma.float16` is no flag"),
        (("--unit", "volta.mma.float"), "unknown unit"),
        (("--unit", "volta.mma.float16", "--format", "float61"), "unknown format"),
        (("--unit", "volta.mma.float16", "--accumulate", "float16"), "--accumulate is of a backend"),
        (("--backend", "amx"), "--backend amx needs a format"),
        (("--backend", "amy", "--format", "bfloat16"), "unknown backend `amy`"),
        (("--backend", "numpy", "--format", "float16"), "unknown format of numpy's matrix multiplication"),
        (("--backend", "fma", "--format", "float32", "--accumulate", "float64"), "fma sums float32 in float32"),
        (("--unit", "volta.mma.float16", "--save", "found.txt"), "files that end in .toml"),
        (("--unit", "volta.mma.float16", "--confirm", "0"), "0 is not a size"),
        (("--unit", "volta.mma.float16", "--seed", "-1"), "--seed: -1 is no seed"),
        (("--unit", "blackwell.tcgen05.nvfp4"), "takes block scales"),
    ],
)
def test_bad_input(run, words, said, tmp_path):
    done = run("numerics", "reveal", *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["triton", "ptx"])
def test_no_gpu_is_said(run, name):
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = run("numerics", "reveal", "--backend", name, "--format", "float16")
    assert (done.status, done.out) == (2, "")
    assert "torch" in done.err
    assert "hint: " in done.err
