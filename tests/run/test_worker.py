"""What the process of a contender does between its commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from gemmlab.run.registry import contenders

PLACES = """
import sys
from gemmlab.problem import Gemm
from gemmlab.run.worker import Served

source, a_format, d_format = sys.argv[1:]
served = Served()
served.load(source, Gemm(8, 9, 10, a_format, d_format=d_format))
before = set(sys.modules)
served.place({}, 2)
served.elapsed(0, 3, 2)
served.poison()
print(sorted(name for name in set(sys.modules) - before if not name.startswith("numpy.")))
print("ml_dtypes" in sys.modules)
"""


@pytest.mark.parametrize(
    ("a_format", "d_format", "narrow"), [("float32", "float32", False), ("float16", "bfloat16", True)]
)
def test_what_placing_imports_is_imported_before_a_limit_counts(a_format, d_format, narrow):
    source = contenders([f"{Path(__file__).parent / 'faulty.py'}:right"], ["cpu"])[0].source
    words = [sys.executable, "-c", PLACES, source, a_format, d_format]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"[]\n{narrow}\n", "")
