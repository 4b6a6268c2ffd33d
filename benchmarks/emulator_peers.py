"""Accesses a second of the emulator and of the tools that run GPU kernels on a CPU: Oclgrind and numba's simulator.

    python benchmarks/emulator_peers.py --out benchmarks/results/emulator_peers.json

Naive and tiled (T=16) multiplication of float32, each tool at the largest size that it manages in the time given (a
minute), in one run on one machine. An access is one thread's load or store of global or shared memory, counted from the
loops, the same for all. Oclgrind runs `--data-races`, the emulator counts sectors and bank conflicts and looks for
races as well. Compilation stands apart: the emulator's first launch and Oclgrind's smallest are taken off. A tool that
is missing is left out, and said to be.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

T = 16
SIZES = tuple(T * factor for factor in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128))
OURS = 1024
KERNELS = ("naive", "tiled")
OPENCL = """
kernel void naive(global const float *a, global const float *b, global float *c, int n) {
  int col = get_global_id(0), row = get_global_id(1);
  if (row < n && col < n) {
    float total = 0;
    for (int i = 0; i < n; i++) total += a[row * n + i] * b[i * n + col];
    c[row * n + col] = total;
  }
}

kernel void tiled(global const float *a, global const float *b, global float *c, int n) {
  local float a_tile[T][T], b_tile[T][T];
  int x = get_local_id(0), y = get_local_id(1), col = get_global_id(0), row = get_global_id(1);
  float total = 0;
  for (int start = 0; start < n; start += T) {
    a_tile[y][x] = row < n && start + x < n ? a[row * n + start + x] : 0;
    b_tile[y][x] = start + y < n && col < n ? b[(start + y) * n + col] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < T; i++) total += a_tile[y][i] * b_tile[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < n && col < n) c[row * n + col] = total;
}
"""


def accesses(kernel: str, n: int) -> int:
    """Loads and stores of all threads: global and shared."""
    if kernel == "naive":
        return 2 * n**3 + n**2
    return 2 * n**3 // T + 2 * n**3 // T + 2 * n**3 + n**2  # fetched, staged, read back, written


def oclgrind(kernel: str, n: int, workers: int = 2) -> float:
    """Seconds of one launch, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernels.cl").write_text(f"#define T {T}\n{OPENCL}")
        bytes_ = 4 * n * n
        (Path(folder) / "launch.sim").write_text(
            f"kernels.cl\n{kernel}\n{n} {n} 1\n{T} {T} 1\n\n"
            f"<size={bytes_} float fill=2>\n<size={bytes_} float fill=3>\n"
            f"<size={bytes_} float fill=0 {'dump' if n <= 32 else ''}>\n<size=4 int fill={n}>\n"
        )
        command = ["oclgrind-kernel", "--data-races", "--num-threads", str(workers), "launch.sim"]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
    values = set(re.findall(r"= (\S+)", done.stdout))
    right = values == {str(6 * n)} if n <= 32 else not values
    if done.returncode or done.stderr or not right:
        sys.exit(f"oclgrind {kernel} {n}: status {done.returncode}\n{done.stdout[:300]}{done.stderr[:2000]}")
    return seconds


SIMULATED = """
import sys, time
import numpy as np
from gemmlab.kernels.ladder import RUNGS, load
name, n = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(0)
a, b = (random.integers(-3, 4, (n, n)).astype(np.float32) for _ in "ab")
c = np.full((n, n), np.nan, np.float32)
kernel = load(RUNGS[name].source)[RUNGS[name].launch(n, n)]
start = time.perf_counter()
kernel(a, b, c)
print(time.perf_counter() - start)
assert (c == a @ b).all()
"""


def simulator(kernel: str, n: int) -> float:
    """Seconds of one launch in numba's simulator, imports apart."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-c", SIMULATED, kernel, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"simulator {kernel} {n}: {done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def largest(run, kernel: str, seconds: float) -> tuple[int, float]:
    """The largest size that a tool manages in that time, and its seconds; sizes are tried upwards.

    Work grows as n cubed: a size is tried if by the last one it would fit.
    """
    size, taken = SIZES[0], run(kernel, SIZES[0])
    for after in SIZES[1:]:
        if taken * (after / size) ** 3 > seconds:
            break
        size, taken = after, run(kernel, after)
    return size, taken


def emulator(kernel: str, n: int) -> dict:
    """The emulator's seconds: first launch, and the median of three when compiled."""
    import numpy as np

    import gemmlab
    from gemmlab.kernels.ladder import RUNGS, load

    random = np.random.default_rng(0)
    a, b = (random.integers(-3, 4, (n, n)).astype(np.float32) for _ in "ab")
    rung, times = RUNGS[kernel], []
    small = [np.zeros((T, T), np.float32) for _ in "abc"]
    start = time.perf_counter()
    gemmlab.emulate(load(rung.source), *rung.launch(T, T), *small)
    first = time.perf_counter() - start
    for _ in range(3):
        c = np.full((n, n), np.nan, np.float32)
        start = time.perf_counter()
        result = gemmlab.emulate(load(rung.source), *rung.launch(n, n), a, b, c)
        times.append(time.perf_counter() - start)
        assert (c == a @ b).all()
        assert result.ok, result.faults
    counted = sum(
        (result.global_load.elements, result.global_store.elements, result.shared_load.elements,
         result.shared_store.elements)
    )  # fmt: skip
    assert counted == accesses(kernel, n), (counted, accesses(kernel, n))
    return {"first_s": first, "seconds": sorted(times)[1], "all_s": times}


def row(tool: str, kernel: str, n: int, seconds: float, **more) -> dict:
    rate = accesses(kernel, n) / seconds
    return {"tool": tool, "kernel": kernel, "n": n, "seconds": seconds, "accesses": accesses(kernel, n),
            "accesses_per_s": rate, **more}  # fmt: skip


def measured(seconds: float, ours: int, problems: list[str]) -> list[dict]:
    """A row of each tool and kernel."""
    rows = []
    for kernel in KERNELS:
        found = emulator(kernel, ours)
        rows.append(row("gemmlab", kernel, ours, found.pop("seconds"), **found))
        if shutil.which("oclgrind-kernel"):
            start = min(oclgrind(kernel, T) for _ in range(3))
            n, taken = largest(oclgrind, kernel, seconds)
            rows.append(row("oclgrind --data-races", kernel, n, taken - start, start_s=start))
        else:
            problems.append("oclgrind is not installed: left out")
        n, taken = largest(simulator, kernel, seconds)
        rows.append(row("numba simulator", kernel, n, taken))
    return rows


def versions() -> dict[str, str]:
    import numba

    found = {"python": platform.python_version(), "numba": numba.__version__}
    if shutil.which("oclgrind-kernel"):
        text = subprocess.run(["oclgrind-kernel", "--version"], capture_output=True, text=True, check=False).stdout
        found["oclgrind"] = re.findall(r"[\d.]+", text)[0]
    return found


def processor() -> str:
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return next(iter(re.findall(r"model name\s*: (.*)", text)), platform.processor())


def main() -> None:
    """Measure every tool, write the rows and the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="benchmarks/results/emulator_peers.json")
    parser.add_argument("--seconds", type=float, default=60, help="time of one launch of a peer")
    parser.add_argument("--n", type=int, default=OURS, help="size of the emulator's launches")
    options = parser.parse_args()
    problems: list[str] = []
    load_before = os.getloadavg()
    rows = measured(options.seconds, options.n, problems)
    ours = {found["kernel"]: found["accesses_per_s"] for found in rows if found["tool"] == "gemmlab"}
    for found in rows:
        found["gemmlab_is_times_faster"] = ours[found["kernel"]] / found["accesses_per_s"]
    result = {
        "what": "measured: accesses a second, all tools in one run; the time of each peer's launch at most "
        f"{options.seconds:g} s",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load_average": {"before": load_before, "after": os.getloadavg()},
        "versions": versions(),
        "problems": problems,
        "rows": rows,
    }
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    for found in rows:
        print(f"{found['tool']:22} {found['kernel']:6} n={found['n']:5} {found['seconds']:8.2f} s "
              f"{found['accesses_per_s']:.3g} accesses/s, gemmlab {found['gemmlab_is_times_faster']:.4g}x")  # fmt: skip


if __name__ == "__main__":
    main()
