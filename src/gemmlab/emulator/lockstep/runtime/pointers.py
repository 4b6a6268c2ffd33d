"""Addresses as arrays: generated code passes plain integers, which cost nothing to compile."""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

# nothing here allocates or is called from C; what Python does not call either needs no way in: less to compile
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
open_jit: Any = njit(**OPTIONS)
jit: Any = njit(**(OPTIONS | {"no_cpython_wrapper": True}))


def pointer_to(element: Any) -> Any:
    """A function that takes an address as what lies there."""
    of = types.CPointer(element)  # type: ignore[no-untyped-call]

    @intrinsic
    def pointer(typing_context, address):  # type: ignore[no-untyped-def]
        def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return of(types.int64), build

    return pointer


words = pointer_to(types.int64)
octets = pointer_to(types.uint8)
pairs = pointer_to(types.uint16)
quads = pointer_to(types.uint32)
