"""Traces of PyTorch's profiler, as Kineto writes them: what a program multiplied, and how long it really took."""

from typing import TYPE_CHECKING, Any

from gemmlab.workload.traces.file import is_trace

if TYPE_CHECKING:
    from gemmlab.workload.traces.reader import read_trace

__all__ = ["is_trace", "read_trace"]


def __getattr__(name: str) -> Any:
    """The reader, which loads numpy, only when a trace is read."""
    if name == "read_trace":
        from gemmlab.workload.traces.reader import read_trace

        return read_trace
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
