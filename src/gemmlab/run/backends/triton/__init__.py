"""Triton on a GPU: rungs on tensor cores, and kernels of one's own."""
