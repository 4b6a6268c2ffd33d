"""Two runs of one suite side by side: how many times faster the second is, row by row, and whether that can be told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from gemmlab.experiment.keys import Key
from gemmlab.record import GemmlabError, Measurement
from gemmlab.run.environment import was_busy
from gemmlab.run.timing import LEAST_ROUNDS
from gemmlab.store.rows import Row, Run
from gemmlab.store.store import Store

FASTER, SLOWER, NOT_TOLD_APART = "faster", "slower", "not told apart"
VERDICTS = (FASTER, SLOWER, NOT_TOLD_APART)
VARY = ("load_before", "sm_clock", "power", "temperature")  #: readings, which are others each time


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One key that both runs have a time of."""

    problem: str  #: the multiplication in a line
    backend: str
    kernel: str
    threads: int
    a_time_s: float  #: measured: median of the first run
    b_time_s: float  #: of the second
    ratio: float  #: a over b: above 1, the second is faster
    ratio_low: float | None  #: the least by the spread of both, a's lower end over b's upper; null without a spread
    ratio_high: float | None  #: the most, a's upper end over b's lower
    verdict: str  #: of the second: faster, slower, or not told apart


class Untimed(msgspec.Struct, frozen=True, kw_only=True):
    """One key that both runs have, and at least one without a time."""

    problem: str
    backend: str
    kernel: str
    threads: int
    a_fault: str  #: why the first has none; empty where it has one
    b_fault: str  #: the same of the second


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Something that times depend on and that is another in the second run."""

    name: str  #: of the environment's entry, behind its backend
    a: str
    b: str


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Other work while a run was measured."""

    rows: int  #: before which cores were busy, of those that are compared
    low: float  #: the system's load before those rows, at least
    high: float  #: at most


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, the first being what the second is compared with."""

    a: Run
    b: Run
    ratio: float | None  #: geometric mean of the ratios; null without pairs
    ratio_low: float | None  #: if every row were at its lower end at once, as it is where clocks have moved
    ratio_high: float | None  #: at its upper end
    verdict: str  #: of all rows together, by the same rule as of one; empty without pairs
    pairs: tuple[Pair, ...]  #: in the first run's order
    untimed: tuple[Untimed, ...]  #: in both, but wrong or failed in one: never a time
    only_a: tuple[Key, ...]  #: in the first alone
    only_b: tuple[Key, ...]  #: in the second alone
    changed: tuple[Change, ...]  #: of what surrounds both
    a_load: Load | None = None  #: other work in the first run; null where no row tells of any
    b_load: Load | None = None  #: in the second

    def count(self, verdict: str) -> int:
        """Rows with that verdict."""
        return sum(pair.verdict == verdict for pair in self.pairs)


def compare(a: tuple[Store, Run], b: tuple[Store, Run], *, any_chip: bool = False) -> Comparison:
    """The second run beside the first.

    A row is told apart by the rule that ranks kernels within a run: the quartiles of neither time reach those of the
    other, and enough rounds stand behind both. With `any_chip` rows are matched whatever chip they are of. Raises
    GemmlabError for the same run twice, different suites, an empty run, and different chips unless any will do.
    """
    run_a, run_b = a[1], b[1]
    require_comparable(run_a, run_b, any_chip=any_chip)
    rows_a, rows_b = (by_key(store.records(run=run.id), any_chip) for store, run in (a, b))
    both = [key for key in rows_a if key in rows_b]
    timed = [key for key in both if not fault_of(rows_a[key]) and not fault_of(rows_b[key])]
    pairs = tuple(pair_of(rows_a[key], rows_b[key]) for key in timed)
    low, middle, high = means(pairs) if pairs else (None, None, None)
    return Comparison(
        a=run_a,
        b=run_b,
        ratio=middle,
        ratio_low=low,
        ratio_high=high,
        verdict=verdict_of(low, high) if pairs else "",
        pairs=pairs,
        untimed=tuple(untimed_of(rows_a[key], rows_b[key]) for key in both if key not in set(timed)),
        only_a=tuple(row.key for key, row in rows_a.items() if key not in rows_b),
        only_b=tuple(row.key for key, row in rows_b.items() if key not in rows_a),
        a_load=load_of(rows_a[key] for key in timed),
        b_load=load_of(rows_b[key] for key in timed),
        changed=changes(
            (rows_a[key] for key in both), (rows_b[key] for key in both)
        ),  # others have no ratio to explain
    )


def load_of(rows: Iterable[Row]) -> Load | None:
    """The other work that rows tell of; None where they tell of none."""
    told = [m for row in rows if (m := row.record.measurement) and was_busy(m)]
    loads = [float(m.environment.get("load_before", 0)) for m in told]
    return Load(rows=len(loads), low=min(loads), high=max(loads)) if loads else None


def require_comparable(a: Run, b: Run, *, any_chip: bool) -> None:
    """Raise GemmlabError for runs that say nothing side by side."""
    if a == b:
        raise GemmlabError(f"{a.id} is both runs", "--compare A B with two different ones; --runs lists them")
    if a.suite != b.suite:
        raise GemmlabError(f"{a.id} is of {a.suite}, {b.id} of {b.suite}", "two runs of one suite can be compared")
    for run in (a, b):
        if not run.records:
            raise GemmlabError(f"run {run.id} has no Records", "another run; --runs lists them")
    if a.chips != b.chips and not any_chip:
        raise GemmlabError(
            f"{a.id} is on {', '.join(a.chips)}, {b.id} on {', '.join(b.chips)}",
            "--any-chip compares runs on different chips",
        )


def by_key(rows: Iterable[Row], any_chip: bool) -> dict[Key, Row]:
    """The rows by key, without the chip where any will do."""
    return {msgspec.structs.replace(row.key, chip="") if any_chip else row.key: row for row in rows}


def fault_of(row: Row) -> str:
    """Why a row has no time that counts; empty where it has one."""
    measured, verdict = row.record.measurement, row.record.verdict
    if measured is None:
        return "not measured"
    if verdict is not None and not verdict.ok:
        return measured.fault or "wrong"
    return measured.fault or ("" if measured.time_s else "no time")


def pair_of(a: Row, b: Row) -> Pair:
    """The two times of one key; raises GemmlabError where one has none."""
    (a_low, a_time, a_high), (b_low, b_time, b_high) = times_of(a), times_of(b)
    low = a_low / b_high if a_low is not None and b_high else None
    high = a_high / b_low if a_high is not None and b_low else None
    return Pair(
        problem=a.problem,
        backend=a.backend,
        kernel=a.kernel,
        threads=a.threads,
        a_time_s=a_time,
        b_time_s=b_time,
        ratio=a_time / b_time,
        ratio_low=low,
        ratio_high=high,
        verdict=verdict_of(low, high),
    )


def times_of(row: Row) -> tuple[float | None, float, float | None]:
    """Lower quartile, median and upper quartile; no quartiles where too few rounds stand behind them."""
    measured = row.record.measurement
    if measured is None or not measured.time_s:
        raise GemmlabError(f"{row.kernel} at {row.problem} of run {row.run} has no time")
    if len(measured.samples) < LEAST_ROUNDS:
        return None, measured.time_s, None
    return measured.time_s_low, measured.time_s, measured.time_s_high


def untimed_of(a: Row, b: Row) -> Untimed:
    """A key of which a time is lacking."""
    return Untimed(
        problem=a.problem,
        backend=a.backend,
        kernel=a.kernel,
        threads=a.threads,
        a_fault=fault_of(a),
        b_fault=fault_of(b),
    )


def verdict_of(low: float | None, high: float | None) -> str:
    """What a range of the ratio says of the second run: only one that leaves 1 out says anything."""
    if low is None or high is None or low <= 1 <= high:
        return NOT_TOLD_APART
    return FASTER if low > 1 else SLOWER


def means(pairs: Sequence[Pair]) -> tuple[float | None, float, float | None]:
    """Geometric means of the ratios' lower ends, of the ratios, and of their upper ends."""
    middle = geometric_mean([pair.ratio for pair in pairs])
    lows = [pair.ratio_low for pair in pairs if pair.ratio_low is not None]
    highs = [pair.ratio_high for pair in pairs if pair.ratio_high is not None]
    if len(lows) < len(pairs) or len(highs) < len(pairs):
        return None, middle, None
    return geometric_mean(lows), middle, geometric_mean(highs)


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def changes(a: Iterable[Row], b: Iterable[Row]) -> tuple[Change, ...]:
    """Entries of the environment with other values in the second run's rows; readings, as a temperature, aside."""
    first, second = surroundings(a), surroundings(b)
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    return tuple(Change(name=name, a=first.get(name, ""), b=second.get(name, "")) for name in names)


def surroundings(rows: Iterable[Row]) -> dict[str, str]:
    """The values of each entry of the environment, by backend and name."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        measured = row.record.measurement or Measurement(backend=row.backend)
        for name, value in measured.environment.items():
            if name not in VARY:
                found.setdefault(f"{row.backend} {name}", {})[value] = None
    return {name: ", ".join(sorted(values)) for name, values in found.items()}
