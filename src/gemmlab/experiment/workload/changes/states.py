"""Sizes of recurrent layers: their weights stack a block of rows for each gate, so the state is what is made larger."""

from __future__ import annotations

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.experiment.workload.widths import whole
from gemmlab.formats import bits_of
from gemmlab.model.advice.situation import resized
from gemmlab.units import bytes_text

LAYERS = ("rnn", "lstm", "gru")
GATES = (1, 3, 4)  # of nn.RNN, nn.GRU and nn.LSTM


def is_recurrent(look: Look) -> bool:
    """Whether an operator of recurrent layers makes it."""
    return any(layer in look.call.operator for layer in LAYERS)


def state_padding(look: Look) -> Candidate | None:
    """Make the state, and an input beside it, whole cache lines; None where no weight says what the state is."""
    problem, (weight, outs, ins) = look.call.problem, look.sides
    widths = {each.ins for each in look.program.weights.values() if weight and each.outs == weight.outs}
    states = [each for each in sorted(widths) if weight and any(weight.outs == gates * each for gates in GATES)]
    if weight is None or not states:
        return None
    state, bits = states[0], bits_of(problem.a_format)
    wide = whole(state, bits)
    inside = wide * (weight.ins // state) if weight.ins in (state, 2 * state) else whole(weight.ins, bits)
    padded = resized(problem, **{outs: weight.outs // state * wide, ins: inside})
    then_s, limit_s = look.then(problem=padded)
    lines = [f"hidden_size = {wide}  # of nn.LSTM, nn.GRU or nn.RNN; before: {state}; use y[..., :{state}]"]
    if wide == state:
        lines.clear()
    if weight.ins not in (state, 2 * state, inside):
        lines.append(f"input_size = {inside}  # before: {weight.ins}")
        lines.append(f"x = F.pad(x, (0, {inside - weight.ins}))")
    if not lines:
        return None
    return Candidate(
        cause="alignment",
        line="\n".join(lines),
        digits=f"{digits.CUT}; added states stay 0 where their weights and biases are",
        cost=f"{padded.flop / problem.flop - 1:.2%} more work, "
        f"{bytes_text(padded.compulsory_bytes - problem.compulsory_bytes)} more memory",
        confidence="medium",
        then_s=then_s,
        limit_s=limit_s,
    )
