"""Many Records, one line each: CSV for programs, a table for the terminal."""

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from gemmlab.record import Record
from gemmlab.record.sections import ChipSection, Count, KernelSection, Measurement, Prediction, ProblemSection
from gemmlab.report import story
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.words import amount, bound_key, clean, percent, speedup

COLUMNS = ("shape", "format", "time", "bound", "DRAM", "of peak", "advice")

WIDEST = 160
CAPS = (26, 14, 11, 12, 11, 7)  # columns of a terminal for each of COLUMNS but the advice

LEVELS = ("dram", "l2", "shared", "register")
LEVEL_FIELDS = ("bytes", "time_s", "intensity_flop_per_byte", "knee_flop_per_byte")
ADVICE_FIELDS = ("cause", "change", "predicted_speedup", "cost", "confidence")

#: the sections whose plain fields become columns, and the fields that are no single value
SECTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "problem": (ProblemSection, ("groups",)),
    "chip": (ChipSection, ("levels", "peak_flop_per_s")),
    "kernel": (KernelSection, ()),
    "count": (Count, ()),
    "prediction": (Prediction, ("levels", "terms", "lower_bounds", "notes")),
    "measurement": (Measurement, ("environment",)),
}


def columns() -> list[str]:
    """The CSV's columns: dotted names of the Record's JSON, the same for every Record."""
    plain = [
        f"{section}.{name}"
        for section, (kind, left_out) in SECTIONS.items()
        for name in kind.__struct_fields__
        if name not in left_out
    ]
    levels = [f"prediction.levels.{level}.{name}" for level in LEVELS for name in LEVEL_FIELDS]
    lists = ["problem.groups", "prediction.terms", "prediction.lower_bounds"]
    return [*plain, "chip.peak_flop_per_s", *levels, *lists, *(f"advice.0.{name}" for name in ADVICE_FIELDS)]


def csv_rows(records: Iterable[Record]) -> Iterator[str]:
    """Lines of CSV without line ends: the header, then one for each Record as it comes.

    `chip.peak_flop_per_s` is that of A's format; lists are `name=value` joined by `; `; what a Record lacks is empty.
    Text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    names = columns()
    yield line(names)
    for record in records:
        values = flat(record)
        yield line([values.get(name) for name in names])


def flat(record: Record) -> dict[str, Any]:
    """Values by dotted name."""
    found: dict[str, Any] = {}
    for section, (_, left_out) in SECTIONS.items():
        part = getattr(record, section)
        for name in part.__struct_fields__ if part else ():
            if name not in left_out:
                found[f"{section}.{name}"] = getattr(part, name)
    if record.problem:
        found["problem.groups"] = "; ".join("x".join(map(str, group)) for group in record.problem.groups)
    if record.problem and record.chip:
        found["chip.peak_flop_per_s"] = record.chip.peak_flop_per_s.get(record.problem.a_format)
    if p := record.prediction:
        for level in p.levels:
            found |= {f"prediction.levels.{level.name}.{name}": getattr(level, name) for name in LEVEL_FIELDS}
        found["prediction.terms"] = "; ".join(f"{term.cause}={term.time_s!r}" for term in p.terms)
        found["prediction.lower_bounds"] = "; ".join(f"{name}={value!r}" for name, value in p.lower_bounds.items())
    for first in (record.advice or ())[:1]:
        found |= {f"advice.0.{name}": getattr(first, name) for name in ADVICE_FIELDS}
    return found


def line(values: list[Any]) -> str:
    """One line of CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow([cell(value) for value in values])
    return out.getvalue()


def cell(value: Any) -> str:
    """A value as CSV writes it: numbers as JSON would, text on one line and harmless to spreadsheets."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = clean(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def summary(record: Record) -> tuple[str, ...]:
    """A Record in COLUMNS."""
    p, prediction = record.problem, record.prediction
    shape = story.title(record) if p else "-"
    if p and p.groups:
        shape = f"{len(p.groups)} groups, m {p.m}"
    if prediction is None:
        return (shape, clean(p.a_format) if p else "-", "-", "-", "-", "-", "-")
    advice = "-"
    for first in (record.advice or ())[:1]:
        gain = speedup(first.predicted_speedup)
        advice = f"{clean(first.change)}" + (f": {gain}" if gain not in ("-", "no gain") else "")
    return (
        shape,
        clean(p.a_format) if p else "-",
        amount(prediction.time_s, "s"),
        bound_key(prediction.bound),
        amount(prediction.dram_bytes, "B"),
        percent(story.share_of_peak(record)),
        advice,
    )


def sweep_table(
    records: Iterable[Record], *, width: int | None = None, color: bool | None = None, unicode: bool | None = None
) -> str:
    """A table for the terminal, one line for each Record; the advice gets a line of its own where there is no room.

    Times and DRAM traffic are predicted. Width, colour and characters as `terminal` takes them.
    """
    canvas = Canvas.of(sys.stdout, width, color, unicode, widest=WIDEST)
    rows = [tuple(canvas.fit(cell) for cell in summary(record)) for record in records]
    if not rows:
        return "no multiplications"
    sizes = [min(max(cells(row[i]) for row in (COLUMNS, *rows)), cap) for i, cap in enumerate(CAPS)]
    room = canvas.width - sum(sizes) - 2 * len(sizes)
    if room < 0:
        return "\n".join([*(line for row in rows for line in stacked(row, canvas)), *footer(canvas)])
    room = room if room >= len("pad n to 50304: 1.5x") else 0
    lines = [canvas.paint(columned(COLUMNS, sizes, room), "dim")]
    for row in rows:
        if cells(row[0]) > sizes[0]:
            lines += canvas.wrap(row[0], hang=2)
            row = ("", *row[1:])  # noqa: PLW2901 - its first cell has a line of its own
        lines.append(columned(row, sizes, room))
        if not room and row[-1] != "-":
            lines += canvas.wrap(row[-1], 4, "dim", 2)
    return "\n".join([*lines, *footer(canvas)])


def footer(canvas: Canvas) -> list[str]:
    """What kind of numbers the table holds."""
    return ["", *canvas.wrap("time, DRAM traffic and advice are predicted", style="predicted")]


def columned(row: tuple[str, ...], sizes: list[int], room: int) -> str:
    """One line: text to the left, figures to the right, the advice as far as it fits."""
    left = {0, 1, 3}
    parts = []
    for index, size in enumerate(sizes):
        text = shorten(row[index], size)
        pad = " " * (size - cells(text))
        parts.append(text + pad if index in left else pad + text)
    return "  ".join([*parts, shorten(row[-1], room)] if room else parts).rstrip()


def stacked(row: tuple[str, ...], canvas: Canvas) -> list[str]:
    """One Record on several lines of a narrow terminal."""
    shape, form, time, bound, dram, share, advice = row
    lines = canvas.wrap(f"{shape}, {form}" if form != "-" else shape, style="strong", hang=2)
    if time != "-":
        lines += canvas.wrap(f"{time} predicted, bound {bound}, DRAM {dram}, {share} of peak", 2, hang=2)
    return lines + (canvas.wrap(advice, 2, "dim", 2) if advice != "-" else [])
