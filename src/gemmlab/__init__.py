"""gemmlab: what one matrix multiplication moves, what bounds it, how fast it can go on a chip, and what to change.

>>> import gemmlab
>>> gemmlab.Gemm(4096, 50257, 768, "bfloat16").flop
316189704192
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.chips import Chip
    from gemmlab.emulator import emulate
    from gemmlab.experiment import explain, profile_model, simulate_array
    from gemmlab.kernels import Kernel
    from gemmlab.peak import matmul, plan, tune
    from gemmlab.problem import Gemm
    from gemmlab.record import Record

__all__ = [
    "Chip",
    "Gemm",
    "Kernel",
    "Record",
    "emulate",
    "explain",
    "matmul",
    "plan",
    "profile_model",
    "simulate_array",
    "tune",
]

HOMES = {
    "Chip": "gemmlab.chips",
    "Gemm": "gemmlab.problem",
    "Kernel": "gemmlab.kernels",
    "Record": "gemmlab.record",
    "emulate": "gemmlab.emulator",
    "explain": "gemmlab.experiment",
    "matmul": "gemmlab.peak",
    "plan": "gemmlab.peak",
    "profile_model": "gemmlab.experiment",
    "simulate_array": "gemmlab.experiment",
    "tune": "gemmlab.peak",
}


def __getattr__(name: str) -> Any:
    """Import the part that holds a public name when it is first used."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    """The public names, whether loaded yet or not."""
    return sorted({name for name in globals() if name.startswith("__")} | {*__all__})
