"""What one run of a launch proves: this run only, every schedule, any contents of arrays, any shapes."""

from __future__ import annotations

from dataclasses import dataclass

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Line, Program
from gemmlab.emulator.proof.blocks import Brute, classes
from gemmlab.emulator.proof.disjoint import disjoint_writes, overlapping
from gemmlab.emulator.proof.shapes import Shapes, listed, prove_shapes
from gemmlab.emulator.proof.taint import Steer, Taint, taint
from gemmlab.emulator.tallies import SAME_VALUE, Outcome

SECONDS = 20.0  #: that the search over all shapes may take


@dataclass(frozen=True, slots=True)
class Claim:
    """Whether a claim is proven, None where it was not tried; `why`, in words: what it rests on, or what it lacks."""

    holds: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What a run proves. `holds` is the strongest claim: refuted, observed, schedules, contents or shapes."""

    holds: str
    all_schedules: Claim
    all_contents: Claim
    all_shapes: Claim
    text: str
    reasons: tuple[str, ...] = ()  #: why no more than that, and what is to be known besides


def prove(
    program: Program,
    launch: Launch,
    outcome: Outcome,
    *,
    ran: int | None = None,
    shapes: bool = True,
    seconds: float = SECONDS,
) -> Proof:
    """What the outcome of a run of all blocks proves, or of `ran` blocks that stand for all.

    `shapes` asks for a proof at all shapes, with z3, of at most that many seconds. A run with faults proves nothing;
    writes of equal values by several threads are none.
    """
    found = taint(program)
    faults = [fault for fault in outcome.faults if fault.kind != SAME_VALUE]
    if faults:
        return refuted(outcome)
    schedules = every_schedule(program, launch, outcome, found, ran)
    contents = any_contents(program, outcome, found) if schedules.holds else lacking(schedules)
    searched = prove_shapes(program, launch, seconds) if shapes and contents.holds else None
    if not shapes:
        sizes = Claim(None, "not asked for")
    else:
        sizes = lacking(contents) if searched is None else Claim(searched.proven, searched.why)
    return worded(found, outcome, schedules, contents, sizes, searched)


def lacking(claim: Claim) -> Claim:
    """A claim that cannot hold where a weaker one does not."""
    return Claim(False, claim.why)


def refuted(outcome: Outcome) -> Proof:
    """A run that met faults."""
    faults = [fault for fault in outcome.faults if fault.kind != SAME_VALUE]
    first = faults[0]
    kinds = {fault.kind for fault in faults}
    more = f", and {len(kinds) - 1} more kinds of faults" if len(kinds) > 1 else ""
    why = f"this launch has a fault: {first.kind.replace('_', ' ')} at line {first.line.number}{more}"
    claim = Claim(False, why)
    return Proof("refuted", claim, claim, claim, f"refuted: {why}")


def every_schedule(program: Program, launch: Launch, outcome: Outcome, found: Taint, ran: int | None) -> Claim:
    """Whether no order of threads changes what this launch does.

    With no conflict in one run, steps of different threads commute; so every order gives the same values, addresses
    and counts, unless the order itself shows in what atomics or other lanes return.
    """
    for kind in ("atomic", "warp"):
        steer = found.first(kind)
        if steer is not None:
            return Claim(False, steered(program, steer))
    meeting = overlapping(program, launch)
    if meeting is not None:
        return Claim(False, meeting)
    if ran is not None and ran < launch.blocks:
        return unrun_blocks(program, launch)
    benign = any(fault.kind == SAME_VALUE for fault in outcome.faults)
    return Claim(True, "no two threads meet" + (" but in writes of equal values" if benign else ""))


def unrun_blocks(program: Program, launch: Launch) -> Claim:
    """The same where blocks stand for others: races between blocks have to be ruled out without running them."""
    found = classes(program, launch)
    if isinstance(found, Brute):
        return Claim(False, f"not every block was run, and {found.reason}")
    apart = disjoint_writes(program, launch, found.touches)
    return Claim(apart.shown, apart.why if apart.shown else f"not every block was run, and {apart.why}")


def any_contents(program: Program, outcome: Outcome, found: Taint) -> Claim:
    """Whether the run would meet the same accesses whatever the arrays hold."""
    steer = found.first("data")
    if steer is not None:
        return Claim(False, steered(program, steer))
    same = next((fault for fault in outcome.faults if fault.kind == SAME_VALUE), None)
    if same is not None:
        return Claim(
            False, f"threads write equal values to `{same.array}` at line {same.line.number}, which others may not be"
        )
    return Claim(True, "no branch and no address depends on what arrays hold")


def steered(program: Program, steer: Steer) -> str:
    """A steering line in words."""
    return f"{steer.what} steers {steer.how} at {place(program, steer.line)}"


def place(program: Program, line: Line) -> str:
    """A line in words; its file too, unless it is the kernel's own."""
    return f"line {line.number}" + (f" of {program.files[line.file]}" if line.file else "")


def worded(
    found: Taint, outcome: Outcome, schedules: Claim, contents: Claim, shapes: Claim, searched: Shapes | None
) -> Proof:
    """The strongest claim as a sentence, and what keeps it from being stronger."""
    reasons = [f"{what} depends on the schedule" for what in found.orders]
    if found.rounding:
        sums = " and ".join(f"`{name}`" for name in found.rounding)
        reasons.append(f"values of {sums} are the same up to the order of atomic sums, which changes their rounding")
    if not schedules.holds:
        text = f"observed only: {schedules.why}"
        return Proof("observed", schedules, contents, shapes, text, tuple(reasons))
    if any(fault.kind == SAME_VALUE for fault in outcome.faults):
        reasons.append("threads write the same place, though equal values")
    text, holds = "race-free in every schedule of this launch", "schedules"
    if contents.holds:
        text, holds = "race-free in every schedule, for any contents, at this shape", "contents"
    else:
        reasons.append(f"for other contents: {contents.why}")
    if searched is not None and searched.proven:
        where = f" where {listed(searched.assumptions)}" if searched.assumptions else ""
        text, holds = f"race-free in every schedule, for any contents, at any shape{where}", "shapes"
        reasons.append(f"{searched.why}, and takes arrays to share no memory, and signed numbers not to wrap")
    elif searched is not None:
        reasons.append(f"at other shapes: {searched.why}")
    return Proof(holds, schedules, contents, shapes, text, tuple(reasons))
