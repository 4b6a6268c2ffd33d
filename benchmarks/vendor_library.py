"""Times of the vendor's matrix multiplication (torch, cuBLAS behind it) on the GPU at hand, to test predictions on.

    python benchmarks/vendor_library.py --out benchmarks/results/vendor_library_h200.json

Needs an NVIDIA GPU, torch and Triton. Random normal inputs, A row-major, B transposed (nt), the median of
`triton.testing.do_bench` with its L2 flush: the protocol of the readings that the model was fitted to, of other
shapes. Also reads the copy bandwidth and the time of an empty launch.
"""

import argparse
import datetime
import json

SHAPES = [
    (512, 512, 512), (768, 768, 768), (1536, 1536, 1536), (3072, 3072, 3072), (6144, 6144, 6144), (10240, 10240, 10240),
    (2048, 8192, 8192), (8192, 2048, 8192), (8192, 8192, 2048), (1024, 4096, 4096), (512, 4096, 14336),
    (256, 8192, 8192), (32, 4096, 14336), (8, 28672, 8192), (1, 14336, 4096), (1, 28672, 8192), (128, 4096, 4096),
    (4096, 2112, 7168), (4096, 576, 7168), (4096, 24576, 1536), (2048, 2048, 16384), (512, 512, 16384),
    (128, 128, 65536), (16384, 1024, 512), (8192, 8192, 256), (16384, 4096, 128), (1792, 1792, 4096),
    (1793, 1793, 4096),
    (4224, 4096, 4096), (2176, 2176, 2176), (4096, 128256, 2048), (300, 5000, 3000), (4096, 4096, 4095),
    (4096, 4097, 4096), (4095, 4096, 4096), (1000, 1001, 1003),
]  # fmt: skip
FORMATS = ("bfloat16", "float16", "float8_e4m3fn", "tfloat32", "float32")


def main() -> None:
    """Time every shape in every format and write the rows."""
    import torch
    from triton.testing import do_bench

    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="benchmarks/results/vendor_library_h200.json")
    options = parser.parse_args()

    def median(call) -> float:
        return do_bench(call, warmup=40, rep=150, return_mode="median") * 1e-3

    rows = []
    for name in FORMATS:
        torch.backends.cuda.matmul.allow_tf32 = name == "tfloat32"
        kind = torch.float32 if name == "tfloat32" else getattr(torch, name)
        for m, n, k in SHAPES:
            if m * n * k > 3e11 and name == "float32":
                continue
            row = {"format": name, "m": m, "n": n, "k": k}
            try:
                a = torch.randn(m, k, device="cuda").to(kind)
                b = torch.randn(n, k, device="cuda").to(kind)
                if name.startswith("float8"):
                    one = torch.tensor(1.0, device="cuda")
                    time_s = median(lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16))  # noqa: B023
                else:
                    time_s = median(lambda: a @ b.t())  # noqa: B023
                row |= {"time_s": time_s, "flop_per_s": 2 * m * n * k / time_s}
            except RuntimeError as reason:
                row |= {"time_s": None, "refused": str(reason).splitlines()[0][:120]}
            rows.append(row)
    x = torch.empty(1 << 31, dtype=torch.uint8, device="cuda")
    y = torch.empty_like(x)
    copy = 2 * x.numel() / median(lambda: y.copy_(x))
    small = torch.ones(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            small.add_(1)
    empty = median(graph.replay) / 100
    result = {
        "chip": torch.cuda.get_device_name(), "date": datetime.date.today().isoformat(),
        "versions": {"torch": torch.__version__},
        "what": "measured: torch matmul (torch._scaled_mm for float8, out bfloat16), nt, random normal, do_bench",
        "copy_bandwidth_bytes_per_s": copy, "empty_kernel_in_graph_s": empty, "rows": rows,
    }  # fmt: skip
    with open(options.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    print(f"copy {copy / 1e12:.3f} TB/s, empty kernel {empty * 1e6:.2f} us, {len(rows)} rows")
    for row in rows:
        print(row["format"], row["m"], row["n"], row["k"], row["time_s"] and f"{row['time_s'] * 1e6:.1f} us")


if __name__ == "__main__":
    main()
