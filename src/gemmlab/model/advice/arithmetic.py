"""Formats and precision settings, and sides that a matrix unit rounds up."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.kernels import default_for
from gemmlab.model.advice.situation import WORTH, Situation, resized
from gemmlab.model.machine import stand_in
from gemmlab.model.suited import suited
from gemmlab.record import Advice
from gemmlab.units import round_up


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
    """Sides that a TPU pads: whole ones would do more work in about the same time; zeros of one's own gain nothing."""
    problem = now.problem
    units = now.outlook.machine.systolic
    if units is None or problem.groups:
        return
    steps = {"m": units.step_m, "n": units.cols, "k": units.rows}
    sides = {name: round_up(getattr(problem, name), step) for name, step in steps.items()}
    whole = resized(problem, **sides)
    gain = whole.flop / problem.flop * now.gain(now.time_s(whole))
    if gain < WORTH:
        return
    worst = max(sides, key=lambda name: sides[name] / getattr(problem, name))
    yield Advice(
        cause="padding",
        change=f"{worst}={getattr(problem, worst)} is padded to {sides[worst]} by XLA, and zeros of your own gain "
        f"nothing: fold another axis into it, or choose {worst} a multiple of {steps[worst]}",
        predicted_speedup=gain,
        cost="another layout of the computation around it; what is gained is work a second",
        confidence="high",
    )
