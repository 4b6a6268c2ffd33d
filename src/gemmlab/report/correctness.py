"""What was found when a result was checked, in words."""

from gemmlab.record import Record, Verdict, WorstElement
from gemmlab.report.story import Fact
from gemmlab.report.words import clean, plain

KIND = "checked"


def sentence(verdict: Verdict) -> str:
    """The verdict in a line: right, wrong, or nothing that could be known."""
    elements = "1 element" if verdict.elements == 1 else f"{verdict.elements:,} elements"
    found = [
        f"{verdict.wrong_elements:,} wrong" * (verdict.wrong_elements > 0),
        f"{verdict.unwritten_elements:,} never written" * (verdict.unwritten_elements > 0),
        f"{verdict.range_elements:,} out of range" * (verdict.range_elements > 0),
    ]
    if not verdict.ok:
        return f"wrong: of {elements}, {', '.join(part for part in found if part)}"
    if not verdict.informative:
        missed = ", ".join(map(clean, verdict.missed_faults)) or "a fault"
        return f"uninformative: no element is wrong, but this would pass too: {missed}"
    if verdict.bound == 0:
        return f"right: {elements} equal to the reference bit for bit"
    return f"right: {elements} within what rounding explains"


def facts(record: Record) -> list[Fact]:
    """The figures behind the sentence; none where nothing was checked."""
    verdict = record.verdict
    if verdict is None:
        return []
    rows = [
        Fact("wrong elements", f"{verdict.wrong_elements:,}", KIND),
        Fact("largest relative error", plain(verdict.max_relative_error), KIND),
        Fact("explained by rounding", plain(verdict.bound), KIND),
    ]
    rows += [Fact("never written", f"{verdict.unwritten_elements:,}", KIND)] * (verdict.unwritten_elements > 0)
    rows += [Fact("out of range", f"{verdict.range_elements:,}", KIND)] * (verdict.range_elements > 0)
    if verdict.worst and not verdict.ok:
        rows.append(Fact(f"worst, D{list(verdict.worst.index)}", worst(verdict.worst), KIND))
    return rows


def worst(element: WorstElement) -> str:
    """The worst element: what it holds, what it ought to, and by how many bounds it is off."""
    off = f", {plain(element.error_over_bound)} times the bound" if element.error_over_bound is not None else ""
    return f"{clean(element.got)}, not {clean(element.expected)}{off}"


def reference(record: Record) -> str:
    """What it was compared with; empty where nothing was checked."""
    return f"reference: {clean(record.verdict.reference)}" if record.verdict else ""
