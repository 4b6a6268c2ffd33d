"""Traces of PyTorch's profiler, as Kineto writes them: what a program multiplied, and how long it really took."""

from gemmlab.workload.traces.file import is_trace
from gemmlab.workload.traces.reader import read_trace

__all__ = ["is_trace", "read_trace"]
