"""Tensor cores of a GPU beside their emulation, bit for bit: at least 1,000,000 dot products a format and instruction.

    python benchmarks/h200_numerics.py --out h200_numerics.json --golden h200_numerics.npz

Needs an NVIDIA GPU of compute capability 9.0, torch and triton beside gemmlab. `--dry` needs no GPU: it compiles every
kernel for sm_90 where triton is installed and puts emulated units in the GPU's place. `--check RECORD` computes every
product of a record again, on any machine, and holds it against the record's hashes.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import numerics_inputs
import numerics_probes
from gemmlab import formats, numerics
from gemmlab.formats.array import code_type
from gemmlab.numerics import sass
from gemmlab.numerics.operands import typed
from gemmlab.numerics.schedule import Schedule
from numerics_sets import GOLDEN, Case, Set, Whole, backend, cases, drawn, sets, wholes


def codes_of(array: Any) -> Any:
    """An array's bits, as unsigned integers."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def hashed(array: Any) -> str:
    """Twelve digits that change with any bit."""
    return hashlib.sha256(codes_of(array).tobytes()).hexdigest()[:12]


def compared(got: Any, due: Any, arrays: list[Any]) -> dict[str, Any]:
    """Outputs, how many differ, and the first that does with its operands."""
    wrong = codes_of(got) != codes_of(due)
    row: dict[str, Any] = {"outputs": int(wrong.size), "mismatches": int(wrong.sum()), "hash": hashed(got)}
    if row["mismatches"]:
        i, j = (int(at) for at in np.argwhere(wrong)[0])
        row["first"] = {
            "at": [i, j], "got": int(codes_of(got)[i, j]), "due": int(codes_of(due)[i, j]),
            "a": codes_of(arrays[0])[i].tolist()[:256], "b": codes_of(arrays[1])[:, j].tolist()[:256],
            "c": int(codes_of(arrays[2])[i, j]),
        }  # fmt: skip
    return row


def record_set(chosen: Set, dry: bool, golden: dict[str, Any], deadline: float) -> dict[str, Any]:
    """All cases of a set on the GPU and emulated; where time is short only hashes are kept of the rest."""
    unit_on = backend(chosen, dry)
    row: dict[str, Any] = {"set": chosen._asdict(), "cases": []}
    unit = None
    for case in cases(chosen, dry):
        arrays, names = drawn(chosen, case)
        got = unit_on(*arrays)
        if unit is None:
            compiled = unit_on.compiled
            unit = compiled.unit()
            row["compiled"] = msgspec.to_builtins(compiled)
        told: dict[str, Any] = case._asdict() | {"outputs": int(got.size), "hash": hashed(got), "mismatches": None}
        row["cases"].append(told)
        if time.time() < deadline:
            try:
                told |= compared(got, numerics.mma(unit, *arrays, **names), arrays)
            except Exception as error:  # the hash is there still, for --check elsewhere
                told["error"] = f"{type(error).__name__}: {error}"[:300]
    counted = [case for case in row["cases"] if case["mismatches"] is not None]
    row["outputs"] = sum(case["outputs"] for case in counted)
    row["mismatches"] = sum(case["mismatches"] for case in counted)
    row["not_emulated"] = len(row["cases"]) - len(counted)
    if chosen.way != "mma":  # the same instructions as mma.sync's, but for float8, where imprecise0 has them
        sample: dict[str, list[Any]] = {name: [] for name in "abcd"}
        for kind in numerics_inputs.KINDS:
            arrays, _ = drawn(chosen, Case(kind, 8, 8, GOLDEN[chosen.a_format], 300))
            for name, array in zip("abcd", [*arrays, unit_on(*arrays)], strict=True):
                sample[name].append(codes_of(array))
        golden |= {"/".join((*chosen, name)): np.stack(codes) for name, codes in sample.items()}
    return row


def record_whole(whole: Whole, dry: bool) -> dict[str, Any]:
    """One whole GEMM of 512x512x2048 by a kernel and by schedule; shares of k are added and rounded in NumPy."""
    m, n, k = (24, 16, 512) if dry else (512, 512, 2048)
    unit_on = backend(whole.set, dry, **whole.options)
    narrow = np.zeros((1, 1), code_type(formats.get(whole.set.a_format)))
    unit_on(narrow, narrow)  # so that its machine code is known
    unit = unit_on.compiled.unit()
    rows = []
    for kind in ("normal", "positive", "spread"):
        arrays, names = drawn(whole.set, Case(kind, m, n, k, 400))
        a, b = arrays[:2]
        parts = [unit_on(a[:, first:stop], b[first:stop]) for first, stop in whole.schedule.shares(k, unit)]
        got = parts[0]
        for part in parts[1:]:
            got = got + part
        if whole.d_format != "float32":
            got = typed(formats.encode_array(got, whole.d_format), whole.d_format)
        due = numerics.gemm(a, b, unit=unit, schedule=whole.schedule, d_format=whole.d_format, **names)
        rows.append({"kind": kind} | compared(got, due, [a, b, np.zeros((m, n), np.float32)]))
    return {
        "what": whole.words, "set": whole.set._asdict(), "options": whole.options, "size": [m, n, k],
        "compiled": msgspec.to_builtins(unit_on.compiled), "d_format": whole.d_format, "cases": rows,
        "outputs": sum(row["outputs"] for row in rows), "mismatches": sum(row["mismatches"] for row in rows),
    }  # fmt: skip


def record_library(a_format: str, b_format: str, fast: bool) -> dict[str, Any]:
    """torch's own product, and which promotion interval on a wgmma gives its bits, where one does."""
    from gemmlab.numerics.backends.torch import Torch

    library = Torch(a_format, b_format=b_format, fast=fast)
    m, n, k = 64, 512, 2048
    arrays, names = drawn(Set("", a_format, b_format, library.accumulate), Case("normal", m, n, k, 600))
    got = library(*arrays[:2])
    found: dict[str, Any] = {"kernel": library.kernel, "opcode": library.opcode, "size": [m, n, k], "hash": hashed(got)}
    unit = f"hopper.wgmma.{a_format}"
    for promote in (0,) if a_format == "int8" else (0, 32, 64, 128, 256, 512):
        due = numerics.gemm(*arrays[:2], unit=unit, schedule=Schedule(promote=promote), **names)
        found[f"differ with promote = {promote}"] = compared(got, due, arrays)["mismatches"]
    ones = [np.ones((1, 65_536)), np.ones((65_536, 1))]
    known = [typed(numerics_inputs.encoded(each, name), name) for each, name in zip(ones, names.values(), strict=True)]
    return found | {"P12 at 65536": float(library(*known)[0, 0])}


def ptx_runs() -> dict[str, Any]:
    """Whether the kernel in PTX runs at all, in a process of its own: a fault would take this one's GPU along."""
    code = "import numpy as np; from gemmlab.numerics.backends.ptx import Mma; x = np.eye(40, dtype=np.float16); "
    code += "d = Mma('float16')(x, x * 3, x.astype(np.float32)); assert (d == 4 * np.eye(40)).all(), d"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return {"ran": True}


def machine(dry: bool) -> dict[str, Any]:
    """Chip, driver, versions."""
    found: dict[str, Any] = {"versions": {"python": platform.python_version()}}
    for name in ("numpy", "numba", "torch", "triton", "ml_dtypes"):
        try:
            found["versions"][name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if not dry:
        query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
        said = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
        found |= dict(zip(("chip", "driver", "compute_capability"), said, strict=True))
    return found


class Recorder:
    """The record as it grows; a step that fails leaves its words there and the other steps alone."""

    def __init__(self, out: Path, dry: bool, minutes: float) -> None:
        self.out, self.dry, self.start = out, dry, time.time()
        self.deadline = self.start + 60 * minutes
        self.golden: dict[str, Any] = {}
        self.record: dict[str, Any] = {
            "what": "measured: products of tensor cores; mismatches: outputs whose bits differ from the emulation",
            **machine(dry), "date": datetime.datetime.now(datetime.UTC).date().isoformat(), "problems": [],
        }  # fmt: skip

    def step(self, part: str, name: str, task: Callable[..., dict[str, Any]], *arguments: Any) -> None:
        """Do one step, add what it gives to a part of the record, write the record."""
        rows = self.record.setdefault(part, [])
        begun = time.time()
        try:
            found = task(*arguments)
        except Exception:
            self.record["problems"].append(f"{part} {name}: {traceback.format_exc(limit=-3)[-900:]}")
            print(self.record["problems"][-1], flush=True)
            return
        rows.append({"name": name} | found)
        said = f", {found['mismatches']} of {found['outputs']} differ" if "outputs" in found else ""
        print(f"{part} {name}{said}, {time.time() - begun:.1f} s of {time.time() - self.start:.0f}", flush=True)
        self.write()

    def write(self) -> None:
        """The record as it stands, a row a line."""
        self.record["seconds"] = round(time.time() - self.start)
        parts = []
        for key, value in self.record.items():
            rows = isinstance(value, list) and value and isinstance(value[0], dict)
            text = "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in value) + "\n ]" if rows else json.dumps(value)
            parts.append(f" {json.dumps(key)}: {text}")
        self.out.write_text("{\n" + ",\n".join(parts) + "\n}\n")

    def run(self, chosen: list[Set], golden: Path | None) -> None:
        """Everything: Triton's kernels, the libraries, the kernel in PTX, at last what reveal finds as time allows."""
        by_triton = [each for each in chosen if each.way != "mma.sync"]
        self.products(by_triton)
        for each in by_triton:
            if each.accumulate == "float32" and each.a_format != "tfloat32":
                self.step("truncation", each.name, self.swept, each)
        if not self.dry:
            self.step("ptx", "a small product", ptx_runs)
        if self.dry or self.record["ptx"]:
            self.products([each for each in chosen if each.way == "mma.sync"])
        if golden:
            np.savez_compressed(golden, **self.golden)
        for whole in wholes(self.dry):
            if whole.set in chosen and time.time() < self.deadline:
                self.step("wholes", f"{whole.set.name}: {whole.words}", record_whole, whole, self.dry)
        for name in () if self.dry else ("float16", "bfloat16", "tfloat32", "int8"):
            self.step("libraries", f"torch {name}", record_library, name, name, False)
        for other in () if self.dry else ("float8_e4m3fn", "float8_e5m2"):
            for fast in (False, True):
                words = f"torch float8_e4m3fn x {other}, use_fast_accum={fast}"
                self.step("libraries", words, record_library, "float8_e4m3fn", other, fast)
        for each in sorted(chosen, key=lambda each: (each.a_format != "float8_e4m3fn", each.a_format != each.b_format)):
            if each.accumulate == "float32" and time.time() < self.deadline:
                self.step("revealed", each.name, self.revealed, each)
        self.write()

    def products(self, chosen: list[Set]) -> None:
        """Products and probes of sets."""
        for each in chosen:
            self.step("sets", each.name, record_set, each, self.dry, self.golden, self.deadline)
        for each in chosen:
            if each.accumulate == "float32":
                self.step("probes", each.name, self.probed, each)

    def probed(self, chosen: Set) -> dict[str, Any]:
        """Probes of one set."""
        return numerics_probes.probes(backend(chosen, self.dry), *chosen[1:3], self.dry)

    def swept(self, chosen: Set) -> dict[str, Any]:
        """The truncation table of one set."""
        return numerics_probes.truncation(backend(chosen, self.dry, block_k=128), *chosen[1:3], self.dry)

    def revealed(self, chosen: Set) -> dict[str, Any]:
        """What reveal finds of one set."""
        return numerics_probes.revealed(backend(chosen, self.dry), *chosen[1:3])

    def summed(self) -> None:
        """A short table, last."""
        for row in (*self.record.get("sets", ()), *self.record.get("wholes", ())):
            told = row["compiled"]
            print(f"{row['mismatches']:>9,} of {row['outputs']:>10,}  {row['name']}  {told['unit_name']}  "
                  f"{', '.join(told['opcodes'])}")  # fmt: skip
        for row in (*self.record.get("probes", ()), *self.record.get("truncation", ())):
            shown = {key: row[key] for key in ("P1", "P2", "P5", "P12", "plateau") if key in row}
            print(f"{row['name']}: {shown}")
        for row in self.record.get("libraries", ()):
            print({key: value for key, value in row.items() if key not in ("opcode", "hash", "size")})
        for row in self.record.get("revealed", ()):
            print(f"{row['name']} revealed: {row['mismatches']} of {row['confirmed']} differ, {row['unit']}"[:300])
        print(
            f"{self.record['seconds']} s; problems: {len(self.record['problems'])}", *self.record["problems"], sep="\n"
        )


def check(path: Path) -> int:
    """Emulate every product of a record's sets again and compare hashes; 1 where any differs."""
    wrong = total = 0
    for row in json.loads(path.read_text())["sets"]:
        chosen = Set(**row["set"])
        unit = msgspec.convert(row["compiled"], sass.Compiled).unit()
        for told in row["cases"]:
            arrays, names = drawn(chosen, Case(*(told[field] for field in Case._fields)))
            due = numerics.mma(unit, *arrays, **names)
            total += due.size
            if hashed(due) != told["hash"]:
                wrong += 1
                print(f"{chosen.name}: {told['kind']} {told['m']}x{told['n']}x{told['k']} differs")
    print(f"{total:,} outputs emulated again, {wrong} products differ")
    return int(wrong > 0)


def main() -> None:
    """Record, or check a record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("h200_numerics.json"))
    parser.add_argument("--golden", type=Path, help="also write a sample of products for the tests")
    parser.add_argument("--minutes", type=float, default=8, help="emulate no more after that")
    parser.add_argument("--dry", action="store_true", help="no GPU: emulated units in its place, small sizes")
    parser.add_argument("--check", type=Path, help="hold the hashes of a record against emulation; needs no GPU")
    parser.add_argument("--only", default="", help="sets whose name has this")
    options = parser.parse_args()
    if options.check:
        raise SystemExit(check(options.check))
    recorder = Recorder(options.out, options.dry, options.minutes)
    recorder.run([each for each in sets() if options.only in each.name], options.golden)
    recorder.summed()


if __name__ == "__main__":
    main()
