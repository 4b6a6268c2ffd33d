"""The functions that generated kernels call, by symbol; they are compiled when first needed, once on a machine.

They take and give int64 alone, addresses of arrays among them, so that calling one costs little to compile.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba import types


class Function(NamedTuple):
    """Where a function is, how many numbers it takes, and what it calls in turn."""

    home: str
    arity: int
    calls: tuple[str, ...] = ()


FUNCTIONS: dict[str, Function] = {
    "note": Function("noting", 14),
    "fault": Function("noting", 10),
    "log_access": Function("logs", 3),
    "log_meeting": Function("logs", 3),
    "prepare": Function("requests", 1),
    "reach": Function("requests", 5),
    "touch": Function("requests", 5, ("note",)),
    "settle": Function("requests", 3, ("note",)),
    "begin_block": Function("masks", 3),
    "tick": Function("masks", 2),
    "fill": Function("own", 3),
    "shadow_read": Function("shadow", 3, ("note", "fault", "log_access")),
    "shadow_atomic": Function("shadow", 3, ("note", "fault", "log_access")),
    "shadow_store": Function("storing", 3, ("fault", "log_access")),
    "narrowed": Function("masks", 5),
    "executed": Function("masks", 2),
    "copied": Function("masks", 5),
    "barrier": Function("masks", 6, ("note",)),
    "first_active": Function("masks", 3),
    "local_read": Function("own", 2, ("note",)),
    "local_written": Function("own", 2),
    "members": Function("lanes", 6, ("note",)),
    "meet": Function("lanes", 5, ("log_meeting",)),
    "sources": Function("lanes", 3),
    "votes": Function("lanes", 5),
    "votes_equal": Function("lanes", 5),
}


def signature(name: str) -> Any:
    """The type of a function: as many int64 as it takes, and one that it gives."""
    return types.int64(*(types.int64,) * FUNCTIONS[name].arity)


EXTERNAL: dict[str, Any] = {name: types.ExternalFunction(f"gemmlab_{name}", signature(name)) for name in FUNCTIONS}
READY: dict[str, Any] = {}  #: compiled functions, kept alive


@cache
def drop_stale() -> None:
    """Forget functions compiled before any file of this folder changed: numba looks at their own file only."""
    here = Path(__file__).parent
    newest = max(path.stat().st_mtime for path in here.glob("*.py"))
    for path in (here / "__pycache__").glob("*.nb?"):
        if path.stat().st_mtime < newest:
            path.unlink(missing_ok=True)


def ready(names: set[str]) -> None:
    """Compile these functions, or load them compiled, and give linkers their addresses."""
    from numba import cfunc

    drop_stale()
    for name in sorted(names - READY.keys()):
        ready(set(FUNCTIONS[name].calls))
        module = import_module(f"gemmlab.emulator.lockstep.runtime.{FUNCTIONS[name].home}")
        function = getattr(module, name)
        # what only a second look at a race calls is plain Python, which costs nothing to compile
        made = function if FUNCTIONS[name].home == "logs" else cfunc(signature(name), cache=True, error_model="numpy")
        READY[name] = made if made is function else made(function)
        llvm.add_symbol(f"gemmlab_{name}", READY[name].address)
