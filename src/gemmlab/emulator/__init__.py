"""Runs numba.cuda kernels on the CPU: exact counts, faults, schedules and proofs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.emulator.emulating import emulate
    from gemmlab.emulator.kernel_file import kernel_from
    from gemmlab.emulator.reference import run_reference
    from gemmlab.emulator.results import Emulation

__all__ = ["Emulation", "emulate", "kernel_from", "run_reference"]

LATER = {
    "Emulation": "results",
    "emulate": "emulating",
    "kernel_from": "kernel_file",
    "run_reference": "reference",
}


def __getattr__(name: str) -> Any:
    """Each part loads when it is asked for: numba takes longer to load than most answers take."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{LATER[name]}"), name)
