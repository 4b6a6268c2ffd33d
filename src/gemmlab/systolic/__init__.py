"""Systolic arrays, cycle by cycle: a closed form, a tile engine and a grid of registers that agree with each other."""

from typing import Any

#: public name -> module that has it; loaded when first asked for, since the grid needs numpy and numba
PUBLIC = {
    "Array": "array",
    "DATAFLOWS": "dataflow",
    "TileTimes": "engine",
    "closed_form": "closed",
    "tile_engine": "engine",
    "timeline": "engine",
}

__all__ = [*PUBLIC]  # noqa: PLE0604 - the table above is the one list


def __getattr__(name: str) -> Any:
    """The public name out of its module."""
    from importlib import import_module

    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"gemmlab.systolic.{PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(PUBLIC)
