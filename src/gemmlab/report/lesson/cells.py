"""C under several orders of threads: which elements are wrong; and the two accesses that nothing keeps apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gemmlab.experiment.lesson.fault import Broken, Cells
from gemmlab.record import ScheduleSection
from gemmlab.report import fault_words
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import clean

EDGE, GAP, TALLEST = 16.0, 22.0, 260.0
CONFLICT = "Two accesses that race"
NARROW = 500.0  #: below it the maps stand under each other, their words beside them


def wrong_cells(broken: Broken, width: float) -> Drawing | None:
    """A map of C for each order that is shown; None where there is none."""
    maps = broken.maps
    if not maps:
        return None
    rows, columns = maps[0][1].shape
    narrow = width < NARROW
    room = (width - 2 * EDGE - GAP * 2) / 3
    cell = min(room / columns, TALLEST / rows) if not narrow else min(120.0 / columns, 120.0 / rows)
    said = "Each cell is an element of C under one order of threads; filled where it is wrong"
    lead = text_lines(said, 12, width - 2 * EDGE)
    head = 40.0 + 16 * len(lead)
    tall = (10 if narrow else 36) + cell * rows + 8
    lines = len(maps) if narrow else 1
    words = "; ".join(f"{name(tried)}: {count(found)}" for tried, found in maps)
    drawing = Drawing(width, head + tall * lines, "The same program, other orders", words)
    drawing.text(EDGE, 25, "The same program, other orders", 14, bold=True, after="emulated")
    drawing.paragraph(EDGE, 43, said, width - 2 * EDGE, color="quiet")
    for index, (tried, found) in enumerate(maps):
        if narrow:
            y = head + index * tall + 8
            words_of(drawing, tried, found, (EDGE + cell * columns + 14, y + 2), width - 2 * EDGE - cell * columns - 14)
            one(drawing, found, (EDGE, y), cell)
        else:
            x = EDGE + index * (room + GAP)
            words_of(drawing, tried, found, (x, head), room)
            one(drawing, found, (x, head + 36), cell)
    return drawing


def words_of(drawing: Drawing, tried: ScheduleSection, found: Cells, corner: tuple[float, float], room: float) -> None:
    """The order's name, and how many elements are wrong."""
    x, y = corner
    drawing.text(x, y + 12, fit(name(tried), 12, room, True), 12, bold=True)
    drawing.text(x, y + 28, fit(count(found), 11.5, room), 11.5, "brick" if found.any() else "teal")


def one(drawing: Drawing, found: Cells, corner: tuple[float, float], cell: float) -> None:
    """One map, with the edges of the blocks."""
    (x, top), (rows, columns) = corner, found.shape
    drawing.rect(x, top, cell * columns, cell * rows, "mist", crisp=True)
    for row, tall, start, stop in patches(found):
        drawing.rect(x + start * cell, top + row * cell, (stop - start) * cell, tall * cell, "brick", crisp=True)
    for at in range(16, max(rows, columns), 16):
        if at < columns:
            drawing.line((x + at * cell, top, x + at * cell, top + cell * rows), "paper", 1)
        if at < rows:
            drawing.line((x, top + at * cell, x + cell * columns, top + at * cell), "paper", 1)


def patches(found: Cells) -> list[tuple[int, int, int, int]]:
    """Row, rows, first and past the last column of rectangles of wrong elements, as large as rows alike allow."""
    made: list[tuple[int, int, int, int]] = []
    open_: dict[tuple[int, int], int] = {}  # where a rectangle that may go on stands in `made`
    for row, cells in enumerate(found.tolist()):
        here = dict.fromkeys(runs(cells))
        kept = {}
        for start, stop in here:
            place = open_.get((start, stop))
            if place is None:
                place = len(made)
                made.append((row, 0, start, stop))
            first, tall, *_ = made[place]
            made[place] = (first, tall + 1, start, stop)
            kept[start, stop] = place
        open_ = kept
    return made


def runs(cells: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """First and past the last of each stretch that is wrong."""
    start = None
    for column, wrong in enumerate([*cells, False]):
        if wrong and start is None:
            start = column
        elif not wrong and start is not None:
            yield start, column
            start = None


def name(tried: ScheduleSection) -> str:
    """The order as a report calls it."""
    return clean(tried.name).partition(":")[0].replace("-", " ") + ", the worst" * tried.worst


def count(found: Cells) -> str:
    """How many elements are wrong."""
    return f"{int(found.sum()):,} of {found.size:,} wrong"


def conflict(broken: Broken, width: float) -> Drawing | None:
    """The first two accesses that race, one lane a thread; None where there is none."""
    race, emulation = broken.race, broken.record.emulation
    if race is None or emulation is None or len(race.threads) != 2:
        return None
    reads, writes = fault_words.verbs(race, emulation)
    texts = dict(broken.lines)
    other = race.other_line if race.other_line is not None else race.line
    first, second = race.threads
    lanes = [
        (fault_words.thread(second, emulation, block=False), other, writes),
        (fault_words.thread(first, emulation, block=False), race.line, reads),
    ]
    said = fault_words.sentence(race, emulation)
    drawing = Drawing(width, 212, CONFLICT, said)
    drawing.text(EDGE, 25, fit(CONFLICT, 14, width - 110, True), 14, bold=True, after="emulated")
    room = (width - 2 * EDGE - GAP) / 2
    for index, (who, line, verb) in enumerate(lanes):
        x, y = EDGE + index * (room + GAP), 62.0 + 84 * index
        drawing.text(x, 48, fit(who, 12, room), 12, "quiet")
        drawing.line((x + 2, 56, x + 2, 204), "grid", 3)
        drawing.rect(x, y, room, 50, "mist" if index == 0 else "sand", rounded=4)
        box(
            drawing,
            (x + 10, y),
            room - 18,
            f"{verb} {fault_words.element(race)}",
            f"{line}  {texts.get(line, '').strip()}",
        )
    middle = 129.0
    label = "no barrier between"
    wide = text_width(label, 12, True)
    drawing.line((EDGE, middle, width - EDGE, middle), "brick", 1.5, "6 4")
    drawing.rect(width / 2 - wide / 2 - 8, middle - 10, wide + 16, 20, "paper")
    drawing.text(width / 2, middle + 4, label, 12, "brick", anchor="middle", bold=True)
    return drawing


def box(drawing: Drawing, corner: tuple[float, float], room: float, does: str, line: str) -> None:
    """What one thread does, and in which line."""
    x, y = corner
    drawing.text(x, y + 20, fit(does, 12, room, True), 12, bold=True, rim=False)
    drawing.text(x, y + 38, fit(line, 11, room), 11, rim=False)


def listing(broken: Broken) -> Sequence[tuple[str, str, str]]:
    """The program: number, text, and what is to be said of each line; the missing one has no number."""
    race, emulation = broken.race, broken.record.emulation
    said: dict[int, str] = {}
    if race is not None and emulation is not None:
        reads, writes = fault_words.verbs(race, emulation)
        other = race.other_line if race.other_line is not None else race.line
        one, two = (fault_words.thread(each, emulation, block=False) for each in (race.threads[1], race.threads[0]))
        said = {other: f"{one} {writes} {fault_words.element(race)}", race.line: f"{two} {reads} it"}
    rows: list[tuple[str, str, str]] = []
    for number, text in broken.lines:
        if number == broken.missing:
            indent = text[: len(text) - len(text.lstrip())]
            rows.append(("", f"{indent}cuda.syncthreads()", "missing here"))
        rows.append((str(number), text, said.get(number, "")))
    return rows
