"""Words of `gemmlab systolic` that are quantities: an array's sides, bytes, bandwidths, clocks."""

from __future__ import annotations

import math
import re

from gemmlab.problem.columns import real
from gemmlab.record import GemmlabError

BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
BANDWIDTH = {"": 1.0, "b/s": 1.0, "kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12}
HERTZ = {"": 1.0, "hz": 1.0, "khz": 1e3, "mhz": 1e6, "ghz": 1e9}


def array(text: str) -> tuple[int, int]:
    """Rows and columns of PEs from `256x256`; raises GemmlabError."""
    found = re.fullmatch(r"\s*(\d+)\s*x\s*(\d+)\s*", text.lower())
    if not found:
        raise GemmlabError(f"`{text}` is not rows x columns of PEs", "for example 128x128")
    return int(found[1]), int(found[2])


def capacity(text: str) -> int:
    """Bytes from `24MiB`, `512KB` or a bare number; raises GemmlabError."""
    return int(quantity(text, BYTES, "a capacity", "for example 24MiB or 512KiB"))


def bandwidth(text: str) -> float:
    """Bytes a second from `34GB/s` or a bare number; raises GemmlabError."""
    return quantity(text, BANDWIDTH, "a bandwidth", "for example 34GB/s or 34e9, in bytes a second")


def clock(text: str) -> float:
    """Hertz from `700MHz` or a bare number; raises GemmlabError."""
    return quantity(text, HERTZ, "a clock", "for example 700MHz or 700e6, in Hz")


def quantity(text: str, units: dict[str, float] | dict[str, int], kind: str, example: str) -> float:
    """A number above 0 times its unit; raises GemmlabError."""
    found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z/]*)\s*", text, re.IGNORECASE)
    unit = found[2].lower() if found else ""
    if found is None or unit not in units:
        raise GemmlabError(f"`{text}` is not {kind}", example)
    value = real(found[1]) * units[unit]
    if not 0 < value < math.inf:
        raise GemmlabError(f"`{text}` is not {kind} above 0", example)
    return value
