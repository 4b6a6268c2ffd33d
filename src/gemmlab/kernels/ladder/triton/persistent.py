"""Persistent: as many programs as the chip has SMs walk through all tiles, and the copy engine fetches them (TMA).

A tensor descriptor says once what A, B and C are; a fetch is then one instruction of one thread, which also fills with
zeros what lies outside. `flatten` makes one loop of tiles and k, so that a tile's first fetches go out while the last
one is still multiplied and stored.
"""

import triton
import triton.language as tl

SIZES = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP": 8, "PARTS": 2}
OPTIONS = {"num_warps": 8, "num_stages": 3}


@triton.jit
def kernel(
    a,
    b,
    c,
    m,
    n,
    k,
    PROGRAMS: tl.constexpr,  # noqa: N803
    TURNED: tl.constexpr,  # noqa: N803
    BLOCK_M: tl.constexpr,  # noqa: N803
    BLOCK_N: tl.constexpr,  # noqa: N803
    BLOCK_K: tl.constexpr,  # noqa: N803
    GROUP: tl.constexpr,  # noqa: N803
    PARTS: tl.constexpr,  # noqa: N803
):
    """C = A B from tensor descriptors, B stored (n, k) where TURNED; a tile of C is stored in PARTS, 1 or 2."""
    down, across, steps = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N), tl.cdiv(k, BLOCK_K)
    for tile in tl.range(tl.program_id(0), down * across, PROGRAMS, flatten=True):
        first = tile // (GROUP * across) * GROUP
        height = min(down - first, GROUP)
        row = (first + tile % (GROUP * across) % height) * BLOCK_M
        column = tile % (GROUP * across) // height * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(steps):
            a_tile = a.load([row, step * BLOCK_K])
            if TURNED:  # noqa: SIM108
                b_tile = b.load([column, step * BLOCK_K]).T
            else:
                b_tile = b.load([step * BLOCK_K, column])
            total = tl.dot(a_tile, b_tile, total)
        if PARTS == 2:  # half the shared memory for C, so that more stages of A and B fit beside it
            halves = tl.permute(tl.reshape(total, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1))
            left, right = tl.split(halves)
            c.store([row, column], left.to(c.dtype))
            c.store([row, column + BLOCK_N // 2], right.to(c.dtype))
        else:
            c.store([row, column], total.to(c.dtype))
