"""Asked to end by the system, as a batch queue or `kill` does, a command ends what it started, as after Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATED = 143  # what shells report of a program that SIGTERM ended


class Terminated(KeyboardInterrupt):
    """Raised at SIGTERM; whatever cleans up after Ctrl-C does so after this."""


def end(number: int, frame: FrameType | None) -> None:
    """Raise Terminated."""
    raise Terminated


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated at SIGTERM, where nobody else has decided what happens then."""
    main = threading.current_thread() is threading.main_thread()  # others may not set handlers
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
