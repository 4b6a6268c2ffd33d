"""One array of 256 x 256 PEs, or four of 128 x 128: which suits which shape."""

from gemmlab import Gemm, simulate_array
from gemmlab.systolic import Array

for m, n, k in ((4096, 4096, 4096), (200, 2048, 2048), (96, 600, 600), (1, 4096, 4096)):
    print(f"{m:5} x {n} x {k}:", end="")
    for side, units in ((256, 1), (128, 4)):
        found = simulate_array(Gemm(m, n, k, "int8"), Array(rows=side, cols=side), units=units, advice=False).systolic
        print(f"{found.cycles:11,} cycles ({found.utilisation:6.1%} used)", end="")
    print()
