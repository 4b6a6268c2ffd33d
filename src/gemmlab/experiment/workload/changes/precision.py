"""Formats: tf32 where float32 need not be exact, autocast, and a format that the chip has a unit for."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import msgspec

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.formats import bits_of, storage_bytes

MATMUL = 'torch.set_float32_matmul_precision("high")'
CUDNN = "torch.backends.cudnn.allow_tf32 = True"
SINGLE = ("float32", "tfloat32")
DEVICES = {"gpu": "cuda", "cpu": "cpu", "tpu": "xla"}
FLOAT8 = "float8_e4m3fn"
FLOAT8_STEP = 16  # torch._scaled_mm takes k and n at multiples of 16


def tf32_changes(look: Look) -> Iterator[Candidate]:
    """The model's advice of tf32; a convolution has a switch of its own, which is on by default."""
    if look.call.problem.a_format != "float32" or "tfloat32" not in look.forecaster.chip.peaks or look.call.fused:
        return
    convolution = look.call.convolution is not None
    yield Candidate(
        cause="precision",
        line=CUDNN if convolution else MATMUL,
        digits=digits.rounding("tfloat32", stored=False),
        cost="none beside the digits",
        confidence="high",
        wide=True,
        **priced(look, "tfloat32"),
    )


def autocast_changes(look: Look) -> Iterator[Candidate]:
    """Half the bits for operands and results: bfloat16 where the chip has it, else float16."""
    chip, problem = look.forecaster.chip, look.call.problem
    lacking = problem.a_format == "bfloat16" and "bfloat16" not in chip.peaks
    if problem.a_format not in SINGLE and not lacking:
        return
    name = next((each for each in ("bfloat16", "float16") if each in chip.peaks), None)
    if name is None:
        return
    on = look.program.autocast and not lacking  # and has left this operator out
    line = f'with torch.autocast("{DEVICES[chip.kind]}", dtype=torch.{name}):'
    if on:
        told = "autocast" in dict(look.program.workload.settings)
        why = f"autocast leaves {look.call.operator} alone" if told else f"{problem.a_format} in a program of 16 bits"
        line = f"x, w = x.to(torch.{name}), w.to(torch.{name})  # {why}"
    yield Candidate(
        cause="format" if lacking else "precision",
        line=line,
        digits=digits.rounding(name, stored=True),
        cost="casts of both operands, counted"
        + ("; a loss scaled by torch.amp.GradScaler in training" if name == "float16" else ""),
        confidence="medium",
        wide=not on,
        extra_s=0.0 if lacking else casting_s(look, name),
        **priced(look, name),
    )


def casting_s(look: Look, name: str) -> float:
    """Casts of A and B before one forward product; backward finds them cast.

    Of a convolution the filters alone: between convolutions stand what computes in the format of its images.
    """
    if look.call.phase == "backward":
        return 0.0
    problem, conv = look.call.problem, look.call.convolution
    wide = problem.a_bytes + problem.b_bytes
    if conv is not None:
        filters = conv.filters * conv.channels // conv.groups * prod(conv.kernel)
        wide = storage_bytes(problem.a_format, filters)
    return look.forecaster.streaming_s(wide + wide * bits_of(name) / bits_of(problem.a_format))


def double_changes(look: Look) -> Iterator[Candidate]:
    """Float64 that a network hardly ever means."""
    if look.call.problem.a_format != "float64" or "float32" not in look.forecaster.chip.peaks:
        return
    yield Candidate(
        cause="format",
        line="model = model.float(); x = x.float()  # float64 before, perhaps by NumPy's default",
        digits=f"all values are rounded to {digits.roundoff('float32')} instead of {digits.roundoff('float64')}, "
        "and summed in float32",
        cost="none where float64 was an accident",
        confidence="medium",
        wide=True,
        **priced(look, "float32"),
    )


def float8_changes(look: Look) -> Iterator[Candidate]:
    """Eight bits for the layers of a network, with a scale each tensor or row."""
    problem, chip = look.call.problem, look.forecaster.chip
    if not look.plain or FLOAT8 not in chip.peaks or problem.a_format not in ("bfloat16", "float16"):
        return
    if look.sides.weight is None or problem.groups or problem.k % FLOAT8_STEP or problem.n % FLOAT8_STEP:
        return
    moved = problem.a_bytes + problem.b_bytes + storage_bytes(FLOAT8, problem.m * problem.k + problem.k * problem.n)
    yield Candidate(
        cause="format",
        line="torchao.float8.convert_to_float8_training(model)  # or torch._scaled_mm",
        digits=digits.rounding(FLOAT8, stored=False)
        + "; scaled by the largest value, what is 2^-19 of it or less becomes 0; on Hopper sums keep 14 bits unless "
        "use_fast_accum=False",
        cost="finding the scales, and casts, counted; a loss curve to compare",
        confidence="low",
        wide=True,
        extra_s=look.forecaster.streaming_s(moved),
        **priced(look, FLOAT8),
    )


def priced(look: Look, name: str) -> dict[str, Any]:
    """Seconds and limit of one in another format, and the multiplication itself."""
    changes: dict[str, Any] = {"problem": look.call.problem.in_format(name)}
    if look.call.convolution is not None:
        changes["convolution"] = msgspec.structs.replace(look.call.convolution, format=name)
    then_s, limit_s = look.then(**changes)
    return {"then_s": then_s, "limit_s": limit_s, "call": msgspec.structs.replace(look.call, **changes)}
