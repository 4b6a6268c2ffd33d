"""How much memory arrays may take, and arrays that take none."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.record import GemmlabError
from gemmlab.units import capacity_text

SHARE = 0.8  #: of what is free
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  #: Linux: pages that nobody touches need no memory behind them
MOST_ADDRESSES = 1 << 46  #: half of what a process may address


def require_memory(needed: int) -> None:
    """Raise GemmlabError where that many bytes of arrays would not fit what is free."""
    free = free_bytes()
    if free is not None and needed > SHARE * free:
        raise GemmlabError(
            f"the arrays need {capacity_text(needed)}, and {capacity_text(free)} of memory are free",
            "--no-values counts accesses without any array, or a smaller shape",
        )


def free_bytes() -> int | None:
    """Bytes that the system says can be taken without swapping; None where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        return None
    return None


def addresses(size: int) -> npt.NDArray[Any]:
    """Bytes that have addresses, and memory only where they are written; zeros until then."""
    if size > MOST_ADDRESSES:
        raise GemmlabError(f"an array of {capacity_text(size)}", f"at most {capacity_text(MOST_ADDRESSES)}")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (NO_RESERVE if hasattr(mmap, "MAP_ANONYMOUS") else 0)
    try:
        return np.frombuffer(mmap.mmap(-1, max(size, 1), flags=flags), np.uint8)[:size]
    except (OSError, ValueError):
        return np.zeros(size, np.uint8)
