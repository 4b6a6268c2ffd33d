"""What a backend makes of a kernel and a multiplication: something that can be run, timed and read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gemmlab.check import Operands


class Program(Protocol):
    """One multiplication made ready, in the process that runs it and nothing else.

    Made by a contender's factory, `factory(problem)`, which compiles whatever is compiled and raises GemmlabError for
    what it cannot do: another format or layout, a missing chip, a missing package (with the extra that has it).
    """

    environment: dict[str, str]  #: what its figures depend on: device, driver, library and its version, threads, opcode

    def place(self, operands: Operands, copies: int) -> None:
        """Put A, B and C there, `copies` times at addresses of their own, and as many D filled with poison."""
        ...

    def elapsed(self, order: Sequence[int]) -> float:
        """Seconds that the multiplications on these copies take, one after another, by the device's own clock.

        What is launched is complete when it returns; nothing but the multiplications is inside.
        """
        ...

    def poison(self) -> None:
        """Fill every D again, so that an element that is not written shows."""
        ...

    def result(self, copy: int) -> Any:
        """D of a copy as an array of its own numpy type, (m, n), behind a batch's entries."""
        ...
