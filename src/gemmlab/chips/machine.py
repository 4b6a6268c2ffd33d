"""What the operating system says about this machine's processor and memory."""

from __future__ import annotations

import glob
import os
import platform
import subprocess
import sys

import msgspec


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine as its system describes it; a figure that nobody told is 0."""

    model: str
    vendor: str
    cores: int  #: physical cores that this process may use
    threads: int  #: logical processors that it may use
    flags: frozenset[str]  #: instruction set extensions by their Linux names
    l2_bytes: int  #: of all usable cores together
    l3_bytes: int
    memory_bytes: int
    nominal_hz: float
    limit: str = ""  #: what keeps cores away from this process, as words


def read(path: str) -> str:
    """A small system file's text, empty where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def usable_threads() -> int:
    """Threads of the CPU that this process may run on: a container or `taskset` can leave it fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe(root: str = "/") -> Machine:
    """The machine at hand; on Linux from /proc and /sys under `root`."""
    if root == "/" and not sys.platform.startswith("linux"):
        return from_mac() if sys.platform == "darwin" else from_python()
    usable = sorted(os.sched_getaffinity(0)) if root == "/" else processors(root)
    info = fields(read(os.path.join(root, "proc/cpuinfo")))
    cpu = os.path.join(root, "sys/devices/system/cpu")
    siblings = {
        (read(f"{cpu}/cpu{n}/topology/physical_package_id"), read(f"{cpu}/cpu{n}/topology/core_id") or n)
        for n in usable
    }
    allowed = quota(root)
    cores = len(siblings) if allowed == 0 else max(1, min(len(siblings), int(allowed)))
    return Machine(
        model=info.get("model name") or info.get("CPU part", platform.machine()),
        vendor=info.get("vendor_id") or info.get("CPU implementer", ""),
        cores=cores,
        threads=len(usable),
        flags=frozenset((info.get("flags") or info.get("Features", "")).split()),
        l2_bytes=cache_bytes(cpu, usable, 2),
        l3_bytes=cache_bytes(cpu, usable, 3),
        memory_bytes=memory(read(os.path.join(root, "proc/meminfo"))),
        nominal_hz=nominal(cpu, info),
        limit=f"a quota of {allowed:g} processors" if 0 < allowed < len(siblings) else "",
    )


def processors(root: str) -> list[int]:
    """All logical processors of a described tree."""
    found = glob.glob(os.path.join(root, "sys/devices/system/cpu/cpu[0-9]*"))
    return sorted(int(os.path.basename(path)[3:]) for path in found)


def fields(text: str) -> dict[str, str]:
    """The first processor's lines of /proc/cpuinfo."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


def quota(root: str) -> float:
    """Processors that a control group grants, 0 where it grants all."""
    parts = read(os.path.join(root, "sys/fs/cgroup/cpu.max")).split()
    if len(parts) != 2:
        base = os.path.join(root, "sys/fs/cgroup/cpu")
        parts = [read(f"{base}/cpu.cfs_quota_us"), read(f"{base}/cpu.cfs_period_us")]
    if not all(part.isdigit() for part in parts) or int(parts[1]) == 0:
        return 0.0
    return int(parts[0]) / int(parts[1])


def cache_bytes(cpu: str, usable: list[int], level: int) -> int:
    """Bytes of the data caches of a level that the usable processors see, each instance once."""
    instances: dict[str, int] = {}
    for n in usable:
        for index in glob.glob(f"{cpu}/cpu{n}/cache/index[0-9]*"):
            if read(f"{index}/level") == str(level) and read(f"{index}/type") != "Instruction":
                instances[read(f"{index}/shared_cpu_list") or str(n)] = size_of(read(f"{index}/size"))
    return sum(instances.values())


def size_of(text: str) -> int:
    """Bytes of a size as the kernel writes it: `512K`, `32768K`, `1M`."""
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text.rstrip("KMGkmgB")
    return int(digits) * scale if digits.isdigit() else 0


def memory(meminfo: str) -> int:
    """Bytes of memory in all."""
    total = fields(meminfo).get("MemTotal", "").split()
    return int(total[0]) << 10 if total else 0


def nominal(cpu: str, info: dict[str, str]) -> float:
    """The clock that the system tells, in Hz: cpufreq's highest, else what /proc/cpuinfo prints."""
    highest = read(f"{cpu}/cpu0/cpufreq/cpuinfo_max_freq")
    if highest.isdigit():
        return int(highest) * 1e3
    try:
        return float(info.get("cpu MHz", "0")) * 1e6
    except ValueError:
        return 0.0


def from_mac() -> Machine:
    """macOS, from sysctl."""

    def ask(name: str) -> str:
        try:
            return subprocess.run(
                ["sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""

    def number(name: str) -> int:
        text = ask(name)
        return int(text) if text.isdigit() else 0

    cores = number("hw.physicalcpu") or os.cpu_count() or 1
    return Machine(
        model=ask("machdep.cpu.brand_string") or platform.machine(),
        vendor=ask("machdep.cpu.vendor") or "Apple",
        cores=cores,
        threads=os.cpu_count() or cores,
        flags=frozenset({"asimd", "asimdhp"} if platform.machine() == "arm64" else {"fma", "avx2"}),
        l2_bytes=number("hw.l2cachesize"),
        l3_bytes=number("hw.l3cachesize"),
        memory_bytes=number("hw.memsize"),
        nominal_hz=float(number("hw.cpufrequency")),
    )


def from_python() -> Machine:
    """Any other system: what Python alone knows."""
    threads = os.cpu_count() or 1
    return Machine(
        model=platform.processor() or platform.machine(),
        vendor="",
        cores=threads,
        threads=threads,
        flags=frozenset(),
        l2_bytes=0,
        l3_bytes=0,
        memory_bytes=0,
        nominal_hz=0.0,
        limit="logical processors, for this system does not tell its cores",
    )
