"""Few vectors times a matrix, by threads: the kernels as data, and their launch."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import msgspec

from gemmlab.formats import bits_of
from gemmlab.kernels.nvrtc import kept
from gemmlab.peak.driver import Kernel, Launch
from gemmlab.peak.engine import FOLDER, OUTPUTS
from gemmlab.peak.shares import Workspace, workspace
from gemmlab.peak.stored import Stored
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

CHUNK_BYTES = 16  # of a lane's load
WARP = 32
STATIC_BYTES = 48 * 1024  # of shared memory that a kernel declares: CUDA C++ Programming Guide
HEADERS = ("vector.cuh", "shift.cuh")
#: KIND of vector.cuh
KINDS = {"bfloat16": 0, "float16": 1, "float8_e4m3fn": 2, "float8_e5m2": 3, "float32": 4}
PORTABLE_PARTS = 8  # blocks of a cluster that every Hopper chip holds
ALIKE, ANYWHERE, APART = 0, 1, 2  # X of gemv.cu: where the vectors' elements lie


class Vector(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled form of a kernel; raises GemmlabError for sizes that do not go together.

    The matrix W is B, or A where `swapped`; the vectors are the other operand.
    """

    format: str  #: of W
    x_format: str  #: of the vectors
    d_format: str
    along_k: bool = True  #: W's rows in memory run along k
    vectors: int = 1  #: that are multiplied at once
    rows: int = 1  #: of W that a lane takes, along k
    lanes: int = WARP  #: along a row of W in memory; the others of a warp take other rows
    warps: int = 4  #: of a block: each takes a share of k
    parts: int = 1  #: blocks that share k: their sums meet in global memory, of rows along n in one cluster
    deep: int = 2  #: loads of each row that a lane has in flight
    classes: int = 1  #: of W's rows, by where they lie in 16 bytes
    aligned: bool = True  #: all rows lie at multiples of 16 bytes
    edges: bool = False  #: k is not whole chunks of 16 bytes from there
    x: int = ALIKE  #: where the vectors' elements lie
    early: bool = False
    ahead: int = 0  #: bytes of each row (rows of each share of k, where rows run along n) on their way before the start
    swapped: bool = False

    def __post_init__(self) -> None:
        if self.aligned and self.classes > 1:
            raise GemmlabError(f"{self.classes} classes of aligned rows", "one")
        if not self.along_k and self.shares % self.classes:
            raise GemmlabError(f"{self.shares} shares of k for rows of {self.classes} classes", "a multiple of them")
        if self.shared_bytes > STATIC_BYTES:
            raise GemmlabError(
                f"{self.warps} warps need {self.shared_bytes} bytes a block", f"{STATIC_BYTES} are there"
            )

    @property
    def chunk(self) -> int:
        """Elements of W in 16 bytes."""
        return CHUNK_BYTES * 8 // bits_of(self.format)

    @property
    def tall(self) -> int:
        """Results of a block, for each vector."""
        if self.along_k:
            return self.rows * WARP // self.lanes
        return self.chunk * (self.lanes if self.aligned else self.lanes - 1)

    @property
    def shares(self) -> int:
        """Shares of k of a block whose rows run along n."""
        return self.warps * WARP // self.lanes

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: sums of its shares of k, and of its group's."""
        count = self.tall * self.vectors
        if self.along_k:
            return 4 * (self.warps * count + (max(self.warps * WARP, count) if self.parts > 1 else 0))
        return 4 * (self.shares * (self.chunk * self.lanes + WARP) + self.parts * count * (self.parts > 1))

    def groups(self, n: int) -> int:
        """Groups of blocks for n results of each vector; of one block each where they do not share k."""
        if not self.along_k:
            return ceil_div(n, self.tall)
        return ceil_div(n, self.tall * self.classes) * self.classes

    def blocks(self, n: int) -> int:
        """Blocks of a launch for n results of each vector."""
        return self.groups(n) * self.parts

    def text(self) -> tuple[str, dict[str, str]]:
        """The kernel's text with its macros before it, and the headers that it includes by name."""
        macros: dict[str, object] = {
            "KIND": KINDS[self.format],
            "X_KIND": KINDS[self.x_format],
            "VECTORS": self.vectors,
            "ROWS": self.rows,
            "LANES": self.lanes,
            "WARPS": self.warps,
            "PARTS": self.parts,
            "DEEP": self.deep,
            "CLASSES": self.classes,
            "ALIGNED": int(self.aligned),
            "EDGES": int(self.edges),
            "X": self.x,
            "OUT_BYTES": bits_of(self.d_format) // 8,
            "OUT_KIND": f'"{OUTPUTS[self.d_format]}"',
            "EARLY": int(self.early),
            "AHEAD": self.ahead,
        }
        head = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        name = "gemv.cu" if self.along_k else "gemv_columns.cu"
        headers = {each: (FOLDER / each).read_text(encoding="utf-8") for each in HEADERS}
        return head + (FOLDER / name).read_text(encoding="utf-8"), headers


@lru_cache(maxsize=256)
def vector_kernel(form: Vector, device: int) -> Kernel:
    """The compiled kernel on a device, whose context is current."""
    text, headers = form.text()
    wide = not form.along_k and form.parts > PORTABLE_PARTS
    return Kernel(kept(text, headers=headers), "gemv", wide_clusters=wide)


class Vectors(ctypes.Structure):
    """`Vectors` of vector.cuh."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("w", "x", "y")),
        *((name, ctypes.c_longlong) for name in ("n", "k", "w_step", "x_step", "x_row", "y_step", "y_row")),
        ("sums", ctypes.c_void_p),
        ("arrived", ctypes.c_void_p),
        ("scale", ctypes.c_float),
    )


def vector_workspace(form: Vector, a: Stored, b: Stored, torch: Any, device: int) -> Workspace:
    """What blocks that share k need in global memory: buffers, and the addresses of sums and of counters."""
    meeting = form.parts > 1 and form.along_k
    groups = form.groups(sides_of(a if form.swapped else b)[0]) if meeting else 0
    return workspace(groups * form.parts * form.tall * form.vectors, groups, torch, device)


def sides_of(w: Stored) -> tuple[int, int]:
    """Results of each vector, and k."""
    return (w.rows, w.columns) if w.along_k else (w.columns, w.rows)


def vector_launch(
    form: Vector, a: Stored, b: Stored, d: Stored, device: int, workspace: tuple[int, int] = (0, 0), scale: float = 1.0
) -> Launch:
    """D = scale * A B, the few rows of A or columns of B being the vectors; D's rows run along n.

    `workspace` is the addresses of `vector_workspace`.
    """
    w, x = (a, b) if form.swapped else (b, a)
    n, k = sides_of(w)
    x_steps = (1, x.ld) if x.along_k else (x.ld, 1)
    y_steps = (d.ld, 1) if form.swapped else (1, d.ld)
    given = Vectors(
        w.address,
        x.address,
        d.address,
        n,
        k,
        w.ld * w.element_bytes,
        *(step * x.element_bytes for step in x_steps),
        *(step * d.element_bytes for step in y_steps),
        *workspace,
        scale,
    )
    return vector_kernel(form, device).prepare((form.blocks(n),), WARP * form.warps, (given,), early=form.early)
