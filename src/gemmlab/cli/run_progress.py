"""How far a sweep is, on standard error: a bar on a terminal, taken back at the end; else a line for each batch."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import TextIO

from gemmlab.experiment.keys import problem_key
from gemmlab.experiment.sweep import Batch, Done
from gemmlab.report.canvas import Canvas, shorten
from gemmlab.report.words import amount, clean, plain

SIZE = 20  # cells of the bar
LEAST_ROOM = 8  # columns in which it is worth saying what is being done


class Progress:
    """A watcher of a sweep of `total` items, of which `done` were kept before; a context manager."""

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.total, self.done, self.before = total, done, done
        self.canvas = Canvas.of(self.stream, None, None, None)
        self.terminal = self.stream.isatty()
        self.started = time.monotonic()
        self.lock = threading.Lock()  # several devices tell at once
        self.doing = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *ended: object) -> None:
        if self.terminal:
            self.write("\r\x1b[K")

    def begun(self, batch: Batch) -> None:
        """Show what is being measured."""
        self.told(problem_key(batch.problem))

    def told(self, text: str) -> None:
        """Show what is being done."""
        self.doing = text
        if self.terminal:
            self.write(f"\r\x1b[K{self.bar()}")

    def ended(self, done: Sequence[Done]) -> None:
        """Show that a batch is kept."""
        self.done += len(done)
        if self.terminal:
            self.write(f"\r\x1b[K{self.bar()}")
        else:
            results = ", ".join(f"{each.item.contender.name} {result(each)}" for each in done)
            self.write(f"{self.done} of {self.total}: {problem_key(done[0].item.problem)}: {clean(results)}\n")

    def bar(self) -> str:
        """Done of all, the time that is left at this pace, and what is being done, in a line."""
        share = self.done / self.total if self.total else 1.0
        size = SIZE // 2 if self.canvas.narrow else SIZE
        filled = self.canvas.bar(0, share, size)
        text = f"{filled}{' ' * (size - len(filled))} {self.done} of {self.total}{self.left()}"
        room = self.canvas.width - len(text) - 3  # a last column that is written to would begin a line of its own
        return f"{text}  {shorten(self.canvas.fit(clean(self.doing)), room)}" if room >= LEAST_ROOM else text

    def left(self) -> str:
        """The time that is left, as far as the items so far tell."""
        now = self.done - self.before
        if not now or self.done >= self.total:
            return ""
        seconds = (time.monotonic() - self.started) / now * (self.total - self.done)
        return f", {plain(seconds / 60, 2)} min left" if seconds >= 60 else f", {seconds:.0f} s left"

    def write(self, text: str) -> None:
        """Put text out at once."""
        with self.lock:
            self.stream.write(text)
            self.stream.flush()


def result(done: Done) -> str:
    """A time, or a fault."""
    measured = done.record.measurement
    if measured is None:
        return "not measured"
    return measured.fault or amount(measured.time_s, "s")
