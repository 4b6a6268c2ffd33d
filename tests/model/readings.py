"""Readings of real chips that tests compare predictions with."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data" / "h200"
RESULTS = ROOT / "benchmarks" / "results"

sys.path.insert(0, str(ROOT / "benchmarks"))


def shared_rows(name: str) -> list[dict]:
    """Rows of a file of readings that stands beside the repository; the test is skipped where it does not."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no readings beside the repository: {path.name}")
    return json.loads(path.read_text())["rows"]


def own_rows(name: str) -> list[dict]:
    """Rows of a committed result."""
    return json.loads((RESULTS / name).read_text())["rows"]


def result(name: str) -> dict:
    """A committed result."""
    return json.loads((RESULTS / name).read_text())
