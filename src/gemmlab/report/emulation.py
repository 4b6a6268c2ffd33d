"""An emulated launch as text for a terminal: what it moves, where, what is wrong with it, and what that proves."""

from __future__ import annotations

from gemmlab.record import EmulationSection, Record, ScheduleSection
from gemmlab.report import correctness as checks
from gemmlab.report import fault_words
from gemmlab.report.canvas import Canvas
from gemmlab.report.emulation_hints import hints, notes
from gemmlab.report.emulation_tables import by_array, by_line, by_memory
from gemmlab.report.words import amount, clean, percent, plain

KIND = "emulated"
MOST_FAULTS = 8
MOST_TRIED = 6
LABEL = 13  # where the text behind a label begins


def sections(record: Record, canvas: Canvas) -> list[list[str]]:
    """The report's sections in order, each as lines; nothing where the Record has no emulation."""
    emulation = record.emulation
    if emulation is None:
        return []
    return [
        heading(record, emulation, canvas),
        titled("What it asks memory for", by_memory(emulation, canvas), canvas, KIND),
        titled("What it computes", work(emulation, canvas), canvas, KIND),
        titled("By array", by_array(emulation, canvas), canvas, KIND),
        titled("By line, most accesses first", by_line(emulation, canvas), canvas, KIND),
        titled("Faults", faults(emulation, canvas), canvas, KIND),
        titled("Under other schedules", schedules(emulation, canvas), canvas, KIND),
        titled("What this run proves", proof(emulation, canvas), canvas),
        titled("What to look at", listed(hints(emulation), canvas), canvas),
        titled("Notes", listed(notes(emulation), canvas), canvas),
    ]


def titled(title: str, lines: list[str], canvas: Canvas, kind: str = "") -> list[str]:
    """Lines under their title; nothing where there are none."""
    if not lines:
        return []
    return [*(canvas.sides(title, kind, kind, "strong") if kind else canvas.wrap(title, style="strong")), *lines]


def heading(record: Record, emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """The kernel, the launch, how blocks were counted; then what was found in one line."""
    lines = canvas.wrap(title(record, emulation), style="strong", hang=2)
    for said in setting(record, emulation):
        lines += canvas.wrap(said, 2, hang=2)
    return [*lines, "", *canvas.wrap(found(record, emulation), style="bound", hang=2)]


def title(record: Record, emulation: EmulationSection) -> str:
    """The kernel, its file, and the shape of a multiplication."""
    problem = record.problem
    shape = f", {problem.m} x {problem.n} x {problem.k}" if problem else ""
    return f"{clean(emulation.kernel)} of {clean(emulation.file)}{shape}"


def setting(record: Record, emulation: EmulationSection) -> list[str]:
    """The launch, its arguments, the chip whose limits hold, and how blocks were counted."""
    blocks, threads = sides(emulation.grid), sides(emulation.block)
    shared = f", {emulation.shared_bytes:,} bytes of shared memory each" if emulation.shared_bytes else ""
    given = ", ".join(
        f"{clean(each.name)} {each.type}" + (f"[{', '.join(map(str, each.shape))}]" if each.shape is not None else "")
        for each in emulation.arguments
    )
    chip = [f"within the limits of {clean(record.chip.name)}"] if record.chip else []
    return [f"{blocks} block{'s' * (blocks != '1')} of {threads} threads{shared}", given, *chip, counted_how(emulation)]


def sides(given: tuple[int, int, int]) -> str:
    """`64x64`: axes up to the last that is not 1."""
    used = 3 if given[2] > 1 else 2 if given[1] > 1 else 1
    return "x".join(map(str, given[:used]))


def counted_how(emulation: EmulationSection) -> str:
    """How many blocks were run, and for which others they stand."""
    values = "values computed" if emulation.values else "accesses counted without values"
    blocks = emulation.blocks
    return f"{blocks.run:,} of {blocks.total:,} block{'s' * (blocks.total != 1)} run, {values}: {clean(blocks.how)}"


def found(record: Record, emulation: EmulationSection) -> str:
    """The faults, and whether the result is right, in one line."""
    said = fault_words.headline(emulation)
    said = said[0].upper() + said[1:]
    worst = next((tried for tried in emulation.schedules if tried.worst), None)
    if record.verdict:
        said += f"; {'in lockstep' if worst else 'result'} {checks.sentence(record.verdict)}"
    return f"{said}; under another order of threads {elements(worst.wrong_elements)} wrong" if worst else said


def elements(count: int) -> str:
    """`1 element`, `1,024 elements`."""
    return f"{count:,} element{'s' * (count != 1)}"


def work(emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """Arithmetic, branches and barriers."""
    return [line for name, text in work_rows(emulation) for line in labelled(name, text, canvas)]


def work_rows(emulation: EmulationSection) -> list[tuple[str, str]]:
    """Arithmetic, branches and barriers, each under its name."""
    fused = f", {percent(2 * emulation.fma / emulation.flop)} of it in {emulation.fma:,} fma" if emulation.fma else ""
    rows = [("work", f"{amount(emulation.flop, 'FLOP')}{fused}")]
    moved = emulation.global_load.bytes + emulation.global_store.bytes + 2 * emulation.global_atomic.bytes
    if emulation.flop and moved:
        rows.append(("intensity", f"{plain(emulation.flop / moved, 4)} FLOP/B of global loads and stores"))
    if emulation.branches:
        rows.append(("branches", f"{emulation.branches:,} by warps, {emulation.divergent_branches:,} divergent"))
    if emulation.barrier_waits:
        rows.append(("barriers", f"{emulation.barrier_waits:,} waits by warps"))
    return rows


def labelled(name: str, text: str, canvas: Canvas) -> list[str]:
    """A text behind its label, further lines below the text."""
    body = canvas.wrap(text, LABEL)
    return [f"  {name}{body[0][2 + len(name) :]}", *body[1:]]


def faults(emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """Each fault: what, then who and where."""
    lines: list[str] = []
    for number, fault in enumerate(emulation.faults[:MOST_FAULTS], 1):
        head = canvas.wrap(f"{number}. {fault_words.title(fault)}", 2, "strong", 3)
        lines += [*head, *canvas.wrap(fault_words.sentence(fault, emulation), 5)]
    if len(emulation.faults) > MOST_FAULTS:
        lines += canvas.wrap(f"and {len(emulation.faults) - MOST_FAULTS} more, which --json lists", 2)
    return lines


def schedules(emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """Each order of threads that was tried, and what it did to the result."""
    shown = tried_texts(emulation)
    lines = [line for text in shown for line in canvas.wrap(text, 2, hang=2)]
    against = dict.fromkeys(tried.against for tried in emulation.schedules if tried.against)
    return lines + [line for text in against for line in canvas.wrap(f"compared with {clean(text)}", 2, "dim")]


def tried_texts(emulation: EmulationSection) -> list[str]:
    """Orders of threads that were run, the worst first, and how many more there are."""
    order = sorted(emulation.schedules, key=lambda tried: not tried.worst)
    more = len(order) - MOST_TRIED
    return [tried_text(tried) for tried in order[:MOST_TRIED]] + [f"and {more} more, which --json lists"] * (more > 0)


def tried_text(tried: ScheduleSection) -> str:
    """One order of threads, and what it did to the result."""
    off = f", largest error {plain(tried.max_error)}" if tried.max_error else ""
    worst = ", the worst found" if tried.worst else ""
    return f"{clean(tried.name)}: {elements(tried.wrong_elements)} wrong{off}{worst}"


def proof(emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """The sentence, and why it says no more."""
    if emulation.proof is None:
        return []
    lines = canvas.wrap(clean(emulation.proof.text), 2)
    for reason in emulation.proof.reasons:
        lines += canvas.wrap(f"- {clean(reason)}", 2, "dim", 2)
    return lines


def listed(said: list[str], canvas: Canvas) -> list[str]:
    """Texts as a list."""
    return [line for text in said for line in canvas.wrap(f"- {text}", 2, hang=2)]
