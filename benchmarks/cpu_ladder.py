"""The CPU's ladder beside NumPy's and torch's libraries: the same operands, in turn, each in a process of its own.

    python benchmarks/cpu_ladder.py --out benchmarks/results/cpu_ladder.json [--quick]

Each group of contenders shares as many cores as the threads that each may use, others' processes are stopped meanwhile,
rounds go A B A B. A figure is the median of the rounds: CPU time of the one thread, or, of several threads, wall time.
What was timed last is checked. torch and AMX are left out where there are none. `--quick` takes a third of the rounds,
checks 512 rows of each result, and begins no group after QUICK_S.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from gemmlab.check import Operands, check_bounds, operands
from gemmlab.chips import Chip
from gemmlab.chips.cpu import cpu
from gemmlab.chips.machine import cache_bytes, describe
from gemmlab.problem import Gemm
from gemmlab.run.backends.cpu.contenders import CONTENDERS
from gemmlab.run.checking import judged
from gemmlab.run.fault import REFUSED, FaultError
from gemmlab.run.process import Process
from gemmlab.run.timing import quantile, repetitions

SAMPLE_S = 0.05
COPIES_BYTES = 256 << 20  # of operands that rounds go through, so that they are not found where they were left
LIMIT_S = 120.0
QUICK_S = 65.0
IDLE = 0.7  # load average up to which wall times are believed
IDLE_SHARE = 0.25  # of the cores that are not used: the same
BAND = 256  # rows at either end that `--quick` checks


class Group(NamedTuple):
    """Contenders that are timed in turn."""

    form: str
    threads: int  #: 0: all cores
    sides: tuple[int, ...]
    names: tuple[str, ...]
    rounds: int = 15


class Bar(NamedTuple):
    """What is asked of a rung beside a library."""

    rung: str
    vendor: str
    form: str
    threads: int
    mean: float  #: geometric, of all sides
    least: float = 0.0  #: of each side


SIDES = (512, 1024, 2048)
GROUPS = (
    Group("float32", 1, SIDES, ("packed", "numpy", "torch")),
    Group("bfloat16", 1, (1024, 2048, 4096), ("amx", "torch")),
    Group("float32", 2, SIDES, ("packed", "numpy", "torch")),
    Group("float32", 1, (512,), ("naive", "ikj", "blocks", "packed", "numpy"), 9),
    Group("float64", 1, (1024,), ("packed", "numpy", "torch")),
    Group("bfloat16", 0, (4096,), ("amx", "torch"), 9),
    Group("float32", 0, (4096,), ("packed", "numpy", "torch"), 9),
)
BARS = (
    Bar("packed", "numpy", "float32", 1, 0.9, 0.85),
    Bar("packed", "numpy", "float32", 2, 0.85),
    Bar("amx", "torch", "bfloat16", 1, 0.9),
)
TABLE = {each.name: each for each in CONTENDERS}


def cores() -> list[int]:
    """One logical processor of each core that this process may use, the first core last: it serves interrupts."""
    found = {}
    for number in sorted(os.sched_getaffinity(0)):
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        found.setdefault(siblings.read_text() if siblings.exists() else number, number)
    return list(found.values())[::-1]


def started(group: Group, cpus: list[int], given: list[dict]) -> dict[str, Process]:
    """The group's processes on so many cores, each with its first program; who cannot is left out and told."""
    everywhere = os.sched_getaffinity(0)
    problem = Gemm(*[group.sides[0]] * 3, group.form)
    os.sched_setaffinity(0, cpus)
    try:
        found = {name: Process(TABLE[name], threads=len(cpus), limit_s=LIMIT_S) for name in group.names}
    finally:
        os.sched_setaffinity(0, everywhere)
    for name, process in found.items():
        process.send("load", TABLE[name].source, problem)
    for name in group.names:
        try:
            found[name].receive()
        except FaultError as error:
            if error.fault.kind != REFUSED:
                raise
            given.append({"group": GROUPS.index(group), "rung": name, "left_out": error.fault.detail})
            del found[name]
    return found


def timed(group: Group, side: int, processes: dict[str, Process], threads: int, quick: bool) -> list[dict]:
    """Rows of one size, a contender each."""
    rounds = group.rounds // 3 if quick else group.rounds
    problem = Gemm(side, side, side, group.form)
    copies = max(2, min(64, COPIES_BYTES // problem.compulsory_bytes))
    drawn = operands(problem)
    counts, samples, environment = {}, {name: [] for name in processes}, {}
    for name, process in processes.items():
        environment[name] = process.ask("load", TABLE[name].source, problem)
        process.ask("place", {"a": drawn.a.storage, "b": drawn.b.storage}, copies)
        first = min(process.ask("elapsed", 0, 1, copies) for _ in range(2))
        counts[name] = repetitions(first, SAMPLE_S)
        process.pause()
    place = 0
    for index in range(rounds):
        for name, process in processes.items():
            if index == rounds - 1:
                process.ask("poison")
            samples[name].append(process.ask("elapsed", place % copies, counts[name], copies) / counts[name])
            process.pause()
        place += max(counts.values())
    rows = []
    for name, process in processes.items():
        last = (place - max(counts.values()) + counts[name] - 1) % copies
        right = checked(problem, drawn, process.ask("result", last), name, quick)
        process.pause()
        median, low, high = (quantile(samples[name], share) for share in (0.5, 0.25, 0.75))
        rows.append(
            {
                "group": GROUPS.index(group), "contender": name, "format": group.form, "n": side, "threads": threads,
                "right": right, "median_s": median, "quartiles_s": [low, high], "best_s": min(samples[name]),
                "flop_per_s": problem.flop / median, "rounds": rounds, "repetitions": counts[name], "copies": copies,
                "environment": environment[name],
            }
        )  # fmt: skip
        what = f"{group.form} n={side} threads={threads} {name}"
        print(f"{what}: {problem.flop / median / 1e9:.1f} GFLOP/s {'right' if right else 'WRONG'}", file=sys.stderr)
    return rows


def checked(problem: Gemm, drawn: Operands, d: object, name: str, quick: bool) -> bool:
    """Whether a result is the product: all of it, or its first and last rows, which are products of their own."""
    if not quick or problem.m <= 2 * BAND:
        return judged(problem, drawn, d, TABLE[name]).ok
    a, b = drawn.a.array, drawn.b.array
    return all(
        check_bounds(problem.replace(m=BAND), a[rows], b, d[rows], unit_roundoff=2.0**-24).ok
        for rows in (slice(BAND), slice(problem.m - BAND, None))
    )


def measured(quick: bool) -> list[dict]:
    """Everything, group by group."""
    rows: list[dict] = []
    free, begun = cores(), time.monotonic()
    for number, group in enumerate(GROUPS):
        late = quick and time.monotonic() - begun > QUICK_S
        if late or group.threads > len(free):
            rows.append({"group": number, "left_out": "no time left" if late else f"{len(free)} cores"})
            continue
        cpus = free[: group.threads or len(free)]
        processes = started(group, cpus, rows)
        try:
            # A library alone is no comparison, and without AMX torch takes minutes in bfloat16.
            for side in group.sides if group.names[0] in processes else ():
                rows += timed(group, side, processes, len(cpus), quick)
        finally:
            for process in processes.values():
                process.end()
    return rows


def against(bar: Bar, rows: list[dict], load: float, cores: int) -> dict[str, object]:
    """A rung's rate over a library's, size by size, by medians and by the best rounds, and whether it is what is asked.

    Wall times on a loaded machine tell nothing: a library's threads wait for each other at every barrier, and for
    whoever else has the core. A load that leaves most of the other cores idle is none.
    """
    group = next(
        number
        for number, each in enumerate(GROUPS)
        if (each.form, each.threads) == (bar.form, bar.threads) and {bar.rung, bar.vendor} <= {*each.names}
    )

    def of(name: str, figure: str) -> dict[int, float]:
        return {row["n"]: row[figure] for row in rows if row["group"] == group and row.get("contender") == name}

    found: dict[str, object] = {**bar._asdict()}
    for figure in ("median_s", "best_s"):
        own, library = of(bar.rung, figure), of(bar.vendor, figure)
        ratios = {n: library[n] / own[n] for n in library if n in own}
        if ratios:
            found[figure] = {**ratios, "geometric_mean": statistics.geometric_mean(ratios.values())}
    if "median_s" in found:
        ratios = found["median_s"].values()
        met = found["median_s"]["geometric_mean"] >= bar.mean and min(ratios) >= bar.least
        idle = load <= max(IDLE, (cores - bar.threads) * IDLE_SHARE)
        found["met"] = met if bar.threads == 1 or idle else f"not told: load average {load:.1f} before"
    return found


def main() -> None:
    """Measure, and print or keep what comes out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    rows = measured(given.quick)
    machine, chip = describe(), cpu()
    packages = {each: version(each) for each in ("numpy", "numba", "llvmlite", "torch")}
    told = {
        "date": datetime.date.today().isoformat(),
        "chip": machine.model,
        "cores": machine.cores,
        "flags": sorted(machine.flags & {"avx2", "fma", "avx512f", "amx_tile", "amx_bf16", "avx512_bf16"}),
        "l2_bytes": machine.l2_bytes,
        "l3_bytes": machine.l3_bytes,
        "l1_bytes": cache_bytes("/sys/devices/system/cpu", [0], 1),
        **rates(chip),
        "load_average": [load, os.getloadavg()[0]],
        "versions": {"python": platform.python_version(), **packages},
        "bars": [against(bar, rows, load, machine.cores) for bar in BARS],
        "rows": rows,
    }
    text = json.dumps(told, indent=1)
    if given.out:
        given.out.write_text(text + "\n")
    print(json.dumps(told["bars"], indent=1))


def rates(chip: Chip) -> dict[str, float]:
    """What a prediction needs of the chip: its clock, a core's FLOP a clock, and what copies get of L3 and memory."""
    found = {"clock_hz": float(chip.clock_hz), "flop_per_clock": float(chip.peaks["float32"].flop_per_clock_per_sm)}
    for name, role in (("l3", "l2"), ("dram", "dram")):
        if level := chip.level(role):
            found[f"{name}_bytes_per_s"] = float(level.bandwidth_bytes_per_s)
    return found


def version(package: str) -> str:
    """A package's version; empty without it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main()
