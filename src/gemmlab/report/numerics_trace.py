"""One output of a unit term by term as text: every step in a line, and the terms of the steps that tell most."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemmlab.record import TraceSection, TraceStep, TraceTerm
from gemmlab.report.canvas import Canvas
from gemmlab.report.words import clean, several

KIND = "emulated"
FIRST, LAST = 5, 3  #: terms of a long sum that are shown
MOST_TERMS = 16
FIRST_STEPS, LAST_STEPS = 5, 3
MOST_STEPS = 18
MOST_TOLD = 3  #: steps whose terms are shown

CUTS = {
    "rz": "toward zero",
    "rne": "to nearest even",
    "rna": "to nearest, ties away",
    "floor": "down",
}


def trace_lines(trace: TraceSection, canvas: Canvas) -> list[list[str]]:
    """Blocks of lines: the output and its steps, then the terms of those that tell most."""
    head = canvas.sides(f"Output {trace.row},{trace.column} term by term", KIND, KIND, "strong")
    sums = sum(step.kind in ("fused sum", "products alone") for step in trace.steps)
    chains = "one chain" if len(trace.chains) == 1 else f"{len(trace.chains)} chains, each from zero"
    head += canvas.wrap(f"{several(trace.k, 'product')} in {several(sums, 'sum')} of the unit, {chains}", 2)
    head += canvas.wrap(outcome(trace), 2, hang=2)
    blocks = [head]
    if len(trace.steps) > 1:
        blocks.append(step_table(trace, canvas))
    blocks += [told(trace, index, canvas) for index in telling(trace)]
    return blocks


def outcome(trace: TraceSection) -> str:
    """`result 455.5 (0x43e3c000); exact 455.5`."""
    said = f"result {trace.result} ({trace.code})"
    if trace.exact:
        said += f"; exact {nine(trace.exact)}"
    return clean(
        said + (f", error {nine(trace.error)}" if trace.error not in ("", "0") else ", no error" if trace.error else "")
    )


def telling(trace: TraceSection) -> list[int]:
    """The steps whose terms are worth seeing: the first, the one that loses most, the last; of those with products."""
    made = [index for index, step in enumerate(trace.steps) if step.ks]
    if not made:
        return []
    worst = max(made, key=lambda index: (magnitude(trace.steps[index]), -index))
    special = [index for index in made if trace.steps[index].rule][:1]
    return sorted(dict.fromkeys([made[0], *special, worst, made[-1]]))[: MOST_TOLD + bool(special)]


def magnitude(step: TraceStep) -> float:
    """How much a step loses, by its cuts and by its rounding."""
    return abs(cut_off(step)) + abs(number(step.lost))


def cut_off(step: TraceStep) -> float:
    """What all cuts of a step take together."""
    return sum(number(term.lost) for term in step.terms)


def number(text: str) -> float:
    """A value's text as a number; 0 for none, and for those beyond float64."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def step_table(trace: TraceSection, canvas: Canvas) -> list[str]:
    """A line for each step: what, its largest exponent, what cuts and rounding take, what goes on."""
    heads = f"  {'step':>4}  {'what':<17}{'2^':>5}{'cuts take':>13}{'rounding takes':>16}{'goes on':>17}"
    lines = canvas.wrap("Step by step", style="strong")
    wide = canvas.width >= len(heads)
    if wide:
        lines.append(canvas.paint(heads, "dim"))
    before = -1
    for index in listed_steps(trace):
        if index > before + 1:
            lines += canvas.wrap(f"... {several(index - before - 1, 'step')} more, which --json lists", 8, "dim")
        lines += step_line(index, trace.steps[index], canvas, wide)
        before = index
    return lines


def listed_steps(trace: TraceSection) -> list[int]:
    """All steps where they are few; else the first, the last, and those around one whose terms are told."""
    count = len(trace.steps)
    if count <= MOST_STEPS:
        return list(range(count))
    around = {at + near for at in telling(trace) for near in (-1, 0, 1)}
    chosen = {*range(FIRST_STEPS), *around, *range(count - LAST_STEPS, count)}
    return sorted(index for index in chosen if 0 <= index < count)


def step_line(index: int, step: TraceStep, canvas: Canvas, wide: bool) -> list[str]:
    """One step."""
    cells = (short(cut_off(step), 5) if step.cut else "-", short(number(step.lost), 5) if step.lost else "-")
    goes = clean(step.result or nine(step.total_value))
    if wide:
        row = f"  {index + 1:>4}  {what(step):<17}{exponent(step):>5}{cells[0]:>13}{cells[1]:>16}{goes:>17}"
        return [canvas.fit(row)]
    return canvas.wrap(
        f"{index + 1}. {what(step)}: cuts take {cells[0]}, rounding {cells[1]}, goes on {goes}", 2, hang=2
    )


def exponent(step: TraceStep) -> str:
    """The largest exponent, where anything is aligned or added."""
    return "-" if step.rule or not step.terms else str(step.largest_exponent)


def what(step: TraceStep) -> str:
    """`k 0..31`, or the name of an addition."""
    return span(step.ks) if step.ks else step.kind


def span(ks: Sequence[int]) -> str:
    """`k 0..31`; with `, of 32` where not all between are in it."""
    if len(ks) == 1:
        return f"k {ks[0]}"
    gaps = "" if ks[-1] - ks[0] == len(ks) - 1 else f" ({len(ks)})"
    return f"k {min(ks)}..{max(ks)}{gaps}"


def told(trace: TraceSection, index: int, canvas: Canvas) -> list[str]:
    """The terms of one step, its sum and its rounding."""
    step = trace.steps[index]
    lines = canvas.wrap(f"Step {index + 1}: {several(len(step.ks), 'product')}, {span(step.ks)}", style="strong")
    heads = f"  {'k':>6}{'a':>12}{'b':>12}{'product':>14}{'2^':>5}{'kept':>14}{'lost':>12}"
    wide = canvas.width >= len(heads)
    if wide:
        lines.append(canvas.paint(heads, "dim"))
    shown = list(step.terms)
    hidden = 0
    if len(shown) > MOST_TERMS:
        hidden = len(shown) - FIRST - LAST
        shown = [*shown[:FIRST], *shown[-LAST:]]
    for position, term in enumerate(shown):
        if hidden and position == FIRST:
            lost = sum(number(each.lost) for each in step.terms[FIRST:-LAST])
            lines += canvas.wrap(f"... {hidden} more terms, which lose {short(lost, 5)} together", 8, "dim")
        lines += term_line(term, step, canvas, wide)
    return [*lines, *(line for said in summary(step) for line in canvas.wrap(said, 2, hang=2))]


def term_line(term: TraceTerm, step: TraceStep, canvas: Canvas, wide: bool) -> list[str]:
    """One term: operands, product, exponent, what is kept and what is lost."""
    kept = "-" if term.kept is None else short(scaled(term.kept, step.unit_exponent), 7)
    lost = "." if term.lost == "0" else short(number(term.lost), 4)
    power = "-" if term.exponent is None else str(term.exponent)
    value, a, b = (clean(shortened(text)) for text in (term.value, term.a, term.b))
    if wide:
        where = clean(term.where)
        row = f"  {where if len(where) <= 6 else where[:6]:>6}{a:>12}{b:>12}{value:>14}{power:>5}{kept:>14}{lost:>12}"
        return [canvas.fit(row)]
    product = f"{a} x {b} = " if a else ""
    return canvas.wrap(f"{clean(term.where)}: {product}{value}, 2^{power}, kept {kept}, lost {lost}", 2, hang=2)


def scaled(kept: int, exponent: int) -> float:
    """Kept * 2**exponent as a float, infinite past its range; `kept` may have thousands of bits."""
    below = max(abs(kept).bit_length() - 64, 0)
    try:
        size = math.ldexp(abs(kept) >> below, exponent + below)
    except OverflowError:
        size = math.inf
    return -size if kept < 0 else size


def shortened(text: str) -> str:
    """A value's text with as many digits as a column of eleven characters holds."""
    tries = (short(number(text), digits) for digits in range(8, 2, -1))
    return text if len(text) <= 11 else next((each for each in tries if len(each) <= 11), text[:11])


def nine(text: str) -> str:
    """A value's text with at most nine digits, which float32 needs."""
    return text if len(text) <= 10 or "^" in text else short(number(text), 9)


def short(value: float, digits: int) -> str:
    """A number with so many digits at most."""
    return f"{value:.{digits}g}"


def summary(step: TraceStep) -> list[str]:
    """How the terms become the result."""
    if step.rule:
        word = "NaN" if step.rule == "nan" else "infinity"
        return [f"a rule for special values gives {word}: {step.result} ({step.code})"]
    said = []
    if step.cut:
        losing = sum(term.lost_bits > 0 and term.lost != "0" for term in step.terms)
        said.append(
            f"largest exponent {step.largest_exponent}: all are cut {CUTS[step.cut]} at 2^{step.unit_exponent}; "
            f"{losing} of {len(step.terms)} terms lose bits"
        )
    total = f"sum {nine(step.total_value)}" if step.total_value else ""
    exact = f"exact {nine(step.exact)}" if step.exact and step.exact != step.total_value else ""
    result = f"{step.rounding}: {step.result} ({step.code})" if step.result else step.rounding
    said.append("; ".join(clean(text) for text in (total, exact, result) if text))
    return said
