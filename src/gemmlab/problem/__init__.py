"""Problems: one multiplication, structured and convolution variants, suites of shapes, and what they are read from."""

from typing import TYPE_CHECKING

from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape

if TYPE_CHECKING:
    from gemmlab.problem.convolution import Convolution
    from gemmlab.problem.sources import read_source
    from gemmlab.problem.suites import suite, suite_names
    from gemmlab.problem.table import read_table

__all__ = ["BlockScale", "Convolution", "Gemm", "Shape", "read_source", "read_table", "suite", "suite_names"]

LATER = {
    "Convolution": "gemmlab.problem.convolution",
    "read_source": "gemmlab.problem.sources",
    "read_table": "gemmlab.problem.table",
    "suite": "gemmlab.problem.suites",
    "suite_names": "gemmlab.problem.suites",
}


def __getattr__(name: str) -> object:
    """Convolutions, suites and sources load when asked for: one multiplication needs neither TOML nor CSV."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(LATER[name]), name)
