"""Two runs beside each other: text for a terminal, and a table for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from gemmlab.experiment.keys import Key
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.spreadsheet import line
from gemmlab.report.words import amount, clean, several
from gemmlab.store import Comparison
from gemmlab.store.compare import NOT_TOLD_APART, VERDICTS, Pair, Untimed
from gemmlab.store.rows import Run
from gemmlab.units import significant

COLUMNS = ("row", "problem", "backend", "kernel", "threads", "a_time_s", "b_time_s", "ratio", "ratio_low", "ratio_high")
HEADER = (*COLUMNS, "verdict", "a_fault", "b_fault")
SIZES = (8, 8, 7, 14)  #: columns of both times, their ratio and its range
VERDICT = max(map(len, VERDICTS))


def compared(
    found: Comparison, *, width: int | None = None, color: bool | None = None, unicode: bool | None = None
) -> str:
    """A comparison as text without a line end; width, colour and characters as `terminal` takes them."""
    canvas = Canvas.of(sys.stdout, width, color, unicode)
    blocks = [heading(found, canvas), *tables(found, canvas), together(found, canvas), untimed(found, canvas)]
    blocks += [alone("Only in A", found.only_a, canvas), alone("Only in B", found.only_b, canvas)]
    blocks.append(surroundings(found, canvas))
    return "\n\n".join("\n".join(text.rstrip() for text in block) for block in blocks if block)


def heading(found: Comparison, canvas: Canvas) -> list[str]:
    """Which two runs."""
    lines = canvas.sides(f"{clean(found.a.suite)}: run B beside run A", "measured", "measured", "strong")
    for name, run in (("A", found.a), ("B", found.b)):
        lines += canvas.wrap(f"{name}  {run_text(run)}", 2, hang=3)
    threads = common_threads(found)
    return lines + (canvas.wrap(f"all with {several(threads, 'thread')}", 2) if threads else [])


def common_threads(found: Comparison) -> int:
    """The threads of every row, where they are said and the same; else 0."""
    rows: list[Pair | Untimed | Key] = [*found.pairs, *found.untimed, *found.only_a, *found.only_b]
    told = {row.threads for row in rows}
    return told.pop() if len(told) == 1 else 0


def run_text(run: Run) -> str:
    """A run in a line."""
    state = "" if run.finished else ", unfinished"
    where = f" on {clean(', '.join(run.chips))}" if run.chips else ""
    return f"{run.id}, {several(run.records, 'Record')}{where}{state}"


def tables(found: Comparison, canvas: Canvas) -> Iterator[list[str]]:
    """The rows, under their multiplications."""
    said = not common_threads(found)
    room = canvas.width - 2 - sum(SIZES) - 2 * len(SIZES) - 2 - VERDICT
    for index, (problem, group) in enumerate(groupby(found.pairs, lambda pair: pair.problem)):
        lines = canvas.wrap(clean(problem), style="strong", hang=2)
        if not canvas.narrow:
            head = "".join(f"  {text:>{size}}" for text, size in zip(("A", "B", "A/B", "range"), SIZES, strict=True))
            lines += [canvas.paint(" " * (2 + room) + head, "dim")] if not index else []
        for pair in group:
            name = canvas.fit(label(pair, threads=said))
            lines += pair_lines(name, pair, room, canvas)
        yield lines


def pair_lines(name: str, pair: Pair, room: int, canvas: Canvas) -> list[str]:
    """One row; on several lines where narrow."""
    times = (amount(pair.a_time_s, "s"), amount(pair.b_time_s, "s"))
    ratio, spread = ratio_text(pair.ratio), range_text(pair.ratio_low, pair.ratio_high)
    if canvas.narrow:
        text = f"A {times[0]}, B {times[1]}, A/B {ratio} ({spread}): {pair.verdict}"
        return [*canvas.wrap(name, 2), *canvas.wrap(text, 4)]
    figures = "".join(f"  {text:>{size}}" for text, size in zip((*times, ratio, spread), SIZES, strict=True))
    style = "dim" if pair.verdict == NOT_TOLD_APART else "bound"
    tail = f"{figures}  {canvas.paint(pair.verdict, style)}"
    if cells(name) > room:
        return [*canvas.wrap(name, 2), " " * (2 + room) + tail]
    return [f"  {name}{' ' * (room - cells(name))}{tail}"]


def label(row: Pair | Untimed | Key, *, threads: bool) -> str:
    """A contender in few words."""
    behind = f", {several(row.threads, 'thread')}" if threads and row.threads else ""
    return clean(f"{row.backend} {row.kernel}{behind}")


def ratio_text(ratio: float) -> str:
    """A ratio with as many digits as can matter near 1."""
    return f"{significant(ratio, 4 if 0.9 <= ratio < 10 else 3)}x"


def range_text(low: float | None, high: float | None) -> str:
    """What the ratio may be."""
    if low is None or high is None:
        return "no spread"
    return f"{significant(low, 3)} to {significant(high, 3)}"


def together(found: Comparison, canvas: Canvas) -> list[str]:
    """What holds of all rows."""
    if found.ratio is None:
        return canvas.wrap("No row has a time in both runs: nothing can be compared.")
    counts = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS)
    mean = f"geometric mean of A/B {ratio_text(found.ratio)}, {range_text(found.ratio_low, found.ratio_high)}"
    rule = (
        "Above 1, B is faster. A row is told apart only where the quartiles of both times leave 1 out of its range. "
        "They are those within each run: clocks, heat and other work that changed between the two are not in them."
    )
    return [
        *canvas.wrap(f"B, {several(len(found.pairs), 'row')}: {counts}", style="strong", hang=2),
        *canvas.wrap(f"{mean}: {found.verdict}", 2, hang=2),
        *(line for text in loads(found) for line in canvas.wrap(text, 2, "bound", 2)),
        *canvas.wrap(rule, 2, "dim"),
    ]


def loads(found: Comparison) -> list[str]:
    """The other work in each run, which a verdict may be of instead of the kernels."""
    said = []
    for name, load in (("A", found.a_load), ("B", found.b_load)):
        if load is not None:
            span = f"{load.low:g}" if load.low == load.high else f"{load.low:g} to {load.high:g}"
            rows = f"{load.rows} of {several(len(found.pairs), 'row')}"
            said.append(f"{name}: cores were busy before {rows}, load {span}: times may be too long")
    return said


def untimed(found: Comparison, canvas: Canvas) -> list[str]:
    """Rows of both runs that are wrong or failed in one."""
    if not found.untimed:
        return []
    lines = canvas.wrap(f"Without a time in one of them, {several(len(found.untimed), 'row')}:", style="strong")
    for row in found.untimed:
        name = f"{clean(row.problem)}, {label(row, threads=not common_threads(found))}"
        lines += canvas.wrap(f"{name}: A {row.a_fault or 'fine'}, B {row.b_fault or 'fine'}", 2, hang=2)
    return lines


def alone(title: str, keys: Sequence[Key], canvas: Canvas) -> list[str]:
    """Rows that one run has alone."""
    if not keys:
        return []
    lines = canvas.wrap(f"{title}, {several(len(keys), 'row')}:", style="strong")
    for key in keys:
        lines += canvas.wrap(f"{clean(key.problem)}, {label(key, threads=True)}", 2, hang=2)
    return lines


def surroundings(found: Comparison, canvas: Canvas) -> list[str]:
    """What else is another in the second run."""
    if not found.changed:
        return []
    lines = canvas.wrap("What else differs:", style="strong")
    for change in found.changed:
        a, b = (shorten(clean(text), 200) or "none" for text in (change.a, change.b))
        lines += canvas.wrap(f"{clean(change.name)}: A {a}, B {b}", 2, hang=2)
    return lines


def compared_csv(found: Comparison) -> Iterator[str]:
    """Lines of CSV without line ends: the header, then each key; `row` is both, untimed, only_a or only_b."""
    yield line(list(HEADER))
    for pair in found.pairs:
        yield csv_line("both", pair)
    for row in found.untimed:
        yield csv_line("untimed", row)
    for kind, keys in (("only_a", found.only_a), ("only_b", found.only_b)):
        for key in keys:
            yield csv_line(kind, key)


def csv_line(kind: str, row: Pair | Untimed | Key) -> str:
    """One key; what it lacks is empty."""
    return line([kind, *(getattr(row, name, None) for name in HEADER[1:])])
