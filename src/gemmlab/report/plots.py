"""The pictures of a Record as SVG text, one by one and as one sheet."""

from collections.abc import Callable

from gemmlab.record import Record
from gemmlab.report import story
from gemmlab.report.ladder import ladder
from gemmlab.report.roofline import roofline
from gemmlab.report.svg import Drawing, fit, text_lines
from gemmlab.report.tile import tile
from gemmlab.report.waterfall import waterfall

WIDTH, MARGIN = 560.0, 16.0

#: every picture by name, in the order a sheet and a page show them; each takes a Record and a width in pixels
FIGURES: dict[str, Callable[[Record, float], Drawing | None]] = {
    "roofline": roofline,
    "ladder": ladder,
    "tile": tile,
    "waterfall": waterfall,
}


def figure(record: Record, name: str, width: float = WIDTH) -> Drawing:
    """The picture of that name; where the Record lacks what it shows, a small sheet that says so."""
    drawn = FIGURES[name](record, width)
    if drawn is not None:
        return drawn
    text = f"No {name}: the record lacks what it is drawn from"
    drawing = Drawing(width, 60, text, text)
    drawing.text(MARGIN, 35, text, 12, "quiet")
    return drawing


def roofline_svg(record: Record) -> str:
    """Log-log rooflines of all levels of memory, with the kernel's point on each, as SVG text."""
    return figure(record, "roofline").svg("roofline")


def ladder_svg(record: Record) -> str:
    """The ladder of traffic from the floor past the bounds and the predicted band to raw, as SVG text."""
    return figure(record, "ladder").svg("ladder")


def tile_svg(record: Record) -> str:
    """The matrices with one tile of C, its two strips and the first wave of programs, as SVG text."""
    return figure(record, "tile").svg("tile")


def waterfall_svg(record: Record) -> str:
    """The predicted time by cause, adding up, as SVG text."""
    return figure(record, "waterfall").svg("waterfall")


def plot_svg(record: Record) -> str:
    """One sheet with every picture that the Record can fill, in two columns, as SVG text."""
    return sheet(record).svg("gemmlab")


def sheet(record: Record) -> Drawing:
    """Heading and pictures; each picture goes under the column that is shorter so far."""
    drawn = [d for draw in FIGURES.values() if (d := draw(record, WIDTH)) is not None]
    columns = 2 if len(drawn) > 1 else 1
    width = columns * WIDTH + (columns - 1) * MARGIN
    heads = [text for text in (story.verdict(record), setting(record)) if text]
    lines = [line for text in heads for line in text_lines(text, 13, width - 2 * MARGIN)[:3]]
    top = 46.0 + 18 * len(lines)
    ends = [top] * columns
    places = []
    for drawing in drawn:
        column = ends.index(min(ends))
        places.append((column * (WIDTH + MARGIN), ends[column]))
        ends[column] += drawing.height
    title = f"{story.title(record)}, {story.formats(record)}".removesuffix(", ")
    whole = Drawing(width, max(*ends, top) + 8, title, ". ".join([*heads, *(d.description for d in drawn)]))
    whole.text(MARGIN, 30, fit(title, 17, width - 2 * MARGIN, True), 17, bold=True)
    for index, line in enumerate(lines):
        whole.text(MARGIN, 52 + 18 * index, line, 13, "ink" if index == 0 else "quiet")
    for drawing, (x, y) in zip(drawn, places, strict=True):
        whole.embed(drawing, x, y)
    return whole


def setting(record: Record) -> str:
    """Chip, how well it is known, and kernel, in a line."""
    chip = f"{record.chip.name} ({story.chip_status(record)})" if record.chip else ""
    kernel = f"kernel {story.kernel_line(record)}" if record.kernel else ""
    return ", ".join(text for text in (chip, kernel) if text)
