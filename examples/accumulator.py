"""Questions that people asked in public about tensor cores, answered by emulating the unit bit for bit."""

import ml_dtypes
import numpy as np

from gemmlab.numerics import Schedule, gemm, mma

FP8 = "hopper.wgmma.float8_e4m3fn"


def float8(rows):
    return np.array(rows, ml_dtypes.float8_e4m3fn)


# DeepGEMM issue 37: does this input show that FP8 accumulates in fewer bits? It does not: nothing lies below the cut.
d = mma(FP8, float8([[448, 7.5]]), float8([[1], [1]]))
print(f"448 * 1 + 7.5 * 1 = {d[0, 0]:g}")

# What does show it: C alone. Low bits that the accumulator does not keep are gone.
c = np.array([[1 + 2**-13, 1 + 2**-14]], np.float32)
for unit in (FP8, "hopper.mma.float8_e4m3fn"):
    d = mma(unit, float8([[0]]), float8([[0, 0]]), c)
    print(f"1 + 2^-13 and 1 + 2^-14 through {unit}: {', '.join(f'{x:.9g}' for x in d[0])}")

# All ones: the sum sticks where a product of 1 falls below the cut. Promoted to float32 every 128 it does not.
ones = np.ones((1, 65536), np.float32).astype(ml_dtypes.float8_e4m3fn)
for k in (16384, 32768, 65536):
    stuck, promoted = (
        gemm(ones[:, :k], ones[:, :k].T, unit=FP8, schedule=schedule)[0, 0]
        for schedule in (Schedule(), Schedule(promote=128))
    )
    print(f"{k} ones: {stuck:g} in one accumulator, {promoted:g} promoted every 128")

# PyTorch issue 53635: 1024.5 * 1 = 1025 in tfloat32. The unit cuts to 1024; a library that rounds ties away makes 1025.
x, one = np.array([[1024.5]], np.float32), np.array([[1]], np.float32)
for rounding, how in (("rz", "as the hardware cuts"), ("rna", "rounded first, ties away"), ("rne", "rounded first")):
    d = gemm(x, one, unit="ampere.mma.tfloat32", schedule=Schedule(tfloat32=rounding))
    print(f"1024.5 * 1 in tfloat32, {how}: {d[0, 0]:g}")
