"""The arithmetic of this CPU as backends: a chain of fused multiply-adds, and the library behind NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.record import GemmlabError, unknown_name

FORMATS = ("float32", "float64")


def fma_chain(a: Any, b: Any, c: Any = None) -> npt.NDArray[Any]:
    """D = A @ B + C of shapes (m, k), (k, n), (m, n): one fused multiply-add after another, k ascending from C.

    Arrays of float32 or of float64, all of one type. Raises GemmlabError for others and for shapes that do not
    multiply.
    """
    left, right = checked(a, b)
    addend = np.zeros((left.shape[0], right.shape[1]), left.dtype) if c is None else np.asarray(c)
    if addend.shape != (left.shape[0], right.shape[1]) or addend.dtype != left.dtype:
        raise GemmlabError(
            f"C is {addend.dtype} of shape {addend.shape}", f"{left.dtype}, with A's rows and B's columns"
        )
    d = np.ascontiguousarray(addend).copy()
    chain_of(left.dtype.name)(np.ascontiguousarray(left), np.ascontiguousarray(right), d)
    return d


def vendor(a: Any, b: Any) -> npt.NDArray[Any]:
    """A @ B as NumPy's library computes it, OpenBLAS in its wheels: there is no C, and the order is its own.

    Arrays of float32 or of float64, both of one type; raises GemmlabError for others.
    """
    left, right = checked(a, b)
    with np.errstate(all="ignore"):  # probes overflow on purpose
        return np.asarray(left @ right)


def checked(a: Any, b: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both operands, of one type that this CPU adds in; raises GemmlabError."""
    left, right = np.asarray(a), np.asarray(b)
    if left.dtype.name not in FORMATS:
        raise unknown_name("format of this CPU's own arithmetic", left.dtype.name, FORMATS)
    if left.dtype != right.dtype:
        raise GemmlabError(f"A is {left.dtype} and B is {right.dtype}", "both of one type")
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise GemmlabError(f"A of shape {left.shape} and B of shape {right.shape} do not multiply", "(m, k) and (k, n)")
    return left, right


@cache
def chain_of(name: str) -> Any:
    """The loops, compiled for one type; LLVM's fma is the CPU's instruction, or an exact call where there is none."""
    from llvmlite import ir
    from numba import njit, types
    from numba.core import cgutils
    from numba.extending import intrinsic

    number, kind, suffix = {
        "float32": (types.float32, ir.FloatType(), "f32"),
        "float64": (types.float64, ir.DoubleType(), "f64"),
    }[name]

    @intrinsic
    def fma(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            shape = ir.FunctionType(kind, [kind] * 3)
            found = cgutils.get_or_insert_function(builder.module, shape, f"llvm.fma.{suffix}")
            return builder.call(found, arguments)

        return number(number, number, number), generate

    @njit(nogil=True)
    def chain(a: Any, b: Any, d: Any) -> None:
        for i in range(d.shape[0]):
            for k in range(a.shape[1]):
                for j in range(d.shape[1]):
                    d[i, j] = fma(a[i, k], b[k, j], d[i, j])

    return chain
