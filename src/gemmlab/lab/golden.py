"""Vectors that the page's closed forms are held against, made by the parts of the package that say the same in Python.

`python -m gemmlab.lab.golden web/golden` writes them; with `--check` it only says which are not current.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gemmlab import chips
from gemmlab.lab.data import main, played
from gemmlab.lab.filmed import film
from gemmlab.lab.limits import limits
from gemmlab.lab.reads import reads


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


FILES: dict[str, Callable[[], Any]] = {
    "arrays.json": played("arrays"),
    "film.json": film,
    "fused.json": played("fused"),
    "knees.json": knees,
    "limits.json": limits,
    "plays.json": played("plays"),
    "reads.json": reads,
    "registers.json": played("registers"),
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], FILES))
