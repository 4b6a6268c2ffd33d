"""The kernel that a word means: a rung of the ladder or a broken twin by its name, or `FILE.py:KERNEL`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gemmlab.record import unknown_name


@dataclass(frozen=True, slots=True)
class Named:
    """A kernel under the name that it was asked for by."""

    name: str
    kernel: Any  #: what numba's decorator made of it, or a plain function
    rung: Any = None  #: the ladder's entry, which knows how it is launched


def named_kernel(word: str) -> Named:
    """The kernel that a word means; raises GemmlabError."""
    from gemmlab.kernels.ladder import BROKEN, RUNGS, SIZES, load

    rungs = RUNGS | SIZES
    if word in rungs:
        return Named(word, load(rungs[word].source), rungs[word])
    if word in BROKEN:
        twin = BROKEN[word]
        return Named(word, load(twin.source), RUNGS[twin.rung])
    if not (".py" in word or "/" in word or ":" in word):
        raise unknown_name("kernel", word, [*rungs, *BROKEN, "FILE.py:KERNEL"])
    from gemmlab.emulator.kernel_file import kernel_from

    return Named(word.rpartition(":")[2], kernel_from(word))
