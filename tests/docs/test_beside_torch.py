"""The tables of `gemmlab.matmul` beside torch: made from results, or saying what measures them."""

import importlib
import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
HEAD = {"date": "2026-01-02", "chip": "A chip", "versions": {"torch": "2", "python": "3"}, "copy_bytes_per_s": 4e12}
ROW = {
    "m": 1, "n": 20, "k": 30, "format": "bfloat16", "layout": "nt", "ours_s": 1e-6, "torch_s": 2e-6, "ratio": 2.0,
    "right": True, "as_accurate": True, "predicted_s": 1.5e-6, "copy_share": 0.876,
    "contenders": {"cublaslt": {"s": 3e-6}},
}  # fmt: skip
GROUP = {"group": "m = 1", "rows": "1 of 2", "mean": 2.0, "worst": 2.0, "bar": 1.2, "worst_bar": 1.0, "holds": False}
FLOAT32 = {
    "format": "float32", "result": "float32", "numbers": "normal", "accuracy": "vendor", "path": "pieces",
    "norm": 1e-7, "torch_norm": 3e-7, "component": 2e-7, "torch_component": 4e-7, "holds": True,
}  # fmt: skip
TURN = {
    "contender": "torch", "first_s": 1e-3, "sustained_s": 2e-3, "sustained_flop_per_s": 5.5e14, "clock_mhz": 1455,
    "power_w": 690, "readings": 4, "held_back_by": {"power cap": 3},
}  # fmt: skip
RESULTS = {
    "peak": HEAD | {"groups": [GROUP], "rows": {"m = 1": [ROW, {**ROW, "fault": "GemmlabError: none"}]}},
    "peak_accuracy": HEAD | {"rows": [FLOAT32, FLOAT32 | {"norm": 2e-7, "holds": False}]},
    "peak_sustained": HEAD | {"turns": [TURN], "ratio": {"torch": 1.02}},
    "peak_host": HEAD
    | {"rows": [{"shape": "aligned", "way": "given", "ours_s": 9e-6, "torch_s": 1e-5, "holds": True}]},
    "peak_sanitizer": HEAD
    | {
        "files": ["gemm.cu"],
        "files_missed": ["new.cu"],
        "cases": [{"plan": "Engine"}, {"plan": None}],
        "tools": [{"tool": "memcheck", "finished": True, "errors": 0, "wrong": []}],
    },
    "peak_tuning": {
        "date": "2026-01-02",
        "device": {"name": "A chip"},
        "all": {"rows": 3, "mean": 0.96, "worst": 0.8, "bar": 0.95, "holds": True},
        "groups": {"m = 1": {"rows": 0, "mean": None, "worst": None}},
    },
    "peak_bits": HEAD
    | {
        "shapes": 9,
        "elements": 1234,
        "mismatched_shapes": 2,
        "mismatched_elements": 5,
        "by_formats": {"float32 x float32": 9},
    },
}
SAID = {
    "result peak groups": "| m = 1 | 1 of 2 | 2.00 | 2.00 | 1.2, 1 | no | 3.00 |",
    "result peak rows": "| m = 1 | 1 x 20 x 30 | bfloat16 | `nt` | 1.0 us | 2.0 us | 2.00 | 3.0 us | 1.5 us | 88% |",
    "result peak accuracy": "| float32 | float32 | vendor | pieces | 2.0e-07 | 3.0e-07 | 2.0e-07 | 4.0e-07 |",
    "result peak float32": "| normal | vendor | 2.0e-07 | 3.0e-07 | 2.0e-07 | 4.0e-07 | 1 of 2 |",
    "result peak sustained": "| 2,000 us | 550 TFLOP/s | 1455 MHz | 690 W | power cap in 3 of 4 |",
    "result peak host": "| aligned | given | 9.0 us | 10.0 us | yes |",
    "result peak sanitizer": "A chip: 1 plans, 1 files of kernels; not run: new.cu.",
    "result peak tuning": "| all of them | 3 | 96.0% | 80.0% |",
    "result peak bits": "7 of 9 shapes had the CPU's bits, 1,234 elements, 5 of them different.",
}


@pytest.fixture
def tables(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(DOCS), *sys.path])
    before = set(sys.modules)
    module = importlib.import_module("beside_torch")
    for each in (module, importlib.import_module("measured")):
        monkeypatch.setattr(each, "FOLDER", tmp_path)
    yield module
    for name in set(sys.modules) - before:
        if name in ("beside_torch", "measured", "tables"):
            del sys.modules[name]


def test_what_is_not_measured_says_what_measures_it(tables):
    for name, make in tables.BESIDE_TORCH.items():
        assert make().startswith("Not measured yet: `python benchmarks/peak"), name


@pytest.mark.parametrize("name", SAID)
def test_tables_say_what_was_measured(tables, tmp_path, name):
    assert set(tables.BESIDE_TORCH) == set(SAID)
    for file, content in RESULTS.items():
        (tmp_path / f"{file}.json").write_text(json.dumps(content))
    assert SAID[name] in tables.BESIDE_TORCH[name]()


def test_a_row_with_a_fault_says_so(tables):
    assert tables.line(ROW | {"fault": "GemmlabError: none"})[3] == "GemmlabError: none"
    assert tables.line(ROW | {"right": False, "as_accurate": False})[3] == "1.0 us, wrong, less accurate"
