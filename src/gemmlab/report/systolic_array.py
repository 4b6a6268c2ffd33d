"""The PEs of a systolic array in one cycle, and the slanted waves of operands around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gemmlab.experiment import InFlight, Still
from gemmlab.report.svg import BOLDER, Drawing, text_lines, text_width
from gemmlab.units import ceil_div

MARGIN = 16.0
MOST = 64  #: cells along a side; a larger array is drawn by every second, third, ... row and column
BOARD = 0.44  #: longest side of the array, of the width of the picture
LARGEST_CELL = 46.0
LABELLED = 33.0  #: pixels of a cell from which it names its operands
REACH = 0.42  #: how far outside the array its operands are drawn, of its longer side
BESIDE = 520.0  #: width from which the legend stands beside the array
WAVES = ("teal", "plum")  #: tiles by turns, so that two in the array at once are told apart


class Cell(NamedTuple):
    """A place of the picture with a word in it: in the array, left of it and above it at negative places, or below."""

    row: int
    col: int
    wave: InFlight
    kind: str  #: works, comes, above or left (which have gone through)


class Board(NamedTuple):
    """Where the cells of a picture lie."""

    x: float
    y: float
    cell: float
    step: int  #: rows and columns of PEs between two cells
    rows: int  #: cells
    cols: int
    out: int  #: cells drawn outside the array

    def place(self, row: int, col: int) -> tuple[float, float]:
        """The corner of a cell; outside the array too."""
        return self.x + col * self.cell, self.y + row * self.cell


def array_panel(still: Still, width: float) -> Drawing:
    """The array in the still's cycle: PEs at work, those left idle, operands that come and sums that go."""
    board = board_of(still, width)
    cells = list(cells_of(still, board))
    said = text_lines(description(still, board.step), 12, width - 2 * MARGIN)
    board = board._replace(y=board.y + 16 * len(said))
    lowest = max([board.rows, *(cell.row + 1 for cell in cells)])
    end = board.y + lowest * board.cell + 14
    beside = width >= BESIDE
    shown = entries(still, cells)
    legend_x = board.x + board.cols * board.cell + 26 if beside else MARGIN
    legend_y = board.y + 10 if beside else end + 20
    bottom = legend_end(still, shown, (legend_x, legend_y), width, None)
    drawing = Drawing(width, max(end, bottom) + 6, f"The array in cycle {still.cycle:,}", " ".join(said))
    drawing.text(MARGIN, 24, f"The array in cycle {still.cycle:,}", 14, bold=True)
    for index, line in enumerate(said):
        drawing.text(MARGIN, 42 + 16 * index, line, 12, "quiet")
    draw_cells(drawing, still, board, cells)
    legend_end(still, shown, (legend_x, legend_y), width, drawing)
    return drawing


def board_of(still: Still, width: float) -> Board:
    """The cells' size and place, text above them left out."""
    array = still.array
    step = ceil_div(max(array.rows, array.cols), MOST)
    rows, cols = ceil_div(array.rows, step), ceil_div(array.cols, step)
    cell = min(BOARD * width / max(rows, cols), LARGEST_CELL)
    out = max(2, round(REACH * max(rows, cols)))
    above = out if array.flow.held == "c" else 0
    return Board(MARGIN + out * cell + 2, 42.0 + above * cell, cell, step, rows, cols, out)


def description(still: Still, step: int) -> str:
    """How many PEs multiply, and what a cell of the picture stands for."""
    each = f"; a cell stands for {step} x {step} PEs" if step > 1 else ""
    at_work = sum(busy(wave) for wave in still.waves)
    return f"{at_work:,} of {still.array.pes:,} PEs multiply{each}"


def busy(wave: InFlight) -> int:
    """PEs that a wave has at work: in each row those that its first word has reached and its last has not passed."""
    return sum(
        max(0, min(wave.cols, wave.age - row + 1) - max(0, wave.age - row - wave.length + 1))
        for row in range(wave.rows)
    )


def cells_of(still: Still, board: Board) -> Iterator[Cell]:
    """Every cell that holds a word of a wave."""
    sums_stay = still.array.flow.held == "c"
    for wave in still.waves:
        rows, cols = ceil_div(wave.rows, board.step), ceil_div(wave.cols, board.step)
        places = [
            (row, col, "works" if col >= 0 else "comes") for row in range(rows) for col in range(-board.out, cols)
        ]
        if sums_stay:
            places += [(row, col, "above") for row in range(-board.out, 0) for col in range(cols)]
        else:
            places += [(board.rows + far, col, "left") for far in range(board.out) for col in range(cols)]
        for row, col, kind in places:
            if 0 <= wave.age - (row + col) * board.step < wave.length:
                yield Cell(row, col, wave, kind)


def draw_cells(drawing: Drawing, still: Still, board: Board, cells: list[Cell]) -> None:
    """The frame, PEs that a tile does not fill, then the words; small neighbours of a row are one shape."""
    drawing.rect(board.x, board.y, board.cols * board.cell, board.rows * board.cell, "grid", crisp=True)
    unused(drawing, still, board)
    gap = 1.5 if board.cell >= 12 else board.cell / 9
    single = board.cell >= 12
    for first, last in runs(cells, single):
        x, y = board.place(first.row, first.col)
        wide = (last - first.col + 1) * board.cell
        drawing.rect(
            x, y, wide - (gap if single or first.kind != "works" else 0), board.cell - gap, color(first), crisp=True
        )
    if board.cell >= 12:
        for index in range(board.rows + 1):
            y = board.y + index * board.cell - gap / 2
            drawing.line((board.x, y, board.x + board.cols * board.cell, y), "paper", gap)
        for index in range(board.cols + 1):
            x = board.x + index * board.cell - gap / 2
            drawing.line((x, board.y, x, board.y + board.rows * board.cell), "paper", gap)
    if board.cell >= LABELLED:
        for cell in cells:
            names(drawing, still, board, cell)


def runs(cells: list[Cell], single: bool) -> Iterator[tuple[Cell, int]]:
    """Cells as runs: the first one and the column of the last; each alone where `single`."""
    start: Cell | None = None
    end = 0
    for cell in cells:
        same = start is not None and (cell.row, cell.wave.number, cell.kind) == (
            start.row,
            start.wave.number,
            start.kind,
        )
        if start is not None and same and cell.col == end + 1 and not single:
            end = cell.col
            continue
        if start is not None:
            yield start, end
        start, end = cell, cell.col
    if start is not None:
        yield start, end


def color(cell: Cell) -> str:
    """By what the cell is."""
    return {"works": WAVES[cell.wave.number % 2], "left": "ochre"}.get(cell.kind, "mist")


def unused(drawing: Drawing, still: Still, board: Board) -> None:
    """PEs that the tile in the array does not reach."""
    wave = entering(still)
    if wave is None:
        return
    rows, cols = ceil_div(wave.rows, board.step), ceil_div(wave.cols, board.step)
    if cols < board.cols:
        x, y = board.place(0, cols)
        drawing.rect(x, y, (board.cols - cols) * board.cell, board.rows * board.cell, "sand", crisp=True)
    if rows < board.rows:
        x, y = board.place(rows, 0)
        drawing.rect(x, y, cols * board.cell, (board.rows - rows) * board.cell, "sand", crisp=True)


def entering(still: Still) -> InFlight | None:
    """The wave whose words enter the array now."""
    return next((wave for wave in still.waves if 0 <= wave.age < wave.length), None)


def names(drawing: Drawing, still: Still, board: Board, cell: Cell) -> None:
    """Which elements are in a cell: of A and B in a PE, one of them before it, one of C behind it."""
    flow = still.array.flow
    said = {operand: f"{operand}{row},{col}" for operand, (row, col) in elements(still, cell).items()}
    shown = {
        "works": [said["a"], said["b"]],
        "comes": [said[flow.right]],
        "above": [said[flow.down]],
        "left": [said["c"]],
    }[cell.kind]
    x, y = board.place(cell.row, cell.col)
    size = min(11.0, board.cell / 3.7)
    at = (0.42, 0.8) if len(shown) == 2 else (0.62,)
    ink = "ink" if cell.kind in ("comes", "above") else "paper"
    if max(text_width(text, size) for text in shown) > board.cell - 2:
        return  # far along a side numbers grow too long
    for text, down in zip(shown, at, strict=True):
        drawing.text(x + board.cell / 2, y + down * board.cell, text, size, ink, anchor="middle", rim=False)


def elements(still: Still, cell: Cell) -> dict[str, tuple[int, int]]:
    """Row and column of the elements of A, B and C that meet in a cell, where a cell is one PE."""
    flow, wave = still.array.flow, cell.wave
    word = wave.first + (wave.age - cell.row - cell.col) // still.passes
    place = {flow.rows: wave.first_row + cell.row, flow.cols: wave.first_col + cell.col, flow.stream: word}
    m, n, k = (place[side] for side in "mnk")
    return {"a": (m, k), "b": (k, n), "c": (m, n)}


def entries(still: Still, cells: list[Cell]) -> list[tuple[str, str]]:
    """Colours of the picture and what they are; only those that it has."""
    flow = still.array.flow
    kinds = {(cell.kind, cell.wave.number % 2) for cell in cells}
    coming = "A and B" if flow.held == "c" else flow.right.upper()
    wave = entering(still)
    partly = wave is not None and (wave.rows < still.array.rows or wave.cols < still.array.cols)
    both = {("works", 0), ("works", 1)} <= kinds
    found = [
        ("teal", "PEs that multiply" + (", even tiles" if both else ""), ("works", 0) in kinds),
        ("plum", "PEs that multiply" + (", odd tiles" if both else ""), ("works", 1) in kinds),
        ("grid", "PEs that wait", sum(busy(each) for each in still.waves) < still.array.pes),
        ("sand", "PEs that the tile does not fill", partly),
        ("mist", f"words of {coming} on their way in", any(kind in ("comes", "above") for kind, _ in kinds)),
        ("ochre", "sums that have just left", any(kind == "left" for kind, _ in kinds)),
    ]
    return [(shade, said) for shade, said, has in found if has]


def legend_end(
    still: Still, shown: list[tuple[str, str]], corner: tuple[float, float], width: float, drawing: Drawing | None
) -> float:
    """Draw what moves where and what colours are, if there is a drawing; returns where that ends."""
    (x, y), flow = corner, still.array.flow
    held = "sums stay, B moves down" if flow.held == "c" else f"{flow.held.upper()} stays, sums move down"
    for line in text_lines(f"{flow.right.upper()} moves right, {held}", 12 * BOLDER, width - x - MARGIN):
        if drawing is not None:
            drawing.text(x, y, line, 12, bold=True)
        y += 17
    y += 8
    for shade, said in shown:
        if drawing is not None:
            drawing.rect(x, y - 10, 12, 12, shade)
        for line in text_lines(said, 12, width - x - 20 - MARGIN):
            if drawing is not None:
                drawing.text(x + 20, y, line, 12)
            y += 16
        y += 5
    rule = "Word r of a tile's stream is in row i and column j in cycle start + r + i + j."
    for line in text_lines(rule, 11, width - x - MARGIN):
        if drawing is not None:
            drawing.text(x, y + 4, line, 11, "quiet")
        y += 15
    return y
