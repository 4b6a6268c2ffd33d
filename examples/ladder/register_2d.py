"""Register-tiled, 2-d: a thread owns a square of outputs, so that 16 values from shared memory feed 64 products."""

from numba import cuda, float32

BLOCK = 128  # rows and columns of C in a block
STEP = 8  # of k
OWN = 8  # rows and columns of C that a thread owns
SIDE = BLOCK // OWN  # threads of a block along x and along y
THREADS = SIDE * SIDE


@cuda.jit
def kernel(a, b, c):
    """C = A B, float32. A block is SIDE x SIDE threads and computes BLOCK x BLOCK of C."""
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    thread = y * SIDE + x
    top, left = cuda.blockIdx.y * BLOCK, cuda.blockIdx.x * BLOCK
    a_tile = cuda.shared.array((BLOCK, STEP), float32)
    b_tile = cuda.shared.array((STEP, BLOCK), float32)
    totals = cuda.local.array((OWN, OWN), float32)
    column = cuda.local.array(OWN, float32)
    for i in range(OWN):
        for j in range(OWN):
            totals[i, j] = float32(0)
    for start in range(0, a.shape[1], STEP):
        for place in range(thread, BLOCK * STEP, THREADS):
            row, col = place // STEP, place % STEP
            value = float32(0)
            if top + row < a.shape[0] and start + col < a.shape[1]:
                value = a[top + row, start + col]
            a_tile[row, col] = value
            row, col = place // BLOCK, place % BLOCK
            value = float32(0)
            if start + row < b.shape[0] and left + col < b.shape[1]:
                value = b[start + row, left + col]
            b_tile[row, col] = value
        cuda.syncthreads()
        for step in range(STEP):
            for i in range(OWN):
                column[i] = a_tile[y * OWN + i, step]
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
