"""One adapter through wgpu: memory, a kernel's pipeline, dispatches one after another, and the time that they take."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gemmlab.kernels.ladder.webgpu import Text
from gemmlab.record import GemmlabError
from gemmlab.run.backends.webgpu.adapters import described, opened, wgpu_module
from gemmlab.run.backends.webgpu.clock import Clock

BINDINGS = ("uniform", "read-only-storage", "read-only-storage", "storage", "storage")  # problem, A, B, C, loads
#: of an adapter, by WebGPU's names: a device has WebGPU's defaults of what it does not ask for
LIMITS = (
    "max-buffer-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
    "max-compute-workgroup-storage-size",
    "max-compute-workgroups-per-dimension",
    "max-storage-buffer-binding-size",
)
FEATURES = ("timestamp-query", "shader-f16")
BY_STAMPS = "timestamps of the adapter"
BY_WALL = "wall clock around submitted dispatches"
SUBMISSION_S = 0.2  # of work: systems end what keeps a display's GPU busy for seconds
MOST_DISPATCHES = 1000  # of a submission
MOST_SUBMISSIONS = 1000  # at once: WebGPU has 4096 timestamps in a set
MOST_REPEATED = 1 << 14  # dispatches of work that is repeated until a clock is fine enough for it
EMPTY_PASSES = 8  # they show the step of the timestamps
RESOLVE_BYTES = 256  # what a query's place in a buffer is a multiple of

Group = tuple[Any, tuple[int, int]]  # a kernel's operands, and its workgroups along x and y


class Lost(logging.Handler):
    """Remembers that a device was lost, which wgpu only logs; the last one made listens, in place of those before."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.words = ""
        logger = logging.getLogger("wgpu")
        for other in [each for each in logger.handlers if isinstance(each, Lost)]:
            logger.removeHandler(other)
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Take what is logged, but for devices that were given back."""
        text = record.getMessage()
        if "device was lost" in text and "(destroyed)" not in text:
            self.words = self.words or text


class Device:
    """The adapter of a number, with all that it can do; raises GemmlabError where there is none."""

    def __init__(self, number: int | None = None) -> None:
        self.wgpu = wgpu_module()
        self.lost = Lost()
        adapter = opened(int(os.environ.get("GEMMLAB_DEVICE", "0")) if number is None else number)
        self.adapter = described(adapter.info)
        self.limits = {name: int(adapter.limits[name]) for name in LIMITS}
        self.features = frozenset(FEATURES) & frozenset(adapter.features)
        self.api = adapter.request_device_sync(required_features=sorted(self.features), required_limits=self.limits)
        usage = self.wgpu.BufferUsage
        self.usage = {
            "storage": usage.STORAGE | usage.COPY_SRC | usage.COPY_DST,
            "uniform": usage.UNIFORM,
            "stamps": usage.QUERY_RESOLVE | usage.COPY_SRC,
        }
        visible = self.wgpu.ShaderStage.COMPUTE
        self.layout = self.api.create_bind_group_layout(
            entries=[
                {"binding": place, "visibility": visible, "buffer": {"type": kind}}
                for place, kind in enumerate(BINDINGS)
            ]
        )
        self.once_s = SUBMISSION_S  #: of the last dispatches, each
        self.warm = False
        self.clock = self.stamps() if "timestamp-query" in self.features else None

    @property
    def timed(self) -> str:
        """Which clock tells the time."""
        return BY_STAMPS if self.clock is not None else BY_WALL

    def stamps(self) -> Clock | None:
        """The adapter's clock, its step seen from passes that do nothing; None where nobody tells its period."""
        try:
            from wgpu.backends.wgpu_native._ffi import lib  # wgpu-py has no name of its own for it

            period_ns = float(lib.wgpuQueueGetTimestampPeriod(self.api.queue._internal))
        except (ImportError, AttributeError):
            return None
        if not period_ns > 0:
            return None
        found = Clock(period_ns * 1e-9)
        for _ in range(EMPTY_PASSES):
            self.submitted(None, [[]], found)
        return found

    def upload(self, array: Any, kind: str = "storage") -> Any:
        """A buffer that begins with an array's bytes, zeros up to whole words; raises GPUOutOfMemoryError."""
        data = np.ascontiguousarray(array).tobytes()
        with self.watched():
            return self.api.create_buffer_with_data(data=data + bytes(-len(data) % 4), usage=self.usage[kind])

    def write(self, buffer: Any, array: Any) -> None:
        """Put an array's bytes where `upload` put others."""
        data = np.ascontiguousarray(array).tobytes()
        with self.watched():
            self.api.queue.write_buffer(buffer, 0, data + bytes(-len(data) % 4))

    def download(self, buffer: Any, like: Any) -> Any:
        """An array like that one, filled from the beginning of a buffer."""
        with self.watched():
            data = self.api.queue.read_buffer(buffer)
        return np.frombuffer(data, np.uint8)[: like.nbytes].copy().view(like.dtype).reshape(like.shape)

    def pipeline(self, text: Text, source: str, *, counted: bool = False) -> Any:
        """A kernel made ready; raises GemmlabError with the compiler's words for text that it refuses."""
        try:
            module = self.api.create_shader_module(code=source)
            stage = {"module": module, "entry_point": text.entry, "constants": text.constants(counted=counted)}
            layout = self.api.create_pipeline_layout(bind_group_layouts=[self.layout])
            return self.api.create_compute_pipeline(layout=layout, compute=stage)
        except (self.wgpu.GPUError, self.wgpu.GPUPipelineError) as error:
            words = " ".join(str(error).removeprefix("Validation Error").split()).removeprefix("Caused by: ")
            raise GemmlabError(f"{text.name} does not compile: {words}", "WGSL that naga takes") from error

    def bound(self, buffers: Sequence[Any]) -> Any:
        """Operands in the order of BINDINGS as a kernel gets them."""
        entries = [
            {"binding": place, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for place, buffer in enumerate(buffers)
        ]
        return self.api.create_bind_group(layout=self.layout, entries=entries)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Around calls of wgpu; raises RuntimeError where the device was lost."""
        try:
            yield
        except self.wgpu.GPUError as error:
            if "lost" not in str(error).lower():
                raise
            self.lost.words = self.lost.words or str(error)
        if words := " ".join(self.lost.words.split()):
            raise RuntimeError(f"the device was lost; its last dispatches took {self.once_s:.3g} s each: {words}")

    def elapsed(self, pipeline: Any, order: Sequence[Group]) -> float:
        """Seconds of these dispatches, repeated where they are too short for the clock; raises RuntimeError."""
        if not self.warm:  # what the driver compiles at the first dispatch
            self.submitted(pipeline, [order[:1]], None)
            self.warm = True
        times, most = 1, max(1, MOST_REPEATED // len(order))
        while True:
            taken = self.once(pipeline, [*order] * times)
            self.once_s = max(taken / (len(order) * times), 1e-9)
            more = 1 if self.clock is None else self.clock.missing(taken)
            if more == 1 or times >= most:
                return taken / times
            times = min(times * more, most)

    def once(self, pipeline: Any, order: Sequence[Group]) -> float:
        """Seconds of these dispatches by the clock that is believed."""
        size = max(1, min(MOST_DISPATCHES, int(SUBMISSION_S / self.once_s)))
        parts = [order[first : first + size] for first in range(0, len(order), size)]
        span_s = wall_s = 0.0
        for first in range(0, len(parts), MOST_SUBMISSIONS):
            span, wall = self.submitted(pipeline, parts[first : first + MOST_SUBMISSIONS], self.clock)
            span_s, wall_s = span_s + span, wall_s + wall
        if self.clock is None:
            return wall_s
        if not self.clock.checked and self.clock.believed(span_s, wall_s) is False:
            self.clock = None
            return wall_s
        return span_s

    def submitted(self, pipeline: Any, parts: Sequence[Sequence[Group]], clock: Clock | None) -> tuple[float, float]:
        """Do these dispatches, each part a submission; seconds between its passes' timestamps, and of the wall.

        All kernels have `loads` bound for writing: none begins before the one ahead of it has ended.
        """
        with self.watched():
            made, queries = self.encoded(pipeline, parts, clock)
            started = time.perf_counter()
            for commands in made:
                self.api.queue.submit([commands])
            self.api._poll_wait()
            wall_s = time.perf_counter() - started
        return (clock.span_s(self.resolved(queries, 2 * len(parts))) if clock else 0.0), wall_s

    def encoded(self, pipeline: Any, parts: Sequence[Sequence[Group]], clock: Clock | None) -> tuple[list[Any], Any]:
        """Commands for each part, and the set of timestamps that they write, if any."""
        made = []
        queries = self.api.create_query_set(type="timestamp", count=2 * len(parts)) if clock else None
        for place, part in enumerate(parts):
            encoder = self.api.create_command_encoder()
            writes = {
                "query_set": queries,
                "beginning_of_pass_write_index": 2 * place,
                "end_of_pass_write_index": 2 * place + 1,
            }
            run = encoder.begin_compute_pass(**({"timestamp_writes": writes} if clock else {}))
            if pipeline is not None:
                run.set_pipeline(pipeline)
            for operands, grid in part:
                run.set_bind_group(0, operands)
                run.dispatch_workgroups(*grid)
            run.end()
            made.append(encoder.finish())
        return made, queries

    def resolved(self, queries: Any, count: int) -> list[int]:
        """The timestamps of a query set, in ticks."""
        size = -(-8 * count // RESOLVE_BYTES) * RESOLVE_BYTES
        buffer = self.api.create_buffer(size=size, usage=self.usage["stamps"])
        encoder = self.api.create_command_encoder()
        encoder.resolve_query_set(queries, 0, count, buffer, 0)
        self.api.queue.submit([encoder.finish()])
        return [int(each) for each in self.download(buffer, np.zeros(count, np.uint64))]
