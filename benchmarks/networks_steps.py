"""Training steps of the five networks on the GPU at hand, as given and with each advice taken: times and traces.

    python benchmarks/networks_steps.py --out steps.json --traces FOLDER [--only NAME] [--seconds 300] [--dry]

Needs an NVIDIA GPU, torch and transformers. What is compared runs in turn (A B A B), in bursts with rests between, each
step between two CUDA events; clock and power are read all the while. A trace of two steps with shapes is written of
each. `networks.py` makes the answers from both, on any machine. `--dry` tries everything on a CPU with tiny networks.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import gzip
import importlib.metadata
import json
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from networks_models import NETWORKS, Network, Step

ROUNDS, STEPS, WARM, TRACED = 5, 5, 3, 2
REST_S = 0.3  # between bursts


class Watch:
    """Clock, power and temperature, read every fifth of a second in a thread."""

    QUERY = "clocks.sm,power.draw,temperature.gpu"

    def __init__(self) -> None:
        self.readings: list[tuple[float, float, float, float]] = []
        command = ["nvidia-smi", f"--query-gpu={self.QUERY}", "--format=csv,noheader,nounits", "-lms", "200"]
        self.process = None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                clock, power, heat = (float(each) for each in line.split(","))
            except ValueError:
                continue
            self.readings.append((time.time(), clock, power, heat))

    def since(self, begun: float) -> dict[str, float]:
        """What was read since then, of the moments under load."""
        loaded = [each[1:] for each in self.readings if each[0] >= begun and each[2] > 200]
        if not loaded:
            return {}
        clocks, powers, heats = zip(*loaded, strict=True)
        return {"clock_mhz": statistics.median(clocks), "clock_low_mhz": min(clocks),
                "power_w": statistics.median(powers), "power_high_w": max(powers), "celsius": max(heats)}  # fmt: skip

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def burst(step: Step) -> list[float]:
    """Seconds of some steps in a row, each from the event before it to the one after."""
    synchronize(step.device)
    time.sleep(REST_S)
    if step.device != "cuda":
        begun = time.perf_counter()
        step()
        return [time.perf_counter() - begun]
    events = [torch.cuda.Event(enable_timing=True) for _ in range(STEPS + 1)]
    step()  # fills the queue, so that launching is ahead of the device where it can be
    for event in events[:-1]:
        event.record()
        step()
    events[-1].record()
    torch.cuda.synchronize()
    return [events[i].elapsed_time(events[i + 1]) * 1e-3 for i in range(STEPS)]


def traced(step: Step, path: Path) -> int:
    """Write the trace of TRACED steps with shapes as gzip; returns its bytes."""
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if step.device == "cuda" else [])]
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "trace.json"
        with profile(activities=kinds, schedule=schedule(wait=0, warmup=1, active=TRACED), record_shapes=True,
                     on_trace_ready=lambda prof: prof.export_chrome_trace(str(raw))) as prof:  # fmt: skip
            for _ in range(TRACED + 1):
                step()
                synchronize(step.device)
                prof.step()
        path.write_bytes(gzip.compress(raw.read_bytes(), 6, mtime=0))
    return path.stat().st_size


def measured(name: str, network: Network, options: argparse.Namespace, watch: Watch) -> list[dict[str, Any]]:
    """A row for the network as given and one for each change."""
    device = "cpu" if options.dry else "cuda"
    rows: list[dict[str, Any]] = []
    steps: dict[str, Step] = {}
    for change, choice in {"given": network.given, **network.changes}.items():
        row: dict[str, Any] = {"network": name, "change": change, "choice": choice._asdict(), "times_s": []}
        rows.append(row)
        try:
            steps[change] = step = Step(network, choice, device, options.dry)
            begun = time.time()
            for _ in range(WARM):
                step()
            synchronize(device)
            row["warm_s"] = time.time() - begun
            row["parameters"] = sum(each.numel() for each in step.model.parameters())
        except Exception:
            steps.pop(change, None)
            row["fault"] = traceback.format_exc(limit=-2)[-700:]
    begun = time.time()
    for _ in range(1 if options.dry else ROUNDS):
        for row in rows:
            if row["change"] in steps:
                row["times_s"] += burst(steps[row["change"]])
    state = watch.since(begun)
    for row in rows:
        if row["change"] not in steps:
            continue
        row["step_s"] = statistics.median(row["times_s"])
        row["state"] = state
        row["trace"] = f"{name}-{row['change'].replace(' ', '-')}.json.gz"
        time.sleep(REST_S)
        row["trace_bytes"] = traced(steps[row["change"]], options.traces / row["trace"])
    return rows


def told(row: dict[str, Any]) -> str:
    """A line for the eye."""
    if "fault" in row:
        return f"{row['network']} {row['change']}: {row['fault']}"
    low, high = min(row["times_s"]), max(row["times_s"])
    times = f"{row['step_s'] * 1e3:9.2f} ms ({low * 1e3:.2f} to {high * 1e3:.2f})"
    sizes = f"warm {row['warm_s']:.1f} s, trace {row['trace_bytes']:,} bytes"
    return f"{row['network']:10} {row['change']:26} {times} {sizes} {row['state']}"


def main() -> None:
    """Measure every network and write after each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("steps.json"))
    parser.add_argument("--traces", type=Path, default=Path("traces"))
    parser.add_argument("--only", default="", help="networks whose name has this")
    parser.add_argument("--seconds", type=float, default=300.0, help="after which nothing new begins")
    parser.add_argument("--dry", action="store_true")
    options = parser.parse_args()
    options.traces.mkdir(parents=True, exist_ok=True)
    deadline, watch = time.time() + options.seconds, Watch()
    result: dict[str, Any] = {
        "chip": "none" if options.dry else torch.cuda.get_device_name(),
        "date": datetime.date.today().isoformat(),
        "versions": {each: importlib.metadata.version(each) for each in ("torch", "transformers")},
        "protocol": f"{ROUNDS} rounds of {STEPS} steps in turn, {REST_S} s of rest before each; the median of all",
        "rows": [],
    }
    asked = {name: each for name, each in NETWORKS.items() if options.only in name}
    for name, network in asked.items():
        if time.time() > deadline:
            print(f"{name}: no time was left", flush=True)
            continue
        begun = time.time()
        rows = measured(name, network, options, watch)
        result["rows"] += rows
        print(*map(told, rows), f"{name}: {time.time() - begun:.1f} s", sep="\n", flush=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n")
        gc.collect()
        if not options.dry:
            torch.cuda.empty_cache()
    watch.stop()


if __name__ == "__main__":
    main()
