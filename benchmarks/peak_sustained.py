"""`gemmlab.matmul` beside torch where power is the limit: 8192^3 in bfloat16 for seconds on end, clock and power read.

    python benchmarks/peak_sustained.py [--out benchmarks/results/peak_sustained.json]

Each contender multiplies for four seconds without a pause, in turn and twice over; the first second, in which the
chip gets hot, does not count. NVML tells clock, power and what holds the clock back 20 times a second; nvidia-smi
where NVML's package is missing.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import itertools
import json
import math
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import peak_cublaslt
from peak_files import kept
from peak_row import Row
from peak_timing import captured

RESULT = Path(__file__).parent / "results" / "peak_sustained.json"
SIDE = 8192
SECONDS, HEATING_S, TURNS = 4.0, 1.0, 2
READING_S = 0.05
REPLAY_S = 0.03
BAR = 1.02
FIELDS = ("clocks.sm", "power.draw", "temperature.gpu", "clocks_event_reasons.active")
#: bits of what holds the clock back: nvmlClocksEventReasons
REASONS = {
    0x1: "idle",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "temperature",
    0x40: "hardware temperature",
    0x80: "power brake",
}


class Reading(NamedTuple):
    """What the chip tells of itself."""

    at: float  #: seconds, of a clock that only counts on
    clock_mhz: float
    power_w: float
    celsius: float
    reasons: int


def reader() -> Callable[[], Reading]:
    """What reads the first GPU, by NVML or by nvidia-smi."""
    try:
        import pynvml

        pynvml.nvmlInit()
        chip = pynvml.nvmlDeviceGetHandleByIndex(0)
        of = getattr(pynvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
        reasons = of or pynvml.nvmlDeviceGetCurrentClocksThrottleReasons
        return lambda: Reading(
            time.monotonic(),
            pynvml.nvmlDeviceGetClockInfo(chip, pynvml.NVML_CLOCK_SM),
            pynvml.nvmlDeviceGetPowerUsage(chip) / 1e3,
            pynvml.nvmlDeviceGetTemperature(chip, pynvml.NVML_TEMPERATURE_GPU),
            reasons(chip),
        )
    except Exception:  # no package, or a driver without it
        return asked


def asked() -> Reading:
    """What nvidia-smi tells."""
    command = ["nvidia-smi", "--id=0", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(",")
    return Reading(time.monotonic(), *map(float, words[:3]), int(words[3], 16))


class Watch(threading.Thread):
    """Readings until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.read, self.over, self.readings = reader(), threading.Event(), []

    def run(self) -> None:
        while not self.over.wait(READING_S):
            self.readings.append(self.read())


def kept_busy(torch: Any, replay: Any, seconds: float) -> list[float]:
    """Seconds of one multiplication, replay by replay without a pause; two are always on their way."""
    events = [torch.cuda.Event(enable_timing=True)]
    events[0].record()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        replay.graph.replay()
        events.append(torch.cuda.Event(enable_timing=True))
        events[-1].record()
        events[max(0, len(events) - 3)].synchronize()
    torch.cuda.synchronize()
    pairs = itertools.pairwise(events)
    return [first.elapsed_time(second) * 1e-3 / replay.count for first, second in pairs]


def hot(times: list[float], count: int, heating: float) -> list[float]:
    """Those replays that began when the chip had been busy for so long; all but the first where none did."""
    busy, found = 0.0, []
    for each in times:
        if busy >= heating:
            found.append(each)
        busy += each * count
    return found or times[1:] or times


def turn(torch: Any, name: str, replay: Any, seconds: float) -> dict[str, Any]:
    """One contender's turn."""
    watch = Watch()
    watch.start()
    begun = time.monotonic()
    times = kept_busy(torch, replay, seconds)
    ended = time.monotonic()
    watch.over.set()
    watch.join()
    flop = 2 * SIDE**3
    heating = min(HEATING_S, seconds / 4)
    sustained = statistics.median(hot(times, replay.count, heating))
    readings = [each for each in watch.readings if begun + heating <= each.at <= ended]
    return {
        "contender": name,
        "first_s": times[0],
        "sustained_s": sustained,
        "sustained_flop_per_s": flop / sustained,
        "replays": len(times),
        "multiplications": len(times) * replay.count,
        **said(readings),
    }


def said(readings: list[Reading]) -> dict[str, Any]:
    """The middle of the readings, and what held the clock back in how many of them."""
    if not readings:
        return {"readings": 0}
    every = functools.reduce(lambda found, each: found | each.reasons, readings, 0)
    held = {
        REASONS.get(bit, hex(bit)): sum(bool(each.reasons & bit) for each in readings)
        for bit in (1 << at for at in range(64))
        if every & bit
    }
    middle = {name: statistics.median(getattr(each, name) for each in readings) for name in Reading._fields[1:4]}
    return {"readings": len(readings), **middle, "held_back_by": held}


def compared(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Others' time over ours: the geometric mean of the turns."""
    mean = {
        name: math.exp(statistics.fmean(math.log(each["sustained_s"]) for each in turns if each["contender"] == name))
        for name in dict.fromkeys(each["contender"] for each in turns)
    }
    ratios = {name: seconds / mean["ours"] for name, seconds in mean.items() if name != "ours"}
    return {"ratio": ratios, "bar": BAR, "holds": ratios["torch"] >= BAR}


def main() -> int:
    """Take turns, print each and write them; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a turn")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--no-cublaslt", dest="cublaslt", action="store_false")
    options = parser.parse_args()
    import torch

    row = Row(torch, SIDE, SIDE, SIDE, "bfloat16")
    if options.cublaslt:
        try:
            peak_cublaslt.best(row)
        except (RuntimeError, OSError) as error:
            print(f"without cuBLASLt's list: {error}")
            row.contenders.pop("cublaslt", None)
            row.results.pop("cublaslt", None)
    replays = {name: captured(torch, row.calls(name), REPLAY_S) for name in row.contenders}
    row.poison()
    kept_busy(torch, replays["torch"], HEATING_S)
    turns = []
    for _ in range(options.turns):
        for name, replay in replays.items():
            turns.append(turn(torch, name, replay, options.seconds))
            print(json.dumps(turns[-1]), flush=True)
    errors, right = row.errors()
    found = {
        "what": f"measured: {SIDE}^3 in bfloat16 without a pause, {options.seconds:g} s a turn",
        "date": datetime.date.today().isoformat(),
        "chip": torch.cuda.get_device_properties(0).name,
        "versions": {"torch": torch.__version__, "cuda": torch.version.cuda},
        **compared(turns),
        "right": right,
        "errors": {name: each._asdict() for name, each in errors.items()},
        "turns": turns,
    }
    kept(options.out, found)
    print(json.dumps({name: found[name] for name in ("ratio", "holds", "right")}))
    return int(not right)


if __name__ == "__main__":
    raise SystemExit(main())
