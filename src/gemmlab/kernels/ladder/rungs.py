"""The rungs as data: where the program stands, how it is launched, what it shows, and which kernel counts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Sizes = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Rung:
    """One kernel C = A B of float32 arrays, for any shape."""

    name: str
    source: str  #: `module:attr`, the module within this folder
    idea: str
    block: Sizes  #: threads along x, y, z
    tile: tuple[int, int]  #: rows and columns of C that a block computes
    parts: int = 1  #: blocks along z that share a tile of C, which must then hold zeros
    rows_along_x: bool = False
    counted_by: str = ""  #: the catalogue's kernel with the same loads; empty: none
    settings: dict[str, Any] = field(default_factory=dict)  #: of that kernel

    def launch(self, m: int, n: int) -> tuple[Sizes, Sizes]:
        """Grid and block for an m x n result, each along x, y, z."""
        down, across = -(-m // self.tile[0]), -(-n // self.tile[1])
        return (down, across, self.parts) if self.rows_along_x else (across, down, self.parts), self.block


@dataclass(frozen=True, slots=True)
class Twin:
    """A broken twin of a rung, launched as that is; `fault` is the kind that an emulation names.

    Kinds are those of `gemmlab.emulator`; `bank_conflicts` is a fault that only the counts show.
    """

    name: str
    source: str
    rung: str
    fault: str
    shows: str = ""  #: where the fault shows, if not at every shape


RUNGS: dict[str, Rung] = {
    rung.name: rung
    for rung in (
        Rung(
            "uncoalesced",
            "uncoalesced:kernel",
            "x runs down a column of C: a warp touches 16 rows at once",
            (16, 16, 1),
            (16, 16),
            rows_along_x=True,
            counted_by="naive",
        ),
        Rung(
            "naive",
            "naive:kernel",
            "x runs along a row of C: neighbours read neighbours",
            (16, 16, 1),
            (16, 16),
            counted_by="naive",
        ),
        Rung(
            "coalesced",
            "coalesced:kernel",
            "a warp stays in one row: whole lines of B, one element of A",
            (256, 1, 1),
            (8, 32),
            counted_by="naive",
            settings={"tile": (8, 32, 1)},
        ),
        Rung(
            "tiled",
            "tiled:kernel",
            "tiles in shared memory: each element fetched once a block",
            (16, 16, 1),
            (16, 16),
            counted_by="tiled",
        ),
        Rung(
            "padded",
            "padded:kernel",
            "one unused column keeps a transposing store out of bank conflicts",
            (32, 32, 1),
            (32, 32),
            counted_by="tiled",
            settings={"tile": (32, 32, 32)},
        ),
        Rung(
            "register_1d",
            "register_1d:kernel",
            "a thread owns 8 outputs of a column",
            (64, 8, 1),
            (64, 64),
            counted_by="register",
            settings={"tile": (64, 64, 8), "thread_m": 8, "thread_n": 1},
        ),
        Rung(
            "register_2d",
            "register_2d:kernel",
            "a thread owns 8 x 8 outputs",
            (16, 16, 1),
            (128, 128),
            counted_by="register",
        ),
        Rung(
            "vectorised",
            "vectorised:kernel",
            "a thread fetches 4 consecutive floats, A's tile lies transposed",
            (16, 16, 1),
            (128, 128),
            counted_by="register",
        ),
        Rung(
            "warp_tile",
            "warp_tile:kernel",
            "a warp owns a rectangle, its lanes read without conflicts; two tiles take turns",
            (128, 1, 1),
            (128, 128),
            counted_by="register",
            settings={"tile": (128, 128, 16), "thread_m": 8, "thread_n": 16},
        ),
        Rung(
            "split_k",
            "split_k:kernel",
            "blocks share k, atomics join their sums",
            (16, 16, 1),
            (16, 16),
            parts=4,
            counted_by="tiled",
            settings={"split_k": 4},
        ),
    )
}

#: a rung's program with another tile: told beside it, no step of its own
SIZES: dict[str, Rung] = {
    rung.name: rung
    for rung in (
        Rung(
            "tiled_8",
            "tiled:kernel_8",
            "tiles of half the side: each element fetched twice as often",
            (8, 8, 1),
            (8, 8),
            counted_by="tiled",
            settings={"tile": (8, 8, 8)},
        ),
    )
}

BROKEN: dict[str, Twin] = {
    twin.name: twin
    for twin in (
        Twin("tiled_without_first_barrier", "broken:tiled_without_first_barrier", "tiled", "shared_race"),
        Twin(
            "tiled_without_second_barrier",
            "broken:tiled_without_second_barrier",
            "tiled",
            "shared_race",
            "k of two tiles or more",
        ),
        Twin(
            "tiled_with_early_return",
            "broken:tiled_with_early_return",
            "tiled",
            "barrier_divergence",
            "m or n no multiple of 16",
        ),
        Twin("unpadded", "padded:unpadded", "padded", "bank_conflicts"),
        Twin("naive_without_guard", "broken:naive_without_guard", "naive", "out_of_bounds", "m or n no multiple of 16"),
        Twin(
            "naive_with_wrong_guard",
            "broken:naive_with_wrong_guard",
            "naive",
            "out_of_bounds",
            "m or n no multiple of 16",
        ),
        Twin("register_1d_with_small_tile", "broken:register_1d_with_small_tile", "register_1d", "out_of_bounds"),
        Twin("split_k_with_plain_adds", "broken:split_k_with_plain_adds", "split_k", "block_race", "k past one tile"),
    )
}


def load(source: str) -> Any:
    """The kernel of a rung's or twin's `source`; this is what imports numba."""
    module, _, name = source.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
