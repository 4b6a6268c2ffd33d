"""Attention by hand: two batched products with a softmax between, which one kernel could fuse."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.look import Candidate, Look, Program
from gemmlab.model.machine import machine_of
from gemmlab.units import seconds_text
from gemmlab.workload import Call

SOFTMAX = ("softmax", "masked_fill", "dropout")
RECOMPUTED = 1.25  # of a backward kernel's products: it makes the scores a second time, five products in place of four


def attention_changes(look: Look) -> Iterator[Candidate]:
    """Scores that are written, read by softmax and read again: scaled_dot_product_attention keeps them on chip."""
    call, chip = look.call, look.forecaster.chip
    if not look.plain or chip.kind != "gpu" or machine_of(chip, call.problem.a_format).vector:
        return
    if not is_attention(call, look.program):
        return
    then_s, limit_s = look.then(fused="flash attention", operands=())
    between = look.program.seconds(SOFTMAX)
    name = call.problem.a_format
    yield Candidate(
        cause="attention",
        line="y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # in place of both products and softmax\n"
        'model = AutoModel.from_config(config, attn_implementation="sdpa")  # the same where transformers made it',
        digits=digits.BLOCKS.format(name=name),
        cost="no scores to look at"
        + (f"; what lies between them, up to {seconds_text(between)}, goes too and is not counted" if between else ""),
        confidence="medium",
        then_s=then_s * (RECOMPUTED if call.phase == "backward" else 1.0),
        limit_s=limit_s,
    )


def is_attention(call: Call, program: Program) -> bool:
    """Whether it is one of the products around a softmax, forward or backward."""
    problem = call.problem
    if problem.batch == 1 or not any("softmax" in name for name in program.other_s):
        return False
    return (problem.batch, tuple(sorted((problem.m, problem.n, problem.k)))) in program.attention
