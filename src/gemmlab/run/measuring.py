"""Several contenders on one multiplication: each in its process, timed in turn, the timed result checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import msgspec
import numpy as np

from gemmlab.check import Operands, operands
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Verdict
from gemmlab.run.checking import judged, require_checkable, wrong_in_words
from gemmlab.run.contender import Contender
from gemmlab.run.environment import Gauge, surroundings
from gemmlab.run.fault import ABOVE_LIMIT, CRASHED, REFUSED, WRONG, Fault, FaultError, fault_of
from gemmlab.run.process import Pool, Process
from gemmlab.run.timing import (
    NO_LIMITS,
    Limits,
    Protocol,
    Timing,
    beyond,
    copies_for,
    host_needed,
    memory_needed,
    repetitions,
    rounds_for,
    steady,
)
from gemmlab.units import capacity_text

AFRESH = 4  # times that the repetitions are corrected: the first multiplication is slower than the others
ENOUGH = 1.25  # times the repetitions there are: not worth another correction
SUSTAINED_SAMPLE_S = 0.25
ON_NVIDIA = ("cuda", "triton", "torch")  # backends whose device is one that NVIDIA's driver numbers

Told = Callable[[str], None]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one contender: a time that was checked, or a fault."""

    contender: Contender
    timing: Timing | None = None  #: None where there is a fault
    verdict: Verdict | None = None  #: None where there was nothing to check
    fault: Fault | None = None
    environment: dict[str, str] = msgspec.field(default_factory=dict)


def measure(
    problem: Gemm,
    contenders: Sequence[Contender],
    protocol: Protocol,
    *,
    threads: int = 1,
    device: int | None = None,
    limits: Limits = NO_LIMITS,
    told: Told = lambda text: None,
    pool: Pool | None = None,
) -> list[Outcome]:
    """Time the contenders in turn and check what they computed; whatever happens to one, the others go on.

    `threads` is how many each may use where it does not say so itself; `device` which GPU. A time below the `limits`
    is a fault. `told` hears what is being done; a `pool` keeps processes, so that the next problem finds them loaded.
    Raises GemmlabError for a problem that cannot be checked, and for too little memory; what a contender does is its
    Outcome.
    """
    require_checkable(problem)
    needed = memory_needed(problem.compulsory_bytes, len(contenders))
    if protocol.memory_bytes is not None and needed > protocol.memory_bytes:
        raise GemmlabError(
            f"{len(contenders)} kernel{'s' * (len(contenders) != 1)} with operands of their own: "
            f"{capacity_text(needed)} of memory are needed, "
            f"and {capacity_text(protocol.memory_bytes)} are free",
            "fewer kernels at once, or a smaller shape",
        )
    here = host_needed(problem, sum(each.backend == "cpu" for each in contenders))
    if protocol.host_bytes is not None and here > protocol.host_bytes:
        raise GemmlabError(
            f"drawing the operands and checking results takes {capacity_text(here)} of memory, "
            f"and {capacity_text(protocol.host_bytes)} are free",
            "a smaller shape",
        )
    around = surroundings()
    with ExitStack() as ending:
        kept = ending.enter_context(Pool()) if pool is None else pool
        attempts: list[Attempt] = []
        for contender in contenders:
            attempt = Attempt(problem, contender, protocol, contender.threads or threads, device)
            attempts.append(attempt)
            ending.callback(attempt.end)
            attempt.tried(attempt.start, kept)
        told("importing and compiling")
        for attempt in attempts:
            attempt.tried(attempt.load)
        if all(attempt.fault for attempt in attempts):
            return [attempt.outcome(around) for attempt in attempts]
        given = operands(problem, protocol.seed)
        for attempt in attempts:
            told(f"warming up {attempt.contender.name}")
            attempt.tried(attempt.prepare, given, len(contenders))
        rounds = max((attempt.rounds for attempt in attempts if not attempt.fault), default=0)
        for index in range(rounds):
            told(f"round {index + 1} of {rounds}")
            for attempt in attempts:
                attempt.tried(attempt.round, index)
        for attempt in attempts:
            told(f"checking {attempt.contender.name}")
            attempt.tried(attempt.check, given, limits)
            attempt.tried(attempt.sustain)
            if pool is not None:
                attempt.tried(attempt.give, pool)
        return [attempt.outcome(around) for attempt in attempts]


class Attempt:
    """One contender on its way: each step leaves a figure or a fault, and no step follows a fault."""

    def __init__(
        self, problem: Gemm, contender: Contender, protocol: Protocol, threads: int, device: int | None
    ) -> None:
        self.problem, self.contender, self.protocol = problem, contender, protocol
        self.threads, self.device = threads, device
        self.fault: Fault | None = None
        self.verdict: Verdict | None = None
        self.process: Process | None = None
        self.environment: dict[str, str] = {}
        self.samples: list[float] = []
        self.sustained: float | None = None
        self.copies = self.repetitions = self.rounds = 1
        self.next = 0  #: the copy that the next multiplication takes
        self.ran = 0  #: multiplications so far
        self.notes: tuple[str, ...] = ()
        self.gauge: Gauge | None = Gauge(device) if contender.backend in ON_NVIDIA else None

    def tried(self, step: Callable[..., None], *arguments: Any) -> None:
        """Take a step unless there is a fault already; whatever it raises is this contender's fault alone."""
        if self.fault is not None:
            return
        try:
            step(*arguments)
        except FaultError as error:
            self.fault = error.fault
        except Exception as error:
            self.fault = fault_of(error)
        if self.fault is not None:
            self.end()

    def asked(self) -> Process:
        """The process, once it is there."""
        assert self.process is not None
        return self.process

    def start(self, pool: Pool) -> None:
        """Begin to make the program; all contenders do so at once."""
        who, problem = self.contender, self.problem
        missing = sorted({problem.a_format, problem.b_format} - set(who.formats))
        if missing:
            raise FaultError(REFUSED, f"{who.name} takes {', '.join(who.formats)}, not {', '.join(missing)}")
        self.process = pool.take(who, self.threads, self.device, self.protocol.limit_s)
        self.process.send("load", who.source, problem)

    def load(self) -> None:
        """Wait until the program is made."""
        self.environment = self.asked().receive(max(self.protocol.limit_s, self.protocol.load_limit_s))

    def prepare(self, given: Operands, contenders: int) -> None:
        """Place the operands, warm up, and find how many multiplications make a sample."""
        self.copies, note = copies_for(self.problem.compulsory_bytes, contenders, self.protocol)
        self.notes = (note,) if note else ()
        stored = {"a": given.a.storage, "b": given.b.storage}
        if self.problem.beta != 0:
            stored["c"] = given.c.storage
        self.asked().ask("place", stored, self.copies)
        for _ in range(AFRESH):
            once = self.sample(self.repetitions)
            wanted = repetitions(once, self.protocol.sample_s)
            if wanted <= ENOUGH * self.repetitions:
                break
            self.repetitions = wanted
        once = self.sample(repetitions(once, self.protocol.warm_s))
        self.rounds = rounds_for(once * self.repetitions, self.protocol)

    def sample(self, count: int) -> float:
        """Seconds of one multiplication when so many follow each other."""
        process = self.asked()
        process.send("elapsed", self.next, count, self.copies)
        self.next = (self.next + count) % self.copies
        self.ran += count
        if self.gauge is not None:
            self.gauge.read()
        taken = float(process.receive())
        if not 0 < taken < float("inf"):
            raise FaultError(CRASHED, f"its clock says that {count} multiplications took {taken} s")
        if self.contender.backend == "cpu":
            process.pause()
        return taken / count

    def round(self, index: int) -> None:
        """One sample; before the last one every D is poisoned, so that what is checked was written while timed."""
        if index >= self.rounds:
            return
        if index == self.rounds - 1:
            self.asked().ask("poison")
        self.samples.append(self.sample(self.repetitions))

    def check(self, given: Operands, limits: Limits) -> None:
        """Judge the D that the last multiplication wrote, then the time itself."""
        d = self.asked().ask("result", (self.next - 1) % self.copies)
        self.environment = self.asked().ask("environment")  # which clock told the time is known only now
        if (shape := shape_of(d)) != (wanted := shape_of(given.d.array)):
            raise FaultError(WRONG, f"D has the shape {shape}, not {wanted}")
        self.verdict = judged(self.problem, given, d, self.contender)
        if not self.verdict.ok:
            tile = self.environment.get("tile", "")
            said = wrong_in_words(self.verdict)
            if self.verdict.unwritten_elements and "none is given" in tile:
                said += f"; a workgroup is to write {tile}: ENTRY;tile=8x8 gives a tile"
            raise FaultError(WRONG, said)
        if self.ran <= self.copies:
            self.check_again(given, d)
        fastest, least = min(self.samples), limits.least_s(from_dram=not self.notes)
        if beyond(fastest, least):
            said = f"{fastest:.4g} s, and this chip cannot take less than {least:.4g} s"
            if self.contender.backend == "cpu":
                said += ", unless it was busy when its peak was measured"
            raise FaultError(ABOVE_LIMIT, said)

    def check_again(self, given: Operands, d: Any) -> None:
        """Multiply a second time where no copy was taken twice: who changes its operands is right once."""
        copy = (self.next - 1) % self.copies
        self.asked().ask("poison")
        self.asked().ask("elapsed", copy, 1, self.copies)
        second = self.asked().ask("result", copy)
        if bytes_of(second) != bytes_of(d):
            self.verdict = judged(self.problem, given, second, self.contender)
            if not self.verdict.ok:
                raise FaultError(WRONG, f"the second time on the same operands, {wrong_in_words(self.verdict)}")

    def sustain(self) -> None:
        """Work without a pause, as long as asked for."""
        samples: list[float] = []
        left = self.protocol.sustained_s
        if left <= 0:
            return
        while left > 0:
            count = repetitions(samples[-1] if samples else min(self.samples), SUSTAINED_SAMPLE_S)
            samples.append(self.sample(count))
            left -= samples[-1] * count
        self.sustained = steady(samples)

    def give(self, pool: Pool) -> None:
        """Leave the process to the next problem."""
        process, self.process = self.asked(), None
        with suppress(FaultError):  # its time stands; the next problem gets a new process
            pool.give(process, self.threads, self.device)

    def end(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            self.process.end()

    def outcome(self, around: dict[str, str]) -> Outcome:
        """What came of it; a time only where nothing is wrong."""
        timing = None
        if self.fault is None:
            timing = Timing(
                samples=tuple(self.samples),
                repetitions=self.repetitions,
                copies=self.copies,
                sustained_s=self.sustained,
                notes=self.notes,
            )
        found = {**around, "threads": str(self.threads), **(self.gauge.words() if self.gauge else {})}
        return Outcome(
            contender=self.contender,
            timing=timing,
            verdict=self.verdict,
            fault=self.fault,
            environment={**found, **self.environment},
        )


def bytes_of(d: Any) -> list[bytes]:
    """What a result holds, of each member of a group."""
    return [np.asarray(each).tobytes() for each in (d if isinstance(d, list | tuple) else [d])]


def shape_of(d: Any) -> Any:
    """Sides of a result, of each member of a group."""
    return [np.shape(each) for each in d] if isinstance(d, list | tuple) else np.shape(d)
