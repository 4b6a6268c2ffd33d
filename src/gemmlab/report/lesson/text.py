"""A lesson's summary for the terminal: each question, its figures, and where the page is."""

from __future__ import annotations

import sys

from gemmlab.experiment.lesson import Lesson
from gemmlab.report import fault_words, numerics_trace, story
from gemmlab.report.canvas import Canvas
from gemmlab.report.emulation_tables import Row, table
from gemmlab.report.lesson import words
from gemmlab.report.words import ASSUMPTION, amount, clean, percent, plain


def lesson_text(
    lesson: Lesson, *, width: int | None = None, color: bool | None = None, unicode: bool | None = None
) -> str:
    """The summary, 40 columns or more; width, colour and characters as `terminal` takes them."""
    canvas = Canvas.of(sys.stdout, width, color, unicode)
    blocks = [
        heading(lesson, canvas),
        loads(lesson, canvas),
        bound(lesson, canvas),
        barrier(lesson, canvas),
        here(lesson, canvas),
        digits(lesson, canvas),
        left_out(lesson, canvas),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def heading(lesson: Lesson, canvas: Canvas) -> list[str]:
    """The multiplication and the verdict."""
    record = lesson.explained
    chip = f"on {clean(record.chip.name)}, {story.chip_status(record)}" if record.chip else ""
    lines = canvas.wrap(words.sides(words.problem_of(lesson)), style="strong")
    for said in (story.formats(record), chip, f"kernel {story.kernel_line(record)}"):
        lines += canvas.wrap(said, 2, hang=2)
    return [*lines, "", *canvas.sides(story.verdict(record), "predicted", "predicted", "bound")]


def loads(lesson: Lesson, canvas: Canvas) -> list[str]:
    """Loads by formula and by emulator."""
    rows = [
        Row(
            row.label,
            (
                f"{row.counted:,}",
                "-" if row.emulated is None else f"{row.emulated:,}",
                plain(row.intensity, 4),
            ),
        )
        for row in words.loads(lesson)
    ]
    floor = words.floor_elements(words.problem_of(lesson))
    rows.append(Row("A and B once", (f"{floor:,}", "-", "-")))
    lines = canvas.sides("How often is each number fetched?", "elements", "dim", "strong")
    lines += table(("counted", "emulated", "FLOP/B, counted"), rows, canvas)
    for row in words.loads(lesson):
        if row.size:
            lines += canvas.wrap(f"{row.label} emulated at {row.size}, where the formula gives the same", 2, hang=2)
    if any(not row.agrees for row in words.loads(lesson)):
        lines += canvas.wrap("formula and emulator disagree", 2, "bound")
    return lines


def bound(lesson: Lesson, canvas: Canvas) -> list[str]:
    """The knee, and each kernel's time."""
    prediction, top = lesson.explained.prediction, story.peak(lesson.explained)
    if prediction is None:
        return []
    rows = []
    for row in words.loads(lesson):
        found = words.reached(row.record)
        if found and top and row.record.prediction:
            bare, cached = (percent(each / top) for each in found)
            rows.append(Row(row.label, (bare, amount(row.record.prediction.time_s, "s"), cached)))
    lines = canvas.sides("What bounds it?", "predicted", "predicted", "strong")
    lines += table(("no caches", "time", "of the peak"), rows, canvas)
    lines += canvas.wrap("no caches: of the peak, were no load found in a cache (counted, datasheet)", 2, "dim", 2)
    knee, least = plain(prediction.knee_flop_per_byte), words.least_tile(lesson)
    passed = f"a square tile passes it from T = {least:,}" if least else "no tile is known to pass it"
    beyond = f", {words.too_large(least, words.problem_of(lesson))}" if least else ""
    lines += canvas.wrap(f"knee {knee} FLOP/B (datasheet): {passed}{beyond}".removesuffix(", "), 2, hang=2)
    lines += canvas.wrap(f"no kernel moves less than {amount(prediction.lower_bound_bytes, 'B')} (counted)", 2, hang=2)
    return [*lines, *canvas.wrap(ASSUMPTION, 2, "dim", 2)]


def barrier(lesson: Lesson, canvas: Canvas) -> list[str]:
    """What the missing barrier does, and who sees it."""
    broken = lesson.broken
    if broken is None or broken.record.problem is None or broken.record.emulation is None:
        return []
    size = words.sides(broken.record.problem)
    lines = canvas.sides("What if a barrier is missing?", f"emulated at {size}", "emulated", "strong")
    lines += canvas.wrap("a small size, for each order of threads runs the whole launch again", 2, "dim", 2)
    for tried, found in broken.maps:
        worst = ", the worst found" if tried.worst else ""
        said = f"{clean(tried.name).partition(':')[0]}: {int(found.sum()):,} of {found.size:,} elements wrong{worst}"
        lines += canvas.wrap(said, 2, hang=2)
    if broken.race:
        lines += canvas.wrap(fault_words.title(broken.race), 2, hang=2)
        lines += canvas.wrap(fault_words.sentence(broken.race, broken.record.emulation), 4)
    return lines


def here(lesson: Lesson, canvas: Canvas) -> list[str]:
    """Times on this machine."""
    rows = []
    for record in lesson.times:
        m, p = record.measurement, record.problem
        if m and p and not m.fault:
            share = percent(m.fraction_of_limit)
            expected = amount(record.prediction.time_s, "s") if record.prediction else "-"
            speed = amount(m.flop_per_s, "FLOP/s")
            rows.append(Row(clean(m.kernel), (words.sides(p), expected, amount(m.time_s, "s"), speed, share)))
    if not rows:
        return []
    lines = canvas.sides("How fast is it here?", "measured", "measured", "strong")
    lines += canvas.wrap(f"on {' and '.join(words.places(lesson))}", 2, hang=2)
    lines += table(("size", "predicted", "measured", "speed", "of limit"), rows, canvas)
    return [*lines, *(line for note in words.notes(lesson) for line in canvas.wrap(note, 2, "dim", 2))]


def digits(lesson: Lesson, canvas: Canvas) -> list[str]:
    """Error of the units, and the output that is followed."""
    rows = [Row(unit, (k, error, nearest)) for unit, k, error, nearest in words.error_rows(lesson)]
    if not rows or lesson.digits is None:
        return []
    lines = canvas.sides("Which digits are right?", "emulated", "emulated", "strong")
    lines += table(("k", "relative error", "correctly rounded"), rows, canvas)
    if already := words.cut_before(lesson):
        lines += canvas.wrap(already, 2, "dim", 2)
    numerics = lesson.digits.traced.numerics
    if numerics and numerics.trace:
        said = f"first {numerics.trace.k:,} products of the first output: {numerics_trace.outcome(numerics.trace)}"
        lines += canvas.wrap(said, 2, hang=2)
    return lines


def left_out(lesson: Lesson, canvas: Canvas) -> list[str]:
    """What was run otherwise than asked."""
    if not lesson.left_out:
        return []
    lines = canvas.wrap("Run otherwise than asked, or left out", style="strong")
    return [*lines, *(line for said in lesson.left_out for line in canvas.wrap(f"- {said}", 2, hang=2))]
