"""What a kernel does outside of the matrix unit, on arrays: promotion, reduction over split-k, alpha, beta, formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.fast import native
from gemmlab.numerics.plain import NAN

Codes = npt.NDArray[Any]
FLOATS = ("float16", "float32", "float64")  # numpy's own types


def values(codes: Codes, name: str) -> npt.NDArray[Any]:
    """What codes stand for, in a type that holds it."""
    return np.ascontiguousarray(codes).view(name) if name in FLOATS else formats.decode_array(codes, name)


def converted(codes: Codes, source: str, target: str) -> Codes:
    """Codes in another format, as plain.convert gives them one by one."""
    if source == target:
        return codes
    held = values(codes, source)
    with np.errstate(all="ignore"):
        if target in FLOATS:
            made = held.astype(target).view(code_type(formats.get(target)))
        else:
            made = formats.encode_array(held, target)
    nan = np.isnan(held)
    if nan.any():
        made[nan] = NAN.get(target, formats.encode(float("nan"), target))
    return made


def fused(factor: float, x: Codes, y: Codes, wide: str) -> Codes:
    """Codes of factor * x + y, rounded once to nearest."""
    out = np.empty(x.shape, wide)
    first, second = (np.ascontiguousarray(each).view(wide) for each in (x, y))
    native.combine(values(np.array([formats.encode(factor, wide)], x.dtype), wide)[0], first, second, out)
    codes = out.view(x.dtype)
    codes[np.isnan(out)] = NAN[wide]
    return codes


def reduced(shares: list[Codes], held: str, stored: str, summed: str, wide: str) -> Codes:
    """Codes in `wide` of shares stored in one format and added up in ascending order, each sum rounded to another."""
    parts = [converted(converted(share, held, stored), stored, wide) for share in shares]
    total = parts[0]
    for part in parts[1:]:
        total = converted(converted(fused(1.0, total, part, wide), wide, summed), summed, wide)
    return total


def epilogue(
    total: Codes, wide: str, alpha: float, beta: float, c: Codes | None, c_format: str, d_format: str
) -> Codes:
    """Codes of alpha * total + beta * C in D's format."""
    if alpha != 1 or beta != 0:
        nothing = np.zeros_like(total)
        scaled = nothing if c is None or beta == 0 else fused(beta, converted(c, c_format, wide), nothing, wide)
        total = fused(alpha, total, scaled, wide)
    return converted(total, wide, d_format)


def integer_epilogue(
    total: npt.NDArray[np.int32], alpha: float, beta: float, c: Codes | None, c_format: str, d_format: str
) -> Codes:
    """The same of int32 sums: integers stay integers, anything else goes through float32."""
    if formats.get(d_format).kind == "int":
        whole = total.astype(np.float64)
        if c is not None and beta != 0:
            whole += formats.decode_array(c, c_format)
        return formats.encode_array(whole, d_format)
    return epilogue(total.astype(np.float32).view(np.uint32), "float32", alpha, beta, c, c_format, d_format)
