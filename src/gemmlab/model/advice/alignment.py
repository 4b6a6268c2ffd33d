"""Rows and bases off the 16-byte road: pad the side that sets the stride, its leading dimension, or copy the view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gemmlab.formats import bits_of
from gemmlab.model.advice.situation import WORTH, Situation, resized
from gemmlab.model.effects import ALL
from gemmlab.model.road import ROAD_BITS, Road, roads
from gemmlab.problem import Gemm
from gemmlab.record import Advice
from gemmlab.units import bytes_text, round_up

LINE_BYTES = 128  # padding a side to whole cache lines serves the next kernel too
CONFLICT_BYTES = 2048  # rows so far apart fall into the same sets of a cache


class Fields(NamedTuple):
    """The fields of Gemm that say how an operand lies in memory."""

    stride: str
    format: str
    offset: str


FIELDS = {
    "A": Fields("lda", "a_format", "a_offset_bytes"),
    "B": Fields("ldb", "b_format", "b_offset_bytes"),
    "D": Fields("ldc", "d_format", "c_offset_bytes"),
}


def element_bits(problem: Gemm, operand: str) -> int:
    """Bits of one element of the operand."""
    return bits_of(getattr(problem, FIELDS[operand].format))


def side_of_stride(problem: Gemm, operand: str) -> str:
    """The side that is the operand's row length in memory: `n` for B (k, n), `k` for B stored transposed."""
    if operand == "A":
        return "m" if problem.layout[0] == "t" else "k"
    if operand == "B":
        return "k" if problem.layout[1] == "t" else "n"
    return "n"


def stored_columns(problem: Gemm, operand: str) -> int:
    """Elements of one stored row."""
    return int(getattr(problem, side_of_stride(problem, operand)))


def aligned_side(problem: Gemm, operand: str) -> int:
    """The next size whose rows are whole cache lines, or whole 16 bytes where that would add more than an eighth."""
    value, bits = stored_columns(problem, operand), element_bits(problem, operand)
    line = round_up(value, max(1, LINE_BYTES * 8 // bits))
    return line if line <= value * 9 // 8 else round_up(value, max(1, ROAD_BITS // bits))


def aligned_stride(problem: Gemm, operand: str) -> int:
    """The next leading dimension of whole cache lines that is no multiple of 2048 bytes: such rows share cache sets.

    intel/torch-xpu-ops issue 1129; a gap of one line more costs nothing.
    """
    bits = element_bits(problem, operand)
    stride = round_up(getattr(problem, FIELDS[operand].stride), LINE_BYTES * 8 // bits)
    return stride + LINE_BYTES * 8 // bits if stride * bits % (CONFLICT_BYTES * 8) == 0 else stride


def alignment_advice(now: Situation) -> Iterator[Advice]:
    """The best remedy of each kind for operands that are off the fast road."""
    slow = [road for road in roads(now.problem) if not road.fast]
    if not slow or now.gain_without(ALL._replace(alignment=False)) < WORTH:
        return  # a larger side may also fill tiles better, but then alignment is not the cause
    views = [road for road in slow if is_view(now.problem, road)]
    if views:
        yield from copy_views(now, views)
    sides = {side_of_stride(now.problem, road.operand) for road in slow if road not in views}
    if sides:
        yield from pad_sides(now, slow, sorted(sides))
        yield from pad_strides(now, slow)


def is_view(problem: Gemm, road: Road) -> bool:
    """Whether the operand itself could be on the road: a base or a stride of a larger array is what throws it off."""
    return stored_columns(problem, road.operand) * element_bits(problem, road.operand) % ROAD_BITS == 0


def pad_sides(now: Situation, slow: list[Road], sides: list[str]) -> Iterator[Advice]:
    """Make the matrices themselves larger, zeros in what is added."""
    problem = now.problem
    bigger = larger_sides(problem, slow, sides)
    padded = resized(problem, **bigger)
    gain = now.gain(now.time_s(padded))
    if gain < WORTH:
        return
    text = " and ".join(f"{side} from {getattr(problem, side)} to {value}" for side, value in bigger.items())
    which = " and ".join(road.operand for road in slow)
    yield Advice(
        cause="alignment",
        change=f"pad {text}: rows of {which} then start at multiples of 16 bytes",
        predicted_speedup=gain,
        cost=f"{padded.flop / problem.flop - 1:.2%} more work, "
        f"{bytes_text(padded.compulsory_bytes - problem.compulsory_bytes)} more memory",
        confidence="high",
    )


def larger_sides(problem: Gemm, slow: list[Road], sides: list[str]) -> dict[str, int]:
    """The sides, of those given, that put the operands on the fast road, each with its new size."""
    bigger: dict[str, int] = {}
    for road in slow:
        side = side_of_stride(problem, road.operand)
        if side in sides:
            bigger[side] = max(aligned_side(problem, road.operand), bigger.get(side, 0))
    if problem.structure in ("triangular", "symmetric", "banded") and "k" in bigger:
        bigger["m"] = bigger["k"]
    return bigger


def pad_strides(now: Situation, slow: list[Road]) -> Iterator[Advice]:
    """Keep the sizes and leave a gap behind each row."""
    problem = now.problem
    if problem.groups:
        return
    strides = {FIELDS[road.operand].stride: aligned_stride(problem, road.operand) for road in slow}
    gapped = problem.replace(**strides, **{FIELDS[road.operand].offset: 0 for road in slow})
    gain = now.gain(now.time_s(gapped))
    if gain < WORTH:
        return
    text = ", ".join(f"{name} {getattr(problem, name)} -> {value}" for name, value in strides.items())
    yield Advice(
        cause="alignment",
        change=f"allocate with a padded leading dimension ({text}) and multiply the view",
        predicted_speedup=gain,
        cost="no extra work; whoever allocates the matrix must know",
        confidence="high",
    )


def copy_views(now: Situation, views: list[Road]) -> Iterator[Advice]:
    """Copy operands whose base or stride comes from a larger array; D is written to a buffer and copied out."""
    if now.problem.groups:
        return
    copied, moved = copy_of(now.problem, views)
    dram = now.chip.level("dram")
    copying = moved / (now.outlook.constants.dram_share * float(dram.bandwidth_bytes_per_s)) if dram else 0.0
    copying += now.outlook.constants.launch_s * len(views)
    gain = now.gain(now.time_s(copied) + copying)
    if gain < WORTH:
        return
    which = " and ".join(road.operand for road in views)
    yield Advice(
        cause="contiguous",
        change=f"copy {which} to a contiguous, aligned buffer before multiplying",
        predicted_speedup=gain,
        cost=f"{bytes_text(moved)} moved for the copy, counted in the speed-up; none where the copy can be kept",
        confidence="high",
    )


def copy_of(problem: Gemm, views: list[Road]) -> tuple[Gemm, int]:
    """The problem with copies of those operands, contiguous and aligned, and the bytes that the copies move."""
    changes: dict[str, int] = {}
    moved = 0
    for road in views:
        changes[FIELDS[road.operand].stride] = stored_columns(problem, road.operand)
        changes[FIELDS[road.operand].offset] = 0
        moved += 2 * {"A": problem.a_bytes, "B": problem.b_bytes, "D": problem.d_bytes}[road.operand]
    return problem.replace(**changes), moved
