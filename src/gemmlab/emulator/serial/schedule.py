"""A schedule: who runs before whom, as a value that is written down and runs the same again.

Threads take turns at whole accesses to memory that they share: sequential consistency. A racy program is undefined, so
hardware and compiler may do worse than any schedule here; what a schedule shows is a lower bound.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from gemmlab.record import GemmlabError, unknown_name

Order = Literal["forward", "reverse", "alternating", "shuffled", "lockstep", "turns"]
BlockOrder = Literal["forward", "reverse", "shuffled"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Who runs when.

    order: of a block's threads. The first of the order that can run does, until it waits or ends; `alternating` turns
    the order round at each barrier, `shuffled` draws a new one. `lockstep`: all threads do one access before any does
    the next. `turns`: as `turns` says.
    blocks, together: the order of blocks, and how many run at once.
    only: blocks that run, as numbers x + y*gx + z*gx*gy; all where none is named.
    seed, preemptions, horizon: `preemptions` times in each wave of blocks, at accesses drawn from its first `horizon`,
    the running thread is put behind all others (0: as many as a serial run makes).
    first, last: threads of a block, as numbers x + y*bx + z*bx*by, that go before and after all others.
    delay: lines such as `12` or `kernel.py:12`, or `*` for all; a thread waits before a write there that others see
    until no other thread can run.
    turns: (thread, accesses): that thread runs until it is about to make one access more; behind the last turn, threads
    run one after the other. Threads of the k-th block that runs at once come k blocks further.
    """

    name: str
    order: Order = "forward"
    blocks: BlockOrder = "forward"
    together: int = 1
    only: tuple[int, ...] = ()
    seed: int = 0
    preemptions: int = 0
    horizon: int = 0
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    delay: tuple[str, ...] = ()
    turns: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        """As the command line takes it, but for turns, which go in a file."""
        usual = NAMED.get(self.name, Schedule(self.name))
        parts = [
            f"{field.name}={spelled(getattr(self, field.name))}"
            for field in fields(self)
            if field.name not in ("name", "turns") and getattr(self, field.name) != getattr(usual, field.name)
        ]
        return self.name + (":" + ",".join(parts) if parts else "")

    def to_json(self) -> dict[str, Any]:
        """Plain lists, numbers and text; `from_json` gives the schedule back."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, given: Any) -> Schedule:
        """The schedule that `to_json` wrote; raises GemmlabError where it is none."""
        if not isinstance(given, dict) or not isinstance(given.get("name"), str):
            raise GemmlabError("a schedule is an object with a name", "write one with --schedule ... --json")
        known = [field.name for field in fields(cls)]
        for key in given:
            if key not in known:
                raise unknown_name("schedule setting", key, known)
        values = {key: tuples(value) if isinstance(value, list) else value for key, value in given.items()}
        return checked(cls(**values))


NAMED = {
    "serial": Schedule("serial"),
    "reverse": Schedule("reverse", order="reverse"),
    "alternating": Schedule("alternating", order="alternating"),
    "lockstep": Schedule("lockstep", order="lockstep"),
    "random": Schedule("random", order="shuffled", blocks="shuffled", preemptions=3),
    "delayed-writer": Schedule("delayed-writer", delay=("*",)),
    "exhaustive": Schedule("exhaustive", order="turns"),
    "turns": Schedule("turns", order="turns"),
}


def parse(text: str) -> Schedule:
    """A schedule from the command line: `alternating`, `random:seed=7,preemptions=3`, `witness:FILE.json`."""
    name, _, rest = text.partition(":")
    if name == "witness":
        return from_file(rest)
    if name not in NAMED:
        raise unknown_name("schedule", name, [*NAMED, "witness:FILE.json"])
    changed = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or key not in PARSERS:
            raise unknown_name("schedule setting", key, list(PARSERS))
        try:
            changed[key] = PARSERS[key](value)
        except ValueError:
            raise GemmlabError(f"{key} of a schedule cannot be {value!r}", "see `--schedule` in --help") from None
    return checked(replace(NAMED[name], **changed))


def from_file(path: str) -> Schedule:
    """A witness that was written to a file."""
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise GemmlabError(f"cannot read the schedule {path!r}: {error}", "witness:FILE.json") from error
    except json.JSONDecodeError as error:
        raise GemmlabError(f"{path} is no JSON: {error}", "a schedule as `to_json` writes it") from error
    return Schedule.from_json(given)


def numbers(text: str) -> tuple[int, ...]:
    """`3+4`, or `0-90/30` for 0, 30, 60 and 90."""
    found: list[int] = []
    for part in filter(None, text.split("+")):
        start, dash, rest = part.partition("-")
        stop, _, step = rest.partition("/")
        found += range(int(start), int(stop) + 1, int(step)) if dash else [int(part)]
    return tuple(found)


PARSERS: dict[str, Any] = {
    "seed": int,
    "preemptions": int,
    "horizon": int,
    "together": int,
    "blocks": str,
    "order": str,
    "first": numbers,
    "last": numbers,
    "only": numbers,
    "delay": lambda text: tuple(part for part in text.split("+") if part),
}


def spelled(value: Any) -> str:
    """A setting as `parse` reads it."""
    if not isinstance(value, tuple):
        return str(value)
    if len(value) > 3 and all(isinstance(number, int) for number in value):
        evenly = range(value[0], value[-1] + 1, max(1, value[1] - value[0]))
        if tuple(evenly) == value:
            return f"{evenly.start}-{value[-1]}/{evenly.step}"
    return "+".join(map(str, value))


def tuples(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(tuples(item) for item in value) if isinstance(value, list) else value


def checked(schedule: Schedule) -> Schedule:
    """The schedule, or GemmlabError where a setting of it cannot be."""
    for key, choices in (("order", get_args(Order)), ("blocks", get_args(BlockOrder))):
        if getattr(schedule, key) not in choices:
            raise unknown_name(f"{key} of a schedule", str(getattr(schedule, key)), choices)
    for key, least, most in (
        ("together", 1, 1 << 20),
        ("preemptions", 0, 1 << 20),
        ("horizon", 0, 1 << 62),
        ("seed", -(1 << 62), 1 << 62),
    ):
        whole(key, getattr(schedule, key), least, most)
    if schedule.delay and schedule.order in ("lockstep", "turns"):  # who is held would be chosen again, for ever
        raise GemmlabError(f"order={schedule.order} has no queue in which a delayed writer could wait", "another order")
    for key in ("first", "last", "only", "delay", "turns"):
        if not isinstance(getattr(schedule, key), tuple):
            raise GemmlabError(f"{key} of a schedule is {getattr(schedule, key)!r}", "a list")
    for key in ("first", "last"):
        for thread in getattr(schedule, key):
            whole(key, thread, 0, 1023)
    for block in schedule.only:
        whole("only", block, 0, 1 << 62)
    if not all(isinstance(line, str) for line in schedule.delay):
        raise GemmlabError(f"delay of a schedule is {schedule.delay!r}", "lines as text: 12, or kernel.py:12")
    for turn in schedule.turns:
        if not isinstance(turn, tuple) or len(turn) != 2:
            raise GemmlabError(f"a turn of a schedule is {turn!r}", "a turn is [thread, accesses]")
        for number in turn:
            whole("turns", number, 0, 1 << 62)
    return schedule


def whole(key: str, value: Any, least: int, most: int) -> None:
    """Raise GemmlabError unless the value is an int in range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise GemmlabError(f"{key} of a schedule is {value!r}", f"an int from {least} to {most}")
