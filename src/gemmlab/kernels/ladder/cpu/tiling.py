"""The sizes that a packed multiplication is cut to, from the widths of registers and the sizes of caches."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gemmlab.chips.machine import Machine, cache_bytes, describe
from gemmlab.units import ceil_div, round_up

SYSTEM = "sys/devices/system/cpu"
UNROLL = 4  #: steps of k that a pass of the micro-kernel's loop takes; panels are padded to it with zeros
#: bytes of a vector -> rows of C, and vectors of a row, that registers hold beside one row of B and an element of A
SHAPES = {64: (14, 2), 32: (6, 2), 16: (6, 2)}
#: bytes, where the system tells none
L1, L2, L3 = 32 << 10, 512 << 10, 8 << 20
BLOCK_SIDE = 128  #: of a tile of `blocks`: three of float32 are 192 KiB, less than an L2
AMX_SIDE = 32  #: rows and columns of C in a block of `amx`, and k of one step
AMX_L2 = 2 << 20  #: bytes, of every core with AMX so far


@dataclass(frozen=True, slots=True)
class Tiling:
    """How one core walks C = A B, in elements, by the names of BLIS.

    Source: Van Zee and van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality", 2015; sizes by
    the argument of Low et al., "Analytical modeling is enough for high-performance BLIS", 2016.
    """

    mr: int  #: rows of C in registers
    nr: int  #: columns of C in registers
    mc: int  #: rows of A's packed block, which stays in L2
    kc: int  #: of k in one packed block; panels of mr and nr by kc stay in L1
    nc: int  #: columns of B's packed panel, which stays in L3
    lanes: int  #: elements of a vector

    def fitted(self, m: int, n: int, k: int) -> Tiling:
        """The same with blocks of a problem all about as large: no sliver is left to do at the end."""
        return replace(
            self,
            mc=even(m, self.mc, self.mr),
            kc=even(k, self.kc, UNROLL),
            nc=even(n, self.nc, self.nr),
        )


def even(size: int, limit: int, step: int) -> int:
    """The least multiple of `step` that covers `size` in as few parts as `limit` does."""
    return round_up(ceil_div(size, ceil_div(size, limit)), step)


def tiling(itemsize: int, threads: int = 1, machine: Machine | None = None, l1_bytes: int = 0) -> Tiling:
    """The tiling for elements of `itemsize` bytes on the machine at hand, or on one described.

    Both panels of a micro-kernel together fit L1, half of L2 holds A's block, half of a thread's L3 B's panel.
    """
    found = machine or describe()
    width = vector_bytes(found)
    lanes = width // itemsize
    mr, vectors = SHAPES[width]
    nr = vectors * lanes
    l1 = l1_bytes or cache_bytes(f"/{SYSTEM}", [0], 1) or L1
    l2 = found.l2_bytes // max(1, found.cores) or L2
    l3 = found.l3_bytes // max(1, threads) or L3
    kc = max(64, l1 // ((mr + nr) * itemsize) // 64 * 64)
    mc = max(1, l2 // 2 // (kc * itemsize) // mr) * mr
    nc = max(1, min(l3 // 2 // (kc * itemsize), 4096) // nr) * nr
    return Tiling(mr, nr, mc, kc, nc, lanes)


def amx_tiling(machine: Machine | None = None, l1_bytes: int = 0) -> Tiling:
    """Two thirds of L1 hold B's panel of kc; three quarters of L2 hold blocks of A and B, and mc x nc sums."""
    found = machine or describe()
    l1 = l1_bytes or cache_bytes(f"/{SYSTEM}", [0], 1) or L1
    l2 = found.l2_bytes // max(1, found.cores) or AMX_L2
    kc = max(AMX_SIDE, l1 * 2 // 3 // (2 * AMX_SIDE) // AMX_SIDE * AMX_SIDE)
    # side: 4 side**2 + 2 * 2 kc side bytes are to fit
    side = max(AMX_SIDE, int((-kc + math.sqrt(kc * kc + l2 * 3 / 4)) / 2) // AMX_SIDE * AMX_SIDE)
    return Tiling(AMX_SIDE, AMX_SIDE, side, kc, side, 16)


def vector_bytes(machine: Machine) -> int:
    """Bytes of the widest vector whose multiply-add the processor has, as far as its flags tell."""
    if "avx512f" in machine.flags:
        return 64
    return 32 if machine.flags & {"fma", "avx2"} == {"fma", "avx2"} else 16
