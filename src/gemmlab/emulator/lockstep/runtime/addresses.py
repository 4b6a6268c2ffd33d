"""Addresses as memory of a type, in generated code: plain integers and pointers cost numba far less than arrays."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model


class Truths(types.CPointer):
    """The address of bools, which are bytes in memory and bits at hand."""


register_model(Truths)(models.PointerModel)


@lower_builtin(operator.getitem, Truths, types.Integer)  # type: ignore[no-untyped-call, untyped-decorator]
def truth(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A bool that is read."""
    byte = builder.load(builder.gep(args[0], [args[1]]))
    return builder.icmp_unsigned("!=", byte, ir.Constant(byte.type, 0))


@lower_builtin(operator.setitem, Truths, types.Integer, types.Boolean)  # type: ignore[no-untyped-call, untyped-decorator]
def set_truth(context: Any, builder: Any, signature: Any, args: Any) -> None:
    """A bool that is written."""
    base, index, value = args
    builder.store(builder.zext(value, ir.IntType(8)), builder.gep(base, [index]))


def as_memory_of(name: str) -> Any:
    """A function of an int64 that is the address of elements of a numpy type."""
    of = Truths(types.boolean) if name == "bool_" else types.CPointer(getattr(types, name))  # type: ignore[no-untyped-call]

    @intrinsic
    def memory(typing_context, address):  # type: ignore[no-untyped-def]
        def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return of(types.int64), build

    return memory


AS: dict[str, Any] = {
    name: as_memory_of(name)
    for name in (
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
        *("float32", "float64", "bool_"),
    )
}
