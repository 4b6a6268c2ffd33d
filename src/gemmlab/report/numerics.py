"""What was asked of a matrix unit as text for a terminal: the error, the sweep, the evidence, the first difference."""

from __future__ import annotations

import math

from gemmlab.record import NumericsError, NumericsSection, Record
from gemmlab.report.canvas import Canvas
from gemmlab.report.emulation import listed, titled
from gemmlab.report.numerics_trace import trace_lines
from gemmlab.report.story import Fact
from gemmlab.report.text import fact_lines
from gemmlab.report.words import clean, several
from gemmlab.units import seconds_text, si

MOST_SWEPT = 14  #: steps of a sweep in full; past the plateau little is to be seen
BAR = 30


def sections(record: Record, canvas: Canvas) -> list[list[str]]:
    """The report's sections in order, each as lines; nothing where the Record has nothing on a unit."""
    numerics = record.numerics
    if numerics is None:
        return []
    error, kind = numerics.error, numerics.kind or "emulated"
    traced = numerics.trace or (numerics.first_mismatch.trace if numerics.first_mismatch else None)
    found = [
        heading(record, numerics, canvas),
        titled("Beside float64", fact_lines(error_facts(error), canvas) if error else [], canvas),
        titled("Predicted", fact_lines(predicted_facts(numerics), canvas), canvas),
        titled("Low bits cleared", sweep(numerics, canvas), canvas, kind),
        titled("The unit found", rules(numerics, canvas), canvas, kind),
        titled("Left open", listed(open_rules(numerics), canvas), canvas),
        titled("Probes", evidence(numerics, canvas), canvas, kind),
        titled("Compared", fact_lines(compared_facts(numerics), canvas), canvas),
        titled("The first that differs", mismatch(numerics, canvas), canvas),
        titled("Machine code", fact_lines(opcode_facts(numerics), canvas), canvas),
    ]
    if traced is not None:
        found += trace_lines(traced, canvas)
    found.append(titled("Notes", listed([clean(note) for note in numerics.notes], canvas), canvas))
    found.append(titled("Time", fact_lines(time_facts(error), canvas) if error else [], canvas))
    return found


def heading(record: Record, numerics: NumericsSection, canvas: Canvas) -> list[str]:
    """The unit, the multiplication where there is one, and how it is brought together; then the answer in one line."""
    lines = canvas.wrap(title(record, numerics), style="strong", hang=2)
    for said in setting(numerics):
        lines += canvas.wrap(said, 2, hang=2)
    answer = verdict(numerics)
    return [*lines, "", *canvas.wrap(answer, style="bound", hang=2)] if answer else lines


def title(record: Record, numerics: NumericsSection) -> str:
    """`64 x 64 x 4096 on hopper.wgmma.float8_e4m3fn`."""
    p = record.problem
    if numerics.kind == "counted":
        return clean(f"{numerics.backend} for {numerics.architecture}: {numerics.unit}")
    if numerics.fields:
        return f"{clean(numerics.backend)}, found out from its answers"
    shape = f"{p.m} x {p.n} x {p.k} on " if p else ""
    behind = f", asked {clean(numerics.backend)}" if numerics.backend not in ("", "emulated", numerics.unit) else ""
    return f"{shape}{clean(numerics.unit)}{behind}"


def setting(numerics: NumericsSection) -> list[str]:
    """Formats and schedule."""
    schedule = numerics.schedule
    if numerics.shape is not None:
        return sweep_setting(numerics)
    kept = f", {numerics.width_bits}-bit accumulator" if numerics.width_bits else ""
    if schedule is None:
        return [kept.removeprefix(", ")] if kept else []
    formats = f"A {schedule.a_format}, B {schedule.b_format}, D {schedule.d_format}"
    return [clean(formats + kept), clean(schedule.words)]


def sweep_setting(numerics: NumericsSection) -> list[str]:
    """The multiplication of a sweep, and what was done to its outputs; on hardware the instruction that ran."""
    m, n, k = numerics.shape or (0, 0, 0)
    where = "added in float32 outside" if numerics.mode == "outside" else "handed back as C"
    how = "cleared" if numerics.action == "mask" else "rounded away"
    said = [
        f"{m} x {n} x {k}, A {numerics.a_format}, B {numerics.b_format}",
        f"low bits {how} of what every {numerics.block_k} of k give, then {where}",
    ]
    ran = f"{numerics.instruction} on {numerics.architecture}" if numerics.instruction else ""
    return [clean(each) for each in (*said, ran) if each]


def verdict(numerics: NumericsSection) -> str:
    """The answer in one line."""
    if numerics.error is not None:
        return error_sentence(numerics.error)
    if numerics.contradicted:
        return clean(f"No answer: {numerics.contradicted}")
    if numerics.plateau is not None:
        bits = numerics.fraction_bits
        implied = f": the accumulator hands on {several(bits, 'fraction bit')}" if bits is not None else ""
        return f"{several(numerics.plateau, 'low bit')} can be cleared unseen{implied}"
    if numerics.confirmed is not None:
        return confirmed_sentence(numerics)
    if numerics.mismatches is not None and numerics.total:
        said = "mismatch" if numerics.mismatches == 1 else "mismatches"
        return f"{numerics.mismatches:,} {said} of {numerics.total:,}"
    if numerics.kind == "counted":
        return clean(numerics.instruction or "No matrix instruction")
    return ""


def confirmed_sentence(numerics: NumericsSection) -> str:
    """Whether the unit that was found gives every bit, and which known ones have the same rules."""
    total, wrong = numerics.total or 0, numerics.mismatches or 0
    said = f"{total - wrong:,} of {total:,} random and adversarial vectors agree with the unit found"
    if not numerics.confirmed:
        return f"Not confirmed: {said}"
    same = f"; its rules are those of {', '.join(numerics.same_as)}" if numerics.same_as else ""
    return f"Confirmed: {said}{same}"


def error_sentence(error: NumericsError) -> str:
    """The relative error, and how much of it is one-sided."""
    if error.not_finite:
        return f"{error.not_finite:,} of {error.total:,} outputs are NaN or infinite"
    if error.relative_frobenius is None:
        return "no error to tell: the reference is zero"
    if error.relative_frobenius == 0:
        return "equal to float64"
    bias = ""
    if error.bias is not None and abs(error.bias) > error.relative_frobenius / 2:
        bias = f", most of it {'toward zero' if error.bias < 0 else 'away from zero'}"
    return f"Relative error {scientific(error.relative_frobenius)}{bias}"


def error_facts(error: NumericsError) -> list[Fact]:
    """The error beside float64, and how many outputs no rounding could better."""
    toward = {True: "toward zero", False: "away from zero"}
    rows = [Fact("relative error, Frobenius", scientific(error.relative_frobenius), "emulated")]
    rows.append(Fact("largest error over |A||B|", scientific(error.max_relative), "emulated"))
    bias = scientific(error.bias) + (f", {toward[error.bias < 0]}" if error.bias else "")
    rows.append(Fact("bias, signed error over |D|", bias, "emulated"))
    shown = f"{error.correctly_rounded:,} of {error.total:,}"
    rows.append(Fact("outputs correctly rounded", shown, "emulated"))
    if error.not_finite:
        rows.append(Fact("outputs NaN or infinite", f"{error.not_finite:,}", "emulated"))
    return rows


def predicted_facts(numerics: NumericsSection) -> list[Fact]:
    """What a formula says."""
    found = numerics.prediction
    if found is None:
        return []
    rows = [
        ("relative error", scientific(found.relative_error)),
        ("bias", scientific(found.relative_bias)),
        ("no output is further off than", scientific(found.max_bound) if found.max_bound is not None else "no bound"),
        ("products are lost whole from", f"{found.stuck_value:,.7g}" if found.stuck_value is not None else "never"),
    ]
    if found.stuck_from_k is not None:
        rows.append(("half of the outputs stick from", f"k = {found.stuck_from_k:,}"))
    if found.overflow_from_k is not None:
        rows.append(("a sum leaves the range at", f"k = {found.overflow_from_k:,}"))
    if found.tolerance is not None:
        chosen = (
            "none is enough" if found.promote is None else f"every {found.promote}" if found.promote else "not needed"
        )
        rows.append((f"promotion for {scientific(found.tolerance)}", chosen))
    return [Fact(label, value, "predicted") for label, value in rows]


def sweep(numerics: NumericsSection, canvas: Canvas) -> list[str]:
    """Share of outputs unchanged, by low bits cleared."""
    shown = [each for each in numerics.sweep if each.bits <= max(numerics.plateau or 0, 0) + 3][:MOST_SWEPT]
    size = min(BAR, canvas.width - 14)
    lines = [
        f"  {each.bits:>2}  {each.unchanged:6.1%}  {canvas.paint(canvas.bar(0, each.unchanged, size), numerics.kind)}"
        for each in shown
    ]
    more = len(numerics.sweep) - len(shown)
    return lines + canvas.wrap(f"and {several(more, 'step')} more, which --json lists", 2, "dim") * (more > 0)


def evidence(numerics: NumericsSection, canvas: Canvas) -> list[str]:
    """Each probe: what goes in, what comes out, what follows."""
    lines: list[str] = []
    for each in numerics.evidence:
        lines += canvas.wrap(clean(f"{each.probe}: {each.asked} -> {each.answer}: {each.says}"), 2, hang=2)
    return lines


def rules(numerics: NumericsSection, canvas: Canvas) -> list[str]:
    """The fields that say how the unit behaves, several a line, and the order of addition."""
    if not numerics.fields:
        return []
    import msgspec

    from gemmlab.numerics.behaviour import Unit
    from gemmlab.numerics.probing.evidence import fields, shown

    unit = msgspec.convert({"name": numerics.unit, **numerics.fields}, Unit)
    said = ", ".join(f"{name} {shown(value)}" for name, value in fields(unit).items())
    order = canvas.wrap(f"order of addition: {clean(numerics.order)}", 2, hang=2) if numerics.order else []
    return [*canvas.wrap(clean(said), 2, hang=2), *order]


def open_rules(numerics: NumericsSection) -> list[str]:
    """Each rule that the answers leave open, other values, and why."""
    return [
        clean(f"{each.field}: {each.values[0]}, or {', '.join(each.values[1:6])}: {each.reason}")
        for each in numerics.ambiguous
    ]


def compared_facts(numerics: NumericsSection) -> list[Fact]:
    """Mismatches of each output that was compared."""
    return [
        Fact(f"{clean(each.name)}, {clean(each.unit)}", f"{each.mismatches:,} of {each.total:,} differ", "checked")
        for each in numerics.outputs
    ]


def mismatch(numerics: NumericsSection, canvas: Canvas) -> list[str]:
    """Where, and both values with their bits."""
    found = numerics.first_mismatch
    if found is None:
        return []
    where = ", ".join(map(str, found.index))
    lines = canvas.wrap(f"{clean(found.output)}, {where}", 2)
    lines += canvas.wrap(f"expected {clean(found.expected)} = {clean(found.expected_value)}", 2)
    return lines + canvas.wrap(f"the unit {clean(found.got)} = {clean(found.got_value)}", 2)


def opcode_facts(numerics: NumericsSection) -> list[Fact]:
    """Opcodes and how often each stands in the machine code."""
    return [Fact(clean(name), f"{count:,}", "counted") for name, count in numerics.sass.items()]


def time_facts(error: NumericsError) -> list[Fact]:
    """How long the emulation took here."""
    rate = si(error.mac_per_s, "products/s")
    return [Fact("emulated in", f"{seconds_text(error.time_s)}, {rate}", "measured")]


def scientific(value: float | None) -> str:
    """A number with three digits: `1.27e-4`, `0.5`."""
    if value is None:
        return "-"
    if value == 0 or 0.01 <= abs(value) < 1000 or not math.isfinite(value):
        return f"{value:.3g}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"
