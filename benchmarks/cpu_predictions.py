"""The CPU rungs' predicted times beside the measured ones of benchmarks/results/cpu_ladder*.json.

    python benchmarks/cpu_predictions.py --out benchmarks/results/cpu_predictions.json
    python benchmarks/cpu_predictions.py --measure benchmarks/results/cpu_readings_zen5.json

The first measures nothing. Of a file that does not say its clock and memory's rate, they are assumed as MACHINES says.
The second times the rungs here for half a minute, at sizes that no choice in the model was made in sight of.
"""

import argparse
import datetime
import json
import math
import re
import statistics
from pathlib import Path

from gemmlab.chips.chip import Chip, Figure, Level, Peak
from gemmlab.chips.machine import Machine, cache_bytes, describe
from gemmlab.count.cpu import count_cpu
from gemmlab.kernels.ladder.cpu.tiling import Tiling
from gemmlab.model.cpu import predict_cpu
from gemmlab.problem import Gemm

FOLDER = Path(__file__).resolve().parent / "results"
WITHIN = 2.0
NUMBER = re.compile(r"(\w+)=(\d+)")

#: file -> vendor, L1 bytes, clock in Hz, FLOP a clock of float32, memory's bytes/s, and what those figures rest on
MACHINES = {
    "cpu_ladder": (
        "GenuineIntel", 48 << 10, 2.9e9, 64, 358.4e9,
        "not recorded: 300 MB of L3 are those of a Xeon Platinum 8580, 2.9 GHz on all cores, 8 channels of DDR5-5600",
    ),
    "cpu_ladder_avx2": (
        "AuthenticAMD", 32 << 10, 3.3e9, 32, 204.8e9,
        "not recorded: 512 KiB of L2 and 16 MiB of L3 are a Zen 2 EPYC's, which clocks up to 3.3 GHz, DDR4-3200",
    ),
    "cpu_readings_zen5": ("AuthenticAMD", 48 << 10, 0, 0, 0, "measured with the times"),
}  # fmt: skip
#: sides and format of what `--measure` times
SHAPES = (
    (384, 384, 384, "float32"), (720, 720, 720, "float32"), (896, 896, 896, "float32"), (1500, 200, 700, "float32"),
    (600, 600, 600, "float64"),
)  # fmt: skip
RUNGS = ("naive", "ikj", "blocks", "packed")
BUSY = "wall time of several threads on a machine with more work than cores"


def described(name: str, told: dict) -> tuple[Machine, Chip, int]:
    """Machine, chip and L1 of a file."""
    vendor, l1_bytes, clock, rate, memory, source = MACHINES[name]
    l1_bytes = told.get("l1_bytes", l1_bytes)
    clock, rate, memory = (
        told.get(key, assumed)
        for key, assumed in (("clock_hz", clock), ("flop_per_clock", rate), ("dram_bytes_per_s", memory))
    )
    machine = Machine(
        model=told["chip"], vendor=vendor, cores=told["cores"], threads=told["cores"], flags=frozenset(told["flags"]),
        l2_bytes=told["l2_bytes"], l3_bytes=told["l3_bytes"], memory_bytes=0, nominal_hz=0.0,
    )  # fmt: skip
    figures = {"float32": rate, "float64": rate / 2}
    peaks = {
        form: Peak(
            flop_per_s=Figure(told["cores"] * clock * each, source, False),
            flop_per_clock_per_sm=Figure(each, "instruction set"), unit="vector",
        )
        for form, each in figures.items()
    }  # fmt: skip
    if "amx_bf16" in told["flags"]:
        peaks["bfloat16"] = Peak(
            flop_per_s=Figure(told["cores"] * clock * 1024, source, False),
            flop_per_clock_per_sm=Figure(1024, "instruction set"),
        )
    rates = {"dram": memory} | ({"l2": told["l3_bytes_per_s"]} if "l3_bytes_per_s" in told else {})
    levels = tuple(
        Level(name=level, bandwidth_bytes_per_s=Figure(rate, source, False), capacity_bytes=Figure(0))
        for level, rate in rates.items()
    )
    chip = Chip(
        name=name, full_name=told["chip"], vendor=vendor, architecture="cpu", kind="cpu", year=0,
        sm_count=Figure(told["cores"]), clock_hz=Figure(clock, source, False, source), levels=levels, peaks=peaks,
    )  # fmt: skip
    return machine, chip, l1_bytes


def compared(name: str) -> list[dict]:
    """A row for each rung and size that was measured."""
    told = json.loads((FOLDER / f"{name}.json").read_text())
    machine, chip, l1_bytes = described(name, told)
    found = []
    for row in told["rows"]:
        if row.get("contender") not in ("naive", "ikj", "blocks", "packed", "amx"):
            continue
        cut = {field: int(value) for field, value in NUMBER.findall(row["environment"].get("tiling", ""))}
        sizes = Tiling(**cut) if cut else None
        sides = [row.get(side, row["n"]) for side in "mnk"]
        problem = Gemm(*sides, row["format"])
        counted = count_cpu(problem, row["contender"], row["threads"], sizes)
        prediction = predict_cpu(
            problem, chip, row["contender"], counted,
            threads=row["threads"], machine=machine, l1_bytes=l1_bytes, sizes=sizes,
            library=row["environment"].get("blas_kernels", ""),
        )  # fmt: skip
        found.append(
            {
                "file": name, "rung": row["contender"], "format": row["format"],
                "m": problem.m, "n": problem.n, "k": problem.k, "threads": row["threads"],
                "left_out": BUSY if busy(row, told) else "", "counted_load_bytes": counted.global_load_bytes,
                "counted_store_bytes": counted.global_store_bytes, "predicted_s": prediction.time_s,
                "bound": prediction.bound, "limit_s": limit_s(problem, chip, row["threads"]),
                "measured_s": row["median_s"], "best_s": row["best_s"], "ratio": prediction.time_s / row["median_s"],
            }
        )  # fmt: skip
    return found


def limit_s(problem: Gemm, chip: Chip, threads: int) -> float:
    """The roofline's seconds: arithmetic at the peak of the cores that work, or each matrix once through memory."""
    peak = chip.peaks[problem.a_format].flop_per_s * threads / chip.sm_count
    return max(problem.flop / peak, problem.compulsory_bytes / chip.level("dram").bandwidth_bytes_per_s)


def busy(row: dict, told: dict) -> bool:
    """Whether a reading says more of who else was there than of the rung."""
    return row["threads"] > 1 and told["load_average"][0] > told["cores"]


def measured() -> dict:
    """The rungs' times here, one thread each, and what the model has to know of this machine."""
    import os

    from gemmlab.chips.cpu import cpu
    from gemmlab.experiment import Options, run_together
    from gemmlab.run.registry import contenders
    from gemmlab.run.timing import Protocol

    load, machine, chip = os.getloadavg(), describe(), cpu()
    rows = []
    for m, n, k, form in SHAPES:
        named = contenders([f"cpu:{rung}" for rung in RUNGS], ["cpu"])
        options = Options(chip=chip, threads=1, protocol=Protocol(rounds=5))
        for record in run_together(Gemm(m, n, k, form), named, options):
            told = record.measurement
            rows.append(
                {
                    "contender": told.kernel, "format": form, "m": m, "n": n, "k": k, "threads": 1,
                    "median_s": told.time_s, "best_s": min(told.samples), "right": record.verdict.ok,
                    "environment": told.environment,
                }
            )  # fmt: skip
    return {
        "date": datetime.date.today().isoformat(),
        "chip": machine.model,
        "cores": machine.cores,
        "flags": sorted(machine.flags & {"avx2", "fma", "avx512f", "amx_tile", "amx_bf16"}),
        "l1_bytes": cache_bytes("/sys/devices/system/cpu", [0], 1),
        "l2_bytes": machine.l2_bytes,
        "l3_bytes": machine.l3_bytes,
        "clock_hz": float(chip.clock_hz),
        "flop_per_clock": float(chip.peaks["float32"].flop_per_clock_per_sm),
        "l3_bytes_per_s": float(chip.level("l2").bandwidth_bytes_per_s),
        "dram_bytes_per_s": float(chip.level("dram").bandwidth_bytes_per_s),
        "load_average": load[:2],
        "rows": rows,
    }


def error(ratio: float) -> float:
    """How many times too short or too long."""
    return math.exp(abs(math.log(ratio)))


def summary(rows: list[dict]) -> dict:
    """Median and worst error, as factors, and what lies outside the factor that is aimed at."""
    left_out, rows = [row for row in rows if row["left_out"]], [row for row in rows if not row["left_out"]]
    worst = max(rows, key=lambda row: error(row["ratio"]))
    return {
        "rows": len(rows),
        "left_out": len(left_out),
        "median_factor": statistics.median(error(row["ratio"]) for row in rows),
        "worst_factor": error(worst["ratio"]),
        "worst": {field: worst[field] for field in ("file", "rung", "format", "m", "n", "k", "threads")},
        "within": sum(error(row["ratio"]) <= WITHIN for row in rows),
    }


def told() -> dict:
    """Everything: what was assumed, errors in all and by file, and each row."""
    rows = [row for name in MACHINES for row in compared(name)]
    return {
        "assumed": {name: values[-1] for name, values in MACHINES.items()},
        "all": summary(rows),
        **{name: summary([row for row in rows if row["file"] == name]) for name in MACHINES},
        "rows": rows,
    }


def main() -> None:
    """Compare, print, and keep what comes out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", type=Path)
    given = parser.parse_args()
    if given.measure:
        given.measure.write_text(json.dumps(measured(), indent=1) + "\n")
        return
    found = told()
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")
    for row in found["rows"]:
        shape = f"{row['m']}x{row['n']}x{row['k']}"
        print(
            f"{row['file']:17} {row['rung']:7} {row['format']:8} {shape:15} threads={row['threads']} "
            f"{row['predicted_s'] * 1e3:9.3f} ms  {row['measured_s'] * 1e3:9.3f} ms  {row['ratio']:5.2f}  "
            f"{row['bound']:8} {row['left_out']}".rstrip()
        )
    print(json.dumps({name: found[name] for name in ("all", *MACHINES)}, indent=1))


if __name__ == "__main__":
    main()
