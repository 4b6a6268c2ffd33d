"""Register-tiled, 1-d: a thread owns a column of outputs, so that one value of B's tile serves all of them."""

from numba import cuda, float32

BLOCK = 64  # rows and columns of C in a block
STEP = 8  # of k
OWN = 8  # rows of C that a thread owns


@cuda.jit
def kernel(a, b, c):
    """C = A B, float32. A block is BLOCK x (BLOCK / OWN) threads and computes BLOCK x BLOCK of C."""
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    thread = y * BLOCK + x
    top = cuda.blockIdx.y * BLOCK
    col = cuda.blockIdx.x * BLOCK + x
    a_row, a_col = thread // STEP, thread % STEP
    a_tile = cuda.shared.array((BLOCK, STEP), float32)
    b_tile = cuda.shared.array((STEP, BLOCK), float32)
    totals = cuda.local.array(OWN, float32)
    for i in range(OWN):
        totals[i] = float32(0)
    for start in range(0, a.shape[1], STEP):
        value = float32(0)
        if top + a_row < a.shape[0] and start + a_col < a.shape[1]:
            value = a[top + a_row, start + a_col]
        a_tile[a_row, a_col] = value
        value = float32(0)
        if start + y < b.shape[0] and col < b.shape[1]:
            value = b[start + y, col]
        b_tile[y, x] = value
        cuda.syncthreads()
        j = 0
        while j < STEP:  # for speed's sake, as in naive
            right = b_tile[j, x]
            for i in range(OWN):
                totals[i] += a_tile[y * OWN + i, j] * right
            j += 1
        cuda.syncthreads()
    for i in range(OWN):
        row = top + y * OWN + i
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = totals[i]
