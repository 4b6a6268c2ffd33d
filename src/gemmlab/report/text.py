"""One Record as text for a terminal, 40 columns or more."""

import sys
from itertools import chain
from typing import TextIO

from gemmlab.record import Record
from gemmlab.report import correctness as checks
from gemmlab.report import story
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.words import amount, clean, plain, speedup

TAG = len("datasheet")
BOUNDS = " bounds it"


def terminal(
    record: Record, *, width: int | None = None, color: bool | None = None, unicode: bool | None = None
) -> str:
    """The whole report as text without a line end: heading, traffic, limits, time, bounds, advice, notes.

    `width` is in columns, 40 at least and 100 at most. What is None follows standard output: its width, colour only on
    a terminal and without NO_COLOR, ASCII where its encoding is not UTF-8.
    """
    return draw(record, Canvas.of(sys.stdout, width, color, unicode))


def print_record(record: Record, stream: TextIO | None = None) -> None:
    """Write the report to a stream, standard output unless given, as that stream can show it."""
    stream = sys.stdout if stream is None else stream
    stream.write(draw(record, Canvas.of(stream, None, None, None)) + "\n")


def draw(record: Record, canvas: Canvas) -> str:
    """All sections that the Record has, a blank line between them."""
    if record.emulation:
        return emulated(record, canvas)
    if record.numerics:
        from gemmlab.report import numerics

        return joined([block for block in numerics.sections(record, canvas) if block])
    if record.systolic:
        from gemmlab.report import systolic

        return joined([block for block in systolic.sections(record, canvas) if block])
    sections = (heading, traffic, limits, time, lower_bounds, measurement, correctness, advice, notes)
    blocks = [block for section in sections if (block := section(record, canvas))]
    return joined(blocks)


def emulated(record: Record, canvas: Canvas) -> str:
    """The sections of an emulated launch, then what was checked of its result."""
    from gemmlab.report.emulation import sections

    return joined([block for block in (*sections(record, canvas), correctness(record, canvas)) if block])


def joined(blocks: list[list[str]]) -> str:
    """Blocks of lines, a blank line between them."""
    return "\n".join(line.rstrip() for line in chain.from_iterable([*block, ""] for block in blocks)).rstrip()


def heading(record: Record, canvas: Canvas) -> list[str]:
    """What was asked: the multiplication, the chip and how well it is known, the kernel; then the verdict."""
    lines = canvas.wrap(story.title(record), style="strong", hang=2)
    lines += canvas.wrap(", ".join(x for x in (story.formats(record), story.details(record)) if x), 2, hang=2)
    if chip := record.chip:
        lines += canvas.wrap(f"on {clean(chip.name)}, {story.chip_status(record)}", 2, hang=2)
    if record.kernel:
        lines += canvas.wrap(f"kernel {story.kernel_line(record)}", 2, hang=2)
    if limits := story.published(record):
        lines += canvas.sides(f"  {limits}", "datasheet", "datasheet")
    return [*lines, "", *canvas.wrap(story.verdict(record), style="bound", hang=2)]


def traffic(record: Record, canvas: Canvas) -> list[str]:
    """What it moves."""
    return facts("What it moves", story.moves(record), canvas)


def limits(record: Record, canvas: Canvas) -> list[str]:
    """What bounds it: every limit alone, the one that bounds said in a word; then how programs fill the chip."""
    rows = story.limits(record)
    if not rows:
        return []
    longest = max(row.time_s for row in rows)
    lines = headline("What bounds it", "predicted", canvas)
    if not canvas.narrow:
        lines.append(canvas.paint(f"  {'':9}{'bytes':>10}{'alone':>10}{'FLOP/B':>9}{'knee':>8}", "dim"))
    for row in rows:
        lines += limit_lines(row, longest, canvas)
    if not any(row.bounds for row in rows):
        lines += canvas.wrap(f"none of these alone: {story.verdict(record).split(':')[0].lower()}", 2, hang=2)
    return lines + fact_lines(story.launch(record), canvas)


def limit_lines(row: story.Limit, longest: float, canvas: Canvas) -> list[str]:
    """One limit: its figures, a bar of its time, and `bounds it` where it does."""
    share = row.time_s / longest if longest > 0 else 0.0
    style = "bound" if row.bounds else ""
    word = BOUNDS if row.bounds else ""
    name, time = shorten(canvas.fit(row.name), 8), amount(row.time_s, "s")
    traffic = amount(row.bytes, "B") if row.bytes is not None else "-"
    if canvas.narrow:
        size = canvas.width - 2 - 9 - 10 - 1 - len(BOUNDS)
        first = [canvas.paint(f"  {name:<9}{time:>10} {canvas.bar(0, share, size)}{word}", style)]
        if row.bytes is None:
            return first
        rest = f"{traffic}, {plain(row.intensity)} FLOP/B, knee {plain(row.knee)}"
        return first + canvas.wrap(rest, 6, "dim", 2)
    figures = f"  {name:<9}{traffic:>10}{time:>10}{plain(row.intensity):>9}{plain(row.knee):>8}  "
    size = canvas.width - cells(figures) - len(BOUNDS)
    return [canvas.paint(f"{figures}{canvas.bar(0, share, size)}{word}", style)]


def time(record: Record, canvas: Canvas) -> list[str]:
    """Where the time goes: a waterfall of causes that adds up."""
    prediction = record.prediction
    if prediction is None:
        return []
    steps = story.time_steps(prediction)
    total = story.total_shown(prediction)
    digits = max(len(text) for text in (total, *(step.shown for step in steps)))
    label = min(max((cells(step.cause) for step in steps), default=0), canvas.width // 2)
    label = max(label, len("total"))
    lines = headline("Where the time goes", "predicted", canvas)
    rows = [(s.cause, s.shown, s.share, s.start_s, s.time_s, s.why) for s in steps]
    rows.append(("total", total, "100%", 0.0, prediction.time_s, ""))
    for cause, shown, share, start, taken, why in rows:
        lines += step_lines((cause, shown, share, why), span(start, taken, prediction.time_s), (label, digits), canvas)
    return lines


def span(start: float, taken: float, total: float) -> tuple[float, float]:
    """Start and length of a step as shares of the total; a negative step runs back from its start."""
    if total <= 0:
        return 0.0, 0.0
    return min(start, start + taken) / total, abs(taken) / total


def step_lines(
    texts: tuple[str, str, str, str], spanned: tuple[float, float], columns: tuple[int, int], canvas: Canvas
) -> list[str]:
    """One step of the waterfall: cause, time, share and bar, on two lines where narrow; its reason below."""
    cause, shown, share, why = texts
    label, digits = columns
    figures = f"{shown:>{digits}} {share:>4}"
    style = "strong" if cause == "total" else ""
    if canvas.narrow:
        lines = canvas.sides(f"  {cause}", figures.strip(), style, style)
        if bar := canvas.bar(*spanned, canvas.width - 4):
            lines.append(" " * 4 + canvas.paint(bar, "predicted"))
    else:
        name = canvas.fit(cause)
        room = canvas.width - 2 - label - 2 - cells(figures) - 2
        bar = "  " + canvas.paint(canvas.bar(*spanned, room), "predicted")
        if cells(name) > label:
            lines = [*canvas.wrap(name, 2), " " * (4 + label) + figures + bar]
        else:
            lines = [canvas.paint(f"  {name}{' ' * (label - cells(name))}  {figures}", style) + bar]
    return lines + canvas.wrap(why, 4, "dim")


def lower_bounds(record: Record, canvas: Canvas) -> list[str]:
    """Lower bounds with what they assume."""
    rows = story.bounds(record)
    remarks = [line for remark in story.bound_remarks(record) for line in canvas.wrap(remark, 2, "dim", 2)]
    return [*facts("What no kernel can go below", rows, canvas), *remarks] if rows else []


def measurement(record: Record, canvas: Canvas) -> list[str]:
    """What was measured, beside the prediction."""
    return facts("What was measured", story.measured(record), canvas)


def correctness(record: Record, canvas: Canvas) -> list[str]:
    """Whether the result is right, where it was checked."""
    if record.verdict is None:
        return []
    said = canvas.wrap(checks.sentence(record.verdict), 2, "strong", 2)
    lines = [*headline("Is the result right", checks.KIND, canvas), *said, *fact_lines(checks.facts(record), canvas)]
    return lines + canvas.wrap(checks.reference(record), 2, "dim", 2)


def advice(record: Record, canvas: Canvas) -> list[str]:
    """Numbered changes, each with its predicted gain, cost and confidence."""
    if record.advice is None:
        return []
    lines = headline("What to change", "predicted", canvas)
    if not record.advice:
        return [*lines, "  nothing found to gain"]
    for number, item in enumerate(record.advice, 1):
        mark = f"  {number}. "
        gain = speedup(item.predicted_speedup)
        room = canvas.width - len(mark) - len(gain) - 2
        text = canvas.fit(clean(item.change))
        if cells(text) <= room:
            lines += canvas.sides(mark + text, gain, "strong")
        else:
            body = canvas.wrap(f"{text}: {gain}", len(mark))
            lines += [mark + body[0][len(mark) :], *body[1:]]
        said = (("cause", item.cause), ("cost", item.cost), ("confidence", item.confidence))
        lines += canvas.wrap("; ".join(f"{k}: {clean(v)}" for k, v in said if v), len(mark), "dim")
    return lines


def notes(record: Record, canvas: Canvas) -> list[str]:
    """What else the model has to say."""
    if record.prediction is None or not record.prediction.notes:
        return []
    lines = headline("Notes", "", canvas)
    for note in record.prediction.notes:
        body = canvas.wrap(clean(note), 4)
        lines += ["  - " + body[0][4:], *body[1:]] if body else []
    return lines


def facts(head: str, rows: list[story.Fact], canvas: Canvas) -> list[str]:
    """A headline and one line a fact; nothing where there is no fact."""
    return [*headline(head, "", canvas), *fact_lines(rows, canvas)] if rows else []


def fact_lines(rows: list[story.Fact], canvas: Canvas) -> list[str]:
    """Label, value and kind in columns where all fit; below the name of their kind where not."""
    label = max((cells(canvas.fit(row.label)) for row in rows), default=0)
    value = max((cells(canvas.fit(row.value)) for row in rows), default=0)
    if 2 + label + 2 + value + 2 + TAG > canvas.width:
        return stacked_facts(rows, canvas)
    lines = []
    for row in rows:
        name, text = canvas.fit(row.label), canvas.fit(row.value)
        left = f"  {name}{' ' * (label - cells(name))}  {text}"
        lines += canvas.sides(left, row.kind, row.kind)
    return lines


def stacked_facts(rows: list[story.Fact], canvas: Canvas) -> list[str]:
    """Facts under the name of their kind, value at the right end."""
    lines, kind = [], ""
    for row in rows:
        if row.kind != kind:
            kind = row.kind
            lines.append("  " + canvas.paint(kind, kind))
        lines += canvas.sides(f"    {row.label}", row.value)
    return lines


def headline(text: str, kind: str, canvas: Canvas) -> list[str]:
    """A section's name, and the kind of all its numbers where they share one."""
    return canvas.sides(text, kind, kind, "strong") if kind else canvas.wrap(text, style="strong")
