"""Matrix units as text: a table of many, and all that is known of one."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.report.canvas import Canvas, cells
from gemmlab.report.emulation_tables import Row, stacked
from gemmlab.report.words import clean

HEADS = ("terms", "align", "keeps", "cut", "C", "checked")
LABEL = 16

ROUNDINGS = {
    "rz": "toward zero",
    "rne": "to nearest, ties to even",
    "rna": "to nearest, ties away from zero",
    "floor": "down, toward minus infinity",
}
ORDERS = {
    "ascending": "k ascends",
    "quads": "of an instruction those with k%4 < 2 first, then the others",
    "parity": "even and odd k of an instruction each on their own, then added",
}
JOINS = {
    "early": "C and what came before is aligned with the products of the first sum",
    "late": "sums start from zero; C is added by an addition of its own at the instruction's end, rounded ",
    "floor": "products are summed alone; their sum and C are then aligned by cuts that round down",
}
ZEROS = {
    "positive": "+0",
    "ieee": "-0 where nothing but -0 was added, else +0",
    "rounded": "+0; -0 only where a negative sum was rounded to it",
}


def unit_table(units: Sequence[Unit], *, width: int | None = None) -> str:
    """One line a unit, and what the columns mean, as text without a line end."""
    canvas = Canvas.of(sys.stdout, width, None, None)
    rows = [Row(clean(unit.name), row_cells(unit)) for unit in units]
    lines = table(rows, canvas)
    told = (
        "terms: products of one fused sum. align: fraction bits kept of each below the largest exponent; exact: all. "
        "keeps: the accumulator as it is kept, sign beside exponent and fraction. cut: rounding of the sum. C: early "
        "joins the first fused sum, late comes after. checked: silicon is bit for bit on a chip; assumed is nothing "
        "that anyone has measured."
    )
    return "\n".join([*lines, "", *canvas.wrap(told, style="dim")])


def table(rows: Sequence[Row], canvas: Canvas) -> list[str]:
    """Columns as narrow as they can be; stacked where they do not fit."""
    label = max((cells(row.name) for row in rows), default=0)
    widths = [max([len(head), *(len(row.cells[i]) for row in rows)]) for i, head in enumerate(HEADS)]
    if label + sum(widths) + len(widths) > canvas.width:
        return stacked(HEADS, rows, canvas)
    titles = "".join(f" {head:>{width}}" for head, width in zip(HEADS, widths, strict=True))
    lines = [canvas.paint(" " * label + titles, "dim")]
    for row in rows:
        figures = "".join(f" {text:>{width}}" for text, width in zip(row.cells, widths, strict=True))
        lines.append(f"{row.name}{' ' * (label - cells(row.name))}{figures}")
    return lines


def row_cells(unit: Unit) -> tuple[str, ...]:
    """The columns of one unit."""
    align = str(unit.align_bits) if unit.sum == "aligned" else unit.sum.replace("integer", "exact")
    rounding = "-" if unit.sum == "integer" else unit.rounding
    joins = "-" if unit.sum == "integer" else unit.c
    return (str(unit.terms), align, keeps(unit), rounding, joins, checked(unit))


def keeps(unit: Unit) -> str:
    """The accumulator's own format: `e8m13`, or `int32`."""
    form = formats.get(unit.accumulate)
    return unit.accumulate if form.kind == "int" else f"e{form.exponent_bits}m{unit.width}"


def checked(unit: Unit) -> str:
    """How well it is known, in a word."""
    return "silicon" if unit.silicon else "assumed" if unit.assumed else "-"


def unit_text(unit: Unit, *, width: int | None = None) -> str:
    """Every rule of one unit in words, its sources, and how it was checked, as text without a line end."""
    canvas = Canvas.of(sys.stdout, width, None, None)
    lines = canvas.wrap(clean(f"{unit.name}: {unit.about}" if unit.about else unit.name), style="strong", hang=2)
    for name, text in facts(unit):
        body = canvas.wrap(clean(text), LABEL)
        lines += [f"  {name}{body[0][2 + len(name) :]}", *body[1:]] if body else []
    return "\n".join(lines)


def facts(unit: Unit) -> list[tuple[str, str]]:
    """Label and sentence of each rule that the unit has."""
    of = f"{' or '.join(unit.a_formats)} by {' or '.join(unit.b_formats)}"
    if unit.a_formats == unit.b_formats:
        of = " or ".join(unit.a_formats) + (", any with any" if len(unit.a_formats) > 1 else "")
    if unit.read_as:
        of += f", converted to {unit.read_as} first"
    told = [("operands", of), ("accumulator", f"{unit.accumulate}, kept as {keeps(unit)}: {unit.width_bits} bits")]
    k = f"{unit.terms} products" if unit.terms > 1 else "one product"
    if unit.k != unit.terms:
        k += f", {unit.k // unit.terms} sums an instruction of {unit.k}"
    told.append(("one fused sum", f"{k}; {ORDERS[unit.order]}"))
    told += arithmetic(unit)
    if unit.scaled:
        told.append(("block scales", f"{' or '.join(unit.scale_formats)}, one for {unit.scale_block} of k"))
    told.append(("opcodes", ", ".join(unit.sass)))
    told.append(("source", unit.source))
    said = unit.silicon or ("assumed: the vendor publishes nothing" if unit.assumed else "not on silicon")
    told.append(("checked", said))
    return [(name, text) for name, text in told if text]


def arithmetic(unit: Unit) -> list[tuple[str, str]]:
    """How terms are aligned, summed and rounded, and what happens at the ends of the range."""
    if unit.sum == "integer":
        ends = "stops at the ends of int32 after each instruction" if unit.saturate else "wraps at the ends of int32"
        return [("sum", f"exact, {ends}")]
    told = [("sum", sum_text(unit)), ("rounding", f"{ROUNDINGS[unit.rounding]}, to {unit.width} fraction bits")]
    told.append(("C", JOINS[unit.c] + (ROUNDINGS[unit.c_rounding] if unit.c == "late" else "")))
    inputs = "kept" if unit.subnormal_inputs else "read as zero"
    outputs = "kept" if unit.subnormal_outputs else "become zero"
    told.append(("subnormals", f"of operands {inputs}, of sums {outputs}"))
    digits = formats.get(unit.accumulate).storage_bits // 4
    nan = f"always 0x{unit.nan_code:0{digits}x}" if unit.nan == "fixed" else "some NaN, its payload not promised"
    over = "; a product past float32's range is infinite by itself" if unit.product_overflow else ""
    told.append(("NaN", f"{nan}{over}"))
    return [*told, ("zero sums", ZEROS[unit.negative_zero])]


def sum_text(unit: Unit) -> str:
    """How a group of terms becomes one sum."""
    if unit.sum == "exact":
        return "exact, whatever the exponents, before one rounding" if unit.terms > 1 else "a fused multiply-add"
    if unit.sum == "pairs":
        return "each product rounded, then added two by two, each addition rounded"
    said = f"every term is cut {ROUNDINGS[unit.cut]} at {unit.align_bits} fraction bits below the largest exponent"
    if unit.zero_exponent is not None:
        said += f" (a zero counts as 2^{unit.zero_exponent})"
    inner = f"{unit.exact_terms} products at a time are summed exactly first; " if unit.exact_terms > 1 else ""
    return f"{inner}{said}, then all are added exactly"
