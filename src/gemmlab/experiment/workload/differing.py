"""Two answers side by side: which multiplications came, went or changed, and what that does to time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import msgspec

from gemmlab.experiment.workload.answer import Answer, Row
from gemmlab.workload import Call


class Changed(msgspec.Struct, frozen=True):
    """One multiplication of either answer, or of both."""

    before: Row | None  #: None where it came
    after: Row | None  #: None where it went
    what: tuple[str, ...]  #: of shape, stride, format, count, kernel, phase and time, what differs; came or went
    time_s: float  #: of a step: after less before, negative where it became faster
    gain_s: float  #: of a step: what is still to gain after, less what was before


class Difference(msgspec.Struct, frozen=True):
    """What changed between two workloads, seconds of one step of each."""

    before: Answer
    after: Answer
    rows: tuple[Changed, ...]  #: those that differ, the largest change of time first
    same: int  #: rows that differ in nothing
    time_s: float  #: of the whole step: after less before
    multiplying_s: float  #: of the multiplications
    rest_s: float  #: of what is not multiplication
    idle_s: float
    gain_s: float  #: of what the best changes would still gain


NOTABLE = 0.02  # of the longer time: measured times of equal kernels differ by as much


def difference(before: Answer, after: Answer) -> Difference:
    """What came, went and changed from one answer to another, each of a trace, a model or a table.

    Rows are matched by operator, place and sizes; what is left by place, operator, phase and layout, then by place and
    phase, then by sizes alone: of several that fit the most alike. Times are of one step of each, as each answer knows
    them.
    """
    pairs = matched(before.rows, after.rows)
    rows = [row_of(first, second, before.workload.steps, after.workload.steps) for first, second in pairs]
    told = [row for row in rows if row.what]
    told.sort(key=lambda row: (-abs(row.time_s), row.what))
    return Difference(
        before,
        after,
        tuple(told),
        len(rows) - len(told),
        **{
            name: getattr(after, name) / after.workload.steps - getattr(before, name) / before.workload.steps
            for name in ("time_s", "multiplying_s", "rest_s", "idle_s")
        },
        gain_s=after.advised_gain * after.time_s / after.workload.steps
        - before.advised_gain * before.time_s / before.workload.steps,
    )


def sizes_of(call: Call) -> Hashable:
    """What is multiplied, whatever its format and strides."""
    problem = call.problem
    return problem.m, problem.n, problem.k, problem.batch, problem.groups, call.convolution_pass, bool(call.fused)


def whole_key(call: Call) -> Hashable | None:
    """Operator, phase, places and sizes."""
    return call.operator, call.phase, call.places, sizes_of(call)


def role_key(call: Call) -> Hashable | None:
    """Operator, phase, first place and how A and B are read, whatever the sizes; None where nobody told a place."""
    role = (call.operator, call.problem.layout, call.problem.batch > 1, bool(call.fused))
    return (place_key(call), *role) if call.places else None


def place_key(call: Call) -> Hashable | None:
    """Phase and first place, whatever the sizes; None where nobody told a place."""
    return (call.phase, call.places[0], call.convolution_pass) if call.places else None


def size_key(call: Call) -> Hashable | None:
    """Phase and sizes, whatever the operator, format and place."""
    return call.phase, sizes_of(call)


def bare_key(call: Call) -> Hashable | None:
    """Sizes alone: a trace may not tell phases."""
    return sizes_of(call)


KEYS = (whole_key, role_key, place_key, size_key, bare_key)
SAME_PRODUCT = 4  # of likeness: the same layout, or two of the three sides


def matched(before: Iterable[Row], after: Iterable[Row]) -> list[tuple[Row | None, Row | None]]:
    """Pairs of rows, each row once; None where there is no partner."""
    left, right = list(before), list(after)
    pairs: list[tuple[Row | None, Row | None]] = []
    for key in KEYS:
        waiting, asking = by_key(right, key), by_key(left, key)
        found = [pair for name, rows in asking.items() for pair in closest(rows, waiting.get(name, []))]
        pairs += found
        taken = {id(row) for pair in found for row in pair}
        left, right = ([row for row in rows if id(row) not in taken] for rows in (left, right))
    return [*pairs, *((row, None) for row in left), *((None, row) for row in right)]


def by_key(rows: Iterable[Row], key: Callable[[Call], Hashable | None]) -> dict[Hashable, list[Row]]:
    """Rows by what a key says of them; those of which it says nothing are left out."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        name = key(row.call)
        if name is not None:
            found.setdefault(name, []).append(row)
    return found


def closest(left: list[Row], right: list[Row]) -> list[tuple[Row, Row]]:
    """Pairs of rows of one key, the most alike first: two gradients of a layer share their place and their phase."""
    alike = [(likeness(one.call, other.call), i, j) for i, one in enumerate(left) for j, other in enumerate(right)]
    pairs: dict[int, int] = {}
    for likely, i, j in sorted(alike, key=lambda each: (-each[0], each[1:])):
        if likely >= SAME_PRODUCT and i not in pairs and j not in pairs.values():
            pairs[i] = j
    return [(left[i], right[j]) for i, j in sorted(pairs.items())]


def likeness(one: Call, other: Call) -> int:
    """How much two multiplications have in common: how A and B are read, then sides, then the operator."""
    first, second = one.problem, other.problem
    sides = sum((first.m == second.m, first.n == second.n, first.k == second.k))
    return 4 * (first.layout == second.layout) + 2 * sides + (one.operator == other.operator)


def row_of(before: Row | None, after: Row | None, steps_before: int, steps_after: int) -> Changed:
    """What differs between two rows."""
    first = (seconds(before) / steps_before, gain(before) / steps_before)
    second = (seconds(after) / steps_after, gain(after) / steps_after)
    what = differing(before, after, steps_before, steps_after)
    return Changed(before, after, what, second[0] - first[0], second[1] - first[1])


def differing(before: Row | None, after: Row | None, steps_before: int, steps_after: int) -> tuple[str, ...]:
    """In what two rows differ, in words."""
    if before is None or after is None:
        return ("came",) if before is None else ("went",)
    one, other = before.call, after.call
    tests = {
        "shape": sizes_of(one) != sizes_of(other),
        "stride": strides_of(one) != strides_of(other) and sizes_of(one) == sizes_of(other),
        "format": formats_of(one) != formats_of(other),
        "count": one.count * steps_after != other.count * steps_before,
        "kernel": one.fused != other.fused or bool(one.kernels and other.kernels and one.kernels != other.kernels),
        "phase": bool(one.phase and other.phase and one.phase != other.phase),
        "time": notably(seconds(before) / steps_before, seconds(after) / steps_after),
    }
    return tuple(name for name, differs in tests.items() if differs)


def notably(first: float, second: float) -> bool:
    """Whether two times differ by more than times of equal kernels do."""
    return abs(first - second) > NOTABLE * max(first, second)


def strides_of(call: Call) -> Hashable:
    """How A, B and D lie in memory."""
    problem = call.problem
    return problem.layout, problem.lda, problem.ldb, problem.ldc, problem.a_offset_bytes, problem.b_offset_bytes


def formats_of(call: Call) -> Hashable:
    """Formats of A, B and D."""
    return call.problem.a_format, call.problem.b_format, call.problem.d_format


def seconds(row: Row | None) -> float:
    """Of all of them."""
    return row.record.call.time_s if row is not None and row.record.call else 0.0


def gain(row: Row | None) -> float:
    """What the best change gains of all of them."""
    return row.record.call.gain_s if row is not None and row.record.call else 0.0
