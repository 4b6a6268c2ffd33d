"""The chips of this machine."""

from __future__ import annotations

import sys

from gemmlab.chips.chip import Chip
from gemmlab.chips.files import get, names


def here() -> list[Chip]:
    """GPUs first, then the processor with its measured clock; takes about two seconds, for it measures."""
    from gemmlab.chips.cpu import cpu
    from gemmlab.chips.nvidia import gpus

    processor = cpu()
    return [*gpus(), *apple(processor.full_name), processor]


def apple(model: str) -> list[Chip]:
    """The GPU that shares a die with that processor, where a built-in file describes it: `Apple M1`."""
    if sys.platform != "darwin":
        return []
    return [chip for chip in map(get, names()) if model in chip.reported_as]
