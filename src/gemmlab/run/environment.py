"""What a figure depends on beside its kernel: machine, versions, and what the GPU's clock and power were meanwhile."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from importlib import metadata
from typing import Any

from gemmlab.record import Measurement
from gemmlab.run.process import visible

NVML = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"  # what nvidia-smi itself asks
SM_CLOCK = 1  # nvmlClockType_t
PACKAGES = ("gemmlab", "numpy", "numba")
BUSY = " had a load of "
#: nvmlClocksEventReason*, nvml.h; what is no limit (idle, clocks set by the user) is left out
REASONS = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


def surroundings() -> dict[str, str]:
    """The machine and the versions, the same for every contender of a run."""
    found = {
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if hasattr(os, "getloadavg"):
        found["load_before"] = f"{os.getloadavg()[0]:.2f}"
    return found


def busy(load: str, cores: int) -> str:
    """What is to be said of a load of the machine before a run on that many cores; empty where it was small."""
    if not load or float(load) <= cores / 2:
        return ""
    return f"{cores} core{'s' * (cores != 1)}{BUSY}{float(load):g} before the run: times may be too long"


def was_busy(measured: Measurement) -> bool:
    """Whether such a note stands at a measurement."""
    return any(BUSY in note for note in measured.notes)


class Memory(ctypes.Structure):
    """A GPU's memory in bytes: nvmlMemory_t, nvml.h."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Gauge:
    """Clock, power, temperature and throttle reasons of one GPU, read while it works; `words` tells their range.

    Where there is no NVIDIA driver nothing is read, and nothing told.
    """

    def __init__(self, device: int | None = 0, library: Any = None) -> None:
        self.clocks: list[int] = []
        self.powers: list[int] = []
        self.temperatures: list[int] = []
        self.reasons = 0
        self.handle = ctypes.c_void_p()
        self.nvml = library or loaded()
        if self.nvml is not None and (
            self.nvml.nvmlInit_v2()
            or self.nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(number_of(device)), ctypes.byref(self.handle))
        ):
            self.nvml = None

    def read(self) -> None:
        """One reading; takes well under a millisecond."""
        if self.nvml is None:
            return
        clock, power, temperature, reasons = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_ulonglong()
        if not self.nvml.nvmlDeviceGetClockInfo(self.handle, SM_CLOCK, ctypes.byref(clock)):
            self.clocks.append(clock.value)
        if not self.nvml.nvmlDeviceGetPowerUsage(self.handle, ctypes.byref(power)):
            self.powers.append(power.value)
        if not self.nvml.nvmlDeviceGetTemperature(self.handle, 0, ctypes.byref(temperature)):
            self.temperatures.append(temperature.value)
        if not self.nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self.handle, ctypes.byref(reasons)):
            self.reasons |= reasons.value

    def free_bytes(self) -> int | None:
        """Bytes of the GPU's memory that nobody has taken; None where the driver does not say."""
        memory = Memory()
        if self.nvml is None or self.nvml.nvmlDeviceGetMemoryInfo(self.handle, ctypes.byref(memory)):
            return None
        return int(memory.free)

    def driver(self) -> str:
        """The driver's version; empty without one."""
        text = ctypes.create_string_buffer(96)
        if self.nvml is None or self.nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(96)):
            return ""
        return text.value.decode("ascii", "replace")

    def words(self) -> dict[str, str]:
        """The readings so far: lowest to highest, and every reason that held at one of them."""
        found: dict[str, str] = {}
        if driver := self.driver():
            found["driver"] = driver
        if self.clocks:
            found["sm_clock"] = f"{span(self.clocks)} MHz"
        if self.powers:
            found["power"] = f"{span([round(each / 1000) for each in self.powers])} W"
        if self.temperatures:
            found["temperature"] = f"{span(self.temperatures)} C"
        if self.clocks:
            held = [text for bit, text in REASONS.items() if self.reasons & bit]
            found["throttled"] = ", ".join(held) or "no"
        return found


def number_of(device: int | None) -> int:
    """The number under which the driver knows a device of those that this process may see."""
    name = visible(device or 0)
    if name.isdigit():
        return int(name)
    from gemmlab.chips.nvidia import identities

    found = [place for place, identity in enumerate(identities()) if identity.startswith(name)]
    return found[0] if len(found) == 1 else device or 0


def loaded() -> Any:
    """NVIDIA's management library; None where there is none."""
    try:
        return ctypes.CDLL(NVML)
    except OSError:
        return None


def span(values: list[int]) -> str:
    """Lowest to highest, once where they are the same."""
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"
