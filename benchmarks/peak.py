"""`gemmlab.matmul` beside torch on an H200, group by group: times, ratios, and errors against float64.

    python benchmarks/peak.py --out benchmarks/results/peak.json

Each contender is captured in a CUDA graph over rotating operands (more than three times the L2 in all where one
multiplication is small) and replayed in turn, A B A B; the figure is the median of the rounds, with pauses between
them so that the power cap is not what is measured. Operands are random normal numbers; every result is poisoned with
NaN before and compared with float64. `torch` is torch.matmul into a given result, for float8 torch._scaled_mm in the
mode that adds as ours does. Which kernel runs is the model's choice: nothing is tuned.
"""

import argparse
import datetime
import json
import math
import statistics
import sys
import time
from pathlib import Path

L2_BYTES = 60e6
SHAPES_OF_NETWORKS = (
    (4096, 7168, 2048),
    (4096, 2112, 7168),
    (4096, 576, 7168),
    (4096, 24576, 1536),
    (8192, 8192, 1024),
    (4096, 4224, 4096),
    (256, 8192, 8192),
)
CUBES = (512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384)
WEIGHTS = ((8192, 8192), (28672, 8192), (8192, 28672), (7168, 16384), (2112, 7168))

#: name of a group, bars of the geometric mean and of each row, and its rows: m, n, k, format, layout
GROUPS = {
    "unaligned, sides >= 2047": (5.0, 3.5, [
        *((m, n, k, "bfloat16", layout) for m, n, k, layout in (
            (4095, 4097, 4099, "nt"), (4096, 50257, 768, "nt"), (4096, 50257, 768, "nn"), (4096, 4096, 4095, "nt"),
            (8191, 8193, 8191, "nt"), (2047, 2049, 2051, "nt"))),
        (4095, 4097, 4099, "float16", "nt")]),
    "unaligned, about 1000": (2.2, 1.5, [(1000, 1001, 1003, "bfloat16", "nt"), (999, 1001, 1003, "float16", "nn")]),
    "float32, sides >= 1000": (3.5, 2.5, [
        (n, n, n, "float32", "nt") for n in (1024, 2048, 3072, 4096, 8192)
    ] + [(4095, 4097, 4099, "float32", "nt"), (4096, 50257, 768, "float32", "nt"), (4096, 2112, 7168, "float32", "nt"),
         (4096, 7168, 2048, "float32", "nn")]),
    "float32, m <= 256, huge k, 512": (1.3, 1.0, [
        (512, 512, 512, "float32", "nt"), (256, 8192, 8192, "float32", "nt"), (128, 8192, 8192, "float32", "nt"),
        (16, 8192, 8192, "float32", "nt"), (256, 256, 16384, "float32", "nt")]),
    "m = 1": (1.2, 1.0, [(1, n, k, form, "nt") for n, k in (*WEIGHTS, (576, 7168), (4096, 4096), (7168, 2048))
                         for form in ("bfloat16",)]),
    "m = 8..64": (1.05, 0.95, [(m, n, k, "bfloat16", "nt") for m in (8, 16, 32, 64) for n, k in WEIGHTS]),
    "m = 128": (1.0, 0.93, [(128, n, k, "bfloat16", "nt") for n, k in WEIGHTS]),
    "huge k, few tiles": (1.03, 0.95, [(m, n, k, "bfloat16", "nt") for m, n, k in (
        (256, 256, 65536), (512, 512, 16384), (128, 128, 65536), (64, 64, 32768), (32, 32, 65536))]),
    "aligned": (1.02, 0.97, [(n, n, n, "bfloat16", "nt") for n in CUBES]
                + [(*shape, "bfloat16", "nt") for shape in SHAPES_OF_NETWORKS]
                + [(4096, 4096, 4096, "float16", "nn"), (4096, 4096, 4096, "bfloat16", "tn")]),
    "float8 fast": (1.03, 0.95, [(n, n, n, "float8_e4m3fn fast", "nt") for n in (512, 1024, 2048, 4096, 8192)]
                    + [(*shape, "float8_e4m3fn fast", "nt") for shape in SHAPES_OF_NETWORKS]),
    "float8 two-level": (1.01, 0.95, [(n, n, n, "float8_e4m3fn", "nt") for n in (512, 1024, 2048, 4096, 8192)]
                         + [(*shape, "float8_e4m3fn", "nt") for shape in SHAPES_OF_NETWORKS]),
}  # fmt: skip


class Row:
    """One multiplication's operands, results and contenders."""

    def __init__(self, torch, m, n, k, form, layout):
        self.torch, self.sides = torch, (m, n, k)
        name, _, fast = form.partition(" ")
        self.eight, self.accuracy = name.startswith("float8"), "fast" if fast else "vendor"
        self.type = getattr(torch, name)
        self.out_type = torch.bfloat16 if self.eight else self.type
        bytes_ = (m * k + k * n) * (1 if self.eight else self.type.itemsize) + m * n * self.out_type.itemsize
        self.sets = [self.operands(layout) for _ in range(max(1, min(6, math.ceil(3 * L2_BYTES / bytes_))))]
        self.one = torch.ones((), device="cuda")

    def operands(self, layout):
        """A, B, and a result for ours and for torch's, all poisoned."""
        torch, (m, n, k) = self.torch, self.sides

        def drawn(rows, columns, turned):
            stored = torch.randn((columns, rows) if turned else (rows, columns), device="cuda").to(self.type)
            return stored.t() if turned else stored

        poison = [torch.full((m, n), float("nan"), dtype=self.out_type, device="cuda") for _ in range(2)]
        return (drawn(m, k, layout[0] == "t"), drawn(k, n, layout[1] == "t"), *poison)

    def ours(self, a, b, d, _):
        from gemmlab import matmul

        matmul(a, b, out=d, accuracy=self.accuracy)

    def torchs(self, a, b, _, d):
        if self.eight:
            self.torch._scaled_mm(
                a, b, self.one, self.one, out_dtype=self.out_type, use_fast_accum=self.accuracy == "fast", out=d
            )
        else:
            self.torch.matmul(a, b, out=d)

    def plan(self):
        from gemmlab import plan

        a, b, d, _ = self.sets[0]
        return plan(a, b, accuracy=self.accuracy, out=d)

    def errors(self):
        """Norm-wise errors of ours and torch's against float64."""
        a, b, d, t = self.sets[-1]
        exact = a.double() @ b.double()
        return [float((each.double() - exact).norm() / exact.norm()) for each in (d, t)]


def captured(torch, calls, seconds):
    """A graph of the calls, repeated to fill about that time, and how many multiplications it makes."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for call in calls:
        call()
    end.record()
    torch.cuda.synchronize()
    repeats = max(1, min(40, int(seconds / max(1e-6, start.elapsed_time(end) * 1e-3))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            for call in calls:
                call()
    return graph, repeats * len(calls)


def measured(torch, row, rounds, pause):
    """Median seconds of ours and torch's, replayed in turn."""
    graphs = {}
    for name in ("ours", "torchs"):
        calls = [lambda each=each, name=name: getattr(row, name)(*each) for each in row.sets]
        graphs[name] = captured(torch, calls, 1.5e-3)
    times = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, (graph, count) in graphs.items():
            time.sleep(pause)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(end) * 1e-3 / count)
    return {name: statistics.median(values) for name, values in times.items()}


def told(torch, given, rounds, pause):
    """One row of the results."""
    row = Row(torch, *given)
    plan = row.plan()
    seconds = measured(torch, row, rounds, pause)
    error, torchs_error = row.errors()
    m, n, k, form, layout = given
    return {
        "m": m, "n": n, "k": k, "format": form, "layout": layout,
        "ours_s": seconds["ours"], "torch_s": seconds["torchs"], "ratio": seconds["torchs"] / seconds["ours"],
        "predicted_s": plan.predicted_s, "error": error, "torch_error": torchs_error,
        "right": error <= max(1.05 * torchs_error, 1e-7),
        "kernel": {name: getattr(plan.kernel, name) for name in plan.kernel.__struct_fields__},
    }  # fmt: skip


def summed(name, rows):
    """A group's geometric mean beside its bars."""
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    bar, least, _ = GROUPS[name]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
    return {"group": name, "mean": mean, "bar": bar, "worst": min(ratios, default=None), "worst_bar": least,
            "holds": bool(ratios) and mean >= bar and min(ratios) >= least}  # fmt: skip


def main() -> None:
    """Measure every group, print a table and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="benchmarks/results/peak.json")
    parser.add_argument("--groups", nargs="*", default=list(GROUPS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--pause", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=500, help="no row is begun after that")
    options = parser.parse_args()
    import torch

    begun, found, sums = time.monotonic(), {}, []
    for name in options.groups:
        found[name] = []
        for given in GROUPS[name][2]:
            if time.monotonic() - begun > options.seconds:
                print(f"out of time before {given}", file=sys.stderr)
                break
            try:
                row = told(torch, given, options.rounds, options.pause)
            except Exception as error:
                row = dict(zip(("m", "n", "k", "format", "layout"), given, strict=True)) | {"fault": repr(error)[:300]}
            found[name].append(row)
            torch.cuda.empty_cache()
            print(name, *given, line(row), flush=True)
        sums.append(summed(name, found[name]))
        print(json.dumps(sums[-1]), flush=True)
    device = torch.cuda.get_device_properties(0)
    Path(options.out).write_text(
        json.dumps(
            {
                "what": "measured: seconds of one multiplication, graph replay over rotating operands, medians",
                "date": datetime.date.today().isoformat(),
                "chip": device.name,
                "versions": {"torch": torch.__version__, "cuda": torch.version.cuda},
                "groups": sums,
                "rows": found,
            },
            indent=1,
        )
        + "\n"
    )


def line(row):
    """A row as one reads it while it runs."""
    if "fault" in row:
        return row["fault"]
    kernel = {
        name: value for name, value in row["kernel"].items() if isinstance(value, int) and not isinstance(value, bool)
    }
    wrong = "" if row["right"] else " WRONG"
    return (
        f"{row['ours_s'] * 1e6:.1f} us, torch {row['torch_s'] * 1e6:.1f}: {row['ratio']:.2f}, predicted "
        f"{row['predicted_s'] * 1e6:.1f}{wrong} {row['error']:.2e} {row['torch_error']:.2e} {kernel}"
    )


if __name__ == "__main__":
    main()
