"""Broken twins of the rungs: each has one fault, of the kind that people do make, and is else the rung itself."""

from numba import cuda, float32


def without_first_barrier(tile):
    """Tiled without the barrier between storing the tiles and reading them: a thread may read what is not there yet."""

    @cuda.jit
    def kernel(a, b, c):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * tile + y
        col = cuda.blockIdx.x * tile + x
        a_tile = cuda.shared.array((tile, tile), float32)
        b_tile = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for start in range(0, a.shape[1], tile):
            value = float32(0)
            if row < a.shape[0] and start + x < a.shape[1]:
                value = a[row, start + x]
            a_tile[y, x] = value
            value = float32(0)
            if start + y < b.shape[0] and col < b.shape[1]:
                value = b[start + y, col]
            b_tile[y, x] = value
            for i in range(tile):
                total += a_tile[y, i] * b_tile[i, x]
            cuda.syncthreads()
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = total

    return kernel


def without_second_barrier(tile):
    """Tiled without the barrier behind the sum: a thread may overwrite a tile that another still reads.

    Right where k has one tile only.
    """

    @cuda.jit
    def kernel(a, b, c):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * tile + y
        col = cuda.blockIdx.x * tile + x
        a_tile = cuda.shared.array((tile, tile), float32)
        b_tile = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for start in range(0, a.shape[1], tile):
            value = float32(0)
            if row < a.shape[0] and start + x < a.shape[1]:
                value = a[row, start + x]
            a_tile[y, x] = value
            value = float32(0)
            if start + y < b.shape[0] and col < b.shape[1]:
                value = b[start + y, col]
            b_tile[y, x] = value
            cuda.syncthreads()
            for i in range(tile):
                total += a_tile[y, i] * b_tile[i, x]
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = total

    return kernel


def with_early_return(tile):
    """Tiled whose threads past an edge of C return at once: they are absent from the barriers, and stage nothing."""

    @cuda.jit
    def kernel(a, b, c):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * tile + y
        col = cuda.blockIdx.x * tile + x
        if row >= c.shape[0] or col >= c.shape[1]:
            return
        a_tile = cuda.shared.array((tile, tile), float32)
        b_tile = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for start in range(0, a.shape[1], tile):
            value = float32(0)
            if start + x < a.shape[1]:
                value = a[row, start + x]
            a_tile[y, x] = value
            value = float32(0)
            if start + y < b.shape[0]:
                value = b[start + y, col]
            b_tile[y, x] = value
            cuda.syncthreads()
            for i in range(tile):
                total += a_tile[y, i] * b_tile[i, x]
            cuda.syncthreads()
        c[row, col] = total

    return kernel


def with_plain_adds(tile):
    """Split-k that adds its parts without atomics: blocks read, add and write back over each other."""

    @cuda.jit
    def kernel(a, b, c):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * tile + y
        col = cuda.blockIdx.x * tile + x
        a_tile = cuda.shared.array((tile, tile), float32)
        b_tile = cuda.shared.array((tile, tile), float32)
        total = float32(0)
        for start in range(cuda.blockIdx.z * tile, a.shape[1], cuda.gridDim.z * tile):
            value = float32(0)
            if row < a.shape[0] and start + x < a.shape[1]:
                value = a[row, start + x]
            a_tile[y, x] = value
            value = float32(0)
            if start + y < b.shape[0] and col < b.shape[1]:
                value = b[start + y, col]
            b_tile[y, x] = value
            cuda.syncthreads()
            for i in range(tile):
                total += a_tile[y, i] * b_tile[i, x]
            cuda.syncthreads()
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] += total

    return kernel


tiled_without_first_barrier = without_first_barrier(16)
tiled_without_second_barrier = without_second_barrier(16)
tiled_with_early_return = with_early_return(16)
split_k_with_plain_adds = with_plain_adds(16)


@cuda.jit
def naive_without_guard(a, b, c):
    """Naive whose threads past an edge of C read and write as if they were inside."""
    col, row = cuda.grid(2)
    total = float32(0)
    for i in range(a.shape[1]):
        total += a[row, i] * b[i, col]
    c[row, col] = total


@cuda.jit
def naive_with_wrong_guard(a, b, c):
    """Naive whose guard says `or` where `and` is meant: it stops only threads that are past both edges."""
    col, row = cuda.grid(2)
    if row < c.shape[0] or col < c.shape[1]:
        total = float32(0)
        for i in range(a.shape[1]):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@cuda.jit
def register_1d_with_small_tile(a, b, c):
    """Register-tiled, 1-d, whose tile of A holds half of the rows that the block stages (64 x 8 threads)."""
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    thread = y * 64 + x
    top = cuda.blockIdx.y * 64
    col = cuda.blockIdx.x * 64 + x
    a_row, a_col = thread // 8, thread % 8
    a_tile = cuda.shared.array((32, 8), float32)
    b_tile = cuda.shared.array((8, 64), float32)
    totals = cuda.local.array(8, float32)
    for i in range(8):
        totals[i] = float32(0)
    for start in range(0, a.shape[1], 8):
        value = float32(0)
        if top + a_row < a.shape[0] and start + a_col < a.shape[1]:
            value = a[top + a_row, start + a_col]
        a_tile[a_row, a_col] = value
        value = float32(0)
        if start + y < b.shape[0] and col < b.shape[1]:
            value = b[start + y, col]
        b_tile[y, x] = value
        cuda.syncthreads()
        for j in range(8):
            right = b_tile[j, x]
            for i in range(8):
                totals[i] += a_tile[y * 8 + i, j] * right
        cuda.syncthreads()
    for i in range(8):
        row = top + y * 8 + i
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = totals[i]
