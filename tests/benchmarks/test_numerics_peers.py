"""The comparison of units with mmasim: what it asks, what it is asked with, and that its recorded result says why."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gemmlab import formats, numerics

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
RESULT = json.loads((ROOT / "benchmarks/results/numerics_peers.json").read_text())
UNITS = [numerics.unit(name) for name in numerics.unit_names()]


@pytest.fixture(scope="module")
def peers():
    import numerics_peers

    return numerics_peers


@pytest.fixture(scope="module")
def drawn():
    import numerics_vectors

    return numerics_vectors


@pytest.mark.parametrize("python", [sys.executable, "no-such-python"])
def test_without_the_peer_it_says_so_and_writes_nothing(python, tmp_path):
    target = tmp_path / "peers.json"
    command = [sys.executable, ROOT / "benchmarks/numerics_peers.py", "--peer", python, "--out", target]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    assert "not installed" in done.stdout
    assert not target.exists()


def test_every_unit_is_compared_or_said_to_be_ours_alone(peers):
    asked = {unit.name for unit in UNITS if peers.cases(unit)}
    assert {row["unit"] for row in RESULT["rows"]} == asked
    assert set(RESULT["units_mmasim_has_not"]) == {unit.name for unit in UNITS} - asked
    assert all(row["vectors"] >= 100_000 for row in RESULT["rows"])


def test_mixed_formats_are_asked_for(peers):
    found = {told["instruction"] for told in peers.cases(numerics.unit("hopper.wgmma.float8_e4m3fn"))}
    pairs = itertools.product(("e4m3", "e5m2"), repeat=2)
    assert found == {f"m64n8k32.f32.{a}.{b}" for a, b in pairs}
    assert len(peers.cases(numerics.unit("blackwell.tcgen05.mxfp6_e2m3fn"))) == 25
    assert peers.cases(numerics.unit("hopper.mma.float8_e4m3fn")) == []


def test_every_disagreement_has_its_reason():
    for row in RESULT["rows"]:
        if row["disagreements"]:
            assert row["reason"]
            assert row["where_gemmlab_says_nan_or_infinity"] == row["disagreements"]
            assert row["first"]["gemmlab"] != row["first"]["mmasim"]
    assert RESULT["disagreements"] == sum(row["disagreements"] for row in RESULT["rows"])


def test_the_first_example_of_each_still_gives_what_was_recorded():
    from gemmlab.numerics.reference import dot

    for row in RESULT["rows"]:
        first = row.get("first")
        if first:
            a_format, b_format, _ = first["formats"]
            code = dot(numerics.unit(row["unit"]), first["a"], first["b"], first["c"], a_format, b_format)
            assert hex(code) == first["gemmlab"]


def test_silicon_never_contradicts_gemmlab_and_mmasim_only_where_it_has_no_entry():
    assert len(RESULT["silicon"]) == 38
    for row in RESULT["silicon"]:
        assert row["gemmlab_mismatches"] == 0
        assert bool(row["mmasim_mismatches"]) != row["mmasim_has_the_instruction"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_vectors_are_codes_of_their_formats(unit, drawn):
    names = (unit.a_formats[-1], unit.b_formats[0], unit.scale_formats[0] if unit.scaled else "")
    made = drawn.vectors(unit, *names, 1000, max(unit.k, 8), np.random.default_rng(0))
    for codes, name in ((made.a, names[0]), (made.b, names[1]), (made.c, unit.accumulate)):
        values = formats.decode_array(codes, name)  # raises for codes that do not fit
        assert values.shape[0] == 1000
        assert (values == 0).any()
        if formats.get(name).nan == "ieee":
            assert np.isnan(values).any()
            assert np.isinf(values).any()
            assert np.isfinite(values).mean() > 0.85
    assert (made.a_scales is None) != unit.scaled


def test_vectors_are_the_same_for_the_same_seed(drawn):
    unit = numerics.unit("hopper.mma.float16")
    one, other = (drawn.vectors(unit, "float16", "float16", "", 50, 32, np.random.default_rng(4)) for _ in "ab")
    assert all(np.array_equal(x, y) for x, y in zip(one[:3], other[:3], strict=True))
