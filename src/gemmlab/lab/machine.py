"""What this machine can do, as the page asks it once: chips, backends and why one is not there, the emulator."""

from __future__ import annotations

from importlib import util
from typing import Any

import msgspec

from gemmlab import chips
from gemmlab.record import ChipSection, GemmlabError

#: modules that a backend imports beside the core, and what brings them
NEEDS = {
    "cuda": ("cuda.bindings", "pip install 'gemmlab[cuda]'"),
    "triton": ("triton", "pip install 'gemmlab[triton]'"),
    "torch": ("torch", "pip install 'gemmlab[torch]'"),
    "webgpu": ("wgpu", "pip install 'gemmlab[webgpu]'"),
}


class Here(msgspec.Struct, frozen=True, kw_only=True):
    """A chip of this machine."""

    full_name: str
    kind: str  #: gpu, cpu, ...
    figures: ChipSection


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """What can be timed here, or why it cannot."""

    name: str
    kernels: tuple[str, ...]
    chip: str = ""  #: that it runs on; empty where it does not
    why: str = ""  #: it does not, and what to do
    software: bool = False  #: an adapter that is this CPU


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """All that is told of the machine."""

    chips: tuple[Here, ...]
    backends: tuple[Backend, ...]
    emulator: dict[str, tuple[str, ...]]  #: rungs of the ladder, and their broken twins
    schedules: tuple[str, ...]  #: orders of threads by name


def found() -> Found:
    """Look; takes some seconds, for the CPU's clock is measured."""
    from gemmlab.emulator.serial import NAMED
    from gemmlab.kernels.ladder import BROKEN, RUNGS, SIZES
    from gemmlab.run import registry

    return Found(
        chips=tuple(
            Here(full_name=chip.full_name, kind=chip.kind, figures=chips.section(chip)) for chip in chips.here()
        ),
        backends=tuple(backend(name) for name in registry.backends()),
        emulator={"rungs": (*RUNGS, *SIZES), "broken": tuple(BROKEN)},
        schedules=(*(name for name, each in NAMED.items() if each.order != "turns"), "worst"),
    )


def backend(name: str) -> Backend:
    """One backend: its kernels, and the chip that it runs on or why it does not."""
    from gemmlab.experiment.running import chip_of
    from gemmlab.run import registry
    from gemmlab.run.backends.webgpu.chip import SOFTWARE

    kernels = tuple(each.name for each in registry.contenders_of(name))
    module, remedy = NEEDS.get(name, ("", ""))
    if module and not there(module):
        return Backend(name=name, kernels=kernels, why=f"{module} is not installed: {remedy}")
    try:
        chip: Any = chip_of(name)
    except GemmlabError as error:
        return Backend(name=name, kernels=kernels, why=": ".join(part for part in (error.text, error.hint) if part))
    return Backend(name=name, kernels=kernels, chip=chip.full_name, software=chip.name == SOFTWARE)


def there(module: str) -> bool:
    """Whether a module can be found, without importing it."""
    try:
        return util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
