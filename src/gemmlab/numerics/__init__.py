"""Matrix units: what their accumulators do to the bits, revealed, emulated, traced and predicted."""

from typing import Any

#: public name -> module that has it; loaded when first asked for, since most need numpy or numba
PUBLIC = {
    "Operand": "operands",
    "Schedule": "schedule",
    "Unit": "unit",
    "dots": "multiply",
    "gemm": "multiply",
    "mma": "multiply",
    "operand": "operands",
    "unit": "units",
    "unit_names": "units",
}

__all__ = [*PUBLIC]  # noqa: PLE0604 - the table above is the one list


def __getattr__(name: str) -> Any:
    """The public name out of its module."""
    from importlib import import_module

    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"gemmlab.numerics.{PUBLIC[name]}")
    return getattr(module, {"unit_names": "names"}.get(name, name))
