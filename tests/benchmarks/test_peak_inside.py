"""Stamps find their places in the kernel's text, whatever its form, and the text still compiles."""

import importlib
import sys
from pathlib import Path

import pytest
from tests.kernels import machine_code

from gemmlab.peak.engine import Engine

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BF16 = {"a_format": "bfloat16", "b_format": "bfloat16", "d_format": "bfloat16"}
FORMS = {
    "plain": Engine(**BF16, block_n=128),
    "apart": Engine(**BF16, block_n=256, blocks=2, lag=2),
    "shares": Engine(**BF16, block_n=128, stages=6, parts=4, groups=7),
}


@pytest.fixture
def inside(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield importlib.import_module("peak_inside")
    for name in set(sys.modules) - before:
        if name.startswith("peak_"):
            del sys.modules[name]


@pytest.mark.parametrize("name", FORMS)
def test_stamps_compile(name, inside, tmp_path):
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled

    text, headers = FORMS[name].text()
    opcodes, _ = machine_code.read(compiled(inside.stamped(text), headers=headers).code, tmp_path)
    assert sum(opcode.startswith("CS2R") for opcode in opcodes) >= len(inside.passed(FORMS[name]))


def test_a_program_comes_by_the_stamps_of_its_kind(inside):
    names = {name: [inside.STAMPS[at][0] for at in inside.passed(form)] for name, form in FORMS.items()}
    assert "counted" in names["shares"]
    assert "shares sent" not in names["plain"]
    assert names["plain"][0] == "started"
    assert names["plain"][-1] == "stored"


def test_a_text_without_a_place_is_refused(inside):
    with pytest.raises(ValueError, match="no place"):
        inside.stamped('extern "C" __global__ void gemm() {}')
