"""The published truncation experiment: how many low bits of a unit's output can be cleared before any answer changes.

After the Triton kernel in foundation-model-stack/fms-model-optimizer (fms_mo/custom_ext_kernels/triton_kernels.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.operands import typed
from gemmlab.numerics.probing.backend import Emulated, takes_no_c
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError, unknown_name

MODES = ("outside", "chained")
ACTIONS = ("mask", "round")
FRACTION = 23  # stored fraction bits of float32
LOOSEST = 2.0**-5  # error of any accumulator worth the name, of the sum of magnitudes; it keeps about 10 bits or more

CANNOT_SHOW = (
    "alignment: an accumulator that stores few bits looks the same however many its sums are aligned to",
    "cut and rounding: whether what is lost is cut or rounded",
    "group size and order: how many products are added at once, and in what order of k",
    "C: whether it joins early or late; with mode = outside it never enters the unit",
    "a lower bound only: data with few distinct magnitudes have zeros in low bits by luck",
)

Floats32 = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


class Truncation(msgspec.Struct, frozen=True):
    """What the experiment gave."""

    mode: str
    action: str
    a_format: str
    b_format: str
    shape: tuple[int, int, int]  #: m, n, k
    block_k: int
    bits: tuple[int, ...]  #: low bits cleared
    unchanged: tuple[int, ...]  #: outputs with the bits they have at 0, of `outputs`
    errors: tuple[float, ...]  #: relative Frobenius error against float64
    outputs: int
    magnitudes: tuple[int, int]  #: distinct magnitudes in A and in B
    plateau: int | None  #: the most bits cleared with every output unchanged; None where nothing can be believed
    contradicted: str  #: why float64 says that the answers are wrong; empty where it does not
    cannot_show: tuple[str, ...] = CANNOT_SHOW

    @property
    def fraction_bits(self) -> int | None:
        """Fraction bits of the accumulator that the plateau implies."""
        return None if self.plateau is None else FRACTION - self.plateau

    @property
    def width_bits(self) -> int | None:
        """Sign, 8 exponent bits and fraction: 22 is e8m13."""
        return None if self.fraction_bits is None else 1 + 8 + self.fraction_bits

    @property
    def fractions(self) -> tuple[float, ...]:
        """Of outputs, those unchanged."""
        return tuple(count / self.outputs for count in self.unchanged)


def truncation_sweep(
    mma: Callable[..., Any] | Unit | str,
    a_format: str | None = None,
    b_format: str | None = None,
    *,
    bits: Sequence[int] = range(24),
    block_k: int = 128,
    mode: str = "outside",
    action: str = "mask",
    shape: tuple[int, int, int] = (64, 64, 512),
    seed: int = 0,
) -> Truncation:
    """Clear the last N bits of every float32 that a unit gives for `block_k` products, and count unchanged outputs.

    `mma(a, b, c)` takes arrays as for `reveal`, or is a Unit or its name. `outside` adds the chunks in float32 outside
    the unit, which starts from zero each; `chained` hands the cleared sum back as C. `round` adds half of the cleared
    part first, as the published kernel does. A callable with an attribute `swept(a, b, bits, *, block_k, mode, action)`
    does all of that itself and returns (m, n) of float32. `shape` is (m, n, k). Answers are held against float64 with a
    bound that follows from N; past it there is no plateau but `contradicted`. Raises GemmlabError for unknown modes,
    accumulators other than float32, and a chain without C.
    """
    for what, given, known in (("mode", mode, MODES), ("action", action, ACTIONS)):
        if given not in known:
            raise unknown_name(what, given, known)
    steps = tuple(sorted({*bits, 0}))
    if steps[0] < 0 or steps[-1] > FRACTION:
        raise GemmlabError(f"bits from {steps[0]} to {steps[-1]}", f"from 0 to {FRACTION}: float32's fraction")
    m, n, k = shape
    if min(m, n, k, block_k) < 1:
        raise GemmlabError(f"shape {shape}, block_k = {block_k}", "all at least 1")
    if isinstance(mma, Unit | str):
        unit = named(mma)
        if unit.accumulate != "float32":
            raise GemmlabError(f"{unit.name} accumulates in {unit.accumulate}", "the experiment clears bits of float32")
        a_format = a_format or unit.a_formats[0]
        b_format = b_format or (a_format if a_format in unit.b_formats else unit.b_formats[0])
        mma = Emulated(unit, a_format, b_format)
    if a_format is None:
        raise GemmlabError("no operand format was said", "truncation_sweep(mma, 'float16')")
    b_format = b_format or a_format
    swept = getattr(mma, "swept", None) or Chunks(mma)
    if isinstance(swept, Chunks) and swept.hidden and mode == "chained":
        raise GemmlabError("this backend takes no C, so nothing can be chained", "mode = 'outside'")
    a, b = drawn(a_format, (m, k), seed), drawn(b_format, (k, n), seed + 1)
    left, right = formats.decode_array(a, a_format), formats.decode_array(b, b_format)
    answers = [
        answer(swept(typed(a, a_format), typed(b, b_format), step, block_k=block_k, mode=mode, action=action), (m, n))
        for step in steps
    ]
    return judged(answers, left, right, steps, Setting(mode, action, a_format, b_format, block_k))


class Setting(msgspec.Struct, frozen=True):
    """What stays the same during a sweep."""

    mode: str
    action: str
    a_format: str
    b_format: str
    block_k: int


class Chunks:
    """The experiment around a callable mma(a, b, c): chunk after chunk, bits cleared in between."""

    def __init__(self, mma: Callable[..., Any]) -> None:
        self.mma, self.hidden = mma, takes_no_c(mma)

    def __call__(
        self, a: npt.NDArray[Any], b: npt.NDArray[Any], bits: int, *, block_k: int, mode: str, action: str
    ) -> Floats32:
        """D with `bits` low bits of every chunk's output cleared."""
        total = np.zeros((a.shape[0], b.shape[1]), np.float32)
        nothing = np.zeros_like(total)
        for start in range(0, a.shape[1], block_k):
            chosen = slice(start, start + block_k)
            c = () if self.hidden else (total if mode == "chained" else nothing,)
            inner = answer(
                self.mma(np.ascontiguousarray(a[:, chosen]), np.ascontiguousarray(b[chosen]), *c), total.shape
            )
            held = cleared(inner, bits, action)
            total = held if mode == "chained" else total + held
        return total


def cleared(values: Floats32, bits: int, action: str) -> Floats32:
    """float32 with the last `bits` of the fraction zero; `round` goes to the nearest, halves away from zero."""
    if bits == 0:
        return values
    words = np.ascontiguousarray(values).view(np.uint32)
    if action == "round":
        words = words + np.uint32(1 << (bits - 1))
    return (words & np.uint32(0xFFFFFFFF << bits & 0xFFFFFFFF)).view(np.float32)


def answer(out: Any, shape: tuple[int, int]) -> Floats32:
    """A backend's answer; raises GemmlabError where it is no float32 array of the shape."""
    d = np.asarray(out)
    if d.shape != shape or d.dtype != np.float32:
        raise GemmlabError(f"the unit returned {d.dtype} of shape {d.shape}", f"float32 of shape {shape}")
    return d


def drawn(name: str, shape: tuple[int, int], seed: int) -> npt.NDArray[Any]:
    """Codes of normal random numbers times powers of two from 1/4 to 4: no two outputs share their low bits' fate."""
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.normal(size=shape), rng.integers(-2, 3, shape))
    return formats.encode_array(values, name, saturate=True)


def judged(
    answers: list[Floats32], left: Floats, right: Floats, steps: tuple[int, ...], setting: Setting
) -> Truncation:
    """Answers held against float64 and against the answer with nothing cleared."""
    exact = left @ right
    magnitude = np.abs(left) @ np.abs(right)
    chunks = -(-left.shape[1] // setting.block_k)
    unchanged, errors, contradicted = [], [], ""
    first = answers[steps.index(0)].view(np.uint32)
    norm = float(np.linalg.norm(exact)) or 1.0
    for step, d in zip(steps, answers, strict=True):
        unchanged.append(int((d.view(np.uint32) == first).sum()))
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(d.astype(np.float64) - exact)
        errors.append(float(np.linalg.norm(off)) / norm)
        # Clearing N bits moves a number by less than 2^(N-23) of itself. Of chunks added outside, the magnitudes add up
        # to at most `magnitude`; a chained sum as large as that is cleared once a chunk.
        moved = (chunks if setting.mode == "chained" else 1) * 2.0 ** (step - FRACTION) * (step > 0)
        bound = magnitude * (LOOSEST + moved * (1 + LOOSEST))
        wrong = ~(off <= bound)
        if wrong.any() and not contradicted:
            i, j = (int(at) for at in np.argwhere(wrong)[0])
            contradicted = (
                f"with {step} bits cleared, output {i},{j} is {d[i, j]!s} where float64 has {exact[i, j]:.7g}, "
                f"{off[i, j]:.3g} apart; clearing explains {bound[i, j]:.3g} ({int(wrong.sum())} such outputs)"
            )
    full = [step for step, count in zip(steps, unchanged, strict=True) if count == first.size]
    broken = [step for step in steps if step not in full]
    plateau = max(step for step in full if not broken or step < broken[0])
    return Truncation(
        setting.mode, setting.action, setting.a_format, setting.b_format,
        (left.shape[0], right.shape[1], left.shape[1]), setting.block_k, steps, tuple(unchanged), tuple(errors),
        first.size, (np.unique(np.abs(left)).size, np.unique(np.abs(right)).size),
        None if contradicted else plateau, contradicted,
    )  # fmt: skip
