"""The processor at hand as a chip: its clock, FMA rate and bandwidths measured, the rest from the system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import msgspec

from gemmlab.chips.chip import Chip, Figure, Level, LevelName, Peak
from gemmlab.chips.machine import Machine, describe
from gemmlab.units import si

PROBE_S = 20.0  # more than a child that measures ever needs
COPY_S = 0.24  # of copying at each level
WINDOWS = 4  # parts of that time; other work only makes a part slower, so the best one counts
AGREE = 0.03  # two chains of different latency must give one clock
ROLE = (
    "levels by role: `l2` is the last-level cache that all cores share (L3), `shared` the cores' private L2 together, "
    "where a packed tile of A lives as a GPU's lives in shared memory"
)

#: format, the flag that brings it, FLOP per clock as a multiple of float32's or (AMX) a number, instruction, its name
EXTENSIONS: tuple[tuple[str, str, float, float, tuple[int, int, int] | None, str], ...] = (
    ("bfloat16", "amx_bf16", 0, 1024, (16, 16, 32), "AMX: 16x16x32 in 16 clocks"),
    ("bfloat16", "avx512_bf16", 2, 0, None, "AVX512_BF16 dot products at twice the float32 rate"),
    ("float16", "avx512_fp16", 2, 0, None, "AVX512-FP16 at twice the float32 rate"),
    ("float16", "asimdhp", 2, 0, None, "half-precision lanes at twice the float32 rate"),
    ("int8", "amx_int8", 0, 2048, (16, 16, 64), "AMX: 16x16x64 in 16 clocks"),
    ("int8", "avx512_vnni", 4, 0, None, "VNNI dot products at four times the float32 rate"),
    ("int8", "avx_vnni", 4, 0, None, "VNNI dot products at four times the float32 rate"),
    ("int8", "asimddp", 4, 0, None, "SDOT at four times the float32 rate"),
)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What was timed here; 0 where nothing could be."""

    clock_hz: float = 0.0
    clock_agrees: bool = False
    flop_per_s: float = 0.0  #: float32 FMAs of one core
    dram_bytes_per_s: float = 0.0  #: copies by all threads, reads and writes counted; the best window
    dram_low_bytes_per_s: float = 0.0  #: the worst
    l3_bytes_per_s: float = 0.0
    l2_bytes_per_s: float = 0.0


def cpu() -> Chip:
    """The processor at hand; takes about two seconds, for it measures."""
    machine = describe()
    return chip_of(machine, measure(machine))


def measure(machine: Machine) -> Measured:
    """Clock and FMA rate by a child process, bandwidths by copies."""
    rates = probe(vector_bits(machine))
    clocks = [value for key, value in rates.items() if key.startswith("clock")]
    last = max(machine.l3_bytes, machine.l2_bytes)
    roomy = machine.memory_bytes // 16 or 1 << 30
    threads = machine.cores
    dram = copy_rates(min(max(64 << 20, 2 * last), roomy, 1 << 30) // threads, threads)
    return Measured(
        clock_hz=max(clocks, default=0.0),
        clock_agrees=len(clocks) > 1 and min(clocks) > (1 - AGREE) * max(clocks),
        flop_per_s=rates.get("flop_per_s", 0.0),
        dram_bytes_per_s=max(dram),
        dram_low_bytes_per_s=min(dram),
        l3_bytes_per_s=copy_rate(machine.l3_bytes // 4 // threads, threads) if machine.l3_bytes else 0.0,
        l2_bytes_per_s=threads * copy_rate(machine.l2_bytes // 4 // threads, 1) if machine.l2_bytes else 0.0,
    )


def probe(bits: int) -> dict[str, float]:
    """What `gemmlab.chips.probe` prints, empty where it cannot run."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [package, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    # -P: a numpy.py in the folder where it is called is no library.
    command = [sys.executable, "-P", "-m", "gemmlab.chips.probe", str(bits)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PROBE_S,
            env=environment,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return {key: float(value) for key, value in json.loads(done.stdout).items()}
    except (OSError, subprocess.SubprocessError, ValueError):
        return probe(0) if bits else {}


def vector_bits(machine: Machine) -> int:
    """Width of the widest float32 FMA, 0 where none is known (on Windows the caller's registers forbid the loop)."""
    if sys.platform == "win32":
        return 0
    if "avx512f" in machine.flags:
        return 512
    if "fma" in machine.flags:
        return 256
    return 128 if "asimd" in machine.flags else 0


def copy_rate(size: int, threads: int) -> float:
    """Bytes read and written a second when each thread copies `size` bytes again and again; the best window."""
    return max(copy_rates(size, threads))


def copy_rates(size: int, threads: int) -> list[float]:
    """The same of each window.

    A call takes about a microsecond, so small arrays are copied many times between two looks at the clock.
    """
    import numpy as np

    if size < 4096:
        return [0.0]
    batch = max(1, (4 << 20) // size)
    n = size // 8
    gap = -(-n // 512) * 512 + 256  # half a page off: equal page offsets make stores wait for loads, ten times slower
    blocks = [np.ones(gap + n) for _ in range(threads)]  # written, so that pages exist
    pairs = [(block[:n], block[gap:]) for block in blocks]

    def copy(source: np.ndarray, target: np.ndarray) -> float:
        done = 0
        start = time.perf_counter()
        until = start + COPY_S / WINDOWS
        while time.perf_counter() < until:
            for _ in range(batch):
                np.copyto(target, source)
            done += batch * 2 * source.nbytes
        return done / (time.perf_counter() - start)

    if threads == 1:
        return [copy(*pairs[0]) for _ in range(WINDOWS)]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        return [sum(pool.map(lambda pair: copy(*pair), pairs)) for _ in range(WINDOWS)]


def chip_of(machine: Machine, measured: Measured) -> Chip:
    """The chip that those facts and timings make."""
    system = "the operating system of this machine"
    clock = clock_figure(machine, measured)
    rate, rate_note = fma_rate(machine, measured)
    cores = Figure(machine.cores, system, True, f"{machine.threads} logical processors; {machine.limit}".rstrip("; "))
    return Chip(
        name="here-cpu",
        full_name=machine.model,
        vendor=machine.vendor or "unknown",
        architecture="cpu",
        kind="cpu",
        year=0,
        sm_count=cores,
        clock_hz=clock,
        levels=levels(machine, measured, clock, rate),
        peaks=peaks(machine, clock, rate, rate_note),
        features=tuple(sorted(machine.flags & {"fma", "avx2", "avx512f", "amx_bf16", "amx_int8", "asimd", "sve"})),
        notes=(ROLE, "measured on this machine while it did whatever else it does: measure again when it is idle"),
    )


def clock_figure(machine: Machine, measured: Measured) -> Figure:
    """The measured clock; else the one the system tells, which is not the one it runs at."""
    if measured.clock_hz:
        note = "the fastest of short runs of dependent integer instructions, one core"
        disagree = "; two chains of different latency disagree by more than 3 %"
        return Figure(
            measured.clock_hz,
            "measured here",
            measured.clock_agrees,
            note + ("" if measured.clock_agrees else disagree),
        )
    if machine.nominal_hz:
        return Figure(machine.nominal_hz, "the operating system", False, "nominal: nothing could be measured here")
    return Figure(2.0e9, "assumed", False, "neither measured nor told by the system")


def fma_rate(machine: Machine, measured: Measured) -> tuple[float, str]:
    """Float32 FLOP of one core in one clock, and how that is known."""
    one = 2 * vector_bits(machine) / 32 or 16.0
    if measured.flop_per_s and measured.clock_hz:
        units = max(1, round(measured.flop_per_s / measured.clock_hz / one))
        return units * one, f"measured here: {units} vector FMAs of {one / 2:g} float32 lanes a clock"
    return 2 * one, f"assumed: 2 vector FMAs of {one / 2:g} float32 lanes a clock"


def peaks(machine: Machine, clock: Figure, rate: float, note: str) -> dict[str, Peak]:
    """Peaks of the formats that the instruction set has."""

    def peak(per_clock: float, text: str, sure: bool, instruction: tuple[int, int, int] | None = None) -> Peak:
        value = machine.cores * clock * per_clock
        return Peak(
            flop_per_s=Figure(value, "cores x clock x rate", sure and clock.sure, text),
            flop_per_clock_per_sm=Figure(per_clock, "measured here" if sure else "instruction set", sure, text),
            unit="tensor" if instruction else "vector",
            instruction=instruction,
        )

    known = note.startswith("measured")
    half = f"half of float32's rate, {note}"
    found = {"float64": peak(rate / 2, half, known), "float32": peak(rate, note, known)}
    for name, flag, times, fixed, instruction, text in EXTENSIONS:
        if flag in machine.flags and name not in found:
            found[name] = peak(fixed or times * rate, f"{text}, not measured", False, instruction)
    return found


def windows(measured: Measured) -> str:
    """How far the parts of the copying are apart."""
    low, high = (si(each, "B/s") for each in (measured.dram_low_bytes_per_s, measured.dram_bytes_per_s))
    return f"the best of {WINDOWS} windows, {low} to {high}"


def levels(machine: Machine, measured: Measured, clock: Figure, rate: float) -> tuple[Level, ...]:
    """Memory, caches by role, and registers; a level that nobody could size or time is left out."""
    copies = "measured here by copies of all cores, reads and writes counted"
    system = "the operating system"
    shown = f"{copies}; {windows(measured)}, and another moment may give another figure"
    one = "copies of one core, times the cores: a floor"
    timed: tuple[tuple[LevelName, float, int, str, str], ...] = (
        ("dram", measured.dram_bytes_per_s, machine.memory_bytes, shown, ""),
        ("l2", measured.l3_bytes_per_s, machine.l3_bytes, f"{copies}; the cache may be shared with others", "the L3"),
        ("shared", measured.l2_bytes_per_s, machine.l2_bytes, one, "the cores' L2 together"),
    )
    found = [
        Level(
            name=name,
            bandwidth_bytes_per_s=Figure(speed, "measured here", False, note),
            capacity_bytes=Figure(size, system, True, role),
        )
        for name, speed, size, note, role in timed
        if speed and size
    ]
    registers = 32 if machine.flags & {"avx512f", "asimd"} else 16
    held = registers * vector_bits(machine) // 8 + (8192 if "amx_bf16" in machine.flags else 0)
    if held:
        argued = "argued: 3 operands of each FMA of each core and clock"
        found.append(
            Level(
                name="register",
                bandwidth_bytes_per_s=Figure(machine.cores * clock * rate / 2 * 12, "instruction set", False, argued),
                capacity_bytes=Figure(machine.cores * held, "instruction set"),
            )
        )
    return tuple(found)
