"""What a run proves beyond itself, as a Record says it."""

from __future__ import annotations

from gemmlab.emulator.launch import Launch
from gemmlab.emulator.program import Program
from gemmlab.emulator.tallies import Outcome
from gemmlab.record import ProofSection


def proven(program: Program, launch: Launch, outcome: Outcome, *, ran: int, all_shapes: bool) -> ProofSection:
    """The strongest claim that holds, and why no stronger one does; `ran` is how many blocks were run."""
    from gemmlab.emulator.proof.verdict import prove

    found = prove(program, launch, outcome, ran=ran, shapes=all_shapes)
    text = found.text[:1].upper() + found.text[1:]
    return ProofSection(holds=found.holds, text=text, reasons=found.reasons)
