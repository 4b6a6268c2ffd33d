"""The chapters about running: a missing barrier, the times on this machine, the digits."""

from __future__ import annotations

from gemmlab.experiment.lesson import Lesson
from gemmlab.report import fault_words, numerics_trace
from gemmlab.report import numerics as units
from gemmlab.report.lesson import words
from gemmlab.report.lesson.cells import conflict, listing, wrong_cells
from gemmlab.report.lesson.parts import figure, line, listed, para, program, table
from gemmlab.report.lesson.pictures import ladder_bars
from gemmlab.report.numerics_picture import picture
from gemmlab.report.words import clean


def barrier_question(lesson: Lesson) -> str:
    """The fourth question."""
    return "What if a barrier is missing?"


def barrier_answer(lesson: Lesson) -> str:
    """What a test would see, and what another order does."""
    broken = lesson.broken
    if broken is None or broken.worst is None:
        return line("The race is named, and no order that was tried does harm.", "emulated")
    total = broken.maps[-1][1].size if broken.maps else 0
    size = words.sides(broken.record.problem) if broken.record.problem else "a small size"
    return line(
        f"At {size} every element is right in lockstep; under another order {broken.worst.wrong_elements:,} of "
        f"{total:,} are wrong. The race is named in either case.",
        "emulated",
    )


def barrier_told(lesson: Lesson) -> str:
    """The program without a barrier, the two accesses, and C under other orders."""
    broken = lesson.broken
    emulation = broken.record.emulation if broken else None
    if broken is None or emulation is None or broken.record.problem is None:
        return ""
    size = words.sides(broken.record.problem)
    parts = [
        para(
            "The tiled kernel has two barriers a step: nobody reads a tile before all of it is there, and nobody "
            "overwrites one that another still reads. Here the first is left out."
        ),
        program(listing(broken)),
    ]
    if broken.harmless_at is not None:
        asked = f"{broken.harmless_at.m} x {broken.harmless_at.n} x {broken.harmless_at.k}"
        parts.append(
            para(f"At {asked} no order that was tried makes an element wrong; what follows is {size}.", "emulated")
        )
    parts.append(
        para(
            f"{size} is what was searched, a small size, for each order runs the whole launch again. Threads in step, "
            "as a debugger or a lucky chip has them, give the right result, so that a test passes.",
            "emulated",
        )
    )
    parts.append(figure("wrong", lambda width: wrong_cells(broken, width), "emulated"))
    if broken.race is not None:
        parts.append(
            para(
                "The checker does not need the bad order. It sees, while threads run in step, that two of them touch "
                "one word with no barrier between, one of them writing:"
            )
        )
        parts.append(
            figure(
                "conflict",
                lambda width: conflict(broken, width),
                "emulated",
                f"{fault_words.title(broken.race)}: {fault_words.sentence(broken.race, emulation)}.",
            )
        )
    parts.append(
        para(
            "A run that passes proves nothing: it is one order. Of the kernels above, which have their barriers, the "
            f"emulator proves more: {'; '.join(words.proofs(lesson))}."
            if words.proofs(lesson)
            else "",
            "emulated",
        )
    )
    return "".join(parts)


def here_question(lesson: Lesson) -> str:
    """The fifth question."""
    return "How fast is it here?"


def here_answer(lesson: Lesson) -> str:
    """The fastest."""
    best = max(
        (m for record in lesson.times if (m := record.measurement) and m.flop_per_s and not m.fault),
        key=lambda m: m.flop_per_s or 0.0,
        default=None,
    )
    if best is None:
        return line("Nothing has a time.", "measured")
    return line(f"{clean(best.kernel)}: {words.told_speed(best)} on {words.places(lesson)[-1]}.", "measured")


def here_told(lesson: Lesson) -> str:
    """Every kernel that this machine can run."""
    if not lesson.times:
        return ""
    chip, where = lesson.explained.chip, " and ".join(words.places(lesson))
    other = f", not on {clean(chip.name)}" if chip else ""
    parts = [
        para(
            f"Real kernels on {where}{other}, each in a process of its own, timed in turn, their results compared with "
            "float64. The same lesson in another place: the arithmetic is the same from the first to the last, what "
            "changes is who fetches what how often.",
            "measured checked",
        ),
        figure(
            "here",
            lambda width: ladder_bars(lesson, width),
            "measured",
            "A bar's whole width is the limit at that size: arithmetic at the peak of what it ran on, or each matrix "
            "once through memory. The line is the distance of the quartiles.",
        ),
    ]
    ideas = [f"{clean(m.kernel)}: {clean(m.idea)}" for record in lesson.times if (m := record.measurement) and m.idea]
    heads = [
        ("kernel and size", ""), ("loads", "counted"), ("time", "predicted"), ("bound", "predicted"),
        ("time", "measured"), ("of limit", "measured"),
    ]  # fmt: skip
    parts.append(table(heads, words.timed_rows(lesson)))
    return "".join(parts) + listed(ideas) + listed(words.notes(lesson), "measured")


def digits_question(lesson: Lesson) -> str:
    """The sixth question."""
    return "Which digits are right?"


def digits_answer(lesson: Lesson) -> str:
    """The error of each unit."""
    said = "; ".join(f"{unit}: relative error {error} at k = {k}" for unit, k, error, _ in words.error_rows(lesson))
    already = words.cut_before(lesson)
    return line(f"{said}.{f' {already}.' if already else ''}", "emulated")


def digits_told(lesson: Lesson) -> str:
    """One output bit by bit, and the error of many."""
    if lesson.digits is None:
        return ""
    record = lesson.digits.traced
    trace = record.numerics.trace if record.numerics else None
    if record.numerics is None or trace is None:
        return ""
    setting = "; ".join(units.setting(record.numerics))
    parts = [
        para(
            "Counting says nothing of the digits. A matrix unit does not add products one by one: it shifts all of an "
            "instruction to the largest exponent among them, cuts what falls off the end, and adds what is left. "
            "Below is one such sum of the first output, every product as bits under their powers of two."
        ),
        figure(
            "bits",
            lambda width: picture(record),
            "emulated",
            f"{clean(record.numerics.unit)}: {clean(setting)}. {numerics_trace.outcome(trace)}.",
            scrolls=True,
        ),
        table(
            [("unit", ""), ("k", "given"), ("relative error", "emulated"), ("the nearest number", "emulated")],
            words.error_rows(lesson),
        ),
        para(units_said(lesson)),
    ]
    return "".join(parts)


def units_said(lesson: Lesson) -> str:
    """What the error is beside, and what the units have to do with the multiplication."""
    said = (
        "The error is that of up to 16 x 16 outputs, in the Frobenius norm, beside the same operands in float64; the "
        "last column counts outputs that are the nearest number of their format."
    )
    names = [row[0] for row in words.error_rows(lesson)]
    if words.problem_of(lesson).a_format == "float32" and any(name.endswith("tfloat32") for name in names):
        said += (
            " float32 stays on the ordinary units, whose sums round after each product, unless a library may take "
            "tfloat32: the operands are then cut to 11 significant bits before anything is multiplied, which costs far "
            "more than the sums here and is not in these errors."
        )
    return said
