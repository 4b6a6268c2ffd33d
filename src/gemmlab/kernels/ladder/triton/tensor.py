"""First tensor-core kernel: the tile is a value, tl.dot multiplies two of them, and Triton places every thread.

Programs run through C in groups of GROUP rows of tiles, so that those at work together share tiles of A and B in the L2
cache. Source of the order: Triton's tutorial 03.
"""

import triton
import triton.language as tl

#: tile (m, n, k), rows of tiles in a group, and how Triton compiles it
SIZES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP": 8}
OPTIONS = {"num_warps": 8, "num_stages": 3}


@triton.jit
def kernel(
    a,
    b,
    c,
    m,
    n,
    k,
    a_row,
    a_col,
    b_row,
    b_col,
    c_row,
    BLOCK_M: tl.constexpr,  # noqa: N803
    BLOCK_N: tl.constexpr,  # noqa: N803
    BLOCK_K: tl.constexpr,  # noqa: N803
    GROUP: tl.constexpr,  # noqa: N803
):
    """C = A B; the arguments behind k are strides in elements. One program a tile of C."""
    program = tl.program_id(0)
    down, across = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    first = program // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    tile_m = first + program % (GROUP * across) % height
    tile_n = program % (GROUP * across) // height
    # the tile's place moves on, and places within it stay: as whole addresses that move, those of rows that 16-byte
    # loads cannot take are more than the registers of a thread hold
    rows, columns = tl.arange(0, BLOCK_M).to(tl.int64), tl.arange(0, BLOCK_N).to(tl.int64)
    steps = tl.arange(0, BLOCK_K).to(tl.int64)
    top, below = tl.cast(tile_m * BLOCK_M, tl.int64), m - tile_m * BLOCK_M
    start, beyond = tl.cast(tile_n * BLOCK_N, tl.int64), n - tile_n * BLOCK_N
    a_in = rows[:, None] * a_row + steps[None, :] * a_col
    b_in = steps[:, None] * b_row + columns[None, :] * b_col
    a += top * a_row
    b += start * b_col
    onward = tl.full((), BLOCK_K, tl.int64)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        left = k - step * BLOCK_K
        a_tile = tl.load(a + a_in, mask=(rows[:, None] < below) & (steps[None, :] < left), other=0.0)
        b_tile = tl.load(b + b_in, mask=(steps[:, None] < left) & (columns[None, :] < beyond), other=0.0)
        total = tl.dot(a_tile, b_tile, total)
        a += onward * a_col
        b += onward * b_row
    c_at = c + top * c_row + start + rows[:, None] * c_row + columns[None, :]
    tl.store(c_at, total.to(c.dtype.element_ty), mask=(rows[:, None] < below) & (columns[None, :] < beyond))
