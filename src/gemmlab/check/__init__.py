"""Is a result right? A float64 reference, bounds on what rounding may do, exact integer passes, and a test of power."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.check.checking import check_bounds, check_exact
    from gemmlab.check.drawn import DISTRIBUTIONS, Operands, operands
    from gemmlab.check.integers import integer_operands
    from gemmlab.check.storage import poisoned
    from gemmlab.check.structure import dense

__all__ = [
    "DISTRIBUTIONS",
    "Operands",
    "check_bounds",
    "check_exact",
    "dense",
    "integer_operands",
    "operands",
    "poisoned",
]

LATER = {
    "DISTRIBUTIONS": "drawn",
    "Operands": "drawn",
    "check_bounds": "checking",
    "check_exact": "checking",
    "dense": "structure",
    "integer_operands": "integers",
    "operands": "drawn",
    "poisoned": "storage",
}


def __getattr__(name: str) -> Any:
    """Every part needs numpy, so each loads when it is asked for."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"gemmlab.check.{LATER[name]}"), name)
