"""An adapter as a chip: a built-in one where a file describes it, else its name and nothing invented."""

from __future__ import annotations

from gemmlab.chips.chip import Chip, Figure
from gemmlab.chips.files import get, names
from gemmlab.chips.machine import describe
from gemmlab.run.backends.webgpu.adapters import Adapter

SOFTWARE = "here-software"  #: the name of every software adapter's chip
UNTOLD = "WebGPU does not tell it"


def chip_of(adapter: Adapter) -> Chip:
    """The chip behind an adapter.

    That of a software adapter has the CPU's cores, no peaks and no levels: what it takes is no chip's time, and so it
    has no limit to be held against.
    """
    if adapter.software:
        return bare(adapter, SOFTWARE, f"{adapter.name}, a software adapter", "cpu")
    for name in names():
        if adapter.name in (chip := get(name)).reported_as:
            return chip
    from gemmlab.chips.nvidia import gpus

    found = (chip for chip in gpus() if chip.full_name == adapter.name)
    return next(found, None) or bare(adapter, "here-gpu", adapter.name, "gpu")


def bare(adapter: Adapter, name: str, full_name: str, kind: str) -> Chip:
    """A chip of which only the name is known; a software adapter's cores are the machine's."""
    software, machine = kind == "cpu", describe()
    return Chip(
        name=name,
        full_name=full_name,
        vendor=adapter.driver or "unknown",
        architecture="cpu" if software else "unknown",
        kind="cpu" if software else "gpu",
        year=0,
        sm_count=Figure(machine.cores, "the operating system") if software else Figure(0, "", False, UNTOLD),
        clock_hz=Figure(machine.nominal_hz if software else 0, "", False, UNTOLD),
        levels=(),
        peaks={},
        notes=() if software else ("no built-in file describes this chip: write one, with its name in reported_as",),
    )
