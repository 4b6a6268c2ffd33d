"""Matrix units: what their accumulators do to the bits, revealed, emulated, traced and predicted."""

from typing import Any

#: public name -> module that has it; loaded when first asked for, since most need numpy or numba. No module is named
#: like any of them: an import of it would put it in the function's place.
PUBLIC = {
    "Operand": "operands",
    "Predicted": "predicting",
    "Schedule": "schedule",
    "Unit": "behaviour",
    "Verified": "verifying",
    "dots": "multiply",
    "gemm": "multiply",
    "mma": "multiply",
    "operand": "operands",
    "pick_promotion": "predicting",
    "predict": "predicting",
    "reveal": "probing",
    "tree": "probing",
    "truncation_sweep": "truncation",
    "unit": "units",
    "unit_names": "units",
    "verify": "verifying",
}

__all__ = [*PUBLIC]  # noqa: PLE0604 - the table above is the one list


def __getattr__(name: str) -> Any:
    """The public name out of its module."""
    from importlib import import_module

    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"gemmlab.numerics.{PUBLIC[name]}")
    return getattr(module, {"unit_names": "names"}.get(name, name))


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(PUBLIC)
