"""One GPU through the driver: memory, launches on a stream, and the time between two of its events."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gemmlab.record import GemmlabError

EXTRA = 'pip install "gemmlab[cuda]"'
KEPT_GRAPHS = 4
CHUNK = 1000  # launches of one graph


def driver() -> Any:
    """The driver's bindings; raises GemmlabError where they are not installed or no driver is found."""
    try:
        from cuda.bindings import driver as found
    except ImportError as error:
        raise GemmlabError("cuda-bindings is not installed", EXTRA) from error
    try:
        called(found.cuInit(0))
    except Exception as error:
        raise GemmlabError("no NVIDIA GPU is found", "--backend cpu, or run it on a machine that has one") from error
    return found


def called(answer: Any) -> Any:
    """What a call of the bindings gives beside its status; raises RuntimeError with the status' name."""
    status, *rest = answer if isinstance(answer, tuple) else (answer,)
    if int(status):
        raise RuntimeError(getattr(status, "name", str(status)))
    return rest[0] if len(rest) == 1 else tuple(rest)


class Device:
    """A GPU's primary context, which frameworks and numba-cuda share, and a stream of its own."""

    def __init__(self, number: int = 0) -> None:
        self.api = driver()
        handle = called(self.api.cuDeviceGet(number))
        called(self.api.cuCtxSetCurrent(called(self.api.cuDevicePrimaryCtxRetain(handle))))
        attribute = self.api.CUdevice_attribute
        major, minor = (
            called(self.api.cuDeviceGetAttribute(which, handle))
            for which in (
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.capability = (int(major), int(minor))
        self.name = called(self.api.cuDeviceGetName(128, handle)).decode().strip("\0 ")
        self.version = called(self.api.cuDriverGetVersion())
        self.stream = called(self.api.cuStreamCreate(self.api.CUstream_flags.CU_STREAM_NON_BLOCKING.value))
        self.start, self.end = (called(self.api.cuEventCreate(0)) for _ in range(2))
        self.graphs: OrderedDict[tuple[int, ...], Any] = OrderedDict()
        self.by_graph = True

    def upload(self, array: Any) -> int:
        """Address of a copy of a contiguous array; raises RuntimeError where memory is short."""
        flat = np.ascontiguousarray(array)
        address = int(called(self.api.cuMemAlloc(max(1, flat.nbytes))))
        called(self.api.cuMemcpyHtoD(address, flat.ctypes.data, flat.nbytes))
        return address

    def duplicate(self, address: int, size: int) -> int:
        """Address of a copy of what lies there already, `size` bytes."""
        copy = int(called(self.api.cuMemAlloc(max(1, size))))
        self.copy(copy, address, size)
        return copy

    def copy(self, to: int, address: int, size: int) -> None:
        """Copy within the device, complete on return."""
        called(self.api.cuMemcpyDtoD(to, address, size))
        self.wait()

    def download(self, address: int, like: Any) -> Any:
        """An array like that one, filled from there."""
        found = np.empty_like(like)
        called(self.api.cuMemcpyDtoH(found.ctypes.data, address, found.nbytes))
        return found

    def release(self, addresses: Sequence[int]) -> None:
        """Give memory back; graphs that used it go too."""
        self.wait()
        for graph in self.graphs.values():
            called(self.api.cuGraphExecDestroy(graph))
        self.graphs.clear()
        for address in addresses:
            called(self.api.cuMemFree(address))

    def wait(self) -> None:
        """Until all is done; raises RuntimeError for what went wrong on the device."""
        called(self.api.cuCtxSynchronize())

    def elapsed(self, order: Sequence[int], launch: Callable[[int], None]) -> float:
        """Seconds between an event before and one behind `launch` of each number, replayed from CUDA graphs.

        What a host spends on a launch is so not in it. Where a launch cannot be captured they are launched one by one.
        """
        runs = self.captured(order, launch) if self.by_graph else None
        self.wait()
        called(self.api.cuEventRecord(self.start, self.stream))
        if runs is None:
            for number in order:
                launch(number)
        else:
            for graph in runs:
                called(self.api.cuGraphLaunch(graph, self.stream))
        called(self.api.cuEventRecord(self.end, self.stream))
        called(self.api.cuEventSynchronize(self.end))
        self.wait()
        return float(called(self.api.cuEventElapsedTime(self.start, self.end))) * 1e-3

    def captured(self, order: Sequence[int], launch: Callable[[int], None]) -> list[Any] | None:
        """Graphs of the launches in this order; None, from now on, where they cannot be captured."""
        launch(order[0])  # what compiles or loads at a first launch may not do so while it is captured
        self.wait()
        parts = [tuple(order[first : first + CHUNK]) for first in range(0, len(order), CHUNK)]
        found = []
        for part in parts:
            if part not in self.graphs:
                graph = self.capture(part, launch)
                if graph is None:
                    self.by_graph = False
                    return None
                self.graphs[part] = graph
            self.graphs.move_to_end(part)
            found.append(self.graphs[part])
        while len(self.graphs) > max(KEPT_GRAPHS, len(set(parts))):
            called(self.api.cuGraphExecDestroy(self.graphs.popitem(last=False)[1]))
        return found

    def capture(self, order: Sequence[int], launch: Callable[[int], None]) -> Any:
        """One graph of these launches, ready to run; None where the launches cannot be captured."""
        mode = self.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        called(self.api.cuStreamBeginCapture(self.stream, mode))
        try:
            for number in order:
                launch(number)
        except Exception:
            self.api.cuStreamEndCapture(self.stream)  # leaves the stream as it was
            return None
        status, graph = self.api.cuStreamEndCapture(self.stream)
        if int(status):
            return None
        ready = called(self.api.cuGraphInstantiate(graph, 0))
        called(self.api.cuGraphDestroy(graph))
        called(self.api.cuGraphUpload(ready, self.stream))
        return ready
