"""How fast the emulator is: large launches, bank conflicts, counting by class, compilation, and memory.

    python benchmarks/emulator_speed.py --out benchmarks/results/emulator_speed.json

Each line runs in a process of its own. `first` and `cached` are an emulation of n=32 in a process whose caches are
empty, and in one that finds what the first left; importing the packages is not in them. All else is compiled before it
is timed. Sectors, bank conflicts, bounds, races and the check that every output is written are on, proofs are off.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 3
#: name -> what is run: kernel, n, values
LARGE = {
    "naive n=1024": ("naive", 1024, True),
    "tiled T=16 n=1024": ("tiled", 1024, True),
    "transposed store, padded, n=512": ("padded", 512, True),
    "transposed store, 32 words to a bank, n=512": ("unpadded", 512, True),
    "naive n=8192, counts only": ("naive", 8192, False),
    "tiled T=16 n=8192, counts only": ("tiled", 8192, False),
}
MEMORY = ("tiled", 4096)
BARS_S = {
    "naive n=1024": 4,
    "tiled T=16 n=1024": 4,
    "naive n=8192, counts only": 1,
    "tiled T=16 n=8192, counts only": 1,
}


def kernel_of(name: str):
    """(kernel, grid and block for m and n) of a rung or of its broken twin."""
    from gemmlab.kernels.ladder import BROKEN, RUNGS, load

    if name in RUNGS:
        return load(RUNGS[name].source), RUNGS[name].launch
    twin = BROKEN[name]
    return load(twin.source), RUNGS[twin.rung].launch


def emulated(name: str, n: int, values: bool, repeats: int) -> dict[str, object]:
    """Times and counts of one square multiplication, compiled beforehand."""
    import numpy as np

    from gemmlab.emulator import emulate

    kernel, launch = kernel_of(name)

    def arrays(side):
        if not values:
            return tuple(np.empty((side, side), np.float32) for _ in range(3))
        drawn = np.random.default_rng(0)
        return (
            *(drawn.standard_normal((side, side), np.float32) for _ in range(2)),
            np.zeros((side, side), np.float32),
        )

    emulate(kernel, *launch(64, 64), *arrays(64), values=values, prove=False)
    a, b, c = arrays(n)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = emulate(kernel, *launch(n, n), a, b, c, values=values, prove=False, outputs=(c,) if values else ())
        times.append(time.perf_counter() - start)
    right = bool(np.allclose(c, a @ b, rtol=1e-3, atol=1e-3)) if values else None
    return {
        "times_s": times,
        "global_load_elements": result.global_load.elements,
        "sectors": result.global_load.sectors,
        "shared_wavefronts": result.shared_load.wavefronts + result.shared_store.wavefronts,
        "faults": len(result.faults),
        "right": right,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def compiled(name: str) -> dict[str, object]:
    """Seconds of the first emulation in this process, imports apart."""
    import numpy as np

    from gemmlab.emulator import emulate
    from gemmlab.emulator.lockstep import running  # noqa: F401 - loads numba

    kernel, launch = kernel_of(name)
    arrays = [np.ones((32, 32), np.float32) for _ in range(3)]
    start = time.perf_counter()
    emulate(kernel, *launch(32, 32), *arrays, prove=False)
    return {"time_s": time.perf_counter() - start}


def apart(what: list[object], cache: str | None = None) -> dict[str, object]:
    """Run one of the functions above in a process of its own."""
    environment = dict(os.environ)
    if cache:
        environment |= {"XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": f"{cache}/numba"}
    words = [sys.executable, __file__, "--one", json.dumps(what)]
    return json.loads(subprocess.run(words, env=environment, check=True, capture_output=True, text=True).stdout)


def measured() -> dict[str, object]:
    """Everything, line by line."""
    rows: dict[str, object] = {}
    for name, (kernel, n, values) in LARGE.items():
        rows[name] = apart(["emulated", kernel, n, values, REPEATS])
        print(f"{name}: {statistics.median(rows[name]['times_s']):.2f} s", file=sys.stderr)
    for kernel in ("naive", "tiled"):
        with tempfile.TemporaryDirectory() as cache:
            rows[f"first, {kernel}"] = apart(["compiled", kernel], cache)
            rows[f"cached, {kernel}"] = apart(["compiled", kernel], cache)
            print(kernel, rows[f"first, {kernel}"], rows[f"cached, {kernel}"], file=sys.stderr)
    rows[f"{MEMORY[0]} n={MEMORY[1]}"] = apart(["emulated", *MEMORY, True, 1])
    return rows


def main() -> None:
    """Measure, and print or keep what comes out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        function, *rest = json.loads(given.one)
        print(json.dumps({"emulated": emulated, "compiled": compiled}[function](*rest)))
        return
    import numba
    import numpy

    rows = measured()
    pair = [statistics.median(rows[name]["times_s"]) for name in LARGE if name.startswith("transposed")]
    told = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{processor()}, {os.cpu_count()} threads",
        "load_average": os.getloadavg()[0],
        "versions": {"python": platform.python_version(), "numba": numba.__version__, "numpy": numpy.__version__},
        "bars_s": BARS_S,
        "conflicted_over_free": pair[1] / pair[0],
        "rows": rows,
    }
    text = json.dumps(told, indent=1)
    if given.out:
        given.out.write_text(text + "\n")
    print(text)


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
