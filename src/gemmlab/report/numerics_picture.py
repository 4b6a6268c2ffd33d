"""One fused sum as a picture: every term's bits as cells under their powers of two, and the cut through them."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab import formats
from gemmlab.record import NumericsSection, Record, TraceSection, TraceStep, TraceTerm
from gemmlab.report import numerics_trace as trace_text
from gemmlab.report.svg import Drawing, fit, text_lines, text_width
from gemmlab.report.words import several

CELL, TALL = 13.0, 17.0
LEFT, RIGHT = 176.0, 92.0  #: beside the cells: operands and value; what is lost
MARGIN = 16.0
MOST_COLUMNS = 46  #: powers of two; bits further down are said in words
FIRST, LAST, MOST = 9, 6, 18  #: terms of a long sum


class Bits(NamedTuple):
    """A number as bits: its digits stand at exponents from `high` down to `low`."""

    label: str
    value: str
    magnitude: int
    low: int  #: exponent of the last bit
    cut_at: int | None  #: bits at exponents below it are lost; None where all are kept
    beside: str  #: at the right
    strong: bool = False

    @property
    def high(self) -> int:
        """Exponent of the first bit."""
        return self.low + self.magnitude.bit_length() - 1


def numerics_svg(record: Record) -> str:
    """The picture of a Record on a unit as SVG text: of a trace the sum that loses most, else the sweep."""
    return picture(record).svg("numerics")


def picture(record: Record, width: float = 760.0) -> Drawing:
    """The drawing; a small sheet that says so where the Record has nothing to draw."""
    numerics = record.numerics
    trace = traced(numerics) if numerics else None
    if numerics is not None and trace is not None:
        chosen = shown_step(trace)
        if chosen is not None:
            return fused_sum(numerics, trace, chosen)
    if numerics is not None and numerics.sweep:
        return sweep(numerics, width)
    said = "Nothing to draw: the record has no trace with a sum, and no sweep"
    drawing = Drawing(width, 60, said, said)
    drawing.text(MARGIN, 35, said, 12, "quiet")
    return drawing


def traced(numerics: NumericsSection) -> TraceSection | None:
    """The trace, or that of the first output that differs."""
    if numerics.trace is not None:
        return numerics.trace
    return numerics.first_mismatch.trace if numerics.first_mismatch else None


def shown_step(trace: TraceSection) -> int | None:
    """The sum with products that loses most and follows no rule for special values; None where there is none."""
    made = [index for index, step in enumerate(trace.steps) if step.ks and not step.rule and step.terms]
    return max(made, key=lambda index: (trace_text.magnitude(trace.steps[index]), -index), default=None)


def fused_sum(numerics: NumericsSection, trace: TraceSection, index: int) -> Drawing:
    """One step: its terms, the cut, the sum and the result."""
    step = trace.steps[index]
    terms, hidden = chosen_terms(step)
    rows = [term_bits(term, step) for term in terms]
    ends = total_bits(step)
    everything = [each for each in [*rows, *ends] if each.magnitude]
    top = max((each.high for each in everything), default=0)
    bottom = min((each.low for each in everything), default=0)
    deepest = max(bottom, top - MOST_COLUMNS + 1)
    columns = top - deepest + 1
    width = max(2 * MARGIN + LEFT + columns * CELL + RIGHT, 560.0)
    lines = [line for said in words(step, bottom < deepest) for line in text_lines(said, 12, width - 2 * MARGIN)]
    head = 80.0
    height = head + TALL * (len(rows) + bool(hidden) + len(ends)) + 24 + 16 * len(lines) + 46
    title = f"Output {trace.row},{trace.column} on {numerics.unit}: step {index + 1} of {len(trace.steps)}"
    drawing = Drawing(width, height, title, " ".join(lines))
    drawing.text(MARGIN, 26, fit(title, 15, width - 2 * MARGIN, True), 15, bold=True)
    drawing.text(MARGIN, 45, fit(subtitle(step), 12, width - 2 * MARGIN), 12, "quiet")
    left = MARGIN + LEFT
    ruler(drawing, left, head - 8, top, columns)
    y = head
    for position, row in enumerate(rows):
        if hidden and position == FIRST:
            drawing.text(left, y + 12, f"{several(hidden, 'term')} more", 11, "quiet")
            y += TALL
        draw_row(drawing, row, (left, y), (top, deepest))
        y += TALL
    if step.cut:
        x = left + (top - step.unit_exponent + 1) * CELL
        drawing.line((x, head - 4, x, y + 2), "brick", 2)
    y += 8
    drawing.line((MARGIN, y - 3, width - MARGIN, y - 3), "ink", 1)
    for row in ends:
        draw_row(drawing, row, (left, y), (top, deepest))
        y += TALL
    y += 22
    for line in lines:
        drawing.text(MARGIN, y, line, 12, "ink")
        y += 16
    legend(drawing, y + 10)
    return drawing


def chosen_terms(step: TraceStep) -> tuple[list[TraceTerm], int]:
    """The terms that are drawn, and how many between them are not."""
    terms = list(step.terms)
    if len(terms) <= MOST:
        return terms, 0
    return [*terms[:FIRST], *terms[-LAST:]], len(terms) - FIRST - LAST


def term_bits(term: TraceTerm, step: TraceStep) -> Bits:
    """One term as a row."""
    sign = "-" if term.significand < 0 else "+"
    label = f"{term.where}: {digits(term.a)} x {digits(term.b)}" if term.a else term.where
    cut = step.unit_exponent if step.cut else None
    lost = "" if term.lost == "0" else f"loses {trace_text.short(trace_text.number(term.lost), 3)}"
    return Bits(label, sign, abs(term.significand), term.unit_exponent, cut, lost)


def digits(text: str) -> str:
    """A value's text with at most six digits."""
    return text if len(text) <= 8 else trace_text.short(trace_text.number(text), 6)


def total_bits(step: TraceStep) -> list[Bits]:
    """The sum as it is, and what of it the rounding keeps."""
    if not step.total_value:
        return []
    value = abs(step.total)
    sign = "-" if step.total < 0 else "+"
    high = step.unit_exponent + value.bit_length() - 1
    rounded = None if step.lost in ("", "0") else high - step.width
    whole = Bits("sum", sign, value, step.unit_exponent, rounded, trace_text.shortened(step.total_value), True)
    if not step.result:
        return [whole]
    result = formats.decode(int(step.code, 16), step.format)
    numerator, denominator = abs(result).as_integer_ratio()
    low = 1 - denominator.bit_length()
    if numerator and low == 0:
        spare = (numerator & -numerator).bit_length() - 1
        numerator, low = numerator >> spare, spare
    kept = Bits("result", "-" if result < 0 else "+", numerator, low, None, trace_text.shortened(step.result), True)
    return [whole, kept]


def draw_row(drawing: Drawing, row: Bits, corner: tuple[float, float], span: tuple[int, int]) -> None:
    """One number: its label, its bits under their powers of two, and what is said beside."""
    x, y = corner
    top, deepest = span
    size = 11
    drawing.text(x - 18, y + 12.5, fit(row.label, size, LEFT - 22), size, "ink", anchor="end", bold=row.strong)
    if row.magnitude:
        drawing.text(x - 6, y + 12.5, row.value, size, "ink", anchor="middle")
    digits = bin(row.magnitude)[2:] if row.magnitude else ""
    for offset, digit in enumerate(digits):
        exponent = row.high - offset
        if exponent < deepest:
            break
        lost = row.cut_at is not None and exponent < row.cut_at
        cell(drawing, x + (top - exponent) * CELL, y, digit, lost=lost)
    if not row.magnitude:
        drawing.text(x + 3, y + 12.5, "0", size, "quiet")
    end = x + (top - deepest + 1) * CELL
    drawing.text(end + 6, y + 12.5, fit(row.beside, 10, RIGHT - 8), 10, "brick" if not row.strong else "ink")


def cell(drawing: Drawing, x: float, y: float, digit: str, *, lost: bool) -> None:
    """One bit: kept ones are full, lost ones hollow and struck out."""
    if lost:
        drawing.rect(x + 0.5, y + 1.5, CELL - 1, TALL - 3, "paper", edge="brick")
        if digit == "1":
            drawing.line((x + 1.5, y + TALL - 2.5, x + CELL - 1.5, y + 2.5), "brick", 1)
    else:
        drawing.rect(x + 0.5, y + 1.5, CELL - 1, TALL - 3, "mist" if digit == "0" else "teal")
    color = "brick" if lost else "quiet" if digit == "0" else "paper"
    drawing.text(x + CELL / 2, y + 12.5, digit, 10, color, anchor="middle", rim=False)


def ruler(drawing: Drawing, x: float, y: float, top: int, columns: int) -> None:
    """Powers of two over every fourth column."""
    for column in range(columns):
        exponent = top - column
        if exponent % 4 == 0:
            label = f"2^{exponent}"
            middle = x + column * CELL + CELL / 2
            drawing.text(middle, y, label, 9, "quiet", anchor="middle")


def subtitle(step: TraceStep) -> str:
    """Which products."""
    before = ", and what was there before them" if step.terms[-1].where == "c" else ""
    return f"{several(len(step.ks), 'product')}, {trace_text.span(step.ks)}{before}"


def words(step: TraceStep, deeper: bool) -> list[str]:
    """What the picture shows, in words."""
    said = [*trace_text.summary(step)]
    return [*said, "Bits further to the right are not drawn."] if deeper else said


def legend(drawing: Drawing, y: float) -> None:
    """What cells look like."""
    x = MARGIN
    for digit, lost, said in (("1", False, "kept"), ("1", True, "cut off or rounded away")):
        cell(drawing, x, y - 13, digit, lost=lost)
        drawing.text(x + CELL + 6, y, said, 11, "quiet")
        x += CELL + 6 + text_width(said, 11) + 22
    drawing.line((x, y - 12, x, y + 2), "brick", 2)
    drawing.text(x + 8, y, "where all terms are cut", 11, "quiet")


def sweep(numerics: NumericsSection, width: float) -> Drawing:
    """Share of outputs unchanged by low bits cleared, as bars; the plateau in words."""
    steps = numerics.sweep
    title = f"Low bits cleared of {numerics.unit}"
    plateau = numerics.plateau if numerics.plateau is not None else 0
    said = f"{several(plateau, 'low bit')} can be cleared without changing any output ({numerics.kind})"
    drawing = Drawing(width, 300, title, said)
    drawing.text(MARGIN, 26, fit(title, 15, width - 2 * MARGIN, True), 15, bold=True)
    drawing.text(MARGIN, 45, fit(said, 12, width - 2 * MARGIN), 12, "quiet")
    left, bottom, tall = MARGIN + 40, 250.0, 170.0
    step = (width - left - MARGIN) / max(len(steps), 1)
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * tall
        drawing.line((left, y, width - MARGIN, y), "grid")
        drawing.text(left - 6, y + 4, f"{share:.0%}", 10, "quiet", anchor="end")
    for index, each in enumerate(steps):
        x = left + index * step
        full = each.unchanged == 1
        high = max(each.unchanged * tall, 1.0 if each.unchanged else 0.0)
        if high:
            drawing.rect(x + 3, bottom - high, max(step - 6, 2), high, "teal" if full else "sand")
        drawing.text(x + step / 2, bottom + 14, str(each.bits), 10, "quiet", anchor="middle")
    drawing.text(left, bottom + 34, "low bits cleared of each output; bars: outputs unchanged", 11, "quiet")
    return drawing
