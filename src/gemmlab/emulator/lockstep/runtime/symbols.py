"""The functions that generated kernels call, by symbol; they take and give int64 alone, addresses among them.

All are translated together when first needed, in about a second, and kept compiled in the cache folder.
"""

from __future__ import annotations

import hashlib
import pickle
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from gemmlab.emulator.compiled import folder, helpers_digest, replaced
from gemmlab.emulator.lockstep.runtime.translating import Translation


class Function(NamedTuple):
    """Where a function is, and how many numbers it takes."""

    home: str
    arity: int


FUNCTIONS: dict[str, Function] = {
    "note": Function("noting", 14),
    "fault": Function("noting", 10),
    "log_access": Function("logs", 3),
    "log_meeting": Function("logs", 3),
    "prepare": Function("requests", 1),
    "reach": Function("requests", 5),
    "touch": Function("requests", 5),
    "settle": Function("requests", 3),
    "begin_block": Function("masks", 3),
    "tick": Function("masks", 2),
    "fill": Function("own", 3),
    "shadow_read": Function("shadow", 3),
    "shadow_atomic": Function("shadow", 3),
    "shadow_store": Function("storing", 3),
    "narrowed": Function("masks", 5),
    "executed": Function("masks", 2),
    "copied": Function("masks", 5),
    "barrier": Function("masks", 6),
    "first_active": Function("masks", 3),
    "local_read": Function("own", 2),
    "local_written": Function("own", 2),
    "members": Function("lanes", 6),
    "meet": Function("lanes", 5),
    "sources": Function("lanes", 3),
    "votes": Function("lanes", 5),
    "votes_equal": Function("lanes", 5),
}

#: what only a second look at a race calls is Python, which compiled code calls back
PLAIN = {name for name, function in FUNCTIONS.items() if function.home == "logs"}


def function_of(name: str) -> Any:
    """A function as Python."""
    return getattr(import_module(f"gemmlab.emulator.lockstep.runtime.{FUNCTIONS[name].home}"), name)


def signature(name: str) -> Any:
    """The type of a function: as many int64 as it takes, and one that it gives."""
    return types.int64(*(types.int64,) * FUNCTIONS[name].arity)


def symbol(name: str) -> str:
    """What linkers know a function by."""
    return f"gemmlab_{name}"


EXTERNAL: dict[str, Any] = {name: types.ExternalFunction(symbol(name), signature(name)) for name in FUNCTIONS}


@cache
def library() -> Any:
    """The functions compiled, or loaded compiled, with their addresses given to linkers."""
    for name in PLAIN:
        llvm.add_symbol(symbol(name), function_of(name).address)
    with global_compiler_lock:
        codegen = cpu_target.target_context.codegen()
        of = repr((helpers_digest(), llvm.llvm_version_info, codegen.magic_tuple()))
        path = folder() / f"helpers_{hashlib.sha256(of.encode()).hexdigest()[:20]}.bin"
        found = None
        with suppress(OSError, pickle.UnpicklingError, EOFError):
            found = codegen.unserialize_library(pickle.loads(path.read_bytes()))
        if found is None:
            found = translated(codegen)
            with suppress(OSError):
                replaced(path, pickle.dumps(found.serialize_using_object_code()))
        for name in sorted(FUNCTIONS.keys() - PLAIN):
            llvm.add_symbol(symbol(name), found.get_pointer_to_function(symbol(name)))
    return found


def translated(codegen: Any) -> Any:
    """All functions as one library."""
    made = codegen.create_library("gemmlab_helpers")
    made.enable_object_caching()
    module = made.create_ir_module("gemmlab_helpers")
    whole = Translation(module)
    for name in sorted(FUNCTIONS.keys() - PLAIN):
        whole.exported(function_of(name), symbol(name))
    made.add_ir_module(module)
    made.finalize()
    return made


def ready() -> None:
    """Let compiled code find these functions by their symbols, from now on."""
    library()
