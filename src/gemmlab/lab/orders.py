"""Who runs next, by a schedule: the emulator's rules for one block at a time, said once more in plain Python.

The page's player says them a third time in TypeScript; the traces that this form writes hold it to them. The compiled
form is `gemmlab.emulator.serial`: under every schedule both leave the same C, bit for bit, which the tests compare.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import gcd
from typing import Protocol

from gemmlab.emulator.serial import Schedule
from gemmlab.record import GemmlabError

ENDLESS = 1 << 62
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
Position = tuple[int, ...]


class Runner(Protocol):
    """A thread as an order sees it."""

    number: int
    runs: bool  #: it neither waits nor has ended
    at: Position  #: of the access before which it stands, or of the barrier it came from; empty at its start
    reaches: bool  #: it stands before an access


class Random:
    """splitmix64 (Steele, Lea and Flood, 2014), as the compiled form draws."""

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1."""
        self.state = (self.state + GOLDEN) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 1) % limit

    def shuffle(self, items: list[int]) -> None:
        """Fisher and Yates, from the end."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


class Order:
    """One schedule while a launch runs: `begin` a block, then `next` thread after `next`, told of what they did."""

    def __init__(self, schedule: Schedule, threads: int) -> None:
        if schedule.together != 1:
            raise GemmlabError(f"{schedule} runs {schedule.together} blocks at once", "the player plays one at a time")
        if schedule.preemptions and not schedule.horizon:
            raise GemmlabError(f"{schedule} has no horizon", "horizon=ACCESSES")
        self.schedule, self.random = schedule, Random(schedule.seed)
        self.ranks = ranks(schedule, threads)
        self.script = deque(schedule.turns)
        self.queue: deque[int] = deque()
        self.held: deque[int] = deque()
        self.left = ENDLESS  #: accesses that the running thread may make
        self.passing = False  #: it was held before a write, and may now make it
        self.accesses = self.changed = 0
        self.changes: list[int] = []

    @property
    def queued(self) -> bool:
        """Threads take turns by a queue; the other orders look at all of them."""
        return self.schedule.order not in ("lockstep", "turns")

    def blocks(self, count: int) -> list[int]:
        """The blocks of a launch in the order in which they run."""
        if over := [number for number in self.schedule.only if number >= count]:
            raise GemmlabError(f"{self.schedule} names block {over[0]}; the launch has {count}", "blocks count from 0")
        numbers = list(self.schedule.only) or list(range(count))
        last, seed = len(numbers), abs(self.schedule.seed)
        if self.schedule.blocks == "reverse":
            return numbers[::-1]
        if self.schedule.blocks == "forward":
            return numbers
        step = last * 618 // 1000 + 1 + seed % 97
        while gcd(step, last) != 1:
            step += 1
        return [numbers[(place * step + seed) % last] for place in range(last)]

    def begin(self, threads: Sequence[Runner]) -> None:
        """A block begins: all its threads can run."""
        self.queue.clear()
        self.held.clear()
        self.accesses = self.changed = 0
        drawn = [self.random.below(max(1, self.schedule.horizon)) for _ in range(self.schedule.preemptions)]
        self.changes = sorted(drawn)
        self.opened(threads, 0)

    def opened(self, threads: Sequence[Runner], epoch: int) -> None:
        """A barrier has let threads go, or none was before: those that can run line up."""
        if not self.queued:
            return
        order = list(self.ranks)
        if self.schedule.order == "reverse" or (self.schedule.order == "alternating" and epoch % 2):
            order.reverse()
        if self.schedule.order == "shuffled":
            self.random.shuffle(order)
        self.queue.extend(number for number in order if threads[number].runs)

    def next(self, threads: Sequence[Runner]) -> int | None:
        """The number of the thread that runs now; None where none can."""
        self.left, self.passing = ENDLESS, False
        if self.schedule.order == "lockstep":
            return self.in_lockstep(threads)
        if self.schedule.order == "turns":
            return self.in_turns(threads)
        if self.changed < len(self.changes):
            self.left = max(self.changes[self.changed] - self.accesses, 0)
        if self.queue:
            return self.queue.popleft()
        if self.held:
            self.passing = True
            return self.held.popleft()
        return None

    def in_lockstep(self, threads: Sequence[Runner]) -> int | None:
        """A thread that is furthest behind; all that stand where it stands follow before any other."""
        if not self.queue:
            running = [thread for thread in threads if thread.runs]
            if not running:
                return None
            first = min(thread.at for thread in running)
            self.queue.extend(thread.number for thread in running if thread.at == first)
        number = self.queue.popleft()
        self.left = int(threads[number].reaches)
        return number

    def in_turns(self, threads: Sequence[Runner]) -> int | None:
        """The next turn that was written down; behind the last, the first thread that can run."""
        running = [thread.number for thread in threads if thread.runs]
        while self.script and running:
            number, accesses = self.script.popleft()
            if number in running:
                self.left = accesses
                return number
        return running[0] if running else None

    def stops(self, number: int, *, held_here: bool) -> bool:
        """Whether a thread stops before an access that others may see; `held_here`: writes there are delayed."""
        if self.left <= 0:
            if self.queued:
                self.queue.append(number)
                self.changed += 1
            return True
        if held_here and not self.passing:
            self.held.append(number)
            return True
        if held_here:
            self.passing = False
        self.left -= 1
        self.accesses += 1
        return False


def ranks(schedule: Schedule, threads: int) -> list[int]:
    """Threads of a block in the order of their turns; raises GemmlabError for one that it does not have."""
    named = (*schedule.first, *schedule.last)
    if over := [thread for thread in named if thread >= threads]:
        raise GemmlabError(f"{schedule} names thread {over[0]}; a block has {threads}", "threads count from 0")
    between = [thread for thread in range(threads) if thread not in named]
    return list(dict.fromkeys([*schedule.first, *between, *schedule.last]))
