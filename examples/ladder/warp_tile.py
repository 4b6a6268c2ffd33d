"""Warp tile: a warp owns a rectangle of C, its lanes read shared memory without conflicts, and two tiles take turns.

numba.cuda has neither 16-byte loads nor copies that go on while threads multiply. cuda/warp_tile.cu has both, and
loads the same elements in the same threads. Two places for a tile are what such copies need; here they spare a barrier.
"""

from numba import cuda, float32

BLOCK = 128  # rows and columns of C in a block
STEP = 16  # of k
OWN_M, OWN_N = 8, 16  # rows and columns of C that a thread owns
WARP_M, WARP_N = 8 * OWN_M, 4 * OWN_N  # those of a warp, whose lanes stand 8 x 4
ACROSS = BLOCK // WARP_N  # warps beside each other
WARPS = BLOCK // WARP_M * ACROSS
WIDTH = BLOCK + 4  # of A's transposed tile: 8 of k for 4 rows, as a warp stores them, then lie in 32 banks
PARTS = STEP // 8  # of k, by which the warps share A's tile
WIDE = 4  # consecutive floats of B that one thread fetches


@cuda.jit
def kernel(a, b, c):
    """C = A B, float32. A block is 32 * WARPS threads along x and computes BLOCK x BLOCK of C."""
    thread = cuda.threadIdx.x
    warp, lane = thread // 32, thread % 32
    top, left = cuda.blockIdx.y * BLOCK, cuda.blockIdx.x * BLOCK
    a_row, a_col = lane // 8 + 4 * (warp // PARTS), lane % 8 + 8 * (warp % PARTS)
    b_row, b_col = thread // (BLOCK // WIDE), thread % (BLOCK // WIDE) * WIDE
    # neighbours lie in one row, lanes two apart in one column
    lane_m, lane_n = lane // 2 % 2 + lane // 8 * 2, lane % 2 + lane // 4 % 2 * 2
    own_row, own_col = warp // ACROSS * WARP_M + lane_m * 4, warp % ACROSS * WARP_N + lane_n * 4
    a_tile = cuda.shared.array((2, STEP, WIDTH), float32)
    b_tile = cuda.shared.array((2, STEP, BLOCK), float32)
    totals = cuda.local.array((OWN_M, OWN_N), float32)
    column = cuda.local.array(OWN_M, float32)
    for i in range(OWN_M):
        for j in range(OWN_N):
            totals[i, j] = float32(0)
    for start in range(0, a.shape[1], STEP):
        place = start // STEP % 2
        for row in range(a_row, BLOCK, 4 * WARPS // PARTS):
            value = float32(0)
            if top + row < a.shape[0] and start + a_col < a.shape[1]:
                value = a[top + row, start + a_col]
            a_tile[place, a_col, row] = value
        for row in range(b_row, STEP, 32 * WARPS // (BLOCK // WIDE)):
            for i in range(WIDE):
                value = float32(0)
                if start + row < b.shape[0] and left + b_col + i < b.shape[1]:
                    value = b[start + row, left + b_col + i]
                b_tile[place, row, b_col + i] = value
        cuda.syncthreads()  # the only one: who is ahead fills the other place, which nobody reads any more
        for step in range(STEP):
            for i in range(OWN_M):
                column[i] = a_tile[place, step, own_row + i // 4 * 32 + i % 4]
            for j in range(OWN_N):
                right = b_tile[place, step, own_col + j // 4 * 16 + j % 4]
                for i in range(OWN_M):
                    totals[i, j] += column[i] * right
    for i in range(OWN_M):
        for j in range(OWN_N):
            row, col = top + own_row + i // 4 * 32 + i % 4, left + own_col + j // 4 * 16 + j % 4
            if row < c.shape[0] and col < c.shape[1]:
                c[row, col] = totals[i, j]
