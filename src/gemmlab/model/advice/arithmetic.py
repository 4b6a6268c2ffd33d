"""Formats and precision settings, and sides that a matrix unit rounds up."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.kernels import default_for
from gemmlab.model.advice.situation import WORTH, Situation, resized
from gemmlab.model.machine import stand_in
from gemmlab.model.suited import suited
from gemmlab.record import Advice
from gemmlab.units import round_up

#: what a TPU pads each side of its tiles to: sublanes and lanes, 8 x 128 of 32 bits; k meets both operands
TPU_SIDES = {"m": 8, "n": 128, "k": 128}


def format_advice(now: Situation) -> Iterator[Advice]:
    """A format that the chip has a unit for, or tf32 where float32 need not be exact."""
    problem, chip = now.problem, now.chip
    used = stand_in(chip, problem.a_format)
    if used != problem.a_format and used is not None:
        other = problem.in_format(used)
        gain = now.gain(now.time_s(other))
        generic = chip.kind == "cpu"
        if gain >= WORTH:
            yield Advice(
                cause="format",
                change=f"multiply in {used}: {chip.name} has no unit for {problem.a_format}"
                + (", and a library's generic loop converts every element" if generic else ""),
                predicted_speedup=gain,
                cost=f"operands in {used}",
                confidence="high" if generic else "medium",
            )
    if problem.a_format == "float32" and "tfloat32" in chip.peaks and now.kernel.family != "naive":
        other = problem.in_format("tfloat32")
        named = suited(other, chip, default_for(other), now.outlook.constants) if now.chosen else None
        gain = now.gain(now.time_s(other, kernel=named))
        if gain >= WORTH:
            yield Advice(
                cause="precision",
                change='allow tf32: torch.set_float32_matmul_precision("high")',
                predicted_speedup=gain,
                cost="operands keep 10 bits of mantissa: relative error near 1e-3 instead of 1e-6",
                confidence="high",
            )


def padding_advice(now: Situation) -> Iterator[Advice]:
    """Sides that a TPU pads: the work done is that of the padded sides."""
    problem = now.problem
    if now.chip.kind != "tpu" or problem.groups:
        return
    sides = {name: round_up(getattr(problem, name), step) for name, step in TPU_SIDES.items()}
    waste = resized(problem, **sides).flop / problem.flop
    if waste < WORTH:
        return
    worst = max(sides, key=lambda name: sides[name] / getattr(problem, name))
    yield Advice(
        cause="padding",
        change=f"{worst}={getattr(problem, worst)} is padded to {sides[worst]}: fold another axis into it, or choose "
        f"{worst} a multiple of {TPU_SIDES[worst]}",
        predicted_speedup=waste,
        cost="another layout of the computation around it",
        confidence="high",
    )
