"""Standard error that nobody may be reading: what is said there never ends what is being done."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Unheard:
    """A stream whose writes fail in silence, and go nowhere from then on."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write if anybody can take it."""
        try:
            self.stream.write(text)
        except OSError:
            quiet(self.stream)
        return len(text)

    def flush(self) -> None:
        """Write out what is held, if anybody can take it."""
        try:
            self.stream.flush()
        except OSError:
            quiet(self.stream)


def quiet(stream: Any) -> None:
    """Send what a stream still holds nowhere, so that the interpreter does not complain of it when it ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it is no file of this process
        return


@contextmanager
def unheard() -> Iterator[None]:
    """Let standard error be one that may be closed, full, or a pipe without a reader."""
    before = sys.stderr
    # One that was closed from the start is nowhere: what is said there may not end up in a file opened later.
    sys.stderr = Unheard(open(os.devnull, "w", encoding="utf-8") if before is None else before)  # noqa: SIM115 # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stderr = before
