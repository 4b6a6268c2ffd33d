"""The kernels in CUDA C++ as data: file, sizes, launch; nothing here compiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Sizes = tuple[int, int, int]

#: sizes of `warp_tile` that were timed on an H200, by name; the rung itself has the first
WARP_TILES: dict[str, dict[str, int]] = {
    "128x128x16": {"BM": 128, "BN": 128, "BK": 16, "TM": 8, "TN": 16, "STAGES": 3, "BLOCKS": 2},
    "128x128x8": {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 16, "STAGES": 4, "BLOCKS": 2},
    "128x256x16": {"BM": 128, "BN": 256, "BK": 16, "TM": 8, "TN": 16, "STAGES": 3, "BLOCKS": 1},
    "128x256x8": {"BM": 128, "BN": 256, "BK": 8, "TM": 8, "TN": 16, "STAGES": 4, "BLOCKS": 1},
    "256x128x8": {"BM": 256, "BN": 128, "BK": 8, "TM": 16, "TN": 8, "STAGES": 4, "BLOCKS": 1},
    "128x128x16 of 8x8": {"BM": 128, "BN": 128, "BK": 16, "TM": 8, "TN": 8, "STAGES": 3, "BLOCKS": 2},
}


@dataclass(frozen=True, slots=True)
class Text:
    """One kernel `kernel(a, b, c, m, n, k, lda, ldb, ldc)` of float32 matrices in row-major order, for any shape.

    The macro WIDE is 4 where every row of A, B and C begins at a multiple of 16 bytes, and 1 elsewhere.
    """

    name: str
    file: str  #: within this folder
    tile: tuple[int, int]  #: rows and columns of C that a block computes
    block: Sizes  #: threads along x, y, z
    sizes: Mapping[str, int] = field(default_factory=dict)  #: macros

    @property
    def dynamic_shared_bytes(self) -> int:
        """Shared memory that the launch asks for."""
        s = self.sizes
        return 4 * s["STAGES"] * s["BK"] * (s["BM"] + 4 + s["BN"]) if s else 0

    def source(self, wide: int) -> str:
        """The text that is compiled, its macros before it."""
        macros = {**self.sizes, "WIDE": wide}
        head = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        return head + (Path(__file__).parent / self.file).read_text(encoding="utf-8")

    def grid(self, m: int, n: int) -> Sizes:
        """Blocks along x, y, z for an m x n result."""
        return -(-n // self.tile[1]), -(-m // self.tile[0]), 1


def warp_tile(sizes: Mapping[str, int]) -> Text:
    """The warp tile with other sizes."""
    threads = 32 * (sizes["BM"] // (8 * sizes["TM"])) * (sizes["BN"] // (4 * sizes["TN"]))
    return Text("warp_tile", "warp_tile.cu", (sizes["BM"], sizes["BN"]), (threads, 1, 1), sizes)


TEXTS: dict[str, Text] = {
    "vectorised": Text("vectorised", "vectorised.cu", (128, 128), (16, 16, 1)),
    "warp_tile": warp_tile(next(iter(WARP_TILES.values()))),
}
