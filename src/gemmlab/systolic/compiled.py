"""Code of this part, compiled by numba and kept on disk; the same functions run as plain Python where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from numba import njit


def compiled(module: ModuleType, names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Those functions of a module, each calling the compiled ones of those before it in `names`.

    The module's own functions stay as they are. IEEE division, no interpreter lock, no fast arithmetic.
    """
    space = dict(vars(module))
    for name in names:
        plain: FunctionType = getattr(module, name)
        copy = FunctionType(plain.__code__, space, name, plain.__defaults__, plain.__closure__)
        copy.__qualname__, copy.__module__ = plain.__qualname__, module.__name__
        space[name] = njit(nogil=True, cache=True, error_model="numpy")(copy)
    return {name: space[name] for name in names}
