"""How long `gemmlab explain` takes from nothing, beside `python -c "import numpy"`; writes results/cold_start.json.

The bar: at most 3 times as long. Both are started in turn, A B A B, so that whatever else the machine does falls on
both; the medians are compared. Compiled modules may be kept, as installing does and Python does by default. `bare` is
the interpreter alone, and `parser` the command line without an answer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

RESULT = Path(__file__).parent / "results" / "cold_start.json"
BAR = 3.0
JOB = ["explain", "4096", "50257", "768", "--format", "bfloat16", "--chip", "h100-sxm"]
COMMANDS = {
    "numpy": ["-c", "import numpy"],
    "explain": ["-m", "gemmlab", *JOB],
    "explain_json": ["-m", "gemmlab", *JOB, "--json"],
    "explain_without_advice": ["-m", "gemmlab", *JOB, "--no-advice"],
    "parser": ["-m", "gemmlab", "explain", "0", "1", "1"],  # refused before any model is loaded
    "bare": ["-c", "pass"],
}


def seconds(words: list[str]) -> float:
    """Wall-clock time of one process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], env=environment, check=False, **quiet)
    return time.perf_counter() - start


def measure(rounds: int) -> dict[str, list[float]]:
    """Times of each command, one of each a round; the first round, which fills the caches, is dropped."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(rounds + 1):
        for name, words in COMMANDS.items():
            spent = seconds(words)
            if turn:
                times[name].append(spent)
    return times


def environment() -> dict[str, str]:
    """Where this was measured."""
    names = ("numpy", "msgspec")
    cpu = next((line.split(":", 1)[1].strip() for line in cpu_lines() if line.startswith("model name")), "unknown")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {cpu}",
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in names},
    }


def cpu_lines() -> list[str]:
    """What Linux says of the processor; nothing elsewhere."""
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def main() -> int:
    """Measure, print, write; status 1 past the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    given = parser.parse_args()
    times = measure(given.rounds)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["explain"] / medians["numpy"]
    for name, median in medians.items():
        low, high = min(times[name]), max(times[name])
        spread = f"{low * 1e3:.0f} to {high * 1e3:.0f}"
        print(f"{name:24}{median * 1e3:8.0f} ms   {spread:16}{median / medians['numpy']:6.2f} numpy")
    print(f"explain takes {ratio:.2f} times as long as importing numpy; the bar is {BAR:g}")
    if not given.dry:
        result = {
            "kind": "measured",
            "what": "wall-clock seconds of one process, medians",
            "rounds": given.rounds,
            "bar": BAR,
            "ratio": round(ratio, 3),
            "median_s": {name: round(value, 4) for name, value in medians.items()},
            "lowest_s": {name: round(min(values), 4) for name, values in times.items()},
            "highest_s": {name: round(max(values), 4) for name, values in times.items()},
            "environment": environment(),
        }
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
