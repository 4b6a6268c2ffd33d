"""The tables of how fast the emulator is, from what benchmarks/emulator_speed.py and emulator_peers.py wrote."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from measured import result
from tables import table


def speed() -> str:
    """Seconds of large launches, of compilation, and memory."""
    found = result("emulator_speed")
    rows = []
    for name, row in found["rows"].items():
        seconds = statistics.median(row["times_s"]) if "times_s" in row else row["time_s"]
        memory = f"{row['peak_memory_bytes'] / 2**20:.0f} MiB" if "peak_memory_bytes" in row else "-"
        rows.append([name, f"{seconds:.2f} s", memory])
    where = f"Measured {found['date']} on {found['machine']}, numba {found['versions']['numba']}"
    return f"{where}; memory is the whole process's.\n\n" + table(["what is emulated", "time", "peak memory"], rows)


def peers() -> str:
    """Accesses a second of the tools that run GPU kernels on a CPU."""
    found = result("emulator_peers")
    rows = [
        [
            row["tool"],
            row["kernel"],
            str(row["n"]),
            f"{row['accesses_per_s']:.3g}",
            f"{row['gemmlab_is_times_faster']:.0f}",
        ]
        for row in found["rows"]
    ]
    where = f"Measured {found['date']} in one run on {found['processor']}, {found['cores']} threads"
    return f"{where}; each peer at the largest size that it manages in a minute.\n\n" + table(
        ["tool", "kernel", "n", "accesses a second", "gemmlab is times faster"], rows
    )


EMULATED: dict[str, Callable[[], str]] = {"result emulator speed": speed, "result emulator peers": peers}
