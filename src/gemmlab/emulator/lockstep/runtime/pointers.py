"""Addresses as what lies there, in the functions of this folder: `words(address)[i]` is the i-th int64 from there on.

Run as Python they read and write memory too, which is how tests hold compiled functions against them.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pointer:
    """Takes an address as numbers of so many bits, which are int64 once read and are cut to size when stored."""

    bits: int
    of: Any

    def __call__(self, address: int) -> Any:
        """What lies there, by index."""
        return ctypes.cast(address, ctypes.POINTER(self.of))


words = Pointer(64, ctypes.c_int64)
octets = Pointer(8, ctypes.c_uint8)
pairs = Pointer(16, ctypes.c_uint16)
quads = Pointer(32, ctypes.c_uint32)
