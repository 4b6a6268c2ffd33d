"""DRAM traffic of one float16 Triton GEMM, read from the hardware counters of the GPU at hand.

    python benchmarks/dram_counters.py --out benchmarks/results/dram_counters_h200.json

Needs an NVIDIA GPU, torch, Triton and Nsight Compute (`ncu`), whose caches-flushed, clocks-untouched readings are kept:
each row is one launch of one shape, tile and launch order, with the registers and shared memory that decide how many
programs fit an SM. Rows are read in two independent rounds, so that the spread of a reading is known.
"""

import argparse
import csv
import datetime
import io
import json
import subprocess
import sys

METRICS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_read_sectors": "lts__t_sectors_op_read.sum",
    "l2_hit_rate_percent": "lts__t_sector_hit_rate.pct",
    "time_s": "gpu__time_duration.sum",
    "registers": "launch__registers_per_thread",
    "shared_bytes": "launch__shared_mem_per_block_dynamic",
}
SCALE = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6,
         "ms": 1e-3, "msecond": 1e-3, "s": 1, "second": 1, "byte/block": 1, "Kbyte/block": 1e3}  # fmt: skip

# block_m, block_n, block_k, warps, stages: one or two programs an SM, and up to four for the small tile
TILES = {
    "square": (128, 128, 64, 8, 4),
    "square_two": (128, 128, 32, 8, 3),
    "tall": (256, 128, 64, 8, 3),
    "wide": (128, 256, 64, 8, 3),
    "half": (64, 128, 64, 4, 4),
    "half_tall": (128, 64, 64, 4, 3),
    "small": (64, 64, 64, 4, 3),
    "thin": (64, 256, 64, 8, 3),
    # the same small tiles with other numbers of stages, so that one to seven programs fit an SM
    **{f"small_{stages}": (64, 64, 64, 4, stages) for stages in (2, 4, 6, 8)},
    **{f"half_tall_{stages}": (128, 64, 64, 4, stages) for stages in (2, 4, 6)},
    **{f"half_{stages}": (64, 128, 64, 4, stages) for stages in (2, 3, 6)},
}
CASES = [
    # m, n, k, tile, group_m
    *[(4096, 4096, 4096, tile, group) for tile in ("square", "half", "square_two") for group in (1, 8)],
    *[(6144, 6144, 6144, tile, group) for tile in ("square", "small") for group in (1, 8)],
    *[(8192, 8192, 8192, tile, group) for tile in ("tall", "square_two", "small") for group in (1, 8)],
    *[(8192, 512, 8192, tile, group) for tile in ("square", "half_tall", "square_two") for group in (1, 8)],
    *[(16384, 256, 4096, tile, group) for tile in ("square", "small") for group in (1, 16)],
    *[(8192, 1024, 16384, tile, group) for tile in ("tall", "square") for group in (1, 4)],
    *[(16384, 16384, 256, tile, group) for tile in ("square", "wide") for group in (1, 8)],
    *[(8192, 8192, 512, tile, group) for tile in ("square", "half") for group in (1, 8)],
    *[(12288, 4096, 1024, tile, group) for tile in ("square", "square_two") for group in (1, 8)],
    *[(4096, 14336, 4096, tile, group) for tile in ("square", "tall", "thin") for group in (1, 2, 8)],
    *[(4096, 8192, 28672, tile, group) for tile in ("square", "wide") for group in (1, 8)],
    *[(3000, 5000, 7000, tile, group) for tile in ("square", "half") for group in (1, 8)],
    *[(10240, 10240, 4096, tile, group) for tile in ("square", "half_tall") for group in (1, 4, 32)],
    *[(16384, 8192, 2048, tile, group) for tile in ("square_two", "wide") for group in (1, 8)],
    *[(512, 32768, 4096, tile, group) for tile in ("square", "half") for group in (1, 4)],
    *[(64, 28672, 8192, "half", 1), (128, 8192, 28672, "square", 1)],
    *[(16384, 16384, 16384, "wide", 8)],
    *[(8192, 8192, 8192, "square", group) for group in (1, 8)],
    *[(2048, 16384, 4096, "half", 4), (12288, 12288, 2048, "wide", 4)],
    *[(8192, 8192, 8192, f"small_{stages}", group) for stages in (2, 4, 6, 8) for group in (1, 8)],
    *[(6144, 6144, 6144, f"small_{stages}", 1) for stages in (2, 4, 6, 8)],
    *[(10240, 10240, 4096, f"half_tall_{stages}", group) for stages in (2, 4, 6) for group in (1, 4)],
    *[(12288, 12288, 2048, f"half_{stages}", group) for stages in (2, 3, 6) for group in (1, 4)],
    *[(8192, 8192, 4096, tile, 1) for tile in ("half_2", "half_6", "half_tall_2", "half_tall_6")],
    *[(8192, 8192, k, tile, 1) for k in (1024, 2048, 4096, 16384) for tile in ("square", "wide")],
    *[(16384, 16384, k, "square", group) for k in (64, 512, 1024) for group in (1, 4, 16)],
    *[(9216, 7168, 3072, tile, group) for tile in ("square", "small", "half_tall") for group in (1, 4)],
    *[(20480, 5120, 5120, tile, group) for tile in ("square", "wide", "tall") for group in (1, 8)],
    *[(5120, 20480, 5120, tile, group) for tile in ("square", "wide", "square_two") for group in (1, 8)],
    *[(7168, 4096, 16384, tile, group) for tile in ("square", "tall", "half") for group in (1, 8)],
]


def launch_all() -> None:
    """Launch every case once, in order; this is what runs under ncu."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def counted_gemm(a_ptr, b_ptr, c_ptr, m, n, k, lda, ldb, ldc,
                     block_m: tl.constexpr, block_n: tl.constexpr, block_k: tl.constexpr,
                     group_m: tl.constexpr):  # fmt: skip
        pid = tl.program_id(0)
        tiles_m, tiles_n = tl.cdiv(m, block_m), tl.cdiv(n, block_n)
        per_group = group_m * tiles_n
        first = (pid // per_group) * group_m
        rows = min(tiles_m - first, group_m)
        tile_m = first + (pid % per_group) % rows
        tile_n = (pid % per_group) // rows
        om = tile_m * block_m + tl.arange(0, block_m)
        on = tile_n * block_n + tl.arange(0, block_n)
        ok = tl.arange(0, block_k)
        a = a_ptr + om[:, None].to(tl.int64) * lda + ok[None, :]
        b = b_ptr + ok[:, None].to(tl.int64) * ldb + on[None, :]
        total = tl.zeros((block_m, block_n), dtype=tl.float32)
        for step in range(0, tl.cdiv(k, block_k)):
            left = k - step * block_k
            x = tl.load(a, mask=(om[:, None] < m) & (ok[None, :] < left), other=0.0)
            y = tl.load(b, mask=(ok[:, None] < left) & (on[None, :] < n), other=0.0)
            total = tl.dot(x, y, total)
            a += block_k
            b += block_k * ldb
        c = c_ptr + om[:, None].to(tl.int64) * ldc + on[None, :]
        tl.store(c, total.to(tl.float16), mask=(om[:, None] < m) & (on[None, :] < n))

    generator = torch.Generator(device="cuda").manual_seed(0)
    shape = None
    for m, n, k, tile, group in CASES:
        if shape != (m, n, k):
            a = torch.randn(m, k, device="cuda", dtype=torch.float16, generator=generator)
            b = torch.randn(k, n, device="cuda", dtype=torch.float16, generator=generator)
            c = torch.empty(m, n, device="cuda", dtype=torch.float16)
            shape = (m, n, k)
            reference = a[:64].double() @ b[:, :64].double()
        bm, bn, bk, warps, stages = TILES[tile]
        grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
        c.fill_(float("nan"))
        counted_gemm[grid](a, b, c, m, n, k, k, n, n, bm, bn, bk, group, num_warps=warps, num_stages=stages)
        torch.cuda.synchronize()
        error = (c[:64, :64].double() - reference).norm() / reference.norm()
        assert not c.isnan().any(), f"unwritten result at {m, n, k, tile, group}"
        assert error < 2e-3, f"wrong result at {m, n, k, tile, group}: {error}"


def profile() -> list[dict[str, float]]:
    """One round under ncu: a dict of readings for each case, in order."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", ",".join(METRICS.values()),
               "--kernel-name", "regex:counted_gemm", sys.executable, __file__, "--launch"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if done.returncode or not lines:
        sys.exit(f"ncu failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    head, units, readings = rows[0], rows[1], rows[2:]
    column = {name: head.index(metric) for name, metric in METRICS.items()}
    return [
        {name: float(row[i].replace(",", "")) * SCALE.get(units[i], 1) for name, i in column.items()}
        for row in readings
    ]


def main() -> None:
    """Read every case twice and write the rows with the environment."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--launch", action="store_true", help="only launch the kernels (used under ncu)")
    parser.add_argument("--out", default="benchmarks/results/dram_counters_h200.json")
    options = parser.parse_args()
    if options.launch:
        launch_all()
        return
    rounds = [profile(), profile()]
    assert len(rounds[0]) == len(rounds[1]) == len(CASES), [len(r) for r in rounds]
    rows = []
    for case, first, second in zip(CASES, *rounds, strict=True):
        m, n, k, tile, group = case
        bm, bn, bk, warps, stages = TILES[tile]
        shape = {"m": m, "n": n, "k": k, "block_m": bm, "block_n": bn, "block_k": bk, "group_m": group}
        both = {name: (first[name] + second[name]) / 2 for name in METRICS}
        spread = abs(first["dram_read_bytes"] - second["dram_read_bytes"]) / both["dram_read_bytes"]
        rows.append(shape | {"warps": warps, "stages": stages} | both | {"dram_read_spread": spread})
    import torch
    import triton

    result = {
        "chip": torch.cuda.get_device_name(),
        "date": datetime.date.today().isoformat(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "layout": "nn",
        "format": "float16",
        "what": "measured: ncu --clock-control none, caches flushed before each kernel, mean of two rounds; "
        "dram_read_spread is their relative difference",
        "rows": rows,
    }
    with open(options.out, "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    for row in rows:
        print(*(row[key] for key in ("m", "n", "k", "block_m", "block_n", "group_m", "registers", "shared_bytes")),
              f"{row['dram_read_bytes'] / 1e9:.3f} {row['dram_write_bytes'] / 1e9:.3f} GB, spread "
              f"{row['dram_read_spread']:.3f}, {row['time_s'] * 1e3:.3f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
