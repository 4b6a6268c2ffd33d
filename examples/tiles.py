"""What tiles save: 1024 x 1024 x 1024 in float32, counted."""

from gemmlab import Gemm, explain

problem = Gemm(1024, 1024, 1024)
for kernel in ("naive", "tiled", "register"):
    count = explain(problem, "a100-pcie-80gb", kernel, advice=False).count
    print(f"{kernel:9}{count.global_load_elements:14,} loads {count.intensity_flop_per_byte:8.4f} FLOP/byte")
