"""How `peak.py` times: graphs over rotating operands, replayed in turn, with pauses against the power cap."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

REPLAY_S = 1.5e-3  # that a replay is made to last, where one multiplication is short
MOST_REPEATS = 40
ROW_S = 0.5  # that all rounds of a row take about, pauses too
LEAST_ROUNDS, MOST_ROUNDS = 5, 15
PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.06


class Replay(NamedTuple):
    """A captured graph."""

    graph: Any
    count: int  #: multiplications that it makes
    seconds: float  #: of its first replay


class Timed(NamedTuple):
    """What a contender's rounds gave."""

    seconds: float  #: of one multiplication, the median
    spread: float  #: between the quartiles, over the median


def seconds_of(torch: Any, work: Callable[[], Any]) -> float:
    """What the GPU takes for some work, by events."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) * 1e-3


def every(calls: Sequence[Callable[[], Any]]) -> None:
    """Make all of them."""
    for call in calls:
        call()


def captured(torch: Any, calls: Sequence[Callable[[], Any]], seconds: float = REPLAY_S) -> Replay:
    """A graph of the calls, repeated to last about that long, replayed once."""
    every(calls)
    torch.cuda.synchronize()
    taken = seconds_of(torch, lambda: every(calls))
    repeats = max(1, min(MOST_REPEATS, int(seconds / max(1e-6, taken))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            every(calls)
    graph.replay()
    torch.cuda.synchronize()
    return Replay(graph, repeats * len(calls), seconds_of(torch, graph.replay))


def pause_after(seconds: float, least: float = PAUSE_S) -> float:
    """How long the chip rests before a replay that lasts so long."""
    return max(least, min(LONGEST_PAUSE_S, 4 * seconds))


def rounds_for(replays: Sequence[Replay], pause: float) -> int:
    """As many rounds as fit a row's time."""
    one = sum(each.seconds + pause_after(each.seconds, pause) for each in replays)
    return max(LEAST_ROUNDS, min(MOST_ROUNDS, int(ROW_S / one)))


def in_turn(
    torch: Any,
    replays: Mapping[str, Replay],
    rounds: int = 0,
    pause: float = PAUSE_S,
    before_last: Callable[[], Any] | None = None,
) -> dict[str, Timed]:
    """Each contender's time of one multiplication, replayed A B C A B C; as many rounds as fit where none are given.

    `before_last` is called before the last round: it poisons results, so that those which were timed are checked.
    """
    rounds = rounds or rounds_for([*replays.values()], pause)
    times: dict[str, list[float]] = {name: [] for name in replays}
    for at in range(rounds):
        if before_last and at == rounds - 1:
            before_last()
            torch.cuda.synchronize()
        for name, replay in replays.items():
            time.sleep(pause_after(replay.seconds, pause))
            times[name].append(seconds_of(torch, replay.graph.replay) / replay.count)
    return {name: timed(values) for name, values in times.items()}


def timed(values: Sequence[float]) -> Timed:
    """Median and spread of the rounds."""
    middle = statistics.median(values)
    if len(values) < 2:
        return Timed(middle, 0.0)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Timed(middle, (high - low) / middle)
