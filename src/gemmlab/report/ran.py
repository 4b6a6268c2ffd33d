"""Kernels that were run on one multiplication: a table with count, prediction, time and verdict side by side."""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gemmlab.record import Measurement, Record
from gemmlab.report import story
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.words import amount, bound_phrase, clean, percent, plain
from gemmlab.run.environment import BUSY, was_busy
from gemmlab.run.timing import Spread, ranks, told_apart

COLUMNS = ("kernel", "loads", "predicted", "measured", "spread", "of limit", "result")
NAME_CAP = 18
LEGEND = (
    "loads: counted, before any cache. measured: median of the rounds; spread: half the distance of the quartiles. "
    "of limit: the roofline's time over the measured one"
)
TIES = "= marks a place that kernels share: their quartiles overlap, so this run does not tell them apart"


class Row(NamedTuple):
    """One kernel in words."""

    place: str  #: its rank, with `=` where it is shared; `-` where there is none
    cells: tuple[str, ...]  #: by COLUMNS
    fault: str  #: what went wrong, empty where nothing did


def run_table(
    records: Sequence[Record], *, width: int | None = None, color: bool | None = None, unicode: bool | None = None
) -> str:
    """The table of the kernels of one multiplication, in the records' order; 40 columns or more.

    Width, colour and characters as `terminal` takes them.
    """
    canvas = Canvas.of(sys.stdout, width, color, unicode)
    rows = rows_of(records)
    lines = heading(records, canvas)
    lines += stacked(rows, canvas) if canvas.narrow else side_by_side(rows, canvas)
    if told := ideas(records):
        lines += ["", *(line for text in told for line in canvas.wrap(text, 4, "dim", 2))]
    legend = [LEGEND] * any(not row.fault for row in rows)
    said = [
        *conclusions(records),
        *bounds(records),
        *legend,
        *([TIES] if any("=" in row.place for row in rows) else []),
        *notes(records),
    ]
    return "\n".join([*lines, "", *(line for text in said for line in canvas.wrap(text, hang=2))])


def heading(records: Sequence[Record], canvas: Canvas) -> list[str]:
    """The multiplication, and what it ran on."""
    lines = canvas.wrap(story.title(records[0]), style="strong", hang=2)
    lines += canvas.wrap(", ".join(x for x in (story.formats(records[0]), story.details(records[0])) if x), 2, hang=2)
    places: dict[str, list[str]] = {}
    for m in (record.measurement for record in records):
        if m is not None:
            places.setdefault(place(m), []).append(clean(m.kernel))
    told = [f"{text}: {', '.join(names)}" if len(places) > 1 else text for text, names in places.items()]
    return [*lines, *(line for text in told for line in canvas.wrap(text, 2, hang=2)), ""]


def place(measurement: Measurement) -> str:
    """Chip and threads of a measurement."""
    chip = clean(measurement.environment.get("chip", "an unknown chip"))
    if measurement.threads is None:
        return f"on {chip}"
    return f"on {chip}, {measurement.threads} thread{'s' * (measurement.threads != 1)}"


def rows_of(records: Sequence[Record]) -> list[Row]:
    """All kernels in words, each with its place among those whose times can be held against each other."""
    timed = comparable([record.measurement for record in records if record.measurement])
    found = ranks([spread_of(m) for m in timed])
    shared = {rank for rank in found if found.count(rank) > 1}
    places = {id(m): f"{rank}{'=' * (rank in shared)}" for m, rank in zip(timed, found, strict=True)}
    return [row_of(record, places.get(id(record.measurement), "-")) for record in records]


def comparable(measured: Sequence[Measurement]) -> list[Measurement]:
    """Those with a time; of a software adapter, which is no chip, only where there are no others."""
    timed = [m for m in measured if m.time_s]
    return [m for m in timed if not m.software] or timed


def spread_of(m: Measurement) -> Spread:
    """Median and quartiles of a measurement that has a time."""
    time = m.time_s or 0.0
    return Spread(time, m.time_s_low or time, m.time_s_high or time, len(m.samples))


def row_of(record: Record, rank: str) -> Row:
    """One kernel in words."""
    m, verdict = record.measurement, record.verdict
    if m is None:
        return Row(rank, ("-",) * len(COLUMNS), "not run")
    own = spread_of(m)
    spread = f"±{percent((own.high - own.low) / 2 / own.median)}".replace("±<", "<") if m.time_s else "-"
    result = "-" if verdict is None else "right" if verdict.informative else "unproven"
    texts = (
        clean(m.kernel),
        amount(record.count.global_load_bytes, "B") if record.count else "-",
        amount(record.prediction.time_s, "s") if record.prediction else "-",
        amount(m.time_s, "s"),
        spread,
        percent(m.fraction_of_limit),
        result,
    )
    return Row(rank, texts, f"{m.fault}: {clean(m.fault_detail)}".removesuffix(": ") if m.fault else "")


def side_by_side(rows: Sequence[Row], canvas: Canvas) -> list[str]:
    """The rows in columns; a fault takes the place of the figures."""
    names = [shorten(canvas.fit(row.cells[0]), NAME_CAP) for row in rows]
    good = [row.cells[1:] for row in rows if not row.fault]
    sizes = [max([len(name), *(cells(c[i]) for c in good)]) for i, name in enumerate(COLUMNS[1:])]
    first = max(cells(name) for name in [COLUMNS[0], *names])
    lines = [canvas.paint(columned("", COLUMNS[0], COLUMNS[1:], first, sizes), "dim")]
    for name, row in zip(names, rows, strict=True):
        if row.fault:
            head = f"{row.place:<3} {name}{' ' * (first - cells(name))}  "
            body = canvas.wrap(row.fault, cells(head), "bound", 2)
            lines += [head + body[0].lstrip(), *body[1:]]
        else:
            lines.append(columned(row.place, name, [canvas.fit(c) for c in row.cells[1:]], first, sizes))
    return lines


def columned(rank: str, name: str, texts: Sequence[str], first: int, sizes: Sequence[int]) -> str:
    """One line: place and name to the left, figures to the right, the result to the left again."""
    *figures, result = texts
    shown = [" " * (size - cells(text)) + text for text, size in zip(figures, sizes, strict=False)]
    return "  ".join([f"{rank:<3} {name}{' ' * (first - cells(name))}", *shown, result]).rstrip()


def stacked(rows: Sequence[Row], canvas: Canvas) -> list[str]:
    """Each kernel on several lines of a narrow terminal."""
    lines: list[str] = []
    for row in rows:
        lines += canvas.wrap(f"{row.place:<3} {row.cells[0]}", style="strong", hang=2)
        told = zip(COLUMNS[1:], row.cells[1:], strict=True)
        lines += canvas.wrap(row.fault or ", ".join(f"{name} {text}" for name, text in told), 4, hang=2)
    return lines


def ideas(records: Sequence[Record]) -> list[str]:
    """What each kernel does differently."""
    return [f"{clean(m.kernel)}: {clean(m.idea)}" for record in records if (m := record.measurement) and m.idea]


def conclusions(records: Sequence[Record]) -> list[str]:
    """Which is the fastest that is told apart, and how the best of the ladder stands to the vendor's library."""
    timed = comparable([m for record in records if (m := record.measurement)])
    if len(timed) < 2:
        return []
    best = min(timed, key=lambda m: m.time_s or 0.0)
    places = ranks([spread_of(m) for m in timed])
    first = [clean(m.kernel) for m, rank in zip(timed, places, strict=True) if rank == 1]
    said = [f"fastest: {first[0]}" if len(first) == 1 else f"fastest, not told apart: {', '.join(first)}"]
    vendors, own = [m for m in timed if m.vendor], [m for m in timed if not m.vendor]
    if vendors and own:
        library = min(vendors, key=lambda m: m.time_s or 0.0)
        best = min(own, key=lambda m: m.time_s or 0.0)
        ratio = (library.time_s or 0.0) / (best.time_s or 1.0)
        apart = told_apart(spread_of(best), spread_of(library))
        doubt = ("" if apart else ", which this run does not tell apart") + disturbed((best, library))
        share = f"{plain(ratio, 2)} of" if ratio < 1 else f"{plain(ratio, 3)} times"
        said.append(f"{clean(best.kernel)} has {share} {clean(library.kernel)}'s speed, measured{doubt}")
    return said


def disturbed(compared: Sequence[Measurement]) -> str:
    """What a ratio of times is worth where other work held the cores while a wall clock told one of them."""
    if any(m.environment.get("timed") == "wall clock" and was_busy(m) for m in compared):
        return " by the wall clock while other work held the cores: no ratio to rely on"
    return ""


def bounds(records: Sequence[Record]) -> list[str]:
    """What each kernel is predicted to wait for, the kernels of one bound together."""
    found: dict[str, list[str]] = {}
    for record in records:
        if record.measurement and record.prediction:
            found.setdefault(bound_phrase(record.prediction.bound), []).append(clean(record.measurement.kernel))
    told = "; ".join(f"{bound[:1].lower()}{bound[1:]}: {', '.join(names)}" for bound, names in found.items())
    return [f"predicted {told}"] if told else []


def once_each(measured: Sequence[Measurement]) -> Iterator[str]:
    """Each note; that of a load before several runs with the lowest and the highest."""
    loads = sorted({float(m.environment.get("load_before", 0)) for m in measured if was_busy(m)})
    for m in measured:
        for note in map(clean, m.notes):
            start, found, _ = note.partition(BUSY)
            if found and len(loads) > 1:
                yield f"{start}{BUSY}{loads[0]:g} to {loads[-1]:g} before runs: times may be too long"
            else:
                yield note


def notes(records: Sequence[Record]) -> list[str]:
    """What else is to be known of the figures, each thing once."""
    measured = [m for record in records if (m := record.measurement)]
    said = list(once_each(measured))
    clocks = dict.fromkeys(clock for m in measured if m.time_s and (clock := m.environment.get("timed")))
    if len(clocks) > 1:
        for clock in clocks:
            names = (m.kernel for m in measured if m.time_s and m.environment.get("timed") == clock)
            said.append(f"{clean(clock)}: {', '.join(map(clean, names))}")
    for m in measured:
        if m.sustained_time_s:
            said.append(f"{clean(m.kernel)}, sustained: {amount(m.sustained_time_s, 's')}, measured")
        if (held := m.environment.get("throttled", "no")) != "no":
            said.append(f"{clean(m.kernel)} was throttled: {clean(held)}, {clean(m.environment.get('sm_clock', ''))}")
    return list(dict.fromkeys(said))
