"""Problems: one multiplication, structured and convolution variants, suites of shapes, and what they are read from."""

from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.gemm import Gemm

__all__ = ["BlockScale", "Gemm"]
