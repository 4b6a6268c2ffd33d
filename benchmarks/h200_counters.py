"""Hardware counters of small kernels and of the ladder, to hold the emulator's counts against: one row a launch.

    python benchmarks/h200_counters.py --out benchmarks/results/h200_counters.json

Needs an NVIDIA GPU, numba-cuda, CuPy (for the kernels in CUDA C++) and Nsight Compute (`ncu`), no gemmlab. The
launches stand in counter_cases.py, their kernels in counter_kernels.py and in the ladder. A launch that fails says so
in its row.
"""

from __future__ import annotations

import argparse
import collections
import csv
import ctypes
import datetime
import functools
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import counter_cases

WAYS = ("ld", "st", "atom")
MEMORY = {
    **{
        f"global_{way}_{what}": f"l1tex__t_{what}_pipe_lsu_mem_global_op_{way}.sum"
        for way in (*WAYS, "red")
        for what in ("requests", "sectors")
    },
    **{f"global_{way}_instructions": f"smsp__inst_executed_op_global_{way}.sum" for way in ("ld", "st", "red")},
    **{f"shared_{way}_wavefronts": f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum" for way in WAYS},
    **{f"shared_{way}_conflicts": f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{way}.sum" for way in WAYS},
    **{f"shared_{way}_instructions": f"smsp__inst_executed_op_shared_{way}.sum" for way in WAYS},
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "local_ld_instructions": "smsp__inst_executed_op_local_ld.sum",
    "threads": "smsp__threads_launched.sum",
}
ARITHMETIC = {
    **{
        op: f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum"
        for op in ("ffma", "fadd", "fmul", "dfma", "dadd", "dmul")
    },
    "branches": "smsp__inst_executed_op_branch.sum",
    "branch_targets_divergent": "smsp__sass_branch_targets_threads_divergent.sum",
    "branch_targets_uniform": "smsp__sass_branch_targets_threads_uniform.sum",
}
OPCODES = {"opcodes": "sass__inst_executed_per_opcode"}
#: counted at the instructions: without the waits for what else uses the same banks, which the counters above include
BY_INSTRUCTION = {
    f"shared_{way}_wavefronts_by_instruction": f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum"
    for way in ("ld", "st")
}
SETS = {"memory": MEMORY, "arithmetic": ARITHMETIC, "opcodes": OPCODES, "by_instruction": BY_INSTRUCTION}
SECONDS = {"memory": 330, "arithmetic": 90, "opcodes": 60, "by_instruction": 90}
INSTANCES = {"opcodes": ("--print-metric-instances", "details")}  # an opcode is an instance of its metric
SASS = re.compile(r"\b(LDG|STG|LDS|STS|LDSM|ATOM|ATOMG|ATOMS|RED|REDG|LDL|STL|BAR)((?:\.[A-Z0-9_]+)*)")


def chosen(which: str, record: str) -> list[counter_cases.Case]:
    """The cases whose counters of that set are read and not in the record: arithmetic where a kernel has any."""
    found = [case for case in counter_cases.cases() if which not in rows_of(record).get(case.name, {}).get("read", ())]
    if which == "memory":
        return found
    if which == "by_instruction":
        return [case for case in found if case.product]
    sums = ("row_sums", "column_sums", "three_point", "multiply", "axpy")
    return [case for case in found if case.product or case.kernel in sums]


# --- the process under ncu: it launches, and logs what it launched ---


def launch_all(which: str, record: str, first: int, log: Path, deadline: float) -> None:
    """Launch the cases from number `first` on, each between the marks that tell ncu to read it."""
    import numpy

    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack  # numba-cuda may ask for it; numpy 2.5 has it no more
    os.environ["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"  # a warp is all that a pattern takes
    from numba import cuda

    driver = ctypes.CDLL("libcuda.so.1")
    cuda.current_context()
    with log.open("a", buffering=1) as out:
        for number, case in enumerate(chosen(which, record)[first:], first):
            if time.time() > deadline:
                return
            answer: dict[str, Any] = {"number": number, "launched": False}
            try:
                launch(case, answer, driver)
            except Exception as error:
                answer["error"] = f"{type(error).__name__}: {error}"[-400:]
            print(json.dumps(answer), file=out)
            if answer["launched"] and "error" in answer:
                return  # the device may run nothing more for this process


def launch(case: counter_cases.Case, answer: dict[str, Any], driver: Any) -> None:
    """One launch; notes in `answer` whether it went out and whether a product is right."""
    from numba import cuda

    pieces = case.pieces()
    arrays = []
    for piece in pieces:
        array = cuda.to_device(piece.base)
        arrays.append(array[piece.part] if piece.part else array)
    go = prepared(case, arrays)
    cuda.synchronize()
    driver.cuProfilerStart()
    try:
        go()
        answer["launched"] = True
        cuda.synchronize()
    finally:
        driver.cuProfilerStop()
    if case.product:
        a, b, _ = (piece.host for piece in pieces)
        answer["right"] = bool((arrays[2].copy_to_host() == a @ b).all())


def prepared(case: counter_cases.Case, arrays: list[Any]) -> Any:
    """A function that launches the case, compiled where that can be done ahead."""
    import numpy

    grid, block = ((*sizes, 1, 1)[:3] for sizes in (case.grid, case.block))
    if not case.cuda:
        program = case.program()
        return lambda: program[grid, block](*arrays)
    pointers = [numpy.uint64(array.__cuda_array_interface__["data"][0]) for array in arrays]
    program = cuda_module().get_function(case.kernel)
    return lambda: program(grid, block, (*pointers, *(numpy.int32(value) for value in case.scalars)))


def cuda_module(made: list[Any] = []) -> Any:  # noqa: B006 (made once, kept)
    """The kernels in CUDA C++, compiled at first use."""
    import cupy

    import counter_kernels

    if not made:
        made.append(cupy.RawModule(code=counter_kernels.CUDA, options=("--std=c++17",)))
    return made[0]


# --- the process that runs ncu and reads what it says ---


def known_metrics() -> set[str]:
    """Names that ncu knows on this chip; empty if it cannot say."""
    done = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False, timeout=120)
    return {line.split()[0] for line in done.stdout.splitlines() if "__" in line.split(" ")[0]}


def read(which: str, metrics: dict[str, str], add_to: str, problems: list[str]) -> dict[int, dict[str, Any]]:
    """Counters of each case of a set by its number, as far as time allows; what goes wrong is noted."""
    total, first, found = len(chosen(which, add_to)), 0, {}
    deadline = time.time() + SECONDS[which]
    while first < total and time.time() < deadline:
        with tempfile.TemporaryDirectory() as folder:
            log, table = Path(folder) / "launched", Path(folder) / "counters.csv"
            log.touch()
            command = ["ncu", "--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off",
                       "--csv", "--page", "raw", "--print-units", "base", *INSTANCES.get(which, ()),
                       "--log-file", str(table), "--metrics", ",".join(metrics.values()),
                       sys.executable, __file__, "--launch", which, "--first", str(first), "--log", str(log),
                       "--deadline", str(deadline), "--add-to", add_to]  # fmt: skip
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS[which] + 60)
                said = done.stdout[-1500:] + done.stderr[-1500:]
            except subprocess.TimeoutExpired:
                said = "ncu did not end in time"
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            rows, words = parsed(table, metrics)
        if not lines:
            problems.append(f"{which}: nothing launched from case {first}: {said} {words}")
            break
        launched = [line for line in lines if line["launched"]]
        if len(rows) < len(launched):
            problems.append(f"{which}: {len(rows)} rows for {len(launched)} launches from case {first}: {said} {words}")
        for line, row in zip(launched, rows, strict=False):
            line.update(row if len(rows) >= len(launched) - 1 else {})
        found |= {line.pop("number"): line for line in lines}
        first = max(found) + 1
    if first < total:
        problems.append(f"{which}: no time for cases {first} to {total - 1}")
    return found


def parsed(table: Path, metrics: dict[str, str]) -> tuple[list[dict[str, Any]], str]:
    """Rows of ncu's table, and what else stood in its file."""
    text = table.read_text().splitlines() if table.exists() else []
    lines = [line for line in text if line.startswith('"')]
    words = "\n".join(line for line in text if not line.startswith('"'))[-1500:]
    if len(lines) < 3:
        return [], words
    head, _, *rows = list(csv.reader(lines))
    column = {name: head.index(metric) for name, metric in metrics.items() if metric in head}
    return [{"metrics": {name: number(row[i]) for name, i in column.items()}} for row in rows], words


def number(text: str) -> int | float | str | dict[str, int] | None:
    """A cell: a number, none, or instances as `name: value; ...` in brackets."""
    if "(" in text:
        pairs = re.findall(r"([A-Za-z_][\w.]*)\s*:\s*([\d,]+)", text)
        return {name: int(value.replace(",", "")) for name, value in pairs} or text[:2000]
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None if text in ("", "n/a") else text[:200]
    return int(value) if value == int(value) else value


def described(case: counter_cases.Case) -> dict[str, Any]:
    """A case as it stands in the record."""
    arrays = [
        {
            "dtype": str(piece.host.dtype),
            "shape": list(piece.host.shape),
            "strides": list(piece.host.strides),
            "byte_offset": piece.host.ctypes.data - piece.base.ctypes.data,
        }
        for piece in case.pieces()
    ]
    language = "CUDA C++" if case.cuda else "numba.cuda"
    return {"name": case.name, "language": language, "kernel": case.kernel, "grid": list(case.grid),
            "block": list(case.block), "arrays": arrays}  # fmt: skip


@functools.cache
def widths_in_machine_code() -> dict[str, dict[str, int]]:
    """How often each memory instruction stands in a rung's machine code: tells what a compiler merged or spilled."""
    import numpy

    numpy.row_stack = numpy.vstack
    from numba import cuda, float32

    array = float32[:, ::1]
    found = {}
    for case in counter_cases.cases():
        if not case.product or case.cuda or case.kernel in found:
            continue
        try:
            program = cuda.jit(case.program().py_func)
            program.compile((array, array, array))
            text = "".join(program.inspect_sass().values())
            found[case.kernel] = dict(collections.Counter("".join(match.groups()) for match in SASS.finditer(text)))
        except Exception as error:
            found[case.kernel] = {f"{type(error).__name__}: {error}"[:200]: 0}
    return found


def versions() -> dict[str, str]:
    """Of what compiled and read."""
    found = {"python": platform.python_version()}
    for name in ("numba", "numba-cuda", "cupy-cuda13x", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    for name, command in (("ncu", ["ncu", "--version"]), ("nvcc", ["nvcc", "--version"])):
        try:
            text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        except OSError:
            continue
        found[name] = next(iter(re.findall(r"(?:Version |release )([\d.]+)", text)), "unknown")
    return found


def machine() -> dict[str, str]:
    """Chip and driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    name, driver, capability = (
        subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    )
    return {"chip": name, "driver": driver, "compute_capability": capability}


def main() -> None:
    """Read each set of counters, then write all rows with the machine and the versions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="benchmarks/results/h200_counters.json")
    parser.add_argument("--add-to", default="", help="launch only the cases that this record lacks, and write both")
    for name, kind in (("--launch", str), ("--first", int), ("--log", Path), ("--deadline", float)):
        parser.add_argument(name, type=kind, help="only launch the kernels (used under ncu)")
    options = parser.parse_args()
    if options.launch:
        launch_all(options.launch, options.add_to, options.first, options.log, options.deadline)
        return
    problems: list[str] = []
    known = known_metrics()
    rows = {case.name: described(case) | {"metrics": {}} for case in counter_cases.cases()} | rows_of(options.add_to)
    for which, metrics in SETS.items():
        absent = [name for name in metrics.values() if name.split(".")[0] not in known]
        if len(absent) * 3 > len(metrics):
            absent = []  # ncu's list is not of this kind of counter: let it say itself what it does not know
        problems += [f"ncu knows no {name} on this chip" for name in absent]
        names = chosen(which, options.add_to)
        start = time.time()
        found = read(
            which, {key: name for key, name in metrics.items() if name not in absent}, options.add_to, problems
        )
        for place, case in enumerate(names):
            reading = found.get(place, {})
            if counted := reading.pop("metrics", {}):
                rows[case.name].setdefault("read", []).append(which)
                rows[case.name]["metrics"] |= counted
            rows[case.name] |= {key: value for key, value in reading.items() if key != "launched"}
        print(f"{which}: {len(found)} of {len(names)} cases in {time.time() - start:.0f} s", flush=True)
        write(options.out, rows, problems, options.add_to)
    bad = [row["name"] for row in rows.values() if "error" in row or row.get("right") is False]
    print(f"{len(rows)} rows, failed or wrong: {bad}", *problems, sep="\n")


@functools.cache
def rows_of(record: str) -> dict[str, dict[str, Any]]:
    """The rows of a record by name; none without one."""
    return {row["name"]: row for row in json.loads(Path(record).read_text())["rows"]} if record else {}


def write(target: str, rows: dict[str, dict[str, Any]], problems: list[str], add_to: str) -> None:
    """The record as it stands, a row a line; what was added to another record says where that was read unlike it."""
    about = {
        "what": "measured: hardware counters of one launch each, by ncu --clock-control none --cache-control none",
        "zeros": "a row leaves out counters that are zero; it has those of the sets that it names under `read`",
        **machine(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions(),
        "sets": SETS,
        "problems": problems,
    }
    if add_to:
        old = {key: value for key, value in json.loads(Path(add_to).read_text()).items() if key != "rows"}
        unlike = {key: about[key] for key in about if key not in ("sets", "problems") and old[key] != about[key]}
        about = {**old, "sets": SETS, "problems": problems} | ({"added": unlike} if unlike else {})
    else:
        about["machine_code"] = widths_in_machine_code()
    text = json.dumps(about, indent=1)[:-2] + ',\n "rows": [\n'
    for row in rows.values():
        row["metrics"] = {key: value for key, value in row["metrics"].items() if value != 0}
    text += ",\n".join(json.dumps(row) for row in rows.values()) + "\n ]\n}\n"
    Path(target).write_text(text)


if __name__ == "__main__":
    main()
