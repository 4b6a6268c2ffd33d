"""The Triton kernels whose tensor-core instructions are revealed; needs triton, nothing of a GPU to compile."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["half", "low"])
def gemm(
    a,
    b,
    c,
    d,
    n,
    k,
    half,
    low,
    BLOCK_M: tl.constexpr,  # noqa: N803
    BLOCK_N: tl.constexpr,  # noqa: N803
    BLOCK_K: tl.constexpr,  # noqa: N803
    SPELLING: tl.constexpr,  # noqa: N803
    IMPRECISE: tl.constexpr,  # noqa: N803
    ACCUMULATE: tl.constexpr,  # noqa: N803
):
    """D = A @ B + C of whole tiles; A (m, k), B (n, k) as float8 tensor cores want it, C and D (m, n), all row-major.

    How the source spells the sum decides which unit adds what: `chained` and `masked` load C into the accumulator;
    `added` and `summed` start each BLOCK_K from zero and add outside, where the compiler does not fold that
    back. `masked` and `summed` do (bits + half) & low on what each dot gives: half = 0, low = -1 changes
    nothing, and being arguments keeps a compiler from knowing so.
    """
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    left = a + rows[:, None] * k + depth[None, :]
    right = b + columns[None, :] * k + depth[:, None]
    place = rows[:, None] * n + columns[None, :]
    total = tl.load(c + place)
    for _ in range(0, k, BLOCK_K):
        x = tl.load(left)
        y = tl.load(right)
        if SPELLING == "chained":
            total = tl.dot(x, y, total, max_num_imprecise_acc=IMPRECISE, out_dtype=ACCUMULATE)
        elif SPELLING == "added":
            total += tl.dot(x, y, max_num_imprecise_acc=IMPRECISE, out_dtype=ACCUMULATE)
        elif SPELLING == "masked":
            total = tl.dot(x, y, total, max_num_imprecise_acc=IMPRECISE, out_dtype=ACCUMULATE)
            bits = (total.to(tl.int32, bitcast=True) + half) & low
            total = bits.to(tl.float32, bitcast=True)
        else:
            part = tl.dot(x, y, max_num_imprecise_acc=IMPRECISE, out_dtype=ACCUMULATE)
            bits = (part.to(tl.int32, bitcast=True) + half) & low
            total += bits.to(tl.float32, bitcast=True)
        left += BLOCK_K
        right += BLOCK_K
    tl.store(d + place, total)
