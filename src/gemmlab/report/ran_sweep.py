"""Kernels that were run on many multiplications: a table for each, then what holds of every kernel over all."""

import math
import sys
from collections.abc import Iterable, Sequence

from gemmlab.record import Measurement, Record
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.ran import (
    LEGEND,
    NAME_CAP,
    TIES,
    comparable,
    conclusions,
    heading,
    notes,
    rows_of,
    side_by_side,
    spread_of,
    stacked,
)
from gemmlab.report.words import clean, percent, several
from gemmlab.run.timing import ranks

OVERALL = ("of limit", "first", "timed", "faults")
OVERALL_LEGEND = (
    "of limit: geometric mean over the shapes with a time; first: shapes where nothing is told to be faster. Kernels "
    "timed on different shapes are not comparable by it"
)


def swept_table(
    records: Iterable[Record],
    names: Sequence[str] = (),
    *,
    width: int | None = None,
    color: bool | None = None,
    unicode: bool | None = None,
) -> str:
    """The tables of all multiplications, in the records' order, as text without a line end.

    `names` are what a list calls the multiplication of each Record, where it does.
    Width, colour and characters as `terminal` takes them.
    """
    canvas = Canvas.of(sys.stdout, width, color, unicode)
    told = list(records)
    groups = grouped(told)
    called: dict[object, str] = {}
    for record, name in zip(told, names, strict=False):
        called.setdefault(record.problem, name)
    lines: list[str] = []
    shared = False
    for together in groups:
        rows = rows_of(together)
        shared = shared or any("=" in row.place for row in rows)
        first, *rest = heading(together, canvas)
        name = clean(called.get(together[0].problem, ""))
        lines += [first, *canvas.wrap(name, 2, hang=2), *rest] if name else [first, *rest]
        lines += stacked(rows, canvas) if canvas.narrow else side_by_side(rows, canvas)
        lines += [*(line for text in conclusions(together) for line in canvas.wrap(text, hang=2)), ""]
    said = [LEGEND, *([TIES] if shared else []), OVERALL_LEGEND]
    said += notes([record for together in groups for record in together])
    lines += [*overall(groups, canvas), "", *(line for text in said for line in canvas.wrap(text, hang=2))]
    return "\n".join(line.rstrip() for line in lines)


def grouped(records: Iterable[Record]) -> list[list[Record]]:
    """The records of each multiplication, both in the order they came in."""
    found: dict[object, list[Record]] = {}
    for record in records:
        found.setdefault(record.problem, []).append(record)
    return list(found.values())


def overall(groups: Sequence[Sequence[Record]], canvas: Canvas) -> list[str]:
    """Every kernel over all multiplications, the measured ones of them."""
    by_kernel: dict[str, list[Measurement]] = {}
    firsts: dict[str, int] = {}
    for together in groups:
        measured = [record.measurement for record in together if record.measurement]
        for m in measured:
            by_kernel.setdefault(name_of(m), []).append(m)
        timed = comparable(measured)
        for m, rank in zip(timed, ranks([spread_of(m) for m in timed]), strict=True):
            firsts[name_of(m)] = firsts.get(name_of(m), 0) + (rank == 1)
    rows = [(name, figures(found, firsts.get(name, 0))) for name, found in by_kernel.items()]
    first = max(cells(shorten(canvas.fit(name), NAME_CAP)) for name, _ in rows) if rows else 0
    lines = canvas.sides(f"Over all {several(len(groups), 'multiplication')}", "measured", "measured", "strong")
    lines.append(canvas.paint(f"  {'':{first}}" + "".join(f"  {name:>8}" for name in OVERALL), "dim"))
    for name, texts in rows:
        shown = shorten(canvas.fit(name), NAME_CAP)
        lines.append(f"  {shown}{' ' * (first - cells(shown))}" + "".join(f"  {text:>8}" for text in texts))
    return lines


def name_of(m: Measurement) -> str:
    """A kernel, with its backend."""
    return clean(f"{m.backend} {m.kernel}")


def figures(found: Sequence[Measurement], firsts: int) -> tuple[str, ...]:
    """By OVERALL, in words."""
    shares = [m.fraction_of_limit for m in found if m.time_s and m.fraction_of_limit]
    mean = math.exp(math.fsum(map(math.log, shares)) / len(shares)) if shares else None
    timed = sum(bool(m.time_s) for m in found)
    return percent(mean), str(firsts), str(timed), str(sum(bool(m.fault) for m in found))
