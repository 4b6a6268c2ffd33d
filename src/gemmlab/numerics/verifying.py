"""A unit held against dot products that a real chip computed, to the bit."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.files import BROKEN
from gemmlab.numerics.multiply import dots
from gemmlab.numerics.operands import Operand, operand
from gemmlab.numerics.reference import Sum, dot
from gemmlab.numerics.units import names
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError

OUTPUTS = ("float32", "float16")
LAYOUT = "a, b (count, k), c (count,) and d_float32 or d_float16 (count,), all uint32 words of float32 values"
Words = npt.NDArray[np.uint32]


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """The first dot product that differs, in codes, and how the unit came to its own answer."""

    index: int  #: in the recording
    got: int  #: the unit's code, in its accumulator's format
    expected: int  #: the recorded one
    a: list[int]  #: codes of `a_format`
    b: list[int]  #: codes of `b_format`
    c: int  #: code of the accumulator's format; 0 where C was left out
    a_format: str
    b_format: str
    sums: list[Sum]  #: every fused sum and addition of the unit, from the reference


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    unit: str  #: whose accumulator is `output`
    output: str  #: float32 or float16
    total: int  #: dot products compared
    k: int  #: of each
    mismatches: int
    first: Mismatch | None  #: None where all are equal
    without_c: bool  #: C was left out, because it was asked or because the recording left it out
    note: str  #: what a reader must know besides; empty where there is nothing


def verify(
    recorded: str | PathLike[str] | Mapping[str, Any],
    unit: Unit | str,
    output: str | None = None,
    *,
    without_c: bool | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> Verified:
    """How many recorded dot products d = sum_k a[k] * b[k] + c a unit gives other bits for.

    `recorded` is an .npz file or its arrays: `a`, `b` of shape (count, k), `c` and `d_float32` or `d_float16` of shape
    (count,), each word the float32 bit pattern of its value. C is rounded to the accumulator's format first. `output`
    names the accumulator; None is the unit's own. Where it is not, the unit of the same name with that accumulator is
    taken. NaN equals any NaN unless the unit promises its code. Some recordings of real chips hold outputs without C:
    with `without_c` None one that mismatches with C and nowhere without it is taken for such, and the note says so.
    Raises GemmlabError for a file that cannot be read, for arrays of other names, types and shapes, for an output that
    the unit has not, and for the first element outside its formats.
    """
    chosen = accumulating(named(unit), output)
    arrays = opened(recorded)
    key = f"d_{chosen.accumulate}"
    a, b, c, d = (words(arrays, name, 2 if name in "ab" else 1) for name in ("a", "b", "c", key))
    if a.shape != b.shape or not a.size:
        raise GemmlabError(f"a and b have shapes {a.shape} and {b.shape}", "(count, k) both, with something in them")
    for name, each in (("c", c), (key, d)):
        if each.shape != a.shape[:1]:
            raise GemmlabError(f"{name} has shape {each.shape}, a has {a.shape}", f"({len(a)},)")
    left = codes_of(a, a_format, chosen.a_formats, "a")
    right = codes_of(b, b_format, chosen.b_formats, "b")
    addend = formats.encode_array(c.view(np.float32), chosen.accumulate)
    expected = narrowed(d, chosen.accumulate, key)
    nothing = np.zeros_like(addend)
    used = nothing if without_c else addend
    got, wrong = compared(chosen, left, right, used, expected)
    note = "C was left out, as asked" if without_c else ""
    if without_c is None and wrong.any():
        other, without = compared(chosen, left, right, nothing, expected)
        if not without.any():
            note = (
                f"C was left out: with it {wrong.sum()} of {len(d)} mismatch, without it none, so they were recorded so"
            )
            got, wrong, used = other, without, nothing
    first = None
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        first = explained(chosen, at, left, right, int(used[at]), int(got[at]), int(expected[at]))
    return Verified(
        unit=chosen.name,
        output=chosen.accumulate,
        total=len(d),
        k=a.shape[1],
        mismatches=int(wrong.sum()),
        first=first,
        without_c=used is nothing,
        note=note,
    )


def outputs(recorded: str | PathLike[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """The accumulators whose outputs a recording holds: of float32 and float16; raises GemmlabError where none is."""
    arrays = opened(recorded)
    found = tuple(name for name in OUTPUTS if f"d_{name}" in arrays)
    if not found:
        raise missing("d_float32 or d_float16", arrays)
    return found


def accumulating(unit: Unit, output: str | None) -> Unit:
    """The unit, or its sibling with that accumulator; raises GemmlabError where there is none."""
    wanted = output or unit.accumulate
    if unit.scaled or wanted not in OUTPUTS:
        why = "block scales" if unit.scaled else f"an accumulator of {wanted}"
        raise GemmlabError(f"{unit.name} with {why} has no recordings of this layout", f"recordings hold {LAYOUT}")
    if unit.accumulate == wanted:
        return unit
    sibling = f"{unit.name}.float16" if wanted == "float16" else unit.name.removesuffix(".float16")
    if sibling not in names() or named(sibling).accumulate != wanted:
        raise GemmlabError(f"{unit.name} accumulates {unit.accumulate}, not {wanted}", f"output {unit.accumulate}")
    return named(sibling)


def opened(recorded: str | PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """The arrays of a recording; raises GemmlabError for a file that is none."""
    if isinstance(recorded, Mapping):
        return recorded
    try:
        held = np.load(recorded, allow_pickle=False)
        if isinstance(held, np.ndarray):
            raise ValueError("one array")
        with held:
            return dict(held)
    except OSError as error:
        raise GemmlabError(f"cannot read {recorded}: {error.strerror or error}", f"an .npz of {LAYOUT}") from None
    except (*BROKEN, zipfile.BadZipFile, zlib.error, RuntimeError):  # the last: a cipher, or an unknown compression
        raise GemmlabError(f"{recorded} is no .npz of plain arrays", f"an .npz of {LAYOUT}") from None


def missing(name: str, arrays: Mapping[str, Any]) -> GemmlabError:
    """The error for an array that is not there."""
    return GemmlabError(f"no array {name} among {', '.join(map(str, arrays)) or 'none'}", LAYOUT)


def words(arrays: Mapping[str, Any], name: str, dimensions: int) -> Words:
    """One array, of float32 words; raises GemmlabError."""
    if name not in arrays:
        raise missing(name, arrays)
    found = np.asarray(arrays[name])
    if found.dtype != np.uint32:
        hint = "view(numpy.uint32)" if found.dtype == np.float32 else LAYOUT
        raise GemmlabError(f"{name} is of {found.dtype}, not of uint32 words", hint)
    if found.ndim != dimensions:
        raise GemmlabError(f"{name} has shape {found.shape}", LAYOUT)
    return np.ascontiguousarray(found)


def codes_of(found: Words, name: str | None, known: tuple[str, ...], what: str) -> Operand:
    """Codes in the format named, else in the first of the unit's that holds every value; raises GemmlabError."""
    if name is not None and name not in known:
        raise GemmlabError(f"the unit takes no {name} for {what}", ", ".join(known))
    tried = [name] if name else [*known]
    for each in tried:
        if each == "tfloat32":
            return Operand(found, each)  # the low 13 bits may hold anything: no unit reads them
        try:
            return operand(found.view(np.float32), each, what)
        except GemmlabError:
            if each == tried[-1]:
                break
    return operand(found.view(np.float32), tried[0], what)


def narrowed(found: Words, name: str, what: str) -> npt.NDArray[Any]:
    """Recorded outputs as codes of the accumulator; a NaN keeps its payload's upper bits, as widening gave them."""
    if name == "float32":
        return found
    codes = operand(found.view(np.float32), name, what).codes
    nan = np.isnan(found.view(np.float32))
    payload = (found >> 16 & 0x8000) | 0x7C00 | (found >> 13 & 0x3FF)
    return np.where(nan, payload, codes).astype(codes.dtype)


def compared(
    unit: Unit, a: Operand, b: Operand, c: npt.NDArray[Any], expected: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """(the unit's codes, where they differ from the expected)."""
    given = dots(unit, a.codes, b.codes, c, a_format=a.format, b_format=b.format)
    got = given.view(expected.dtype)
    wrong: npt.NDArray[np.bool_] = got != expected
    if unit.nan == "ieee":
        both = [np.isnan(formats.decode_array(codes, unit.accumulate)) for codes in (got, expected)]
        wrong &= ~(both[0] & both[1])
    return got, wrong


def explained(unit: Unit, at: int, a: Operand, b: Operand, c: int, got: int, expected: int) -> Mismatch:
    """The dot product at that index with every sum that led to the unit's answer."""
    sums: list[Sum] = []
    row, column = a.codes[at].tolist(), b.codes[at].tolist()
    dot(unit, row, column, c, a.format, b.format, watch=sums.append)
    return Mismatch(
        index=at,
        got=got,
        expected=expected,
        a=row,
        b=column,
        c=c,
        a_format=a.format,
        b_format=b.format,
        sums=sums,
    )
