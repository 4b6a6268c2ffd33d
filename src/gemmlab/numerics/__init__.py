"""Matrix units: what their accumulators do to the bits, revealed, emulated, traced and predicted."""

import sys
from types import ModuleType
from typing import Any

#: public name -> module that has it; loaded when first asked for, since most need numpy or numba
PUBLIC = {
    "Operand": "operands",
    "Predicted": "predicting",
    "Schedule": "schedule",
    "Unit": "unit",
    "Verified": "verify",
    "dots": "multiply",
    "gemm": "multiply",
    "mma": "multiply",
    "operand": "operands",
    "pick_promotion": "predicting",
    "predict": "predicting",
    "reveal": "reveal",
    "tree": "reveal",
    "truncation_sweep": "truncation",
    "unit": "units",
    "unit_names": "units",
    "verify": "verify",
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


class Package(ModuleType):
    """The package, whose public functions keep their names beside modules of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        """Set it; an import of the module `unit` must not put itself in the place of the function `unit`."""
        if not (name in PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = Package
