"""One tile of D with the strips of A and B that its program reads, and the order in which programs start."""

from typing import NamedTuple

from gemmlab.record import KernelSection, ProblemSection, Record
from gemmlab.report import story
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import percent, several
from gemmlab.units import ceil_div

THINNEST, SMALLEST_TILE, GAP, EDGE = 10.0, 7.0, 10.0, 3.0


class Sheet(NamedTuple):
    """Where the matrices lie: A left of D, B above it; sides in pixels."""

    m: float
    n: float
    k: float
    scaled: bool  #: all sides are to one scale


class Span(NamedTuple):
    """A stretch of rows or columns, in pixels from the matrix's edge."""

    start: float
    size: float


def tile(record: Record, width: float = 560) -> Drawing | None:
    """The picture, or None where the record lacks the problem or the kernel's tile."""
    p, t = record.problem, record.kernel
    if p is None or t is None or min(t.block_m, t.block_n, t.block_k) < 1:
        return None
    sheet = lay_out(p, width - 32 - GAP, 300.0)
    rows, columns = edges(p.m, t.block_m, sheet.m), edges(p.n, t.block_n, sheet.n)
    legend = [(swatch, text_lines(text, 12, width - 64)) for swatch, text in captions(record, p, t, sheet)]
    top, left = 58.0, 16 + (width - 32 - GAP - sheet.k - sheet.n) / 2
    below = top + sheet.k + GAP + sheet.m
    height = below + 58 + sum(16 * len(lines) + 5 for _, lines in legend)
    said = "; ".join(" ".join(lines) for _, lines in legend)
    drawing = Drawing(width, height, f"One tile of {story.title(record)}", said)
    drawing.text(16, 24, "One tile and its two strips", 14, bold=True)
    a, c = left, left + sheet.k + GAP
    row = top + sheet.k + GAP
    for x, y, w, h in ((a, row, sheet.k, sheet.m), (c, top, sheet.n, sheet.k), (c, row, sheet.n, sheet.m)):
        drawing.rect(x, y, w, h, "grid")
    if record.chip and record.prediction:
        first_wave(drawing, (p, t), slots(record), (c, row), sheet)
    strips(drawing, (a, c, top, row), rows, columns, step(p, t, sheet))
    ragged(drawing, (p, t), (c, row), sheet)
    for x, y, w, h in ((a, row, sheet.k, sheet.m), (c, top, sheet.n, sheet.k), (c, row, sheet.n, sheet.m)):
        drawing.path([(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)], "quiet", 1)
    name(drawing, c, top - 7, f"B: k x n = {p.k} x {p.n}", width)
    name(drawing, a, below + 15, f"A: m x k = {p.m} x {p.k}", width)
    name(drawing, c, below + 30, f"D: m x n = {p.m} x {p.n}", width)
    draw_legend(drawing, legend, below + 54)
    return drawing


def lay_out(p: ProblemSection, wide: float, high: float) -> Sheet:
    """Pixels of m, n and k in the room given; sides too thin to see are drawn thicker, and then not to scale."""
    scale = min(wide / (p.k + p.n), high / (p.k + p.m))
    sides = [scale * side for side in (p.m, p.n, p.k)]
    m, n, k = (max(side, THINNEST) for side in sides)
    over = max((k + n) / wide, (k + m) / high, 1.0)
    m, n, k = (max(side / over, THINNEST) for side in (m, n, k))
    return Sheet(m, n, k, scaled=min(sides) >= THINNEST)


def edges(side: int, block: int, pixels: float) -> Span:
    """Where a whole tile near the middle lies, drawn large enough to be seen."""
    tiles = ceil_div(side, block)
    index = min(tiles // 2, max(side // block - 1, 0))
    start, stop = index * block / side * pixels, min((index + 1) * block, side) / side * pixels
    size = min(max(stop - start, SMALLEST_TILE), pixels)
    return Span(min(start, pixels - size), size)


def step(p: ProblemSection, t: KernelSection, sheet: Sheet) -> Span:
    """One step of k, a third of the way."""
    steps = ceil_div(p.k, t.block_k)
    index = steps // 3
    size = min(max(min(t.block_k, p.k) / p.k * sheet.k, 3.0), sheet.k)
    return Span(min(index * t.block_k / p.k * sheet.k, sheet.k - size), size)


def strips(drawing: Drawing, corners: tuple[float, float, float, float], rows: Span, columns: Span, k: Span) -> None:
    """A's rows and B's columns of the tile, the step of k on both, and the tile."""
    a, c, top, row = corners
    long = c - a - GAP
    drawing.rect(a, row + rows.start, long, rows.size, "mist")
    drawing.rect(c + columns.start, top, columns.size, long, "mist")
    drawing.rect(a + k.start, row + rows.start, k.size, rows.size, "ochre")
    drawing.rect(c + columns.start, top + k.start, columns.size, k.size, "ochre")
    drawing.rect(c + columns.start, row + rows.start, columns.size, rows.size, "teal", edge="paper")


def slots(record: Record) -> int:
    """Output tiles in flight at once: programs resident on the chip, over those that share a tile by split-k."""
    if not (record.chip and record.prediction and record.kernel):
        return 0
    if story.fed_by_software(record) and record.count:
        return max(round(record.count.programs / record.prediction.waves), 1)
    return max(record.chip.sm_count * record.prediction.programs_per_sm // max(record.kernel.split_k, 1), 1)


def wave_rectangles(down: int, across: int, group: int, count: int) -> list[tuple[int, int, int, int]]:
    """Tiles (row, column, rows, columns) that the first `count` programs cover.

    Programs walk groups of `group` rows; in a group down each column, then on to the next column. Whole groups, whole
    columns of the last group, and what is begun of the next column: three rectangles at most.
    """
    count = min(count, down * across)
    whole = min(count // (group * across), down // group)
    found = [(0, 0, whole * group, across)] if whole else []
    left, base = count - whole * group * across, whole * group
    tall = min(group, down - base)
    if left and tall:
        if left // tall:
            found.append((base, 0, tall, left // tall))
        if left % tall:
            found.append((base, left // tall, left % tall, 1))
    return found


def first_wave(
    drawing: Drawing, what: tuple[ProblemSection, KernelSection], count: int, corner: tuple[float, float], sheet: Sheet
) -> None:
    """The tiles of the first wave, in the order of launch."""
    p, t = what
    down, across = ceil_div(p.m, t.block_m), ceil_div(p.n, t.block_n)
    turned = t.raster == "m"
    sides = (across, down) if turned else (down, across)
    for rectangle in wave_rectangles(*sides, max(t.group_m, 1), count):
        row, column, rows, columns = rectangle
        if turned:
            row, column, rows, columns = column, row, columns, rows
        y, h = piece(row, rows, t.block_m, p.m, sheet.m)
        x, w = piece(column, columns, t.block_n, p.n, sheet.n)
        drawing.rect(corner[0] + x, corner[1] + y, max(w, 1), max(h, 1), "sand")


def piece(first: int, tiles: int, block: int, side: int, pixels: float) -> tuple[float, float]:
    """Start and length in pixels of some tiles in a row."""
    start, stop = min(first * block, side), min((first + tiles) * block, side)
    return start / side * pixels, (stop - start) / side * pixels


def ragged(
    drawing: Drawing, what: tuple[ProblemSection, KernelSection], corner: tuple[float, float], sheet: Sheet
) -> None:
    """An edge on the sides where the last tiles reach past the matrix."""
    p, t = what
    x, y = corner
    if p.n % t.block_n:
        drawing.rect(x + sheet.n - EDGE, y, EDGE, sheet.m, "brick")
    if p.m % t.block_m:
        drawing.rect(x, y + sheet.m - EDGE, sheet.n, EDGE, "brick")


def name(drawing: Drawing, x: float, y: float, text: str, width: float) -> None:
    """A matrix's name and sizes, kept on the sheet."""
    shown = fit(text, 11, width - 32)
    drawing.text(min(x, width - 16 - text_width(shown, 11)), y, shown, 11, "quiet")


def captions(record: Record, p: ProblemSection, t: KernelSection, sheet: Sheet) -> list[tuple[str, str]]:
    """The colours and what they mean; an empty colour is a remark."""
    down, across = ceil_div(p.m, t.block_m), ceil_div(p.n, t.block_n)
    read = several(min(t.block_m, p.m), "row"), several(min(t.block_n, p.n), "column")
    said = [
        ("teal", f"a tile of D, {t.block_m} x {t.block_n}: {several(down * across, 'tile')}, {down} x {across}"),
        ("mist", f"what it reads: {read[0]} of A, {read[1]} of B, all of k"),
        ("ochre", f"one step of {min(t.block_k, p.k)} along k"),
    ]
    if record.chip and record.prediction:
        count = min(slots(record), down * across)
        along = "down m" if t.raster == "m" else "along n"
        lanes = "columns" if t.raster == "m" else "rows"
        order = f"{along} in groups of {t.group_m} {lanes}" if t.group_m > 1 else along
        first = "in VMEM at once" if story.fed_by_software(record) else "first wave"
        said.append(("sand", f"{first}: {count} of {several(down * across, 'tile')}, {order}"))
    for side, block, word in ((p.n, t.block_n, "column"), (p.m, t.block_m, "row")):
        if side % block:
            used = side % block
            said.append(("brick", f"ragged last {word} of tiles: {used} of {block} used, {percent(used / block)}"))
    said += [("", f"one of {p.batch} equal multiplications")] * (p.batch > 1)
    said += [("", f"{len(p.groups)} grouped multiplications, drawn as one")] * bool(p.groups)
    said += [("", f"{t.split_k} programs share each tile, each a range of k")] * (t.split_k > 1)
    small = min(t.block_m / p.m * sheet.m, t.block_n / p.n * sheet.n) < SMALLEST_TILE
    if not sheet.scaled:
        said.append(("", "not to scale: the thin sides are drawn thicker"))
    elif small and down * across > 1:
        said.append(("", "matrices to scale; the tile is drawn larger"))
    return said


def draw_legend(drawing: Drawing, legend: list[tuple[str, list[str]]], y: float) -> None:
    """Swatches with their words."""
    for swatch, lines in legend:
        if swatch:
            drawing.rect(16, y - 9, 11, 11, swatch, rounded=2)
        for line in lines:
            drawing.text(34 if swatch else 16, y, line, 12, "ink" if swatch else "quiet")
            y += 16
        y += 5
