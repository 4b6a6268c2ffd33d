"""Zeros that kernels count in and leave as zeros: some for each stream, and shares of others for CUDA graphs."""

from __future__ import annotations

import threading
from typing import Any

from gemmlab.units import round_up

LEAST_BYTES = 1 << 16
RESERVED_BYTES = 1 << 20  # for multiplications in graphs, each of which has its own
LINE = 256  # bytes, at multiples of which shares begin


class Zeros:
    """A device's zeros.

    What counts in them resets them when it ends, and kernels of one stream run one after another: they share. A graph
    may be replayed beside its stream, so that what is captured in it gets zeros that are never used again.
    """

    def __init__(self, torch: Any, device: int) -> None:
        self.torch, self.device, self.lock = torch, device, threading.Lock()
        self.streams: dict[int, tuple[Any, int, int]] = {}
        self.reserves: list[tuple[Any, int]] = []  #: the last is given out; graphs may count in any
        self.used = 0

    def lent(self, stream: int, bytes_: int) -> tuple[Any, int]:
        """Bytes of zeros, or more of them, for a stream's next kernel: what is held until it is put, and an address."""
        if self.torch.cuda.is_current_stream_capturing():
            return self.captured(bytes_)
        if not self.reserves or self.used > RESERVED_BYTES // 2:
            self.renew()
        found = self.streams.get(stream)
        if found is None or found[2] < bytes_:
            with self.lock:
                size = max(LEAST_BYTES, 1 << (bytes_ - 1).bit_length())
                found = self.streams[stream] = (*self.made(size), size)
        return found[0], found[1]

    def captured(self, bytes_: int) -> tuple[Any, int]:
        """A share of the reserve; memory that the graph itself fills where none is left."""
        with self.lock:
            begin = self.used
            if not self.reserves or begin + bytes_ > RESERVED_BYTES:
                return self.made(bytes_)
            self.used = begin + round_up(bytes_, LINE)
            memory, start = self.reserves[-1]
            return memory, start + begin

    def renew(self) -> None:
        """Have zeros for the graphs to come: outside of a capture, where they are filled once for all."""
        with self.lock:
            self.reserves.append(self.made(RESERVED_BYTES))
            self.torch.cuda.current_stream(self.device).synchronize()  # before any stream counts in them
            self.used = 0

    def made(self, bytes_: int) -> tuple[Any, int]:
        """New zeros, filled on the current stream."""
        memory = self.torch.zeros(bytes_, dtype=self.torch.uint8, device=f"cuda:{self.device}")
        return memory, memory.data_ptr()
