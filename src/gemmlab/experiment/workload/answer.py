"""The answer to a workload: each multiplication with its time, its limit and what to change, and Amdahl's line."""

from __future__ import annotations

import msgspec

from gemmlab.experiment.workload.accuracy import Accuracy
from gemmlab.record import ChangeSection, Record
from gemmlab.workload import Call, Other, Workload


class Row(msgspec.Struct, frozen=True):
    """One multiplication of the answer."""

    call: Call
    #: problem, chip, kernel, count, prediction of one of them; `call` of all of them. Of a trace of a processor without
    #: a chip to predict for there is no chip and no prediction, and the `call` has a measured time alone
    record: Record

    @property
    def flop_per_s(self) -> float:
        """What all of them reach together, in the time that `call` says."""
        time_s = self.record.call.time_s if self.record.call else 0.0
        return self.call.flop / time_s if time_s else 0.0


class Rest(msgspec.Struct, frozen=True):
    """What is not multiplication."""

    other: Other
    time_s: float
    known: str  #: measured, or predicted from its bytes and its launches


class Answer(msgspec.Struct, frozen=True):
    """What `gemmlab explain SOURCE` says of a workload; seconds are of all its steps."""

    workload: Workload
    chip: str  #: predicted for; empty where nothing is: a processor's trace, and no chip was asked for
    rows: tuple[Row, ...]  #: the most time to gain first
    rest: tuple[Rest, ...]  #: the longest first
    time_s: float  #: the whole: measured span; else multiplications, the rest, and what the device waits for the host
    known: str  #: measured or predicted: how time_s is known
    multiplying_s: float  #: of time_s, the multiplications
    rest_s: float  #: of time_s, everything else that ran
    idle_s: float  #: when no kernel runs, known as time_s is: of a measured span, or predicted of an eager model
    unread_s: float  #: measured: of multiplications whose sizes the source does not say
    #: share of time_s that would be saved if every multiplication were at its limit, in a format its advice allows,
    #: everything else as it is; where an eager model's host takes longer (host_s), what is below it gains nothing
    perfect_gain: float
    #: share of time_s that would be saved by the changes of `advised` together: the settings of the whole program that
    #: go together best, each multiplication priced anew under all of them, and then its own best change. It is past
    #: perfect_gain where settings shorten what is no multiplication, too (advised_rest_s)
    advised_gain: float
    #: each change once, with what it gains in all the rows that it touches together; the largest gain first. Gains are
    #: seconds that the device works less, none more than time_s
    changes: tuple[ChangeSection, ...] = ()
    advised: tuple[str, ...] = ()  #: lines of the changes that advised_gain takes together, as in `changes`
    advised_rest_s: float = 0.0  #: of advised_gain, seconds saved of what is no multiplication; negative where it costs
    host_s: float = 0.0  #: predicted: what an eager host takes for all operators of a model; 0 where that is not told
    least_s: float = 0.0  #: a change that gains less than this is in no list of changes, though rows may have it
    unlisted: int = 0  #: changes that rows have and `changes` leaves out for that
    unlisted_s: float = 0.0  #: the largest gain of one of them
    at_peak_s: float = 0.0  #: the multiplications' counted work at the data sheet's peak of each one's format
    accuracy: Accuracy | None = None  #: errors of such predictions on this chip, where networks were measured on it
    notes: tuple[str, ...] = ()  #: what else is to be said: the source's notes, and those of the prediction

    @property
    def flop(self) -> int:
        """Counted work: multiplications, and what is known of the rest."""
        return self.workload.flop + sum(other.flop or 0 for other in self.workload.others)

    @property
    def flop_share(self) -> float:
        """Counted: the multiplications' share of the work."""
        return self.workload.flop / self.flop if self.flop else 0.0

    @property
    def flop_per_s(self) -> float:
        """What the step reaches: the multiplications' work over all the time."""
        return self.workload.flop / self.time_s if self.time_s else 0.0

    @property
    def multiplying_flop_per_s(self) -> float:
        """What the multiplications reach while they run."""
        return self.workload.flop / self.multiplying_s if self.multiplying_s else 0.0

    @property
    def utilisation(self) -> float:
        """The step's share of the chip's peak: at_peak_s over all the time, each format by its own peak.

        Model FLOPs utilization (MFU; Chowdhery et al., PaLM, 2022) where nothing is computed twice; what a program
        computes again, checkpoints and fused attention's gradient, counts as work here. Causal products count whole.
        """
        return self.at_peak_s / self.time_s if self.time_s else 0.0

    @property
    def multiplying_utilisation(self) -> float:
        """The multiplications' share of the chip's peak while they run."""
        return self.at_peak_s / self.multiplying_s if self.multiplying_s else 0.0
