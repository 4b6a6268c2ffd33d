"""The kernels in WGSL as data: file, tile, dispatch; nothing here compiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parent
OPERANDS = "operands.wgsl"  #: before the text of each rung
TYPES = {"float32": "f32", "float16": "f16"}  #: WGSL's names of formats


@dataclass(frozen=True, slots=True)
class Text:
    """One kernel C = A B: a rung, for any shape, stride and tile width, or one's own file.

    A rung's workgroup is as many invocations as its tile has outputs. A file of one's own says itself how many it has.
    """

    name: str
    file: str  #: within this folder, or the path of one's own
    tile: tuple[int, int]  #: rows and columns of C that a workgroup computes
    staged: int = 0  #: tiles in the workgroup's memory
    entry: str = "kernel"
    rung: bool = True  #: False: one's own, which stands alone

    @property
    def workgroup_bytes(self) -> int:
        """Memory of a workgroup, as far as it is known."""
        return 4 * self.staged * self.tile[0] * self.tile[1]

    @property
    def invocations(self) -> int:
        """Invocations of a workgroup; 0 for one's own."""
        return self.tile[0] * self.tile[1] if self.rung else 0

    def source(self, operand: str, result: str) -> str:
        """The text that is compiled, for operands and a result of these formats."""
        if not self.rung:
            return Path(self.file).read_text(encoding="utf-8")
        half = "enable f16;\n" if "float16" in (operand, result) else ""
        types = f"alias In = {TYPES[operand]};\nalias Out = {TYPES[result]};\n"
        return half + types + "".join((FOLDER / name).read_text(encoding="utf-8") for name in (OPERANDS, self.file))

    def constants(self, *, counted: bool = False) -> dict[str, int]:
        """The values of a rung's override constants."""
        return {"TILE": self.tile[0], "COUNTED": int(counted)} if self.rung else {}

    def grid(self, m: int, n: int) -> tuple[int, int]:
        """Workgroups along x, which runs along n, and along y."""
        return -(-n // self.tile[1]), -(-m // self.tile[0])

    def with_tile(self, width: int) -> Text:
        """The same rung in tiles of another width."""
        return replace(self, tile=(width, width))


TEXTS: dict[str, Text] = {
    "naive": Text("naive", "naive.wgsl", (16, 16)),
    "tiled": Text("tiled", "tiled.wgsl", (16, 16), staged=2),
}
