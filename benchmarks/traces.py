"""How fast a large trace is read, and in how much memory; writes results/traces.json.

The bars: a trace of 200 MB in under 20 s and under 2 GiB. The traces are steps recorded on an H200 with torch.profiler
(tests/workload/data), repeated until the file is large enough, each time later and with ids of its own, in Kineto's
own layout. Each is read in a process of its own, whose wall-clock time (the interpreter's start included) and largest
resident set are told, beside the processor's seconds, for a busy machine stretches the clock's, and the multiplications
that were found.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "traces.json"
RECORDED = ROOT / "tests" / "workload" / "data"
TRACES = {"operators and kernels": "h200_decoder.json.gz", "with Python's stacks": "h200_decoder_stack.json.gz"}
BARS = {"time_s": 20.0, "peak_bytes": 2 << 30}
IDS = ("External id", "correlation", "Ev Idx", "Sequence number", "Python id", "Python parent id", "Record function id")
READ = """
import json, resource, sys, time
from gemmlab.workload.traces import read_trace
workload = read_trace(sys.argv[1])
print(json.dumps({
    "multiplications": sum(call.count for call in workload.calls),
    "steps": workload.steps,
    "busy_s": workload.busy_s,
    "processor_s": time.process_time(),
    "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
}))
"""


def repeated(recorded: dict[str, Any], times: int) -> Iterator[dict[str, Any]]:
    """The recorded events, that many times one after another."""
    events = recorded["traceEvents"]
    timed = [event for event in events if event.get("ph") == "X" and event.get("cat") != "Trace"]
    period = max(event["ts"] + event["dur"] for event in timed) - min(event["ts"] for event in timed) + 100
    ids = 1 + max(event.get("args", {}).get(name) or 0 for event in timed for name in IDS)
    yield from (event for event in events if event.get("ph") == "M")
    for turn in range(times):
        for event in events:
            if event.get("ph") not in ("X", "s", "f"):
                continue
            args = dict(event.get("args", {}))
            args |= {name: args[name] + turn * ids for name in IDS if args.get(name) is not None}
            later = dict(event, ts=event["ts"] + turn * period)
            yield dict(later, args=args) if args else later


def write(path: Path, recorded: dict[str, Any], size: int) -> int:
    """Write a trace of at least so many bytes; return how many events it has."""
    head = {name: value for name, value in recorded.items() if name != "traceEvents"}
    count = 0
    with path.open("w") as stream:
        stream.write(json.dumps(head, indent=2).removesuffix("\n}") + ',\n  "traceEvents": [\n')
        for event in repeated(recorded, 1 << 30):
            stream.write((",\n" if count else "") + written(event))
            count += 1
            if count % 1000 == 0 and stream.tell() >= size and event.get("ph") == "X":
                break
        stream.write('\n  ],\n  "traceName": "repeated.json"\n}\n')
    return count


def written(event: dict[str, Any]) -> str:
    """An event in Kineto's layout: two lines of fields, then a line or two of arguments."""
    fields = ", ".join(
        f'"{name}": {json.dumps(value)}' for name, value in event.items() if name not in ("args", "ts", "dur")
    )
    line = f'  {{\n    {fields},\n    "ts": {event["ts"]:.3f}'
    line += f', "dur": {event["dur"]:.3f}' if "dur" in event else ""
    if "args" in event:
        args = json.dumps(event["args"])[1:-1]
        line += f',\n    "args": {{\n      {args}\n    }}'
    return line + "\n  }"


def read(path: Path) -> dict[str, Any]:
    """What reading a trace in a process of its own takes, and what it finds."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    return {"time_s": time.perf_counter() - start, **json.loads(done.stdout)}


def measure(name: str, size: int, rounds: int, folder: Path) -> dict[str, Any]:
    """The figures of one kind of trace, as text and packed."""
    recorded = json.loads(gzip.decompress((RECORDED / TRACES[name]).read_bytes()))
    path = folder / "trace.json"
    events = write(path, recorded, size)
    runs = [read(path) for _ in range(rounds)]
    packed = folder / "trace.json.gz"
    with packed.open("wb") as stream:
        stream.write(gzip.compress(path.read_bytes(), 6))
    packed_run = read(packed)
    times = [run["time_s"] for run in runs]
    figures = {
        "bytes": path.stat().st_size,
        "events": events,
        "median_s": round(statistics.median(times), 2),
        "lowest_s": round(min(times), 2),
        "highest_s": round(max(times), 2),
        "processor_s": round(min(run["processor_s"] for run in runs), 2),
        "peak_bytes": max(run["peak_bytes"] for run in runs),
        "packed_bytes": packed.stat().st_size,
        "packed_s": round(packed_run["time_s"], 2),
        "packed_peak_bytes": packed_run["peak_bytes"],
        "multiplications": runs[0]["multiplications"],
        "steps": runs[0]["steps"],
    }
    path.unlink()
    packed.unlink()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        traces = {name: measure(name, options.megabytes * 1_000_000, options.rounds, Path(folder)) for name in TRACES}
    worst_s = max(max(each["highest_s"], each["packed_s"]) for each in traces.values())
    worst_bytes = max(max(each["peak_bytes"], each["packed_peak_bytes"]) for each in traces.values())
    result = {
        "kind": "measured",
        "what": "wall-clock seconds and largest resident set of a process that reads a trace",
        "bars": BARS,
        "within": worst_s < BARS["time_s"] and worst_bytes < BARS["peak_bytes"],
        "rounds": options.rounds,
        "traces": traces,
        "environment": {
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {processor()}",
            "load": round(load, 1),  # processes that ran before, on all cores: what makes wall-clock times longer
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("msgspec", "numpy", "gemmlab")},
        },
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    for name, each in traces.items():
        print(
            f"{name}: {each['bytes'] / 1e6:.0f} MB, {each['events']:,} events, {each['median_s']} s, "
            f"{each['peak_bytes'] / 2**30:.2f} GiB; packed {each['packed_s']} s, "
            f"{each['packed_peak_bytes'] / 2**30:.2f} GiB"
        )


def processor() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


if __name__ == "__main__":
    main()
