"""Problems: one multiplication, structured and convolution variants, suites of shapes, and what they are read from."""

from gemmlab.problem.gemm import BlockScale, Gemm

__all__ = ["BlockScale", "Gemm"]
