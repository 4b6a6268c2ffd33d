"""A kernel as data: its thread block, tiles, order of programs and accumulation."""

from __future__ import annotations

from typing import Any

import msgspec

FAMILIES = ("naive", "tiled", "register", "tensor")
RASTERS = ("m", "n")
WARP = 32  # threads of a warp, on every NVIDIA chip


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """One way to walk a GEMM: a program (thread block) computes block_m x block_n of D, block_k of k at a time.

    naive: a thread reads A's row and B's column from global memory for its one output.
    tiled: a program stages both tiles in shared memory; a thread still owns one output.
    register: a thread owns thread_m x thread_n outputs and reads their operands from shared memory.
    tensor: a warp owns warp_m x warp_n outputs and feeds mma_m x mma_n x mma_k instructions.

    A value of this class may be inconsistent; `checked` in kernels/checks.py says what is wrong with one.
    """

    name: str
    family: str
    block_m: int
    block_n: int
    block_k: int
    thread_m: int = 1  #: outputs of one thread, along m
    thread_n: int = 1
    warp_m: int = 0  #: outputs of one warp (tensor family); 0 elsewhere
    warp_n: int = 0
    mma: tuple[int, int, int] = (16, 8, 16)
    warps: int = 0  #: of one program
    vector_bytes: int = 0  #: widest global load of one thread, in bytes; 0: one element
    guards: bool = True  #: out-of-range elements are masked, not read
    stages: int = 1  #: tiles in flight in shared memory
    split_k: int = 1  #: programs that share one output tile, each a range of k
    raster: str = "n"  #: `n`: consecutive programs run along n (row-major), in groups of group_m rows
    group_m: int = 1
    cluster_m: int = 1  #: programs of a cluster that share B's tile by multicast
    cluster_n: int = 1
    persistent: bool = False
    registers: int = 0  #: of one thread; 0: estimated
    shared_bytes: int = 0  #: of one program; 0: stages * (A tile + B tile)
    tiles_from: str = "registers"  #: tensor family: `shared` (wgmma reads operands there) or `registers` (mma.sync)
    source: str = ""  #: `module:attr` of the program, resolved when needed

    @property
    def threads(self) -> int:
        """Threads of one program."""
        if self.family == "tensor":
            return self.warps * WARP
        return (self.block_m // self.thread_m) * (self.block_n // self.thread_n)

    def replace(self, **changes: Any) -> Kernel:
        """A copy with changes."""
        return msgspec.structs.replace(self, **changes)

    def __str__(self) -> str:
        """Family and tile, as --tile spells it."""
        return f"{self.name} {self.block_m}x{self.block_n}x{self.block_k}"
