"""NVIDIA GPUs of this machine: what nvidia-smi names, what the driver tells of a card that no file describes."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import msgspec

from gemmlab.chips.chip import Chip, Figure, Level, LevelName, Limits, Peak
from gemmlab.chips.files import get, names

QUERY = "name,memory.total,clocks.max.sm,power.limit,compute_cap"
DRIVER = "the CUDA driver on this machine"
SMI = "nvidia-smi on this machine"

#: cuDeviceGetAttribute codes (cuda.h)
ATTRIBUTES = {
    "warp_size": 10,
    "clock_khz": 13,
    "sm_count": 16,
    "memory_clock_khz": 36,
    "bus_bits": 37,
    "l2_bytes": 38,
    "threads_per_sm": 39,
    "shared_per_sm": 81,
    "registers_per_sm": 82,
    "shared_per_program": 97,
    "programs_per_sm": 106,
}

#: float32 lanes of an SM, float16 FLOP per clock and SM of the tensor cores (None where products of one
#: capability differ: GeForce halves float32 accumulation), architecture
CAPABILITIES: dict[tuple[int, int], tuple[int, int | None, str]] = {
    (7, 0): (64, 1024, "volta"),
    (7, 5): (64, None, "turing"),
    (8, 0): (64, 2048, "ampere"),
    (8, 6): (128, None, "ampere"),
    (8, 9): (128, None, "ada"),
    (9, 0): (128, 4096, "hopper"),
    (10, 0): (128, 8192, "blackwell"),
    (12, 0): (128, None, "blackwell"),
}


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One line of nvidia-smi; 0 where it prints `[N/A]`."""

    name: str
    memory_mib: float
    clock_mhz: float
    power_w: float
    capability: tuple[int, int]


def gpus() -> list[Chip]:
    """The NVIDIA GPUs here, each as its built-in chip where one describes it; empty without a driver."""
    readings = parse(asked(QUERY))
    return [match(reading) or unknown(reading, attributes(place)) for place, reading in enumerate(readings)]


def identities() -> list[str]:
    """The UUIDs of the NVIDIA GPUs here, in their order; empty without a driver."""
    return [line.strip() for line in asked("uuid").splitlines() if line.strip()]


def asked(query: str) -> str:
    """What nvidia-smi prints of each GPU; empty without a driver."""
    try:
        command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def parse(text: str) -> list[Reading]:
    """The lines that nvidia-smi prints for QUERY."""
    found = []
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) != len(QUERY.split(",")):
            continue
        major, _, minor = parts[4].partition(".")
        found.append(
            Reading(
                name=parts[0],
                memory_mib=number(parts[1]),
                clock_mhz=number(parts[2]),
                power_w=number(parts[3]),
                capability=(int(number(major)), int(number(minor))),
            )
        )
    return found


def number(text: str) -> float:
    """A number, 0 for `[N/A]` and the like."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def match(reading: Reading) -> Chip | None:
    """The built-in chip whose file lists the name that the driver reports."""
    for name in names():
        chip = get(name)
        if reading.name in chip.reported_as:
            return chip
    return None


def attributes(place: int) -> dict[str, int]:
    """What the CUDA driver tells of its device number `place`, empty where it cannot be asked."""
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        device = ctypes.c_int()
        if cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), place):
            return {}
        found = {}
        for key, code in ATTRIBUTES.items():
            value = ctypes.c_int()
            if cuda.cuDeviceGetAttribute(ctypes.byref(value), code, device) == 0:
                found[key] = value.value
        return found
    except (OSError, AttributeError):
        return {}


def unknown(reading: Reading, told: dict[str, int]) -> Chip:
    """A GPU that no built-in file describes: what the driver and nvidia-smi say of it, nothing invented."""
    lanes, tensor, architecture = CAPABILITIES.get(reading.capability, (0, None, "unknown"))
    count = told.get("sm_count", 0)
    clock = (reading.clock_mhz or told.get("clock_khz", 0) / 1e3) * 1e6
    capability = ".".join(map(str, reading.capability))
    silent = "nvidia-smi does not tell it and the CUDA driver could not be asked"
    peaks: dict[str, Peak] = {}
    for name, rate, unit in (
        ("float32", 2 * lanes, "vector"),
        ("bfloat16", tensor, "tensor"),
        ("float16", tensor, "tensor"),
    ):
        if rate and count and clock and not (name == "bfloat16" and reading.capability < (8, 0)):
            text = f"the rate of compute capability {capability}"
            peaks[name] = Peak(
                flop_per_s=Figure(count * clock * rate, DRIVER, False, f"SMs x highest clock x {text}"),
                flop_per_clock_per_sm=Figure(rate, text, False),
                unit="vector" if unit == "vector" else "tensor",
                instruction=(16, 8, 16) if unit == "tensor" else None,
            )
    return Chip(
        name="here-gpu",
        full_name=reading.name,
        vendor="NVIDIA",
        architecture=architecture,
        kind="gpu",
        year=0,
        sm_count=Figure(count, DRIVER, bool(count), "" if count else silent),
        clock_hz=Figure(clock, SMI, False, "the highest clock it may take, not what it holds under load"),
        levels=levels(reading, told, count, clock, lanes),
        peaks=peaks,
        limits=limits(told),
        power_w=Figure(reading.power_w, SMI) if reading.power_w else None,
        notes=("no built-in file describes this card: write one, `gemmlab chips h100-sxm` shows how one looks",),
    )


def levels(reading: Reading, told: dict[str, int], count: int, clock: float, lanes: int) -> tuple[Level, ...]:
    """The levels whose size and speed the driver tells; L2 has a size but no speed, so it is left out."""
    found = []
    speed = 2e3 * told.get("memory_clock_khz", 0) * told.get("bus_bits", 0) / 8
    if speed and reading.memory_mib:
        note = "twice the memory clock times the bus width, as the driver tells them; newer drivers round the clock"
        capacity = Figure(reading.memory_mib * (1 << 20), SMI)
        found.append(
            Level(name="dram", bandwidth_bytes_per_s=Figure(speed, DRIVER, False, note), capacity_bytes=capacity)
        )
    inner: tuple[tuple[LevelName, int, int], ...] = (
        ("shared", 128, told.get("shared_per_sm", 0)),
        ("register", 12 * lanes, 4 * told.get("registers_per_sm", 0)),
    )
    for name, rate, size in inner:
        if count and clock and rate and size:
            text = f"SMs x {rate} B a clock x highest clock"
            speed_figure = Figure(count * clock * rate, DRIVER, False, text)
            found.append(
                Level(name=name, bandwidth_bytes_per_s=speed_figure, capacity_bytes=Figure(count * size, DRIVER))
            )
    return tuple(found)


def limits(told: dict[str, int]) -> Limits | None:
    """Occupancy limits, where the driver tells all of them."""
    keys = ("registers_per_sm", "shared_per_sm", "shared_per_program", "threads_per_sm", "programs_per_sm", "warp_size")
    if not all(told.get(key) for key in keys):
        return None
    return Limits(
        registers_per_sm=Figure(told["registers_per_sm"], DRIVER),
        registers_per_thread=Figure(255, "every compute capability since 3.5"),
        shared_bytes_per_sm=Figure(told["shared_per_sm"], DRIVER),
        shared_bytes_per_program=Figure(told["shared_per_program"], DRIVER),
        warps_per_sm=Figure(told["threads_per_sm"] // told["warp_size"], DRIVER),
        programs_per_sm=Figure(told["programs_per_sm"], DRIVER),
        threads_per_program=Figure(1024, "every compute capability since 2.0"),
        warp_size=told["warp_size"],
    )
