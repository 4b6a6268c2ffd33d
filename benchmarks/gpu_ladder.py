"""The GPU ladder on this machine: every rung beside its count, its prediction and the vendor's library.

    python benchmarks/gpu_ladder.py --out benchmarks/results/gpu_ladder.json [--quick]

Needs an NVIDIA GPU, torch, triton, numba-cuda and cuda-bindings. float32 rungs (numba.cuda, CUDA C++), bfloat16 rungs
(Triton), each in turn with the vendor's kernel (A B A B), on random normal operands, in short bursts with pauses; every
result that was timed was poisoned before and is compared with float64. The work runs in a process of its own, which is
started again behind a launch that breaks it: that launch's row says so. `--quick` takes about two minutes.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))

from gemmlab import explain, kernels  # noqa: E402
from gemmlab.kernels.ladder.cuda.texts import WARP_TILES  # noqa: E402
from gemmlab.problem import Gemm  # noqa: E402
from gemmlab.run.registry import contenders_of  # noqa: E402

SIDES = (256, 512, 1024, 2048, 4096, 8192)
BAR_SIDES = (4096, 8192)
VARIANTS = ("num_stages=4", "PARTS=1")  # of `persistent`, whose own settings are the first
#: steps of rungs, each rung faster than all of the step before, where it has a program for every multiprocessor; rows
#: of 16 threads fill whole sectors as rows of 32 do: naive and coalesced are one step past uncoalesced
ORDER = {
    "float32": (
        ("uncoalesced",),
        ("naive", "coalesced"),
        ("tiled",),
        ("register_1d",),
        ("register_2d",),
        ("vectorised",),
        ("warp_tile",),
    ),
    "bfloat16": (("tensor",), ("persistent",)),
}
MULTIPROCESSORS = 132  # of an H200
QUICK_S, FULL_S = 140.0, 540.0
STARTS = 8  # of the working process
PACKAGES = ("torch", "triton", "numba", "numba-cuda", "cuda-bindings", "numpy")


def items(quick: bool) -> list[dict[str, Any]]:
    """What is measured, what matters most first."""
    found = [*tensor_items(4096), *tensor_items(8192), *float32_items(4096, variants=True)]
    for side in (1024,) if quick else (1024, 2048, 512, 256):
        found += [*tensor_items(side), *float32_items(side)]
    return found if quick else [*found, *float32_items(8192, variants=True)]


def tensor_items(side: int) -> list[dict[str, Any]]:
    """The rungs on tensor cores; where there is a bar, `persistent` with B stored either way and in other settings."""
    found = []
    for layout in ("nn", "nt"):
        names = ["persistent", "tensor"] if layout == "nn" else ["persistent"]
        for contender in contenders_of("triton"):
            if contender.name in names:
                found.append(item(contender, "bfloat16", layout, side))
        if side in BAR_SIDES:
            own = next(each for each in contenders_of("triton") if each.name == "persistent")
            found += [item(own, "bfloat16", layout, side, variant) for variant in VARIANTS]
    return found


def float32_items(side: int, variants: bool = False) -> list[dict[str, Any]]:
    """The float32 ladder from its top down; the warp tile with other sizes too where asked."""
    rungs = [item(each, "float32", "nn", side) for each in reversed(contenders_of("cuda"))]
    rungs.sort(key=lambda each: each["kernel"] not in ("warp_tile", "vectorised"))
    if not variants:
        return rungs
    own = next(each for each in contenders_of("cuda") if each.name == "warp_tile")
    return [*rungs[:1], *(item(own, "float32", "nn", side, size) for size in list(WARP_TILES)[1:]), *rungs[1:]]


def item(contender: Any, format_name: str, layout: str, side: int, variant: str = "") -> dict[str, Any]:
    """One measurement as data."""
    mark = "=" if contender.backend == "cuda" else ":"
    source = f"{contender.source}{mark}{variant}" if variant else contender.source
    return {
        "id": f"{contender.name}{f' {variant}' if variant else ''} {format_name} {layout} {side}",
        "kernel": contender.name,
        "variant": variant,
        "backend": contender.backend,
        "source": source,
        "format": format_name,
        "layout": layout,
        "n": side,
        "unit_roundoff": contender.unit_roundoff,
    }


def counted(row: dict[str, Any]) -> dict[str, Any]:
    """The row's count and prediction for its chip, where its kernel has them; the rung's own settings."""
    contender = next(each for each in contenders_of(row["backend"]) if each.name == row["kernel"])
    if row["variant"]:
        return {}
    problem = problem_of(row)
    kernel = kernels.get(contender.counted_by, problem=problem, **contender.settings)
    record = explain(problem, kernel=kernel, chip="h200-sxm")
    assert record.count is not None
    assert record.prediction is not None
    return {
        "programs": -(-row["n"] // kernel.block_m) * -(-row["n"] // kernel.block_n) * kernel.split_k,
        "counted": {
            "global_load_elements": record.count.global_load_elements,
            "global_load_bytes": record.count.global_load_bytes,
            "sectors_requested": record.count.sectors_requested,
        },
        "predicted": {"time_s": record.prediction.time_s, "bound": record.prediction.bound},
    }


def ordered(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """By format and side: the promised order among the rungs that fill the chip, their times, and whether it holds."""
    found = {}
    for form, order in ORDER.items():
        for side in SIDES:
            times = {
                row["kernel"]: row["time_s"]
                for row in rows
                if (row["format"], row["n"], row["layout"]) == (form, side, "nn")
                and not row["variant"]
                and "time_s" in row
                and row.get("programs", 0) >= MULTIPROCESSORS
            }
            told = [[name for name in step if name in times] for step in order]
            told = [step for step in told if step]
            holds = all(
                max(times[name] for name in high) < min(times[name] for name in low)
                for low, high in itertools.pairwise(told)
            )
            found[f"{form} {side}"] = {"rungs": told, "holds": holds}
    return found


def problem_of(row: dict[str, Any]) -> Gemm:
    """The multiplication of a row."""
    return Gemm(row["n"], row["n"], row["n"], row["format"], layout=row["layout"])


def worked(asked: list[dict[str, Any]], seconds: float) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of all items in a process that may break; a broken item's row has the fault. And what else it said."""
    deadline, rows, said = time.time() + seconds, dict[str, dict[str, Any]](), []
    with tempfile.TemporaryDirectory() as folder:
        log, todo = Path(folder) / "log", Path(folder) / "todo"
        for _ in range(STARTS):
            left = [each for each in asked if each["id"] not in rows]
            room = deadline - time.time()
            if not left or room < 10:
                break
            todo.write_text(json.dumps(left))
            log.write_text("")
            command = [sys.executable, str(HERE / "gpu_ladder_work.py"), str(todo), str(log), str(deadline)]
            try:
                done = subprocess.run(command, check=False, timeout=room + 15, stderr=subprocess.PIPE, text=True)
                words = done.stderr[-600:] if done.returncode else ""
            except subprocess.TimeoutExpired:
                words = "it did not end in time"
            begun = taken(log, rows)
            if begun is not None:
                rows[begun] = {"id": begun, "fault": f"its process broke: {words}"}
            elif words:
                said.append(words)
            if begun is None and not words:
                break
    rows |= {each["id"]: {"id": each["id"], "fault": "no time was left"} for each in asked if each["id"] not in rows}
    return [{**each, **rows[each["id"]]} for each in asked], said


def taken(log: Path, rows: dict[str, dict[str, Any]]) -> str | None:
    """Put the log's rows among the others; returns the item that was begun and not ended."""
    begun = None
    for line in log.read_text().splitlines():
        found = json.loads(line)
        if "begin" in found:
            begun = found["begin"]
        else:
            rows[found["id"]] = found
            begun = None
    return begun


def machine() -> dict[str, str]:
    """Chip, driver and versions."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    words = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    found = {"chip": words[0], "driver": words[1], "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """A line a row, for the eye."""
    lines = [f"{'what':52} {'us':>11} {'TFLOP/s':>8} {'vendor':>8} {'share':>7}  result"]
    for row in rows:
        if "time_s" not in row:
            lines.append(f"{row['id']:52} {row.get('fault', '')[:110]}")
            continue
        flop = 2 * row["n"] ** 3
        rates = [flop / row[name] / 1e12 for name in ("time_s", "vendor_time_s")]
        right = "right" if row["right"] else f"WRONG {row['wrong_elements']}"
        lines.append(
            f"{row['id']:52} {row['time_s'] * 1e6:11.1f} {rates[0]:8.2f} {rates[1]:8.2f} {row['share']:7.3f}  {right}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, count, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="benchmarks/results/gpu_ladder.json")
    parser.add_argument("--quick", action="store_true", help="1024 and 4096, bfloat16 8192 too")
    parser.add_argument("--seconds", type=float, help="after which nothing new begins")
    options = parser.parse_args()
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    seconds = options.seconds or (QUICK_S if options.quick else FULL_S)
    rows, said = worked(items(options.quick), seconds)
    for row in rows:
        try:
            row.update(counted(row))
        except Exception as error:
            row["not_counted"] = f"{type(error).__name__}: {error}"[:300]
    result = {
        "what": "measured: median seconds of one multiplication, and of the vendor's (torch.matmul) in turn with it; "
        "counted: what the rung asks global memory for; predicted: gemmlab's model",
        "protocol": "random normal operands, copies past three times the last-level cache in turn, CUDA graphs between "
        "two events, rounds A B A B with pauses (burst); every result compared with float64",
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "said": said,
        "order": ordered(rows),
        "rows": rows,
    }
    Path(options.out).parent.mkdir(parents=True, exist_ok=True)
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    print(table(rows), *said, json.dumps(result["order"], indent=1), sep="\n")


if __name__ == "__main__":
    main()
