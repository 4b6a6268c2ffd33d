"""Every kernel behind `gemmlab.matmul` under compute-sanitizer: accesses out of bounds, and races in shared memory.

    python benchmarks/peak_sanitizer.py [--out benchmarks/results/peak_sanitizer.json]

`peak_sanitizer_work.py` multiplies by one plan of each sort, every tensor in memory of its own: once plainly, to
tell which kernels run, then under memcheck and racecheck. It is a fault if a file of kernels is among those that
did not run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from peak_files import kept

HERE = Path(__file__).parent
RESULT = HERE / "results" / "peak_sanitizer.json"
WORK = HERE / "peak_sanitizer_work.py"
TOOLS = ("memcheck", "racecheck")
OPTIONS = (
    "--target-processes",
    "all",
    "--destroy-on-device-error",
    "kernel",
    "--print-limit",
    "100",
)  # go on behind one
LIMIT_S = 240
PLACES = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer")
SUMMARIES = (
    re.compile(r"ERROR SUMMARY: (?P<errors>\d+) error"),
    re.compile(r"RACECHECK SUMMARY: \d+ hazards? displayed \((?P<errors>\d+) errors?, (?P<warnings>\d+) warnings?"),
)


def sanitizer() -> str:
    """The tool's path; raises SystemExit where there is none."""
    found = next(filter(None, map(shutil.which, PLACES)), None)
    if found is None:
        raise SystemExit("compute-sanitizer is not found: it comes with the CUDA toolkit")
    return found


def environment(cache: str) -> dict[str, str]:
    """Each tensor in memory of its own, so that what lies behind it is nobody's; machine code kept in a new folder."""
    return os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "XDG_CACHE_HOME": cache}


def worked(words: list[str], cache: str) -> tuple[dict[str, Any], str]:
    """What the work told as its last line of JSON, and all that was said; nothing told where it was stopped."""
    process = subprocess.Popen(
        words,
        env=environment(cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # what the tool started too: it would keep the GPU
        said, _ = process.communicate()
    lines = [line for line in said.splitlines() if line.startswith('{"')]
    return json.loads(lines[-1]) if lines else {}, said


def summary(said: str) -> dict[str, int]:
    """Errors and warnings that a tool's last line counts; empty where it has none."""
    for pattern in SUMMARIES:
        found = pattern.search(said)
        if found:
            return {name: int(count) for name, count in found.groupdict().items() if count}
    return {}


def under(tool: str, cache: str) -> dict[str, Any]:
    """The work under one tool."""
    begun = time.monotonic()
    words = [sanitizer(), "--tool", tool, *OPTIONS, sys.executable, str(WORK)]
    told, said = worked(words, cache)
    counted = summary(said)
    finished = "cases" in told
    marked = [line for line in said.splitlines() if line.startswith("=========")]
    return {
        "tool": tool,
        "finished": finished,
        **counted,
        "clean": finished and counted.get("errors") == 0 and not counted.get("warnings"),
        "wrong": [case["case"] for case in told.get("cases", ()) if not case["right"]],
        "seconds": time.monotonic() - begun,
        "said": [] if finished and not any(counted.values()) else (marked or said.splitlines()[-20:])[:60],
    }


def main() -> int:
    """Run the work plainly and under each tool, print and write it; 1 where anything is not clean."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--tools", nargs="*", default=TOOLS, choices=TOOLS)
    options = parser.parse_args()
    sanitizer()
    with tempfile.TemporaryDirectory() as cache:
        plain, said = worked([sys.executable, str(WORK), "--names"], cache)
        if not plain:
            print(said[-3000:], file=sys.stderr)
            return 1
        tools = [under(tool, cache) for tool in options.tools]
    missed = sorted(set(plain["all_files"]) - set(plain["files"]))
    found = {
        "what": "checked: kernels behind gemmlab.matmul under compute-sanitizer, each tensor in memory of its own",
        "date": datetime.date.today().isoformat(),
        "chip": plain["chip"],
        "clean": not missed and all(case["right"] for case in plain["cases"]) and all(each["clean"] for each in tools),
        "files": plain["files"],
        "files_missed": missed,
        "kernels": plain["kernels"],
        "tools": tools,
        "cases": plain["cases"],
    }
    kept(options.out, found)
    for each in tools:
        print(json.dumps({name: value for name, value in each.items() if name != "said"}), *each["said"], sep="\n")
    for case in plain["cases"]:
        if not case["right"] or case.get("plan") is None:
            print(json.dumps(case)[:200])
    print(json.dumps({name: found[name] for name in ("clean", "files", "files_missed", "kernels")}))
    return int(not found["clean"])


if __name__ == "__main__":
    raise SystemExit(main())
