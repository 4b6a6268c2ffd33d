"""The rooflines of all levels of memory, with the kernel's point on each."""

from typing import NamedTuple

from gemmlab.record import Record
from gemmlab.report import story
from gemmlab.report.axis import LogAxis, span, stagger, tick_text
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import amount, bound_key, bound_phrase, clean, percent, plain

#: colour, marker and dashes of a level, by its place: three ways to tell them apart
LOOKS = (
    ("teal", "circle", ""),
    ("ochre", "square", "7 3"),
    ("sky", "diamond", "2 3"),
    ("quiet", "triangle", "9 3 2 3"),
)
ROW, PLOT = 15, 210


class Roof(NamedTuple):
    """One level: its bandwidth, its knee, and where the kernel stands."""

    name: str
    bandwidth: float
    knee: float
    intensity: float
    look: tuple[str, str, str]
    bounds: bool


def roofs(record: Record) -> list[Roof]:
    """The levels that can be drawn: bandwidth and intensity known, positive and finite."""
    top = story.peak(record)
    found: list[Roof] = []
    for row in record.prediction.levels if record.prediction and top else ():
        speed, intensity = story.bandwidth(record, row.name), row.intensity_flop_per_byte
        if top and story.walked(record) and row.knee_flop_per_byte > 0:  # what one core gets, not the whole chip
            speed = top / row.knee_flop_per_byte
        if top and speed and 0 < intensity < float("inf"):
            bounds = record.prediction is not None and bound_key(record.prediction.bound) == row.name
            look = LOOKS[len(found) % len(LOOKS)]
            found.append(Roof(clean(row.name), speed, top / speed, intensity, look, bounds))
    return found


def roofline(record: Record, width: float = 560) -> Drawing | None:
    """The picture, or None where the record has no prediction to draw."""
    top, levels, prediction = story.peak(record), roofs(record), record.prediction
    if not (top and levels and prediction and record.count and prediction.time_s > 0):
        return None
    reached = record.count.flop / prediction.time_s
    said = subtitle(record, top, reached)
    lines = text_lines(said, 12, width - 32)[:4]
    x = across(levels, width)
    knees = [(x.at(r.knee), text_width(f"{r.name} knee {plain(r.knee)}", 11) + 4) for r in levels]
    peak_text = f"peak {amount(top, 'FLOP/s')}"
    peak_left = x.end - text_width(peak_text, 11, True)
    above = stagger(knees, [(peak_left - 4, x.end)])
    points = [(x.at(r.intensity), text_width(label(r), 11, r.bounds) + 4) for r in levels]
    below = stagger(points)
    head = 30 + 16 * len(lines)
    roof_y = head + 12 + ROW * (max(above) + 1)
    bottom = roof_y + PLOT + ROW * max(below)
    height = bottom + 54 + 18 * (len(levels) + 1 + (record.measurement is not None))
    drawing = Drawing(width, height, f"Rooflines of {story.title(record)}", said)
    drawing.text(
        16,
        24,
        fit(f"Rooflines, {record.problem.a_format if record.problem else story.title(record)}", 14, width - 32, True),
        14,
        bold=True,
    )
    drawing.paragraph(16, 42, " ".join(lines), width - 32, color="quiet")
    y = upward(record, top, reached, roof_y, bottom - 14 - ROW * (max(below) + 1)).longer(bottom, roof_y)
    axes(drawing, x, y)
    drawing.text(x.end, roof_y - 6, peak_text, 11, anchor="end", bold=True)
    roof_lines(drawing, (x, y), levels, top, bound_key(prediction.bound) == "compute")
    for roof, (left, _), row in zip(levels, knees, above, strict=True):
        level = roof_y - 6 - ROW * row
        drawing.line((left, roof_y, left, level - 6), roof.look[0])
        drawing.text(left + 4, level, f"{roof.name} knee {plain(roof.knee)}", 11, roof.look[0])
    measured_point(drawing, record, x, y, levels[0])
    kernel_points(drawing, (x, y), levels, reached, below)
    table(drawing, levels, bottom + 54, width)
    if record.measurement and (speed := story.rate(record, record.measurement.time_s)):
        level = bottom + 54 + 18 * (len(levels) + 1)
        drawing.line((16, level - 4, 38, level - 4), "plum", 1, "4 4")
        drawing.marker("diamond", 27, level - 4, "plum", hollow=True, size=4)
        drawing.text(44, level, f"measured: {amount(speed, 'FLOP/s')}", 12, "plum")
    return drawing


def subtitle(record: Record, top: float, reached: float) -> str:
    """What the picture shows, in words."""
    bound = bound_phrase(record.prediction.bound) if record.prediction else ""
    chip = f" on {clean(record.chip.name)}" if record.chip else ""
    said = f"{bound}{chip}: {amount(reached, 'FLOP/s')} predicted, {percent(reached / top)} of the peak"
    if record.measurement and (speed := story.rate(record, record.measurement.time_s)):
        said += f"; {amount(speed, 'FLOP/s')} measured"
    return said


def label(roof: Roof) -> str:
    """The words at a level's point."""
    return f"{roof.name}, bounds it" if roof.bounds else roof.name


def across(levels: list[Roof], width: float) -> LogAxis:
    """The axis of intensity, with room for the labels that run right of the last knee or point."""
    left, right = 52.0, width - 16
    values = [r.knee for r in levels] + [r.intensity for r in levels]
    low, high = span(values, 4, 1.6, 2)
    widest = max(text_width(f"{r.name} knee {plain(r.knee)}", 11) for r in levels)
    room = min(max(widest, text_width("peak 1.00e18 FLOP/s", 11, True)) + 8, (right - left) * 0.45)
    return LogAxis(low, high, left, right - room).longer(left, right)


def upward(record: Record, top: float, reached: float, roof_y: float, lowest: float) -> LogAxis:
    """The axis of FLOP/s: the peak at `roof_y`, the slowest point no lower than `lowest`."""
    speeds = [reached]
    if record.measurement and (speed := story.rate(record, record.measurement.time_s)):
        speeds.append(speed)
    return LogAxis(min(*speeds, top / 30), max(top, *speeds), lowest, roof_y)


def axes(drawing: Drawing, x: LogAxis, y: LogAxis) -> None:
    """Grid and ticks."""
    for value in x.ticks(42):
        at = x.at(value)
        drawing.line((at, y.end, at, y.start), "grid")
        text = tick_text(value)
        if at + text_width(text, 11) / 2 <= drawing.width - 4:
            drawing.text(at, y.start + 17, text, 11, "quiet", anchor="middle")
    for value in y.ticks(22):
        at = y.at(value)
        drawing.line((x.start, at, x.end, at), "grid")
        drawing.text(x.start - 6, at + 4, tick_text(value, "FLOP/s").replace("FLOP/s", ""), 11, "quiet", anchor="end")
    drawing.text(x.end, y.start + 31, "intensity, FLOP/byte", 11, "quiet", anchor="end")
    drawing.text(max(16.0, x.start - 6 - text_width("FLOP/s", 11)), y.end - 9, "FLOP/s", 11, "quiet")


def roof_lines(drawing: Drawing, plot: tuple[LogAxis, LogAxis], levels: list[Roof], top: float, compute: bool) -> None:
    """A slope for each level and the common flat roof; the one that bounds is thicker."""
    x, y = plot
    for roof in levels:
        start = max(x.low, y.low / roof.bandwidth)
        ends = [(x.at(start), y.at(start * roof.bandwidth)), (x.at(roof.knee), y.at(top))]
        drawing.path(ends, roof.look[0], 3 if roof.bounds else 1.5, roof.look[2])
    first = min(roof.knee for roof in levels)
    drawing.line((x.at(first), y.at(top), x.end, y.at(top)), "ink", 3 if compute else 1.5)


def kernel_points(
    drawing: Drawing, plot: tuple[LogAxis, LogAxis], levels: list[Roof], reached: float, rows: list[int]
) -> None:
    """The kernel at each level's intensity, a dotted line up to what that roof would allow, a label below."""
    x, y = plot
    at = y.at(reached)
    for roof, row in zip(levels, rows, strict=True):
        left, color = x.at(roof.intensity), roof.look[0]
        allowed = y.at(min(roof.intensity, roof.knee) * roof.bandwidth)
        drawing.line((left, at, left, allowed), color, 1, "1 3")
        level = at + 19 + ROW * row
        drawing.line((left, at, left, level), color)
        drawing.text(left + 4, level, label(roof), 11, color, bold=roof.bounds)
    for roof in sorted(levels, key=lambda roof: roof.bounds):  # the one that bounds lies on top
        drawing.marker(roof.look[1], x.at(roof.intensity), at, roof.look[0])


def measured_point(drawing: Drawing, record: Record, x: LogAxis, y: LogAxis, dram: Roof) -> None:
    """A hollow marker where the measurement stands."""
    if record.measurement and (speed := story.rate(record, record.measurement.time_s)):
        drawing.line((x.start, y.at(speed), x.end, y.at(speed)), "plum", 1, "4 4")
        drawing.marker("diamond", x.start + 12, y.at(speed), "plum", hollow=True, size=4)


def table(drawing: Drawing, levels: list[Roof], top: float, width: float) -> None:
    """The figures behind the lines."""
    columns = [44.0, *(44 + (width - 60) * share for share in (0.5, 0.73, 1.0))]
    heads = ("level", "bandwidth", "knee", "kernel")
    for at, text in zip(columns, heads, strict=True):
        drawing.text(at, top, text, 11, "quiet", anchor="start" if at == columns[0] else "end")
    for index, roof in enumerate(levels, 1):
        y = top + 18 * index
        color, shape, dash = roof.look
        drawing.line((16, y - 4, 38, y - 4), color, 3 if roof.bounds else 1.5, dash)
        drawing.marker(shape, 27, y - 4, color, size=4)
        texts = (roof.name, amount(roof.bandwidth, "B/s"), plain(roof.knee), plain(roof.intensity))
        for at, text in zip(columns, texts, strict=True):
            first = at == columns[0]
            shown = fit(text, 12, (width - 60) * 0.28, roof.bounds) if first else text
            drawing.text(
                at, y, shown, 12, color if first else "ink", anchor="start" if first else "end", bold=roof.bounds
            )
