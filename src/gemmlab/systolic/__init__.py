"""Systolic arrays, cycle by cycle: a closed form, a tile engine and a grid of registers that agree with each other."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.systolic.array import Array
    from gemmlab.systolic.closed import closed_form
    from gemmlab.systolic.compat import scalesim
    from gemmlab.systolic.dataflow import DATAFLOWS
    from gemmlab.systolic.engine import TileTimes, tile_engine, timeline
    from gemmlab.systolic.grid import Grid
    from gemmlab.systolic.many import closed_forms

#: public name -> module that has it; loaded when first asked for, since the grid needs numpy and numba
PUBLIC = {
    "Array": "array",
    "DATAFLOWS": "dataflow",
    "Grid": "grid",
    "TileTimes": "engine",
    "closed_form": "closed",
    "closed_forms": "many",
    "scalesim": "compat",
    "tile_engine": "engine",
    "timeline": "engine",
}

__all__ = [
    "DATAFLOWS",
    "Array",
    "Grid",
    "TileTimes",
    "closed_form",
    "closed_forms",
    "scalesim",
    "tile_engine",
    "timeline",
]


def __getattr__(name: str) -> Any:
    """The public name out of its module."""
    from importlib import import_module

    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"gemmlab.systolic.{PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(PUBLIC)
