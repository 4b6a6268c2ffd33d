"""Traces as Kineto writes them, built event by event for tests: times in microseconds, names and ids as in its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

H200 = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000, "numSms": 132}


class Kineto:
    """A trace being built; every method adds one event and gives its id or correlation back."""

    def __init__(self, devices: list[dict[str, Any]] | None = None) -> None:
        self.devices = [H200] if devices is None else devices
        self.events: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "ts": 0.0, "pid": 100, "tid": 0, "args": {"name": "python"}},
        ]
        self.ids = 0
        self.correlations = 1000

    def event(
        self, cat: str, name: str, start: float, length: float, thread: Any = 1, pid: Any = 100, **args: Any
    ) -> None:
        """A complete event, of any category."""
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": thread, "ts": start, "dur": length, "args": args}
        )

    def op(self, name: str, start: float, length: float, *inputs: Any, thread: int = 1, **args: Any) -> int:
        """An operator; an input is a shape (float32), a pair of a type and a shape, or a constant's text."""
        self.ids += 1
        told: dict[str, Any] = {"External id": self.ids, "Record function id": 0, "Ev Idx": self.ids - 1}
        if inputs:
            shapes, types, values = zip(*(recorded(each) for each in inputs), strict=True)
            told["Input Dims"], told["Input type"], told["Concrete Inputs"] = list(shapes), list(types), list(values)
            told["Input Strides"] = [contiguous(shape) for shape in shapes]
        self.event("cpu_op", name, start, length, thread, **told, **args)
        return self.ids

    def launch(
        self, start: float, thread: int = 1, name: str = "cudaLaunchKernel", external: int = 0, **args: Any
    ) -> int:
        """A call of the runtime."""
        self.correlations += 1
        told = {"External id": external} if external else {}
        cat = "cuda_driver" if name.startswith("cu") and not name.startswith("cuda") else "cuda_runtime"
        self.event(cat, name, start, 0.5, thread, cbid=211, correlation=self.correlations, **told, **args)
        return self.correlations

    def kernel(self, name: str, start: float, length: float, correlation: int, stream: int = 7, **args: Any) -> None:
        """What ran on the device."""
        cat = "gpu_memset" if name.startswith("Memset") else "gpu_memcpy" if name.startswith("Memcpy") else "kernel"
        told = {"device": 0, "context": 1, "stream": stream, "correlation": correlation, **args}
        self.event(cat, name, start, length, stream, pid=0, **told)

    def run(self, kernel: str, launched: float, start: float, length: float, thread: int = 1, **launch: Any) -> None:
        """A kernel with its launch."""
        self.kernel(kernel, start, length, self.launch(launched, thread, **launch))

    def annotation(self, name: str, start: float, length: float, thread: int = 1) -> None:
        """A record_function of the user's or PyTorch's."""
        self.event("user_annotation", name, start, length, thread)

    def frame(self, name: str, start: float, length: float, thread: int = 1) -> None:
        """A call of a Python function or module."""
        self.event("python_function", name, start, length, thread)

    @property
    def document(self) -> dict[str, Any]:
        """The whole trace."""
        return {
            "schemaVersion": 1,
            "deviceProperties": self.devices,
            "displayTimeUnit": "ms",
            "traceEvents": self.events,
            "traceName": "trace[0].json",
        }

    def write(self, path: Path) -> Path:
        """Save it, packed where the name says so."""
        text = json.dumps(self.document, indent=1).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        return path


def recorded(given: Any) -> tuple[list[Any], str, str]:
    """Dims, type and concrete value of one input."""
    if isinstance(given, str):
        return [], "Scalar" if given else "", given
    if isinstance(given, tuple):
        return given[1], given[0], ""
    return given, "float", ""


def contiguous(shape: list[Any]) -> list[Any]:
    """Strides of a tensor without gaps, or of each of a list."""
    if shape and isinstance(shape[0], list):
        return [contiguous(each) for each in shape]
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]
