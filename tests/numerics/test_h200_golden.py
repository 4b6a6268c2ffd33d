"""Products that an H200 computed, emulated again: every instruction that benchmarks/h200_numerics.py recorded."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gemmlab import formats, numerics
from gemmlab.numerics.operands import typed
from gemmlab.numerics.sass import Compiled

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "benchmarks" / "results" / "h200_numerics.json"
GOLDEN = ROOT / "tests" / "golden" / "h200_numerics.npz"

if not (RECORD.exists() and GOLDEN.exists()):
    pytest.skip("no recording: benchmarks/h200_numerics.py makes one on an H200", allow_module_level=True)

ROWS = {tuple(row["set"].values()): row for row in json.loads(RECORD.read_text())["sets"]}
SAMPLE = np.load(GOLDEN)
SETS = sorted({tuple(name.split("/")[:4]) for name in SAMPLE.files})
WANTED = ("float16", "bfloat16", "tfloat32", "float8_e4m3fn", "float8_e5m2")


def unit_of(chosen):
    return msgspec.convert(ROWS[chosen]["compiled"], Compiled).unit()


@pytest.mark.parametrize("chosen", SETS, ids="-".join)
def test_the_bits_of_an_h200(chosen):
    _, a_format, b_format, accumulate = chosen
    codes = [SAMPLE["/".join((*chosen, name))] for name in "abcd"]
    unit = unit_of(chosen)
    for a, b, c, d in zip(*codes, strict=True):
        arrays = [
            typed(code, name) if formats.get(name).kind == "int" else code
            for code, name in ((a, a_format), (b, b_format), (c, accumulate))
        ]
        due = numerics.mma(unit, *arrays, a_format=a_format, b_format=b_format)
        assert (due.view(d.dtype) == d).all()


def test_a_wrong_width_would_show():
    """One fraction bit less in the aligned sum changes the sample of every unit that aligns."""
    for chosen in SETS:
        unit = unit_of(chosen)
        if unit.sum != "aligned" or unit.accumulate != "float32":
            continue
        other = msgspec.structs.replace(unit, align_bits=unit.align_bits - 1)
        a, b, c, d = (SAMPLE["/".join((*chosen, name))] for name in "abcd")
        found = [
            numerics.mma(other, *arrays, a_format=chosen[1], b_format=chosen[2]) for arrays in zip(a, b, c, strict=True)
        ]
        assert any((each.view(np.uint32) != due).any() for each, due in zip(found, d, strict=True)), chosen


@pytest.mark.parametrize("way", ["wgmma", "mma.sync"])
@pytest.mark.parametrize("name", [*WANTED, "mixed"])
def test_a_million_of_each_were_compared(way, name):
    pair = ("float8_e4m3fn", "float8_e5m2") if name == "mixed" else (name, name)
    row = ROWS[(way, *pair, "float32")]
    assert row["outputs"] >= 1_000_000
    assert row["mismatches"] == 0
    assert any(opcode.split(".")[0] in unit_of((way, *pair, "float32")).sass for opcode in row["compiled"]["opcodes"])
