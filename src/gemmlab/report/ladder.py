"""The ladder of traffic: from the floor, past the bounds, to what the kernel asks for."""

from gemmlab.record import Record
from gemmlab.report import story
from gemmlab.report.axis import LogAxis, span, tick_text
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import ASSUMPTION, amount

ROW, BAND = 42, 15

#: colour and marker of an amount by its kind
LOOKS = {"counted": ("teal", "circle"), "predicted": ("ochre", "square"), "measured": ("plum", "diamond")}


def ladder(record: Record, width: float = 560) -> Drawing | None:
    """The picture, or None where the record has no traffic."""
    rungs = story.ladder(record)
    if not rungs:
        return None
    turn, speed = story.turning_point(record), story.bandwidth(record, "dram")
    said = "Bytes, on a logarithmic scale; beside each the time DRAM needs for it" if speed else "Bytes, on a log scale"
    lines = text_lines(said, 12, width - 32)
    assumed = text_lines(f"The {ASSUMPTION}", 11, width - 32)
    top = 38 + 16 * len(lines)
    tall = [ROW + BAND * (rung.low is not None) for rung in rungs]
    end = top + sum(tall)
    height = end + (58 if turn else 38) + 15 * len(assumed)
    words = "; ".join(f"{r.label} {amount(r.value, 'B')} ({r.kind})" for r in rungs)
    drawing = Drawing(width, height, f"Traffic of {story.title(record)}", words)
    drawing.text(16, 24, "From floor to raw", 14, bold=True)
    drawing.paragraph(16, 42, said, width - 32, color="quiet")
    ends = [end for r in rungs for end in (r.low, r.value, r.high) if end and 1 <= end < float("inf")]
    room = max(text_width(amount(r.value / speed, "s"), 11) for r in rungs) + 12 if speed else 8
    x = LogAxis(*span([*ends, *([turn] if turn else [])], 1.5, 1.05, 1.5), 24, width - 16 - room)
    x = x.longer(24, width - 16)
    scale(drawing, x, (top - 4, end), turn)
    if turn:
        turning_line(drawing, x, turn, (top - 4, end + 36), width)
    for index, rung in enumerate(rungs):
        draw_rung(drawing, x, rung, top + sum(tall[:index]), (speed, turn))
    drawing.paragraph(16, height - 15 * len(assumed) + 2, f"The {ASSUMPTION}", width - 32, size=11, color="quiet")
    return drawing


def scale(drawing: Drawing, x: LogAxis, ends: tuple[float, float], turn: float | None) -> None:
    """Grid and ticks in bytes; no tick where the line of the turning point would cross its text."""
    top, bottom = ends
    for value in x.ticks(58):
        at, text = x.at(value), tick_text(value, "B")
        half = text_width(text, 11) / 2
        drawing.line((at, top, at, bottom), "grid")
        crossed = turn is not None and abs(x.at(turn) - at) < half + 3
        if half + 2 <= at <= drawing.width - half - 2 and not crossed:
            drawing.text(at, bottom + 14, text, 11, "quiet", anchor="middle")


def turning_line(drawing: Drawing, x: LogAxis, turn: float, ends: tuple[float, float], width: float) -> None:
    """Where DRAM would take as long as the arithmetic."""
    at, text = x.at(turn), f"memory-bound above {amount(turn, 'B')}"
    drawing.line((at, ends[0], at, ends[1] - 14), "ink", 1, "5 3")
    half = text_width(text, 11) / 2
    drawing.text(min(max(at, 16 + half), width - 16 - half), ends[1] - 3, text, 11, "ink", anchor="middle")


def draw_rung(
    drawing: Drawing, x: LogAxis, rung: story.Rung, top: float, dram: tuple[float | None, float | None]
) -> None:
    """One amount: name, kind and bytes above; on the track its marker, its band, and its time.

    `dram` is its bandwidth and the bytes past which it bounds; the time steps past the line of these.
    """
    color, shape = LOOKS[rung.kind]
    left, right = 16.0, drawing.width - 16
    size = amount(rung.value, "B")
    drawing.text(right, top + 12, size, 12, color, anchor="end", bold=True)
    room = right - left - text_width(size, 12, True) - text_width(f" {rung.kind}", 11) - 12
    drawing.text(left, top + 12, fit(rung.label, 12, room), 12, after=rung.kind)
    track, at = top + 26, x.at(rung.value)
    last = at
    drawing.line((x.start, track, at, track), color, 1.5)
    if rung.low is not None and rung.high is not None:
        before, last = x.at(rung.low), x.at(rung.high)
        drawing.rect(before, track - 5, max(last - before, 1), 10, "sand", rounded=3)
        for end in (before, last):
            drawing.line((end, track - 7, end, track + 7), color, 1.5)
        text = f"between {amount(rung.low, 'B')} and {amount(rung.high, 'B')}"
        drawing.text(left, track + 4 + BAND, fit(text, 11, right - left), 11, "quiet")
    drawing.marker(shape, at, track, color)
    speed, turn = dram
    if speed:
        time, place = amount(rung.value / speed, "s"), max(at, last) + 11
        wide, line = text_width(time, 11), x.at(turn) if turn else -1.0
        if place - 4 < line < place + wide + 4 and line + 6 + wide <= drawing.width - 2:
            place = line + 6
        drawing.text(place, track + 4, time, 11, "quiet")
