"""Whether the very result that was timed is the product."""

from __future__ import annotations

from typing import Any

from gemmlab.check import Operands, check_bounds
from gemmlab.formats import get
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Verdict
from gemmlab.run.contender import Contender

FLOAT32_UNIT = 2.0**-24


def require_checkable(problem: Gemm) -> None:
    """Raise GemmlabError for a multiplication whose result no check here knows."""
    if problem.epilogue:
        raise GemmlabError(f"epilogue `{problem.epilogue}` cannot be run", "leave it out")
    if problem.scale is not None:
        raise GemmlabError(f"block scales `{problem.scale}` cannot be run", "leave them out")


def unit_of(contender: Contender, problem: Gemm) -> float:
    """The unit roundoff of one accumulation: the contender's own, in the accumulator that the problem has."""
    form = get(problem.accumulate)
    if form.kind == "int":
        return 0.0
    return float(contender.unit_roundoff * 2.0**-form.precision / FLOAT32_UNIT)


def judged(problem: Gemm, operands: Operands, d: Any, contender: Contender) -> Verdict:
    """The verdict on a result D of these operands; raises GemmlabError for an array of another shape."""
    c = operands.c.array if problem.beta != 0 else None
    return check_bounds(problem, operands.a.array, operands.b.array, d, c, unit_roundoff=unit_of(contender, problem))


def wrong_in_words(verdict: Verdict) -> str:
    """How a result is wrong."""
    counts = {
        "wrong": verdict.wrong_elements,
        "never written": verdict.unwritten_elements,
        "out of range": verdict.range_elements,
    }
    found = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    text = f"of {verdict.elements:,} elements {found}"
    if verdict.worst is None:
        return text
    worst = verdict.worst
    return f"{text}; D{list(worst.index)} is {worst.got}, not {worst.expected}"
