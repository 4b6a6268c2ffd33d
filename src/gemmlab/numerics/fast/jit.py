"""Compilation by numba, kept on disk for as long as no file beside this one changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """The function compiled without the interpreter lock, IEEE division, and a cache on disk."""
    made = njit(nogil=True, cache=True, error_model="numpy")(function)
    # numba looks at the function's own file alone, but code of the files beside it is compiled into it.
    kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if kept is not None and hasattr(kept, "_source_stamp"):
        kept._source_stamp = (kept._source_stamp, stamp())
    return made


@cache
def stamp() -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of every file in this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files)
