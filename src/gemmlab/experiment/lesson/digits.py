"""The digits of a lesson: what the chip's matrix unit makes of one dot product, and how far whole outputs are off."""

from __future__ import annotations

from dataclasses import dataclass

from gemmlab.chips import Chip
from gemmlab.experiment.multiplying import Multiplication, multiplied
from gemmlab.experiment.unit_operands import drawn
from gemmlab.numerics.units import names, unit
from gemmlab.problem import Gemm
from gemmlab.record import Record

#: the instructions that a library uses on each architecture; chips of others have ordinary arithmetic here
FAMILIES = {
    "volta": "volta.mma",
    "turing": "turing.mma",
    "ampere": "ampere.mma",
    "ada": "ada.mma",
    "hopper": "hopper.wgmma",
    "blackwell": "blackwell.tcgen05",
    "cdna2": "cdna2.mfma",
    "cdna3": "cdna3.mfma",
    "tpu": "tpu.mxu",
}
ORDINARY = {"NVIDIA": "cuda.fma"}  #: by vendor; of all others cpu.fma
SIDE = 16  #: rows and columns of the outputs whose error is told
MOST_K = 1 << 16
TRACED = 64  #: products of the one output that is followed bit by bit


@dataclass(frozen=True, slots=True)
class Digits:
    """One output followed, and the error of many: on the matrix unit, and on ordinary arithmetic too."""

    traced: Record
    errors: tuple[Record, ...]


def digits(problem: Gemm, chip: Chip, seed: int) -> Digits | None:
    """What the chip's unit does; None where none is known for the format."""
    chosen = units_of(problem, chip)
    if not chosen:
        return None
    errors = tuple(emulated(name, problem, min(problem.k, MOST_K), SIDE, seed)[0] for name in chosen)
    traced, _ = emulated(chosen[0], problem, min(problem.k, TRACED), 1, seed, place=(0, 0))
    return Digits(traced, errors)


def units_of(problem: Gemm, chip: Chip) -> list[str]:
    """The matrix unit that multiplies the format, tfloat32's for float32, and ordinary arithmetic of the format."""
    family = FAMILIES.get(chip.architecture, "")
    form = problem.a_format
    wanted = [f"{family}.{form}", *([f"{family}.tfloat32", f"{family}.xf32"] if form == "float32" else [])]
    found = [name for name in wanted if name in names()][:1]
    plain = f"{ORDINARY.get(chip.vendor, 'cpu.fma')}.{form}"
    return found + [plain] * (plain in names())


def emulated(
    name: str, problem: Gemm, k: int, side: int, seed: int, place: tuple[int, int] | None = None
) -> tuple[Record, object]:
    """Random operands of `side` rows and columns at most, multiplied on a unit."""
    used = unit(name)
    sides = (min(problem.m, side), min(problem.n, side), k)
    a_format = problem.a_format if problem.a_format in used.a_formats else used.a_formats[0]
    b_format = a_format if a_format in used.b_formats else used.b_formats[0]
    given = drawn(used, sides, "normal", seed, a_format, b_format)
    asked = Multiplication(used, given.a, given.b, a_format=a_format, b_format=b_format)
    return multiplied(asked, place=place)
