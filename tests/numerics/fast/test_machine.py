"""The vector kernel on processors with less than this one has, as numba is told by its environment variables."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from gemmlab import numerics
from gemmlab.numerics import fast
from gemmlab.numerics.fast.machine import machine
from gemmlab.numerics.operands import Operand

random = np.random.default_rng(0)
print(*machine())
for name, kind in (("hopper.mma.float16", "float32"), ("hopper.mma.float16.float16", "float16")):
    unit = numerics.unit(name)
    a, b = (random.standard_normal(shape).astype(np.float16).view(np.uint16) for shape in ((5, 40), (40, 9)))
    c = random.standard_normal((5, 9)).astype(kind).view(f"u{np.dtype(kind).itemsize}")
    given = unit, Operand(a, "float16"), Operand(b, "float16"), c, None, 1
    path = fast.paths(unit, "float16", "float16")[0]
    print(path, np.array_equal(fast.chain(*given, path), fast.chain(*given, "plain")))
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the features named are of x86-64")
@pytest.mark.parametrize(
    ("features", "told"),
    [
        ("+sse2", ["8 False", "vectors8 True", "portable True"]),
        ("+sse2,+avx,+avx2,+f16c,-avx512f", ["8 True", "vectors8 True", "vectors8 True"]),
    ],
)
def test_a_lesser_processor_gives_the_same_bits(features, told):
    if "f16c" in features and not has("f16c"):
        pytest.skip("this processor has no float16 conversions")
    given = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=given, check=True, capture_output=True, text=True)
    assert run.stdout.splitlines() == told


def has(feature):
    """Whether this processor has a feature, by LLVM's name."""
    from llvmlite import binding

    return binding.get_host_cpu_features().get(feature, False)
