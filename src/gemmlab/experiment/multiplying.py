"""A multiplication emulated on a matrix unit, bit for bit, beside float64: the Record of it."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.experiment.unit_operands import require_room
from gemmlab.formats import encode_array
from gemmlab.numerics import multiply
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import Operand, operand, typed
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.trace import trace_dot, trace_output
from gemmlab.problem import Gemm
from gemmlab.record import (
    GemmlabError,
    NumericsError,
    NumericsPrediction,
    NumericsSchedule,
    NumericsSection,
    Record,
    TraceSection,
)

AGAIN_S = 4.0  #: a run that takes longer is not repeated
EXTENDED = 1 << 24  #: products up to which a float64 unit is compared with extended precision: slow, without BLAS

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Multiplication:
    """What is to be emulated: operands as `gemmlab.numerics.gemm` takes them."""

    unit: Unit
    a: Any
    b: Any
    c: Any = None
    schedule: Schedule = multiply.DEFAULT
    alpha: float = 1.0
    beta: float = 0.0
    a_format: str | None = None
    b_format: str | None = None
    c_format: str | None = None
    d_format: str | None = None
    a_scales: Any = None
    b_scales: Any = None
    in_accumulator: bool = False  #: C starts in the accumulator: D = A @ B + C of instructions, nothing after them
    threads: int | None = None

    @property
    def target(self) -> str:
        """D's format."""
        return self.d_format or self.unit.accumulate


@dataclass(frozen=True, slots=True)
class Read:
    """The operands as the unit reads them."""

    a: Operand
    b: Operand
    scales: tuple[Operand, Operand] | None
    c: Operand | None


def multiplied(
    asked: Multiplication,
    *,
    place: tuple[int, int] | None = None,
    tolerance: float | None = None,
    predict: bool = False,
) -> tuple[Record, npt.NDArray[Any]]:
    """The Record and D; with the trace of the output at `place`, with a prediction where asked for.

    Raises GemmlabError for operands, shapes, formats and schedules that do not match the unit.
    """
    read = operands(asked)
    shape = (read.a.codes.shape[0], read.b.codes.shape[1])
    k = read.a.codes.shape[1]
    if min(*shape, k) == 0:
        raise GemmlabError(f"A of shape {read.a.codes.shape} and B of shape {read.b.codes.shape}: nothing to multiply")
    if place is not None and not (0 <= place[0] < shape[0] and 0 <= place[1] < shape[1]):
        raise GemmlabError(f"D has {shape[0]} x {shape[1]} outputs, none at {place[0]},{place[1]}", "counted from 0,0")
    require_room((*shape, k))
    foreseen = prediction(asked, tolerance) if predict else None
    d, taken = timed(asked, read)
    explained = None if place is None else trace(asked, read, place)
    section = NumericsSection(
        unit=asked.unit.name,
        kind="emulated",
        backend="emulated",
        schedule=schedule_section(asked, read, k),
        width_bits=asked.unit.width_bits,
        error=error(asked, read, d, taken),
        prediction=foreseen,
        trace=explained,
    )
    return Record(problem=problem(asked, read, (*shape, k)).section(), numerics=section), d


def timed(asked: Multiplication, read: Read) -> tuple[npt.NDArray[Any], float]:
    """D, and the seconds that it took; a short run is done twice, since the first one compiles."""
    taken = math.inf
    for _ in range(2):
        start = time.perf_counter()
        d = run(asked, read)
        taken = min(taken, time.perf_counter() - start)
        if taken > AGAIN_S:
            break
    return d, taken


def operands(asked: Multiplication) -> Read:
    """Both operands, their scales and C, in codes; raises GemmlabError."""
    a, b = multiply.operands(asked.unit, asked.a, asked.b, asked.a_format, asked.b_format, asked.schedule)
    scales = multiply.scale_pair(asked.unit, asked.a_scales, asked.b_scales, a, b)
    if asked.c is None:
        return Read(a, b, scales, None)
    name = asked.unit.accumulate if asked.in_accumulator else asked.c_format
    return Read(a, b, scales, operand(asked.c, name, "C"))


def run(asked: Multiplication, read: Read) -> npt.NDArray[Any]:
    """D."""
    given = {
        "a_format": read.a.format,
        "b_format": read.b.format,
        "a_scales": asked.a_scales,
        "b_scales": asked.b_scales,
        "threads": asked.threads,
    }
    a, b = typed(read.a.codes, read.a.format), typed(read.b.codes, read.b.format)
    if asked.in_accumulator:
        return multiply.mma(asked.schedule.on(asked.unit), a, b, asked.c, **given)
    return multiply.gemm(
        a, b, asked.c, unit=asked.unit, schedule=asked.schedule, alpha=asked.alpha, beta=asked.beta,
        c_format=asked.c_format, d_format=asked.d_format, **given,
    )  # fmt: skip


def trace(asked: Multiplication, read: Read, place: tuple[int, int]) -> TraceSection:
    """One output term by term."""
    row, column = place
    given: dict[str, Any] = {"place": place}
    if read.scales is not None:
        a_scales, b_scales = read.scales
        given |= {
            "a_scales": a_scales.codes[row].tolist(),
            "b_scales": b_scales.codes[:, column].tolist(),
            "scale_format": a_scales.format,
        }
    words = read.a.codes[row].tolist(), read.b.codes[:, column].tolist()
    c = 0 if read.c is None else int(read.c.codes[row, column])
    if asked.in_accumulator:
        return trace_dot(asked.schedule.on(asked.unit), *words, c, read.a.format, read.b.format, **given)
    if read.c is not None:
        given["c_format"] = read.c.format
    return trace_output(
        asked.unit, asked.schedule, *words, c, read.a.format, read.b.format,
        alpha=asked.alpha, beta=asked.beta, d_format=asked.target, **given,
    )  # fmt: skip


def error(asked: Multiplication, read: Read, d: npt.NDArray[Any], taken: float) -> NumericsError:
    """D beside the product in float64, each operand as the unit reads it."""
    a, b = values(read.a, read.scales, 0, asked.unit), values(read.b, read.scales, 1, asked.unit)
    precise: Any = np.float64
    if asked.unit.accumulate == "float64" and a.shape[0] * a.shape[1] * b.shape[1] <= EXTENDED:
        precise = np.longdouble
    with np.errstate(all="ignore"):
        exact = asked.alpha * (a.astype(precise) @ b.astype(precise))
        size = abs(asked.alpha) * (np.abs(a) @ np.abs(b))
        beta = 1.0 if asked.in_accumulator else asked.beta
        if read.c is not None and beta != 0:
            exact = exact + beta * read.c.values
            size = size + np.abs(beta * read.c.values)
        got = d.astype(np.float64)
        off = (got - exact).astype(np.float64)
        exact = exact.astype(np.float64)
    name = asked.target
    due = formats.decode_array(encode_array(exact, name), name)
    whole = np.isfinite(off)
    norm = float(np.linalg.norm(exact))
    relative = np.abs(off[whole & (size > 0)]) / size[whole & (size > 0)]
    return NumericsError(
        relative_frobenius=share(float(np.linalg.norm(off)), norm),
        max_relative=float(relative.max()) if relative.size else None,
        bias=share(float((off * np.sign(exact)).sum()), float(np.abs(exact).sum())),
        correctly_rounded=int(((got == due) | (np.isnan(got) & np.isnan(due))).sum()),
        total=int(d.size),
        not_finite=int((~np.isfinite(got)).sum()),
        time_s=taken,
        mac_per_s=a.shape[0] * a.shape[1] * b.shape[1] / max(taken, 1e-9),
    )


def share(part: float, whole: float) -> float | None:
    """Part / whole; None where that is no number."""
    return part / whole if whole and math.isfinite(part) and math.isfinite(whole) else None


def values(given: Operand, scales: tuple[Operand, Operand] | None, side: int, unit: Unit) -> Floats:
    """What an operand stands for, its block scales applied."""
    found = given.values
    if scales is None:
        return found
    with np.errstate(all="ignore"):
        factors = np.abs(scales[side].values).repeat(unit.scale_block, axis=1 - side)
        return np.asarray(found * (factors[:, : found.shape[1]] if side == 0 else factors[: found.shape[0]]))


def prediction(asked: Multiplication, tolerance: float | None) -> NumericsPrediction:
    """What a formula says of the error, before anything is multiplied."""
    from gemmlab.numerics.predicting import pick_promotion, predict

    given: dict[str, Any] = {
        "unit": asked.unit,
        "schedule": asked.schedule,
        "a_format": asked.a_format,
        "b_format": asked.b_format,
        "a_scales": asked.a_scales,
        "b_scales": asked.b_scales,
    }
    found = predict(asked.a, asked.b, **given)
    told = {name: finite(getattr(found, name)) for name in found.__struct_fields__ if name not in ("unit", "schedule")}
    chosen = None
    if tolerance is not None:
        with suppress(GemmlabError):  # no interval meets it, which null says
            chosen = pick_promotion(asked.a, asked.b, tolerance, **given)
    return msgspec.convert({**told, "tolerance": tolerance, "promote": chosen}, NumericsPrediction)


def finite(value: float | None) -> float | None:
    """The value; None where JSON has none."""
    return value if value is None or math.isfinite(value) else None


def problem(asked: Multiplication, read: Read, sides: tuple[int, int, int]) -> Gemm:
    """The multiplication as all other commands describe it."""
    m, n, k = sides
    c = read.c.format if read.c is not None else asked.target
    return Gemm(
        m, n, k, read.a.format, b_format=read.b.format, c_format=c, d_format=asked.target,
        accumulate=asked.unit.accumulate, alpha=asked.alpha, beta=1.0 if asked.in_accumulator else asked.beta,
    )  # fmt: skip


def schedule_section(asked: Multiplication, read: Read, k: int) -> NumericsSchedule:
    """The schedule with its words."""
    chosen = asked.schedule
    return NumericsSchedule(
        instruction_k=chosen.on(asked.unit).k,
        promote=chosen.promote,
        split_k=chosen.split_k,
        block_k=chosen.block_k,
        reduce=chosen.reduce,
        reduce_sum=chosen.reduce_sum,
        tfloat32=chosen.tfloat32,
        alpha=asked.alpha,
        beta=asked.beta,
        a_format=read.a.format,
        b_format=read.b.format,
        d_format=asked.target,
        words=words(asked, k),
    )


def words(asked: Multiplication, k: int) -> str:
    """How the outputs come together, as a sentence."""
    chosen, unit = asked.schedule, asked.schedule.on(asked.unit)
    said = [f"k = {k} in instructions of {unit.k}"]
    if unit.k != unit.terms:
        said[0] += f", each of fused sums of {unit.terms}"
    if asked.in_accumulator:
        return f"{said[0]}, one chain that starts from C"
    shares = len(chosen.shares(k, unit))
    if chosen.split_k > 1:
        said.append(
            f"{shares} programs share k, each stores its part in {chosen.reduce}, summed in {chosen.reduce_sum}"
        )
    wide = "float64" if unit.accumulate == "float64" else "float32"
    said.append(
        f"every {chosen.promote} k the accumulator is added to a {wide} sum and starts again from zero"
        if chosen.promote
        else "one chain from zero" + (" in each program" if chosen.split_k > 1 else "")
    )
    if asked.alpha != 1 or asked.beta != 0:
        said.append(f"then {asked.alpha:g} * sum + {asked.beta:g} * C")
    if asked.target != unit.accumulate:
        said.append(f"stored in {asked.target}")
    return "; ".join(said)
