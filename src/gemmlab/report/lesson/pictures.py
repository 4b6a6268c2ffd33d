"""Two pictures of a lesson as bars: what each kernel asks for, and how fast each ran here."""

from __future__ import annotations

from gemmlab.experiment.lesson import Lesson
from gemmlab.record import Record
from gemmlab.report.lesson import words
from gemmlab.report.lesson.bars import Bar, bars
from gemmlab.report.svg import Drawing
from gemmlab.report.words import clean, several


def loads_bars(lesson: Lesson, width: float) -> Drawing:
    """Loads of every kernel, and what no kernel can do without, on one scale."""
    rows, floor = words.loads(lesson), words.floor_elements(words.problem_of(lesson))
    most = max([floor, *(row.counted for row in rows)])
    drawn = [Bar(row.label, f"{row.counted:,}", row.counted / most, words.fetched(row)) for row in rows]
    drawn.append(Bar("A and B once, the least there is", f"{floor:,}", floor / most, "each number once", "ochre"))
    said = "Elements that all threads ask global memory for, on one scale"
    return bars("Loads", "counted", said, drawn, width)


def ladder_bars(lesson: Lesson, width: float) -> Drawing:
    """Speed of every kernel as a share of the limit at its size, the slowest first."""
    said = "Speed of each kernel on this machine, the slowest first; the whole width is the limit"
    return bars("The ladder", "measured", said, list(map(speed, lesson.times)), width)


def speed(record: Record) -> Bar:
    """One kernel that was run."""
    m, p = record.measurement, record.problem
    if m is None or p is None:
        return Bar("-", "not run", -1)
    if m.fault:
        return Bar(clean(m.kernel), clean(m.fault), -1, clean(m.fault_detail), "brick")
    threads = f", {several(m.threads, 'thread')}" if m.threads else ""
    spread = None
    if m.limit_s and m.time_s_low and m.time_s_high:
        spread = (m.limit_s / m.time_s_high, m.limit_s / m.time_s_low)
    right = "result right" if record.verdict and record.verdict.ok else "result not checked"
    return Bar(
        label=clean(m.kernel),
        figure=words.told_speed(m),
        share=m.fraction_of_limit if m.fraction_of_limit is not None else -1,
        remark=f"{words.told_time(m)} at {words.sides(p)}{threads}, {right}",
        color="sky" if m.vendor else "plum",
        spread=spread,
    )
