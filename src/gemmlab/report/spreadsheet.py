"""Many Records as CSV, a line each: every plain number by its dotted name."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from gemmlab.problem import Shape
from gemmlab.record import Record
from gemmlab.record.sections import ChipSection, Count, KernelSection, Measurement, Prediction, ProblemSection, Verdict
from gemmlab.record.workload import CallSection, ChangeSection
from gemmlab.report.words import clean

#: what a list of shapes adds to its Records
SHAPE = ("name", "count")

LEVELS = ("dram", "l3", "l2", "l1", "shared", "register")
LEVEL_FIELDS = ("bytes", "time_s", "intensity_flop_per_byte", "knee_flop_per_byte")
ADVICE_FIELDS = ("cause", "change", "predicted_speedup", "cost", "confidence")

#: the sections whose plain fields become columns, and the fields that are no single value
SECTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "problem": (ProblemSection, ("groups",)),
    "chip": (ChipSection, ("levels", "peak_flop_per_s")),
    "kernel": (KernelSection, ()),
    "count": (Count, ("arrays",)),
    "prediction": (Prediction, ("levels", "terms", "lower_bounds", "notes")),
    "measurement": (Measurement, ("environment", "samples", "notes")),
    "verdict": (Verdict, ("missed_faults", "worst")),
    "call": (CallSection, ("places", "shapes", "strides", "formats", "kernels", "changes")),
}


def columns() -> list[str]:
    """The CSV's columns, the same for every Record: a shape's name and count, then dotted names of the JSON."""
    plain = [
        f"{section}.{name}"
        for section, (kind, left_out) in SECTIONS.items()
        for name in kind.__struct_fields__
        if name not in left_out
    ]
    levels = [f"prediction.levels.{level}.{name}" for level in LEVELS for name in LEVEL_FIELDS]
    lists = ["problem.groups", "count.arrays", "prediction.terms", "prediction.lower_bounds", "call.places"]
    lists += [f"call.changes.0.{name}" for name in ChangeSection.__struct_fields__]
    return [*SHAPE, *plain, "chip.peak_flop_per_s", *levels, *lists, *(f"advice.0.{name}" for name in ADVICE_FIELDS)]


def csv_rows(records: Iterable[Record], shapes: Sequence[Shape] = ()) -> Iterator[str]:
    """Lines of CSV without line ends: the header, then one for each Record as it comes.

    `shapes` are what the Records are of, in the same order, where they have names or occur several times.
    `chip.peak_flop_per_s` is that of A's format; lists are `name=value` joined by `; `, `count.arrays` with loaded and
    stored bytes as the value; what a Record lacks is empty. Text that a spreadsheet would take for a formula begins
    with an apostrophe.
    """
    names = columns()
    yield line(names)
    for record, shape in zip(records, chain(shapes, repeat(None)), strict=False):
        values = flat(record)
        if shape is not None:
            values |= {"name": shape.name, "count": shape.count}
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
    if record.call:
        found["call.places"] = "; ".join(record.call.places)
        for best in record.call.changes[:1]:
            found |= {f"call.changes.0.{name}": getattr(best, name) for name in best.__struct_fields__}
    if record.count:
        asked = (f"{each.name}={each.load_bytes}/{each.store_bytes}" for each in record.count.arrays)
        found["count.arrays"] = "; ".join(asked)
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
