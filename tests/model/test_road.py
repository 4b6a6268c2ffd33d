"""Which operands lie on the 16-byte road."""

import pytest

from gemmlab import Gemm, explain
from gemmlab.model.road import roads


def slow(problem):
    return "".join(road.operand for road in roads(problem) if not road.fast)


@pytest.mark.parametrize(
    ("problem", "off"),
    [
        (Gemm(64, 64, 64, "float16"), ""),
        (Gemm(64, 63, 64, "float16"), "BD"),
        (Gemm(64, 63, 64, "float16", layout="nt"), "D"),
        (Gemm(63, 64, 64, "float16"), ""),
        (Gemm(63, 64, 64, "float16", layout="tn"), "A"),
        (Gemm(1, 64, 63, "float16"), ""),  # A is one row
        (Gemm(1, 64, 63, "float16", batch=2), "A"),  # the second entry's lies 126 bytes on
        (Gemm(4096, 1, 64, "float16"), ""),  # B and D are one column each, without gaps
        (Gemm(4096, 1, 64, "float16", ldb=3), "B"),  # a column of a wider matrix
        (Gemm(4096, 1, 64, "float16", batch=3), ""),
        (Gemm(4097, 1, 64, "float16", batch=3), "D"),
        (Gemm(4096, 1, 64, "float16", c_offset_bytes=2), "D"),
        (Gemm(64, 64, 1, "float16"), ""),
        (Gemm(64, 64, 1, "float16", layout="tt"), ""),
    ],
)
def test_operands_off_the_road(problem, off):
    assert slow(problem) == off


@pytest.mark.parametrize("chip", ["h100-sxm", "a100-sxm-80gb", "l4"])
def test_a_matrix_takes_as_long_times_a_row_as_times_a_column(chip):
    """y = W x and y = x W^T read the same bytes: neither is bound by alignment."""
    column, row = Gemm(4096, 1, 4096, "bfloat16", layout="nt"), Gemm(1, 4096, 4096, "bfloat16", layout="nt")
    down, across = (explain(problem, chip, advice=False).prediction for problem in (column, row))
    assert down.bound == across.bound != "alignment"
    assert down.time_s == pytest.approx(across.time_s, rel=0.05)
