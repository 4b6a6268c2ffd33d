"""What OpenBLAS says of itself, asked in the library that this process has loaded."""

from __future__ import annotations

import ctypes
import sys

SPELLINGS = (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", ""))  # as wheels and distributions name its functions


def described() -> dict[str, str]:
    """Version, the kernels that it chose for this CPU, and its threads; empty where no OpenBLAS is loaded.

    Only Linux tells which libraries a process has loaded.
    """
    import numpy as np  # loads it

    found = {"library": f"numpy {np.__version__}"}
    for path in loaded():
        library = ctypes.CDLL(path)
        for before, after in SPELLINGS:
            try:
                config, core, threads = (
                    getattr(library, f"{before}openblas_get_{what}{after}")
                    for what in ("config", "corename", "num_threads")
                )
            except AttributeError:
                continue
            config.restype = core.restype = ctypes.c_char_p
            version = " ".join(config().decode().split()[:2])
            return found | {"blas": version, "blas_kernels": core().decode(), "blas_threads": str(threads())}
    return found


def loaded() -> list[str]:
    """Files of the BLAS libraries in this process."""
    if not sys.platform.startswith("linux"):
        return []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        paths = {line.split(maxsplit=5)[5].strip() for line in file if "openblas" in line}
    return sorted(paths)
