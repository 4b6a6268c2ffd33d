"""The order of programs: which output tile, and which range of k, a program id computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gemmlab.kernels.kernel import Kernel
from gemmlab.units import ceil_div

if TYPE_CHECKING:
    import numpy as np

    Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


def tiles(m: int, n: int, kernel: Kernel) -> tuple[int, int]:
    """Rows and columns of output tiles."""
    return ceil_div(m, kernel.block_m), ceil_div(n, kernel.block_n)


def program_tile(program: int, down: int, across: int, kernel: Kernel) -> tuple[int, int, int]:
    """(tile_m, tile_n, split) of a program id, for `down` rows and `across` columns of output tiles.

    Raster `n` with group_m 1 is row-major. With group_m above 1 it is the order of Triton's matrix multiplication
    tutorial: groups of group_m rows of tiles (the last may have fewer), ids run down a group's rows, then to the next
    column. Raster `m` is the same with m and n exchanged: column-major, or groups of group_m columns. All tiles of one
    range of k come before those of the next.
    """
    split, tile = divmod(program, down * across)
    along_m = kernel.raster == "m"
    outer, inner = (across, down) if along_m else (down, across)
    group, within = divmod(tile, kernel.group_m * inner)
    first = group * kernel.group_m
    height = min(outer - first, kernel.group_m)
    major, minor = first + within % height, within // height
    return (minor, major, split) if along_m else (major, minor, split)


def program_tiles(programs: Ids, down: int, across: int, kernel: Kernel) -> tuple[Ids, Ids, Ids]:
    """`program_tile` of an array of program ids: arrays tile_m, tile_n, split."""
    import numpy as np

    split, tile = np.divmod(programs, down * across)
    along_m = kernel.raster == "m"
    outer, inner = (across, down) if along_m else (down, across)
    group, within = np.divmod(tile, kernel.group_m * inner)
    first = group * kernel.group_m
    height = np.minimum(outer - first, kernel.group_m)
    major, minor = first + within % height, within // height
    return (minor, major, split) if along_m else (major, minor, split)
