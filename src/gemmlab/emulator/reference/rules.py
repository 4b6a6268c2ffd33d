"""What numba's CUDA target makes of values of given types: numba itself is asked, operation by operation."""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import numpy as np


@cache
def context() -> Any:
    """The typing context of numba's CUDA target; it needs no GPU."""
    from numba.cuda.target import CUDATypingContext

    made = CUDATypingContext()
    made.refresh()
    return made


def cuda() -> Any:
    """The module that kernels import; its names are made at run time."""
    import numba.cuda

    return numba.cuda


@cache
def signature(function: Any, *kinds: Any) -> Any:
    """How numba would call a function with arguments of those types; None where it would not."""
    from numba import types
    from numba.core.errors import NumbaError

    name, module = getattr(function, "__name__", ""), cuda()
    try:
        if getattr(module, name, None) is function:
            resolved = context().resolve_getattr(types.Module(module), name)  # type: ignore[no-untyped-call]
        else:
            resolved = context().resolve_value_type(function)
        return context().resolve_function_type(resolved, kinds, {})
    except (NumbaError, NotImplementedError, ValueError):
        return None


@cache
def unify(first: Any, second: Any) -> Any:
    """The type of a variable that may hold either; None where there is none."""
    return context().unify_types(first, second)


@cache
def dtype(kind: Any) -> Any:
    """The numpy type of a scalar type."""
    from numba.np.numpy_support import as_dtype

    return np.dtype(as_dtype(kind))


@cache
def kind_of(name: str) -> Any:
    """The numba type of a numpy type's name."""
    from numba.np.numpy_support import from_dtype

    return from_dtype(np.dtype(name))


def is_float(kind: Any) -> bool:
    """Whether a type is a floating-point type."""
    from numba import types

    return isinstance(kind, types.Float)


def is_scalar(kind: Any) -> bool:
    """Whether a type is a number or a truth value."""
    from numba import types

    return isinstance(kind, types.Number | types.Boolean)


OPERATORS = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "UAdd": operator.pos,
    "USub": operator.neg,
    "Invert": operator.invert,
    "Not": operator.not_,
}  #: by the class of the syntax tree's node
