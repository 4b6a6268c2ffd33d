"""Kernels as data: the ladder from naive to the peak, its tiles, the order of programs, and what one program takes."""

from gemmlab.kernels.catalogue import KERNELS, default_for, get, names
from gemmlab.kernels.checks import checked
from gemmlab.kernels.kernel import FAMILIES, RASTERS, WARP, Kernel
from gemmlab.kernels.raster import program_tile, program_tiles, tiles
from gemmlab.kernels.resources import (
    accumulators,
    registers_needed,
    registers_of,
    section,
    shared_bytes_of,
    stage_bytes,
)
from gemmlab.kernels.tile import parse_tile

__all__ = [
    "FAMILIES",
    "KERNELS",
    "RASTERS",
    "WARP",
    "Kernel",
    "accumulators",
    "checked",
    "default_for",
    "get",
    "names",
    "parse_tile",
    "program_tile",
    "program_tiles",
    "registers_needed",
    "registers_of",
    "section",
    "shared_bytes_of",
    "stage_bytes",
    "tiles",
]
