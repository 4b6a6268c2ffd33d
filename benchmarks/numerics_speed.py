"""How fast whole multiplications on a matrix unit are emulated: each path, special values, ragged sizes, compilation.

    python benchmarks/numerics_speed.py --out benchmarks/results/numerics_speed.json [--peer PYTHON]

Rates are multiply-adds per second of CPU time on one thread, packing included, the best of several; with `--peer`, a
Python that has mmasim, its rate on the same codes in the same run, and whether the bits are the same. `cold` is the
first multiplication in a process with empty caches, beside one that finds them filled; imports are not in it.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

#: unit -> mmasim's interface and instruction, on Hopper
UNITS = {
    "hopper.wgmma.float8_e4m3fn": ("WGMMA", "m64n256k32.f32.e4m3.e4m3"),
    "hopper.mma.float16": ("MMA", "m16n8k16.f32.f16.f16.f32"),
    "hopper.mma.bfloat16": ("MMA", "m16n8k16.f32.bf16.bf16.f32"),
    "hopper.mma.tfloat32": ("MMA", "m16n8k8.f32.tf32.tf32.f32"),
}
SIDES = (256, 1024)
RAGGED = (255, 257, 263)
PAIRS = (100_000, 64)
SHORT_S = 1.0  # of one measurement's repeats together
#: times mmasim's rate on 256^3 that are asked for: by vectors, and by plain loops
BARS = {"hopper.wgmma.float8_e4m3fn": (300, 40), "hopper.mma.float16": (100, 40)}
BAR_OVERHEAD = 0.2
BAR_LARGE_S = 1.0


def best(*runs) -> list[float]:
    """CPU seconds of the fastest of several runs of each, taken in turn, so that all meet the same moments."""
    found, spent = [[] for _ in runs], 0.0
    while len(found[0]) < 3 or (spent < SHORT_S * len(runs) and len(found[0]) < 20):
        for run, times in zip(runs, found, strict=True):
            start = time.thread_time()
            run()
            times.append(time.thread_time() - start)
            spent += times[-1]
    return [min(times) for times in found]


def drawn(unit, shape, specials: float = 0.0, infinite_rows: bool = False):
    """Operands and C of shape (m, n, k), a share of the elements special: NaN, Inf, subnormals."""
    from gemmlab import formats
    from gemmlab.formats.array import code_type
    from gemmlab.numerics.operands import Operand

    m, n, k = shape
    random = np.random.default_rng(m + n + k)
    made = []
    for name, size in ((unit.a_formats[0], (m, k)), (unit.b_formats[0], (k, n))):
        form = formats.get(name)
        codes = formats.encode_array(random.standard_normal(size), name)
        kinds = [form.nan_magnitude, form.max_magnitude + form.infinity, 1]
        special = random.choice(kinds, size) << form.pad_bits
        codes = np.where(random.random(size) < specials, special.astype(codes.dtype), codes)
        if infinite_rows and form.infinity and not made:
            codes[np.arange(m), random.integers(0, k, m)] = (form.max_magnitude + 1) << form.pad_bits
        made.append(Operand(np.ascontiguousarray(codes.astype(code_type(form))), name))
    c = random.standard_normal((m, n)).astype(unit.accumulate).view(code_type(formats.get(unit.accumulate)))
    return made[0], made[1], c


def rates(name: str, folder: Path) -> dict[str, object]:
    """Of one unit: CPU seconds and rates of every path, and what special values and ragged sizes add."""
    from gemmlab import numerics
    from gemmlab.numerics import fast

    unit = numerics.unit(name)
    rows: dict[str, object] = {}
    for path in fast.paths(unit, unit.a_formats[0], unit.b_formats[0]):
        if path in ("plain", "stepwise"):
            continue
        row: dict[str, object] = {}
        cases = {f"{side}^3": drawn(unit, (side, side, side)) for side in SIDES}
        large = cases.pop(f"{SIDES[1]}^3")
        cases |= {
            "ragged": drawn(unit, RAGGED),
            "1 % special": drawn(unit, (SIDES[0],) * 3, 0.01),
            "ragged, 1 % special": drawn(unit, RAGGED, 0.01),
            "an infinity in every row": drawn(unit, (SIDES[0],) * 3, infinite_rows=True),
        }
        runs = [lambda case=case, path=path: fast.chain(unit, *case, None, 1, path) for case in cases.values()]
        seconds = dict(zip(cases, best(*runs), strict=True))
        (seconds[f"{SIDES[1]}^3"],) = best(lambda path=path, large=large: fast.chain(unit, *large, None, 1, path))
        rate = SIDES[0] ** 3 / seconds[f"{SIDES[0]}^3"]
        for what, (a, _, c) in (cases | {f"{SIDES[1]}^3": large}).items():
            work = c.size * a.codes.shape[1]
            row[what] = {"cpu_s": seconds[what], "mac_per_s": work / seconds[what]}
            if not what.endswith("^3"):
                row[what]["overhead"] = seconds[what] * rate / work - 1
        a, b, c = cases[f"{SIDES[0]}^3"]
        np.savez(folder / f"{name}.npz", a=a.codes, b=b.codes, c=c)
        np.save(folder / f"{name}.{path}.npy", fast.chain(unit, a, b, c, None, 1, path))
        rows[path] = row
    return rows


def cold(name: str, path: str) -> dict[str, float]:
    """CPU and wall seconds of the first multiplication in this process, imports apart."""
    from gemmlab import numerics
    from gemmlab.numerics import fast

    unit = numerics.unit(name)
    a, b, c = drawn(unit, (8, 8, 64), 0.05)
    from gemmlab.numerics.fast import portable  # noqa: F401 - loads numba

    start, spent = time.perf_counter(), time.process_time()
    fast.chain(unit, a, b, c, None, 1, path)
    return {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - spent}


def apart(name: str, path: str, cache: str) -> dict[str, float]:
    """`cold` in a process of its own."""
    words = [sys.executable, __file__, "--cold", name, path]
    run = subprocess.run(words, env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def paired() -> dict[str, float]:
    """CPU seconds of many single dot products."""
    from gemmlab import numerics

    unit = numerics.unit(next(iter(UNITS)))
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(PAIRS).astype(np.float32) for _ in range(2))
    from gemmlab import formats

    x, y = (formats.encode_array(each, unit.a_formats[0]) for each in (a, b))
    return {"count": PAIRS[0], "k": PAIRS[1], "cpu_s": best(lambda: numerics.dots(unit, x, y))[0]}


def ask(folder: Path) -> None:
    """mmasim's side, under a Python that has it: its CPU seconds on the codes in a folder, and its answers."""
    from importlib.metadata import version

    import torch
    from mmasim import nv_ptx

    torch.set_num_threads(1)
    found: dict[str, object] = {}
    signed = {1: np.uint8, 2: np.int16, 4: np.int32}
    for name, (interface, instruction) in UNITS.items():
        operation = getattr(nv_ptx, interface)("Hopper", instruction)
        kinds = operation.a_type, operation.b_type, operation.c_type
        data = np.load(folder / f"{name}.npz")
        sides = [
            torch.from_numpy(data[key].view(signed[data[key].itemsize])).view(kind)
            for key, kind in zip("abc", kinds, strict=True)
        ]
        (seconds,) = best(lambda operation=operation, sides=sides: operation(*sides))
        np.save(folder / f"{name}.peer.npy", operation(*sides).view(torch.int32).numpy().view(np.uint32))
        m, k = data["a"].shape
        found[name] = {"cpu_s": seconds, "mac_per_s": m * k * data["b"].shape[1] / seconds}
    print(json.dumps({"versions": {"mmasim": version("mmasim"), "torch": torch.__version__}, "rates": found}))


def main() -> None:
    """Measure, and print or keep what comes out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--peer", help="a Python with mmasim")
    parser.add_argument("--cold", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cold:
        print(json.dumps(cold(*given.cold)))
        return
    if given.ask:
        ask(given.ask)
        return
    told = measured(given.peer)
    text = json.dumps(told, indent=1)
    if given.out:
        given.out.write_text(text + "\n")
    print(text)


def measured(peer: str | None) -> dict[str, object]:
    """Everything, with what it was measured on."""
    import llvmlite
    import numba

    rows: dict[str, object] = {}
    asked = None
    with tempfile.TemporaryDirectory() as folder:
        for name in UNITS:
            rows[name] = rates(name, Path(folder))
            print(name, {path: f"{row['256^3']['mac_per_s']:.3g}" for path, row in rows[name].items()}, file=sys.stderr)
        if peer:
            words = [peer, __file__, "--ask", folder]
            run = subprocess.run(words, check=True, capture_output=True, text=True)
            asked = json.loads(run.stdout.splitlines()[-1])
            for name, row in rows.items():
                answer = np.load(Path(folder) / f"{name}.peer.npy")
                for path, each in row.items():
                    each["times_peer"] = each["256^3"]["mac_per_s"] / asked["rates"][name]["mac_per_s"]
                    each["bits_as_peer"] = bool(np.array_equal(answer, np.load(Path(folder) / f"{name}.{path}.npy")))
    compiled = {}
    for path in rows["hopper.wgmma.float8_e4m3fn"]:
        with tempfile.TemporaryDirectory() as cache:
            once = {state: apart("hopper.wgmma.float8_e4m3fn", path, cache) for state in ("cold", "cached")}
        compiled[path] = once
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{processor()}, {os.cpu_count()} threads",
        "load_average": os.getloadavg()[0],
        "versions": {
            "python": platform.python_version(), "numba": numba.__version__, "llvmlite": llvmlite.__version__,
            "numpy": np.__version__, **(asked["versions"] if asked else {}),
        },
        "bars": {"times_peer": BARS, "overhead": BAR_OVERHEAD, "float8_1024^3_s": BAR_LARGE_S},
        "peer": asked and asked["rates"],
        "units": rows,
        "pairs": paired(),
        "compilation": compiled,
    }  # fmt: skip


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
