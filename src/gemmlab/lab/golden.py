"""Vectors that the page's closed forms are held against, made by the parts of the package that say the same in Python.

`python -m gemmlab.lab.golden web/golden` writes them; with `--check` it only says which are not current.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gemmlab import chips
from gemmlab.lab.data import main


def knees() -> Any:
    """Of each chip and format: FLOP/byte past which each level no longer bounds, from the chip's own figures."""
    found = {}
    for name in chips.names():
        chip = chips.get(name)
        found[name] = {
            f"{kind}.{level.name}": float(peak.flop_per_s) / float(level.bandwidth_bytes_per_s)
            for kind, peak in chip.peaks.items()
            for level in chip.levels
        }
    return found


FILES: dict[str, Callable[[], Any]] = {"knees.json": knees}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], FILES))
