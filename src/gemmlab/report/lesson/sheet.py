"""A lesson's pictures on one sheet: what is fetched, what bounds it, what a missing barrier does, the times here."""

from __future__ import annotations

from gemmlab.experiment.lesson import Lesson
from gemmlab.report import story
from gemmlab.report.lesson.cells import conflict, wrong_cells
from gemmlab.report.lesson.pictures import ladder_bars, loads_bars
from gemmlab.report.lesson.rooflines import kernels_roofline
from gemmlab.report.lesson.words import loads, problem_of, sides
from gemmlab.report.svg import Drawing
from gemmlab.report.words import clean

WIDTH, GAP, HEAD = 560.0, 16.0, 62.0


def lesson_svg(lesson: Lesson) -> str:
    """The sheet as SVG text, in two columns; each picture goes under the column that is shorter so far."""
    broken = lesson.broken
    drawn = [
        loads_bars(lesson, WIDTH),
        kernels_roofline(loads(lesson), WIDTH),
        wrong_cells(broken, WIDTH) if broken else None,
        conflict(broken, WIDTH) if broken else None,
        ladder_bars(lesson, WIDTH) if lesson.times else None,
    ]
    ends, places = [HEAD, HEAD], []
    found = [each for each in drawn if each is not None]
    for each in found:
        column = ends.index(min(ends))
        places.append((column * (WIDTH + GAP), ends[column]))
        ends[column] += each.height
    record = lesson.explained
    chip = f"predicted for {clean(record.chip.name)}" if record.chip else ""
    said = ", ".join(text for text in (story.formats(record), "counted and emulated", chip) if text)
    title = f"{sides(problem_of(lesson))}, told whole"
    whole = Drawing(2 * WIDTH + GAP, max(ends) + 8, title, ". ".join(each.description for each in found))
    whole.text(16, 30, title, 17, bold=True)
    whole.text(16, 50, said, 13, "quiet")
    for each, (x, y) in zip(found, places, strict=True):
        whole.embed(each, x, y)
    return whole.svg("lesson")
