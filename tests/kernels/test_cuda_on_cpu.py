"""The rungs in CUDA C++ compiled for this processor: their values, ragged edges, and copies that end early or late."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gemmlab.kernels.ladder.cuda import TEXTS

HERE = Path(__file__).parent
#: m, n, k, and elements between rows; multiples of 4 behind m where loads are 16 bytes wide
SHAPES = {4: [(128, 128, 64, 0), (131, 260, 36, 4)], 1: [(130, 131, 37, 1), (1, 1, 1, 0), (5, 300, 17, 3)]}


def as_cpp(text, wide):
    """The text with CUDA's words as cuda_on_cpu.h has them, which also stand in for its own cp.async."""
    source = text.source(wide).replace("extern __shared__ __align__(16) float tiles[];", "")
    if "cp.async" in source:
        first, behind = source.index("template <int BYTES>"), source.index("template <int COUNT")
        source = source[:first] + source[behind:]
    assert "asm" not in source
    return f'#include "cuda_on_cpu.h"\n{source}\n#include "cuda_on_cpu_main.h"\n'


@pytest.mark.parametrize("wide", SHAPES)
@pytest.mark.parametrize("name", TEXTS)
def test_values(name, wide, tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++")
    text, program = TEXTS[name], tmp_path / "program"
    (tmp_path / "text.cc").write_text(as_cpp(text, wide))
    command = [compiler, "-std=c++20", "-O1", "-w", "-pthread", f"-I{HERE}", "-o", program, tmp_path / "text.cc"]
    if (done := subprocess.run(command, capture_output=True, text=True, check=False)).returncode:
        if "barrier" in done.stderr and "No such file" in done.stderr:
            pytest.skip("g++ is too old for C++20's barrier")
        pytest.fail(done.stderr[-2000:])
    for shape in SHAPES[wide]:
        for late in (0, 1) if text.sizes else (0,):
            numbers = (*shape, text.block[0], text.block[1], *text.tile, text.dynamic_shared_bytes, late)
            said = subprocess.run([program, *map(str, numbers)], capture_output=True, text=True, check=True)
            assert said.stdout == "0\n", (shape, late)
