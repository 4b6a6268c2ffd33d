"""The answer to a workload: each multiplication with its time, its limit and what to change, and Amdahl's line."""

from __future__ import annotations

import msgspec

from gemmlab.record import ChangeSection, Record
from gemmlab.workload import Call, Other, Workload


class Row(msgspec.Struct, frozen=True):
    """One multiplication of the answer."""

    call: Call
    record: Record  #: problem, chip, kernel, count, prediction of one of them; `call` of all of them


class Rest(msgspec.Struct, frozen=True):
    """What is not multiplication."""

    other: Other
    time_s: float
    known: str  #: measured, or predicted from its bytes and its launches


class Answer(msgspec.Struct, frozen=True):
    """What `gemmlab explain SOURCE` says of a workload; seconds are of all its steps."""

    workload: Workload
    chip: str  #: predicted for
    rows: tuple[Row, ...]  #: the most time to gain first
    rest: tuple[Rest, ...]  #: the longest first
    time_s: float  #: the whole: measured span, or all multiplications and the rest together
    known: str  #: measured or predicted: how time_s is known
    multiplying_s: float  #: of time_s, the multiplications
    rest_s: float  #: of time_s, everything else that ran
    idle_s: float  #: of a measured span, when no kernel ran
    unread_s: float  #: measured: of multiplications whose sizes the source does not say
    #: share of time_s that would be saved if every multiplication were at its limit, in a format that its advice allows
    perfect_gain: float
    #: share of time_s that would be saved by each row's best change, those of the whole program chosen together
    advised_gain: float
    #: each change once, with what it gains in all the rows that it touches together; the largest gain first
    changes: tuple[ChangeSection, ...] = ()
    notes: tuple[str, ...] = ()  #: what else is to be said: the source's notes, and those of the prediction

    @property
    def flop(self) -> int:
        """Counted work: multiplications, and what is known of the rest."""
        return self.workload.flop + sum(other.flop or 0 for other in self.workload.others)

    @property
    def flop_share(self) -> float:
        """Counted: the multiplications' share of the work."""
        return self.workload.flop / self.flop if self.flop else 0.0
