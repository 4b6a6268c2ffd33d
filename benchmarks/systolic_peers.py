"""The systolic engines beside SCALE-Sim 3.0.0: do they agree where it is right, and how fast is each?

    python3 -m venv /somewhere && /somewhere/bin/pip install scalesim==3.0.0 'numpy<2' 'pandas<3'
    python benchmarks/systolic_peers.py --peer /somewhere/bin/python --out benchmarks/results/systolic_peers.json

Agreement: random multiplications whose sides fill whole tiles, all dataflows, single weights and a side drain, as
SCALE-Sim has them. Its cycles + 1 and its reads of A and B must be the closed form's and the grid's, and the grid's D
the exact product. On as many that do not fill tiles, `scalesim` must give all its figures, faults included. Speed: CPU
seconds of one run of each at six sizes, SCALE-Sim without its traces; ours the best of several after one that loads
compiled code, and of the closed form one call as well as one of ten thousand in one call. Memory: the peak of a process
of its own; of ours also what no file backs, since most of the rest is LLVM's library, mapped whether used or not.
"""

import argparse
import datetime
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

SIZES = (
    (16, 16, 16, 8),
    (64, 64, 64, 16),
    (100, 70, 33, 32),
    (256, 256, 256, 32),
    (1024, 1024, 1024, 128),
    (1024, 1024, 1024, 256),
)
QUERY = Path(__file__).with_name("systolic_peers_query.py")
DATAFLOWS = ("ws", "is", "os")


def full_case(rng: random.Random) -> dict[str, object]:
    """A multiplication that fills whole tiles."""
    rows, cols = rng.randint(1, 12), rng.randint(1, 12)
    dataflow = rng.choice(DATAFLOWS)
    down, across, stream = rows * rng.randint(1, 4), cols * rng.randint(1, 4), rng.randint(1, 48)
    m, n, k = {"ws": (stream, across, down), "is": (across, stream, down), "os": (down, across, stream)}[dataflow]
    return {"m": m, "n": n, "k": k, "rows": rows, "cols": cols, "dataflow": dataflow}


def any_case(rng: random.Random) -> dict[str, object]:
    """A multiplication of any sides."""
    sides = {name: rng.randint(1, 40) for name in ("m", "n", "k")}
    return {**sides, "rows": rng.randint(1, 12), "cols": rng.randint(1, 12), "dataflow": rng.choice(DATAFLOWS)}


def asked(peer: str, cases: list[dict[str, object]]) -> list[dict[str, object]]:
    """SCALE-Sim's answers."""
    text = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([peer, str(QUERY)], input=text, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(answers) != len(cases):
        sys.exit(f"{len(answers)} answers to {len(cases)} cases\n{done.stderr[-2000:]}")
    return answers


def described(case: dict[str, object]) -> tuple[object, object]:
    """The case as problem and array, with what SCALE-Sim has."""
    from gemmlab import Gemm
    from gemmlab.systolic import Array

    problem = Gemm(case["m"], case["n"], case["k"], "int8")
    array = {name: case[name] for name in ("rows", "cols", "dataflow")}
    return problem, Array(**array, weights="single", drain="side")


def operands(problem: object, seed: int) -> tuple[object, object]:
    """Random bytes."""
    import numpy as np

    rng = np.random.default_rng(seed)
    a = rng.integers(-128, 128, (problem.m, problem.k), dtype=np.int8)
    return a, rng.integers(-128, 128, (problem.k, problem.n), dtype=np.int8)


def agreement(peer: str, count: int, seed: int) -> dict[str, object]:
    """In how many full cases everything is equal, and the first in which it is not."""
    import numpy as np

    from gemmlab.systolic import Grid, closed_form

    rng = random.Random(seed)
    cases = [full_case(rng) for _ in range(count)]
    differ = []
    divided = 0
    for number, (case, theirs) in enumerate(zip(cases, asked(peer, cases), strict=True)):
        problem, array = described(case)
        ours = closed_form(problem, array)
        a, b = operands(problem, number)
        d, grid = Grid(problem, array, (a, b)).run()
        same = [ours.cycles == grid.cycles, ours.reads == grid.reads, ours.writes == grid.writes]
        same.append(bool((d == a.astype(np.int64) @ b.astype(np.int64)).all()))
        if "error" in theirs:
            divided += 1
            same.append(ours.cycles == 1)
        else:
            same.append(theirs["cycles"] + 1 == ours.cycles)
            same.append((theirs["a_reads"], theirs["b_reads"]) == (ours.reads.a, ours.reads.b))
        if not all(same):
            differ.append({**case, "theirs": theirs, "ours": ours.cycles})
    return {"cases": count, "equal": count - len(differ), "it_divides_by_zero": divided, "differ": differ[:5]}


def reproduced(peer: str, count: int, seed: int) -> dict[str, object]:
    """In how many cases of any sides `scalesim` gives all its figures."""
    from gemmlab.systolic import scalesim

    rng = random.Random(seed)
    cases = [any_case(rng) for _ in range(count)]
    differ = []
    for case, theirs in zip(cases, asked(peer, cases), strict=True):
        ours = scalesim(*described(case))
        if "error" in theirs:
            same = ours.utilisation is None
        else:
            same = all(getattr(ours, name) == theirs[name] for name in ("cycles", "a_reads", "b_reads", "c_writes"))
            for name in ("utilisation", "mapping", "compute_utilisation"):
                same = same and abs(100 * getattr(ours, name) - theirs[name]) < 1e-6
        if not same:
            differ.append({**case, "theirs": theirs, "ours": repr(ours)})
    return {"cases": count, "equal": count - len(differ), "differ": differ[:5]}


def best(work: object, least: float = 0.3) -> float:
    """CPU seconds of the quickest of several runs."""
    times = []
    while sum(times) < least or len(times) < 3:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def counted(problem: object, array: object) -> float:
    """CPU seconds of one closed form, out of many."""
    from gemmlab.systolic import closed_form

    closed_form(problem, array)
    start = time.process_time()
    for _ in range(1000):
        closed_form(problem, array)
    return (time.process_time() - start) / 1000


def counted_at_once(problem: object, array: object) -> float:
    """CPU seconds of one multiplication among ten thousand."""
    import numpy as np

    from gemmlab.systolic import closed_forms

    sizes = [np.full(10_000, side) for side in (problem.m, problem.n, problem.k)]
    return best(lambda: closed_forms(*sizes, array)) / 10_000


def speed(peer: str) -> list[dict[str, object]]:
    """Both at six sizes."""
    from gemmlab.systolic import Grid

    rows = []
    for m, n, k, side in SIZES:
        for dataflow in ("os", "ws"):
            case = {"m": m, "n": n, "k": k, "rows": side, "cols": side, "dataflow": dataflow}
            theirs = asked(peer, [case])[0]
            problem, array = described(case)
            given = operands(problem, 0)
            values = best(lambda problem=problem, array=array, given=given: Grid(problem, array, given).run())
            counts = counted(problem, array)
            at_once = counted_at_once(problem, array)
            memory = json.loads(
                subprocess.run(
                    [sys.executable, __file__, "--memory", json.dumps(case)], capture_output=True, text=True, check=True
                ).stdout
            )
            rows.append(
                {
                    **case,
                    "scalesim_cpu_s": theirs["cpu_s"],
                    "scalesim_peak_mib": round(theirs["peak_kib"] / 1024, 1),
                    "grid_cpu_s": values,
                    "closed_form_cpu_s": counts,
                    "closed_forms_cpu_s": at_once,
                    "values_ratio": theirs["cpu_s"] / values,
                    "counts_ratio": theirs["cpu_s"] / counts,
                    "counts_at_once_ratio": theirs["cpu_s"] / at_once,
                    **memory,
                }
            )
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def memory(case: dict[str, object]) -> dict[str, float]:
    """Memory of one grid's run in this process, MiB."""
    from gemmlab.systolic import Grid

    problem, array = described(case)
    Grid(problem, array, operands(problem, 0)).run()
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {
        name: next(int(line.split()[1]) for line in lines if line.startswith(name)) for name in ("VmHWM", "RssAnon")
    }
    return {"grid_peak_mib": round(found["VmHWM"] / 1024, 1), "grid_own_mib": round(found["RssAnon"] / 1024, 1)}


def has_peer(python: str | None) -> bool:
    """Whether that Python is there and has SCALE-Sim."""
    if python is None:
        return False
    try:
        return subprocess.run([python, "-c", "import scalesim"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def processor() -> str:
    """Its name, where the system tells one."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", help="the Python of an environment with scalesim 3.0.0")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.memory:
        print(json.dumps(memory(json.loads(told.memory))))
        return
    if not has_peer(told.peer):
        print(f"skipped: {told.peer or 'no --peer'} has no scalesim", file=sys.stderr)
        return
    before = os.getloadavg()
    full = agreement(told.peer, told.cases, told.seed)
    print(json.dumps(full), file=sys.stderr)
    crooked = reproduced(told.peer, told.cases, told.seed + 1)
    print(json.dumps(crooked), file=sys.stderr)
    rows = speed(told.peer)
    found = {
        "what": "measured: CPU seconds of one run; counted: agreement with SCALE-Sim 3.0.0",
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "load_average": {"before": before, "after": os.getloadavg()},
        "versions": {"python": platform.python_version(), "numpy": version("numpy"), "numba": version("numba")},
        "full_tiles": full,
        "any_tiles": crooked,
        "values_ratio_median": statistics.median(row["values_ratio"] for row in rows),
        "counts_ratio_median": statistics.median(row["counts_ratio"] for row in rows),
        "counts_at_once_ratio_median": statistics.median(row["counts_at_once_ratio"] for row in rows),
        "rows": rows,
    }
    text = json.dumps(found, indent=1) + "\n"
    if told.out:
        Path(told.out).write_text(text)
    print({name: value for name, value in found.items() if name.endswith("median")})


if __name__ == "__main__":
    main()
