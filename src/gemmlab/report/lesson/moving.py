"""The chapters about moving: how often each number is fetched, what that bounds, how long it takes."""

from __future__ import annotations

from gemmlab.experiment.lesson import Lesson
from gemmlab.report import story
from gemmlab.report.lesson import words
from gemmlab.report.lesson.parts import figure, line, listed, para, table
from gemmlab.report.lesson.pictures import loads_bars
from gemmlab.report.lesson.rooflines import kernels_roofline
from gemmlab.report.page import tag, text
from gemmlab.report.tile import tile
from gemmlab.report.waterfall import waterfall
from gemmlab.report.words import ASSUMPTION, amount, clean, percent, plain, speedup

MOST_ADVICE = 3
KNEE_NOTE = (
    "Peaks are dense: a 2:4 sparse peak would double the knee, and wrongly. No cache is in these intensities; with "
    "caches, clusters or tensor memory a smaller tile can do."
)


def opening(lesson: Lesson) -> str:
    """The multiplication, the chip, and what the arithmetic and the matrices alone would take."""
    record, p = lesson.explained, words.problem_of(lesson)
    chip = record.chip
    lead = ", ".join(x for x in (story.formats(record), f"on {clean(chip.name)}" if chip else "") if x)
    said = "<header><p class=kicker>The whole story of one multiplication</p>"
    said += f"<h1>{text(words.sides(p))}</h1><p class=lead>{text(lead)}"
    said += f" ({text(story.chip_status(record))})</p></header>" if chip else "</p></header>"
    said += para(
        f"C = A B, where A is {p.m} x {p.k} and B {p.k} x {p.n}: {amount(record.count.flop, 'FLOP')}, a multiply and "
        "an add each counting one."
        if record.count
        else "",
        "counted",
    )
    limit = story.limit_time(record)
    speed = story.bandwidth(record, "dram")
    if record.prediction and record.count and limit:
        compute = f"At the chip's peak the arithmetic takes {amount(record.prediction.compute_time_s, 's')}"
        memory = amount(record.count.compulsory_bytes / speed, "s") if speed else ""
        beside = f"; each matrix once through DRAM takes {memory}" if memory else ""
        said += para(f"{compute}{beside}. No kernel is faster than the longer of the two.", "datasheet")
    return said


def loads_question(lesson: Lesson) -> str:
    """The first question."""
    return "How often is each number fetched?"


def loads_answer(lesson: Lesson) -> str:
    """The most and the fewest loads of the kernels that were emulated."""
    rows = [row for row in words.loads(lesson) if row.emulated is not None]
    if not rows:
        return line("No kernel was counted.", "counted")
    most, least = max(rows, key=lambda row: row.counted), min(rows, key=lambda row: row.counted)
    said = f"{most.label} asks for {most.counted:,} elements"
    if least.counted < most.counted:
        said += f", {least.label} for {least.counted:,}: {most.counted / least.counted:.3g} times fewer"
    agree = all(row.agrees for row in rows)
    return line(f"{said}; {'the emulator meets the same' if agree else 'the emulator disagrees'}.", "counted emulated")


def loads_told(lesson: Lesson) -> str:
    """Loads by formula and by emulator, as bars and as a table."""
    p, rows = words.problem_of(lesson), words.loads(lesson)
    naive = next((row for row in rows if row.name == "naive"), None)
    tiled = next((each for each in reversed(lesson.kernels) if not words.is_naive(each)), None)
    parts = []
    if naive:
        parts.append(
            para(
                f"The naive kernel gives each output a thread of its own, which reads a row of A and a column of B: "
                f"{2 * p.k:,} numbers for one number of C. Nobody keeps anything for a neighbour, so each number of A "
                f"is fetched {words.times(p.n)} and each of B {words.times(p.m)}.",
                "counted",
            )
        )
    parts.append(
        para(
            "A block of threads that first puts a tile of A and a tile of B where all of its threads reach them "
            "fetches each number once for the block, not once for the thread. The wider the tile, the fewer blocks ask."
        )
    )
    parts.append(figure("loads", lambda width: loads_bars(lesson, width), "counted"))
    heads = [
        ("kernel", ""),
        ("loads by formula", "counted"),
        ("loads met", "emulated"),
        ("each number fetched", "counted"),
        ("FLOP/byte", "counted"),
    ]
    cells = [
        (
            row.label,
            f"{row.counted:,}",
            "-" if row.emulated is None else f"{row.emulated:,}" + (f" at {row.size}" if row.size else ""),
            words.fetched_short(row),
            plain(row.intensity, 4),
        )
        for row in rows
    ]
    parts.append(table(heads, cells, "table-loads"))
    wrong = [row.label for row in rows if not row.agrees]
    verdict = (
        f"Formula and emulator disagree for {', '.join(wrong)}: one of the two has a fault."
        if wrong
        else "The formula knows the tile's sides; the emulator runs the program and counts each access of each thread. "
        "They were written apart, and agree to the last element."
    )
    parts.append(para(verdict, "counted emulated"))
    parts.append(listed(words.emulated_how(lesson), "emulated checked"))
    if tiled:
        m, n, k = map(min, tiled.tile, (p.m, p.n, p.k))
        parts.append(figure("tile", lambda width: tile(tiled.formula, width), "counted", tile_caption(m, n, k)))
    return "".join(parts)


def tile_caption(m: int, n: int, k: int) -> str:
    """What one step of a tile brings and does."""
    taken = m * k + k * n
    return (
        f"One step of a tile of {m} x {n}, {k} along k: {taken:,} numbers in, {m * n * k:,} multiply-adds, "
        f"{plain(2 * m * n * k / taken)} FLOP a number."
    )


def bound_question(lesson: Lesson) -> str:
    """The second question."""
    chip = lesson.explained.chip
    return f"What bounds it on {clean(chip.name)}?" if chip else "What bounds it?"


def bound_answer(lesson: Lesson) -> str:
    """The knee, and what stands left of it."""
    prediction = lesson.explained.prediction
    knee = prediction.knee_flop_per_byte if prediction else 0.0
    rows = words.loads(lesson)
    left = [row.label for row in rows if row.intensity < knee]
    beside = f"{', '.join(left)} stand left of it" if left else "every kernel here stands right of it"
    return line(f"The knee is at {plain(knee)} FLOP/byte: {beside}.", "datasheet counted")


def bound_told(lesson: Lesson) -> str:
    """All kernels under one roof."""
    record, rows = lesson.explained, words.loads(lesson)
    prediction, speed, top = record.prediction, story.bandwidth(record, "dram"), story.peak(record)
    if prediction is None:
        return ""
    parts = []
    if speed and top:
        parts.append(
            para(
                f"The chip does {amount(top, 'FLOP/s')} and brings {amount(speed, 'B/s')} from DRAM. A kernel that "
                f"does less than {plain(prediction.knee_flop_per_byte)} FLOP with each byte waits for memory; one "
                "that does more waits for the arithmetic. That is the knee of the roof.",
                "datasheet",
            )
        )
    if least := words.least_tile(lesson):
        beyond = words.too_large(least, words.problem_of(lesson))
        parts.append(
            para(
                f"A step of a T x T tile does 2T³ FLOP with 2T² numbers: T FLOP a number, however long k is. So T "
                f"decides on which side of the knee a kernel stands: it passes from T = {least:,} on"
                f"{f', {beyond}' if beyond else ''}.",
                "counted datasheet",
            )
        )
    parts.append(figure("roofline", lambda width: kernels_roofline(rows, width), "counted datasheet predicted"))
    heads = [
        ("kernel", ""),
        ("FLOP/byte", "counted"),
        ("without caches, of the peak", "datasheet"),
        ("with caches", "predicted"),
        ("of the peak", "predicted"),
    ]
    cells = []
    for row in rows:
        found = words.reached(row.record)
        time = amount(row.record.prediction.time_s, "s") if row.record.prediction else "-"
        bare, with_caches = (percent(each / top) for each in found) if found and top else ("-", "-")
        cells.append((row.label, plain(row.intensity), bare, time, with_caches))
    parts.append(table(heads, cells))
    parts.append(para(KNEE_NOTE))
    return "".join(parts)


def time_question(lesson: Lesson) -> str:
    """The third question."""
    return "How long should it take?"


def time_answer(lesson: Lesson) -> str:
    """The verdict."""
    return line(f"{story.verdict(lesson.explained)}.", "predicted")


def time_told(lesson: Lesson) -> str:
    """The kernel that the chip would run, its time by cause, what to change."""
    record = lesson.explained
    if record.prediction is None:
        return ""
    bounds = record.prediction.lower_bound_bytes
    parts = [
        para(
            f"With the tiling that the model expects to be fastest, {story.kernel_line(record)}: "
            f"{amount(record.prediction.time_s, 's')}, of which the causes are these.",
            "predicted",
        ),
        figure("waterfall", lambda width: waterfall(record, width), "predicted"),
        para(f"No kernel moves less than {amount(bounds, 'B')}; {ASSUMPTION}.", "counted"),
    ]
    advice = record.advice or ()
    if advice:
        items = "".join(
            f"<li><b>{text(each.change)}</b>: {text(speedup(each.predicted_speedup))} {tag('predicted')}"
            f'<span class="why">{text(each.cause)}; cost: {text(each.cost)}</span></li>'
            for each in advice[:MOST_ADVICE]
        )
        parts.append(f'<h3>What to change</h3><ol class="advice">{items}</ol>')
    return "".join(parts)
