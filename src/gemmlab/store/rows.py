"""What a store gives back: runs, and the Records of one."""

from __future__ import annotations

import msgspec

from gemmlab.experiment.keys import Key
from gemmlab.record import Record


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One sweep: what was begun at one moment, whether or not it went on later."""

    id: str  #: 20261130-114454-3f9c: when it was begun, and a random end
    suite: str  #: as it was asked for
    started: str  #: UTC, ISO 8601
    finished: str | None  #: the same; null while items are left
    records: int  #: how many it has
    chips: tuple[str, ...]  #: on which, sorted


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One Record and what it is kept under."""

    run: str  #: id of its run
    date: str  #: when it was kept: UTC, ISO 8601
    suite: str  #: of the run
    problem: str  #: the multiplication in a line
    formats: str  #: of A, B, C, D and the accumulator
    chip: str
    backend: str
    kernel: str
    threads: int  #: of the CPU; 0: as many as the process may use
    record: Record

    @property
    def key(self) -> Key:
        """What its run holds once."""
        return Key(self.problem, self.chip, self.backend, self.kernel, self.threads)
