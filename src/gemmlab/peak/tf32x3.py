"""float32 by three or six tfloat32 products, from operands as they lie: the kernel as data, and its launch."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import msgspec

from gemmlab.kernels.nvrtc import kept
from gemmlab.peak.driver import Kernel, Launch
from gemmlab.peak.engine import FOLDER, SHARED_BYTES
from gemmlab.peak.stored import Stored
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

HEADERS = (
    *("order.cuh", "refused.cuh", "transport.cuh", "tf32x3_parts.cuh"),
    *("tf32x3_mma.cuh", "tf32x3_results.cuh", "tf32x3_wgmma.cuh"),
)
NOTE_BYTES = 1024  # a number that one thread of a program tells the others; the ring begins at a multiple of it
MOST_THREADS = 1024  # of a block: CUDA C++ Programming Guide, technical specifications


class Tf32x3(msgspec.Struct, frozen=True, kw_only=True):
    """One compiled form of the kernel; raises GemmlabError for sizes that Hopper cannot hold, or the kernel cannot."""

    block_m: int = 128  #: rows of the sums in a program's tile, 32 or 64 for each warp
    block_n: int = 128  #: columns, 8, 16, 32 or 64 for each warp
    block_k: int = 32  #: k of a stage, a multiple of 32
    warps_m: int = 2
    warps_n: int = 4
    warps_k: int = 1  #: warps that take turns at 16 k of a stage
    warpgroups: bool = False  #: multiplies by wgmma, 64 rows of four warps at once; else by mma.sync
    exact: bool = False  #: six products, so that each of two float32 is as exact as one rounding
    stages: int = 4
    a_sides: bool = False  #: rows in memory of the operand of the sums' rows run along them; else along k
    b_sides: bool = False
    a_wide: bool = True  #: its base and rows lie at multiples of 16 bytes
    b_wide: bool = True
    swapped: bool = False  #: computes D's transpose and writes D
    parts: int = 1  #: programs of one cluster that share k
    groups: int = 1  #: clusters that share k; their sums meet in global memory
    early: bool = False  #: starts before the kernel in front of it has ended
    batched: bool = False  #: several multiplications of the same sides

    def __post_init__(self) -> None:
        if self.warpgroups and (self.block_m != 16 * self.warps_m or self.warps_m % 4 or self.block_k != 32):
            raise GemmlabError(
                f"warpgroups of {self.warps_m} warps for {self.block_m} rows, block_k={self.block_k}",
                "four warps each, 16 rows a warp, block_k 32",
            )
        if self.warpgroups and (self.warps_n * self.warps_k > 1 or self.block_n % 8 or not 8 <= self.block_n <= 128):
            raise GemmlabError(f"block_n={self.block_n} of warpgroups", "a multiple of 8 up to 128, of all warps")
        if not self.warpgroups and self.block_m not in (32 * self.warps_m, 64 * self.warps_m):
            raise GemmlabError(f"block_m={self.block_m} for {self.warps_m} warps", "32 or 64 rows each")
        if not self.warpgroups and self.block_n not in tuple(width * self.warps_n for width in (8, 16, 32, 64)):
            raise GemmlabError(f"block_n={self.block_n} for {self.warps_n} warps", "8, 16, 32 or 64 columns each")
        if self.block_k % 32 or self.block_k % (16 * self.warps_k):
            raise GemmlabError(f"block_k={self.block_k} for {self.warps_k} warps", "a multiple of 32, 16 for each")
        if self.exact and self.warpgroups:
            raise GemmlabError("six products by warpgroups", "by mma.sync alone")
        if self.stages < 2:
            raise GemmlabError(f"stages={self.stages}", "2 or more: one is read while others are filled")
        if self.threads > MOST_THREADS:
            raise GemmlabError(f"{self.threads} threads a program", f"at most {MOST_THREADS}")
        if self.shared_bytes + NOTE_BYTES * (self.groups > 1) > SHARED_BYTES:
            raise GemmlabError(
                f"{self.stages} stages of {self.block_m}x{self.block_n} need {self.shared_bytes} bytes a program",
                f"{SHARED_BYTES} are there",
            )

    @property
    def threads(self) -> int:
        """Of a program."""
        return 32 * self.warps_m * self.warps_n * self.warps_k

    @property
    def stage_bytes(self) -> int:
        """Shared memory of one stage; lines along n are 32 elements or more."""
        b = self.block_k * max(self.block_n, 32) if self.b_sides else self.block_n * self.block_k
        return 4 * (self.block_m * self.block_k + b)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a program: the ring and two of B's parts, or the warps' sums in their place."""
        rows, columns = (self.block_n, self.block_m) if self.swapped else (self.block_m, self.block_n)
        parts = 2 * 2 * 4 * self.block_n * self.block_k if self.warpgroups else 0
        return max(self.stages * self.stage_bytes + parts, 4 * self.warps_k * rows * (columns + 4))

    @property
    def fresh_k(self) -> int:
        """How many k add up in the tensor core before they leave it."""
        return 32 if self.warpgroups else 16

    @property
    def shares(self) -> int:
        """Programs that share k of one tile."""
        return self.parts * self.groups

    def tiles(self, m: int, n: int, batch: int = 1) -> int:
        """Tiles of all D (m, n) of a batch."""
        rows, columns = (n, m) if self.swapped else (m, n)
        return batch * ceil_div(rows, self.block_m) * ceil_div(columns, self.block_n)

    def instruction(self) -> str:
        """The function `wgmma`: a warpgroup's rows of A from registers, at two k of each 16; a step of 8 k."""
        count = self.block_n // 2
        sums = ", ".join(f"%{at}" for at in range(count))
        a = ", ".join(f"%{count + at}" for at in range(4))
        outputs = ", ".join(f'"+f"(sums[{at}])' for at in range(count))
        inputs = ", ".join(f'"r"(__float_as_uint(a[{row}][2 * half + {k}]))' for k in (0, 1) for row in (0, 1))
        name = f"wgmma.mma_async.sync.aligned.m64n{self.block_n}k8.f32.tf32.tf32"
        return (
            f"DEVICE void wgmma(float (&sums)[{count}], const float (&a)[2][4], int half, u64 b, int add) {{\n"
            f'  asm volatile("{{\\n.reg .pred add;\\nsetp.ne.b32 add, %{count + 5}, 0;\\n'
            f"{name} {{{sums}}}, {{{a}}}, %{count + 4}, add, 1, 1;"
            f'\\n}}"\n               : {outputs}\n               : {inputs}, "l"(b), "r"(add));\n}}\n'
        )

    def text(self) -> tuple[str, dict[str, str]]:
        """The kernel's text with its macros before it, and the headers that it includes by name."""
        macros = {name.upper(): int(getattr(self, name)) for name in self.__struct_fields__}
        head = "".join(f"#define {name} {value}\n" for name, value in macros.items())
        headers = {name: (FOLDER / name).read_text(encoding="utf-8") for name in HEADERS}
        headers["tf32x3_wgmma.cuh"] = headers["tf32x3_wgmma.cuh"].replace("WGMMA_TEXT\n", self.instruction())
        return head + (FOLDER / "tf32x3.cu").read_text(encoding="utf-8"), headers


#: of results that two float16 cannot say: few numbers may be most of such a result, so that no product may be cut. One
#: form for all sides and no shares of k: a result depends on its row and its column alone
OTHERWISE = Tf32x3(block_m=64, block_k=64, stages=3, exact=True, early=True)


class Operand(ctypes.Structure):
    """`Operand` of tf32x3.cu."""

    _fields_ = (("at", ctypes.c_void_p), ("ld", ctypes.c_longlong))


class Problem(ctypes.Structure):
    """`Problem` of tf32x3.cu."""

    _fields_ = (
        ("rows", ctypes.c_int),
        ("columns", ctypes.c_int),
        ("k", ctypes.c_int),
        ("group_m", ctypes.c_int),
        ("a", Operand),
        ("b", Operand),
        ("d", ctypes.c_void_p),
        ("ldd", ctypes.c_longlong),
        ("refused", ctypes.c_void_p),
        ("refused_rows", ctypes.c_int),
        ("shares", ctypes.c_void_p),
        ("arrived", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in ("a_step", "b_step", "d_step")),
    )


def tf32x3_code(form: Tf32x3) -> bytes:
    """Machine code of a form."""
    text, headers = form.text()
    return kept(text, headers=headers)


@lru_cache(maxsize=256)
def tf32x3_kernel(form: Tf32x3, device: int) -> Kernel:
    """The compiled kernel on a device, whose context is current."""
    return Kernel(tf32x3_code(form), "tf32x3", form.shared_bytes, wide_clusters=form.parts > 8)


def tf32x3_launch(
    form: Tf32x3,
    a: Stored,
    b: Stored,
    d: Stored,
    sides: tuple[int, int, int],
    device: int,
    *,
    group_m: int = 8,
    programs: int,
    refused: tuple[int, int] = (0, 0),
    workspace: tuple[int, int] = (0, 0),
) -> Launch:
    """The launch that multiplies A (m, k) by B (k, n) into D's rows, or those of a batch; `sides` are m, n, k.

    A form of one share walks over its tiles with at most `programs`. `refused` is an address and a number of bytes, one
    for each of D's rows and then of its columns: where it is given, only results that have one that is not zero are
    written. `workspace` are the addresses of `workspace_of`.
    """
    m, n, k = sides
    left, right = (b, a) if form.swapped else (a, b)
    rows, columns = (n, m) if form.swapped else (m, n)
    operands = [Operand(each.address, each.ld) for each in (left, right)]
    steps = (left.step, right.step, d.step)
    problem = Problem(rows, columns, k, group_m, *operands, d.address, d.ld, *refused, *workspace, *steps)
    tiles = form.tiles(m, n)
    grid = (tiles * form.shares if form.shares > 1 or form.batched else min(tiles, programs), d.batch)
    return tf32x3_kernel(form, device).prepare(grid, form.threads, (problem,), early=form.early)
