"""Vectorised: a thread fetches four consecutive floats, and A's tile lies transposed so that a thread reads it in rows.

numba.cuda has no 16-byte load: the four loads stand one by one here, where CUDA C++ has one of a float4.
"""

from numba import cuda, float32

BLOCK = 128  # rows and columns of C in a block
STEP = 8  # of k
OWN = 8  # rows and columns of C that a thread owns
SIDE = BLOCK // OWN  # threads of a block along x and along y
WIDE = 4  # consecutive floats of one thread


@cuda.jit
def kernel(a, b, c):
    """C = A B, float32. A block is SIDE x SIDE threads and computes BLOCK x BLOCK of C."""
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    thread = y * SIDE + x
    top, left = cuda.blockIdx.y * BLOCK, cuda.blockIdx.x * BLOCK
    a_row, a_col = thread // (STEP // WIDE), thread % (STEP // WIDE) * WIDE
    b_row, b_col = thread // (BLOCK // WIDE), thread % (BLOCK // WIDE) * WIDE
    a_tile = cuda.shared.array((STEP, BLOCK), float32)
    b_tile = cuda.shared.array((STEP, BLOCK), float32)
    totals = cuda.local.array((OWN, OWN), float32)
    column = cuda.local.array(OWN, float32)
    for i in range(OWN):
        for j in range(OWN):
            totals[i, j] = float32(0)
    for start in range(0, a.shape[1], STEP):
        for i in range(WIDE):
            value = float32(0)
            if top + a_row < a.shape[0] and start + a_col + i < a.shape[1]:
                value = a[top + a_row, start + a_col + i]
            a_tile[a_col + i, a_row] = value
        for i in range(WIDE):
            value = float32(0)
            if start + b_row < b.shape[0] and left + b_col + i < b.shape[1]:
                value = b[start + b_row, left + b_col + i]
            b_tile[b_row, b_col + i] = value
        cuda.syncthreads()
        for step in range(STEP):
            for i in range(OWN):
                column[i] = a_tile[step, y * OWN + i]
            for j in range(OWN):
                right = b_tile[step, x * OWN + j]
                for i in range(OWN):
                    totals[i, j] += column[i] * right
        cuda.syncthreads()
    for i in range(OWN):
        for j in range(OWN):
            row, col = top + y * OWN + i, left + x * OWN + j
            if row < c.shape[0] and col < c.shape[1]:
                c[row, col] = totals[i, j]
