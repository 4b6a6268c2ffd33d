"""A systolic array as a picture: operands in flight in one cycle, its use over time, the split of its cycles."""

from __future__ import annotations

from gemmlab.experiment import Still
from gemmlab.record import Record, SystolicSection
from gemmlab.report import systolic_story as told
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.systolic_array import array_panel

MARGIN = 16.0
SHEET, WIDE, PHONE = 720.0, 560.0, 340.0  #: widths: of a picture by itself, on a page, on a phone

#: classes of cycles as table 3 of the TPU v1's paper has them, useful and unused MACs being the active cycles
COLORS = {
    "useful MACs": "teal",
    "unused MACs": "mist",
    "weight stall": "brick",
    "weight shift": "ochre",
    "non-matrix": "quiet",
}


def systolic_svg(record: Record, still: Still) -> str:
    """The three pictures of a systolic Record under each other, as SVG text."""
    return sheet(record, still).svg("systolic")


def sheet(record: Record, still: Still, width: float = SHEET) -> Drawing:
    """Title and the three pictures."""
    section = record.systolic
    if section is None:
        said = "Nothing to draw: the record has no systolic array"
        drawing = Drawing(width, 60, said, said)
        drawing.text(MARGIN, 35, said, 12, "quiet")
        return drawing
    drawn = list(panels(record, still, width).values())
    title, said = told.title(record, section), told.verdict(section)
    lines = text_lines(said, 13, width - 2 * MARGIN)
    top = 44.0 + 18 * len(lines)
    words = ". ".join([said, *(panel.description for panel in drawn)])
    whole = Drawing(width, top + sum(panel.height for panel in drawn), title, words)
    whole.text(MARGIN, 28, fit(title, 17, width - 2 * MARGIN, True), 17, bold=True)
    for index, line in enumerate(lines):
        whole.text(MARGIN, 50 + 18 * index, line, 13, "quiet")
    y = top
    for panel in drawn:
        whole.embed(panel, 0, y)
        y += panel.height
    return whole


def panels(record: Record, still: Still, width: float) -> dict[str, Drawing]:
    """Each picture by name."""
    section = record.systolic
    if section is None:
        return {}
    return {
        "array": array_panel(still, width),
        "time": use_over_time(section, still, width, record.problem.batch if record.problem else 1),
        "split": split(section, width),
    }


def use_over_time(section: SystolicSection, still: Still, width: float, batch: int = 1) -> Drawing:
    """The share of PEs that multiply, over all cycles, and the cycle of the picture of the array."""
    one = " of the array that takes longest" if section.units > 1 else ""
    one += ", first batch entry," if batch > 1 else ""
    mean = sum(moment.busy * (moment.end - moment.start) for moment in still.moments) / still.cycles
    said = f"{told.tenths(mean)} of all PEs{one} are at work in the mean of {still.cycles:,} cycles"
    drawing = Drawing(width, 222, "PEs at work over time", said)
    drawing.text(MARGIN, 24, "PEs at work over time", 14, bold=True)
    drawing.text(MARGIN, 42, fit(said, 12, width - 2 * MARGIN), 12, "quiet")
    left, right, top, bottom = MARGIN + 42, width - MARGIN, 60.0, 170.0
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * (bottom - top)
        drawing.line((left, y, right, y), "grid")
        drawing.text(left - 6, y + 4, f"{share:.0%}", 10, "quiet", anchor="end")
    scale = (right - left) / still.cycles
    corners = [
        (left + at * scale, bottom - moment.busy * (bottom - top))
        for moment in still.moments
        for at in (moment.start, moment.end)
    ]
    drawing.path([(left, bottom), *corners, (right, bottom)], "teal", 1.5)
    x = left + (still.cycle + 0.5) * scale
    drawing.line((x, top, x, bottom + 6), "ochre", 1.5, "4 3")
    label = f"cycle {still.cycle:,}"
    half = text_width(label, 11) / 2
    drawing.text(min(max(x, left + half), right - half), bottom + 36, label, 11, "ochre", anchor="middle")
    drawing.text(left, bottom + 18, "0", 10, "quiet")
    drawing.text(right, bottom + 18, f"{still.cycles:,} cycles", 10, "quiet", anchor="end")
    return drawing


def split(section: SystolicSection, width: float) -> Drawing:
    """All cycles as one bar, cut by class; each class with its share below."""
    rows = [row for row in told.shares(section) if row.name in COLORS]
    said = "By the classes of the TPU v1's counters: " + ", ".join(
        f"{row.name} {told.tenths(row.share)}" for row in rows
    )
    drawing = Drawing(width, 102 + 22 * len(rows), "Where the cycles go", said)
    drawing.text(MARGIN, 24, "Where the cycles go", 14, bold=True)
    drawing.text(MARGIN, 42, fit("by the classes of the TPU v1's counters", 12, width - 2 * MARGIN), 12, "quiet")
    x, full = MARGIN, width - 2 * MARGIN
    for row in rows:
        if row.share > 0:
            drawing.rect(x, 54, max(full * row.share, 0.8), 24, COLORS[row.name], crisp=True)
        x += full * row.share
    for index, row in enumerate(rows):
        y = 100.0 + 22 * index
        drawing.rect(MARGIN, y - 10, 12, 12, COLORS[row.name])
        drawing.text(MARGIN + 20, y, row.name, 12)
        drawing.text(MARGIN + 204, y, f"{row.cycles:,.0f}", 12, anchor="end")
        drawing.text(MARGIN + 262, y, told.tenths(row.share), 12, anchor="end", bold=True)
        if width > 480:
            drawing.text(MARGIN + 278, y, fit(row.why, 12, width - 2 * MARGIN - 278), 12, "quiet")
    return drawing
