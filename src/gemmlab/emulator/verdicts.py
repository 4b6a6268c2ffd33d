"""What a run proves beyond itself, as a Record says it."""

from __future__ import annotations

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.tallies import SAME_VALUE, Outcome
from gemmlab.record import ProofSection


def proven(program: Program, launch: Launch, outcome: Outcome, *, ran: int, all_shapes: bool) -> ProofSection:
    """The strongest claim that holds, and why no stronger one does; `ran` is how many blocks were run."""
    faults = [fault for fault in outcome.faults if fault.kind != SAME_VALUE]
    if faults:
        where = f"{faults[0].kind.replace('_', ' ')} at line {faults[0].line.number}"
        return ProofSection(holds="refuted", text=f"Refuted: this launch has a fault: {where}")
    return ProofSection(holds="observed", text="Observed only: this run met no fault")
