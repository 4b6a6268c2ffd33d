"""Code of this part, compiled by numba and kept on disk; the same functions run as plain Python where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from numba import njit


def compiled(module: ModuleType, names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Those functions of a module, each calling the compiled ones of those before it in `names`.

    The module's own functions stay as they are. IEEE division, no interpreter lock, no fast arithmetic. What is kept on
    disk holds for as long as no file of this folder changes.
    """
    done: dict[str, Callable[..., Any]] = {}
    for name in names:
        plain: FunctionType = getattr(module, name)
        space = {**plain.__globals__, **done}
        copy = FunctionType(plain.__code__, space, name, plain.__defaults__, plain.__closure__)
        copy.__qualname__, copy.__module__ = plain.__qualname__, plain.__module__
        done[name] = made = njit(nogil=True, cache=True, error_model="numpy")(copy)
        # numba looks at the function's own file alone, but code and constants of others are compiled into it
        kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if kept is not None and hasattr(kept, "_source_stamp"):
            kept._source_stamp = (kept._source_stamp, stamp())
    return done


@cache
def stamp() -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file in this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
