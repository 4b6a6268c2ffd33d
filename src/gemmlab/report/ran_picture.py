"""Kernels that were run on one multiplication, as bars of the speed that was measured, under the roofline's limit."""

from collections.abc import Sequence

from gemmlab.record import Measurement, Record
from gemmlab.report import story
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import amount, clean, percent

WIDTH, ROW, LEFT, RIGHT = 720.0, 34.0, 16.0, 16.0
SAID = (
    "Measured speed of each kernel, its quartiles as a line; the bar's whole width is the roofline's limit on this chip"
)


def run_svg(records: Sequence[Record]) -> str:
    """The picture of the kernels of one multiplication, in the records' order, as SVG text."""
    return picture(records).svg("run")


def picture(records: Sequence[Record]) -> Drawing:
    """The same before it is text."""
    measured = [m for record in records if (m := record.measurement)]
    limit = max((speed for m in measured if (speed := top_speed(m))), default=0.0)
    lines = text_lines(SAID, 12, WIDTH - LEFT - RIGHT)
    top = 50.0 + 16 * len(lines)
    words = "; ".join(f"{clean(m.kernel)} {said(m)}" for m in measured)
    title = f"{story.title(records[0])}, {story.formats(records[0])}, run"
    drawing = Drawing(WIDTH, top + ROW * len(measured) + 8, title, f"Measured: {words}")
    drawing.text(LEFT, 24, fit(title, 14, WIDTH - LEFT - RIGHT, True), 14, bold=True)
    drawing.paragraph(LEFT, 42, SAID, WIDTH - LEFT - RIGHT, color="quiet")
    for index, m in enumerate(measured):
        bar(drawing, m, top + ROW * index, limit)
    return drawing


def top_speed(m: Measurement) -> float:
    """FLOP/s at the limit, or as measured where none is known; 0 without a time."""
    if not m.flop_per_s or not m.time_s:
        return 0.0
    return max(m.flop_per_s * m.time_s / m.limit_s if m.limit_s else 0.0, m.flop_per_s)


def said(m: Measurement) -> str:
    """Speed and share of the limit, or the fault."""
    if m.fault or m.flop_per_s is None:
        return clean(m.fault or "not run")
    share = f", {percent(m.fraction_of_limit)} of the limit" if m.fraction_of_limit is not None else ""
    return f"{amount(m.flop_per_s, 'FLOP/s')}{share}{', by a software adapter' * m.software}"


def bar(drawing: Drawing, m: Measurement, y: float, limit: float) -> None:
    """One kernel: name and figure above, the bar on its track, the quartiles on it."""
    wide, text = WIDTH - LEFT - RIGHT, said(m)
    drawing.text(WIDTH - RIGHT, y + 12, text, 12, "brick" if m.fault else "plum", anchor="end", bold=True)
    drawing.text(LEFT, y + 12, fit(clean(m.kernel), 12, wide - text_width(text, 12, True) - 12), 12)
    drawing.rect(LEFT, y + 17, wide, 9, "grid", rounded=1)
    if not m.flop_per_s or not m.time_s or not limit:
        return
    per_flop = wide / limit
    drawing.rect(LEFT, y + 17, max(1.0, m.flop_per_s * per_flop), 9, "sky" if m.vendor else "plum", rounded=1)
    ends = [min(wide, m.flop_per_s * m.time_s / each * per_flop) for each in (m.time_s_high, m.time_s_low) if each]
    if len(ends) == 2:
        drawing.line((LEFT + ends[0], y + 21.5, LEFT + ends[1], y + 21.5), "ink", 1.5)
