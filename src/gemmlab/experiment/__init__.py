"""Experiments: one multiplication, one chip and one kernel become one Record."""

from typing import TYPE_CHECKING, Any

from gemmlab.experiment.explaining import explain, require
from gemmlab.model.suited import on_chip

if TYPE_CHECKING:
    from gemmlab.experiment.arguments import Given
    from gemmlab.experiment.emulating import Asked, emulate_gemm, emulate_kernel
    from gemmlab.experiment.multiplying import Multiplication, multiplied
    from gemmlab.experiment.named_kernels import named_kernel
    from gemmlab.experiment.running import Options, run_one, run_together

__all__ = [
    "Asked",
    "Given",
    "Multiplication",
    "Options",
    "emulate_gemm",
    "emulate_kernel",
    "explain",
    "multiplied",
    "named_kernel",
    "on_chip",
    "require",
    "run_one",
    "run_together",
]

LATER = {
    "Asked": "emulating",
    "Given": "arguments",
    "Multiplication": "multiplying",
    "Options": "running",
    "emulate_gemm": "emulating",
    "emulate_kernel": "emulating",
    "multiplied": "multiplying",
    "named_kernel": "named_kernels",
    "run_one": "running",
    "run_together": "running",
}


def __getattr__(name: str) -> Any:
    """Whatever runs kernels loads when asked for: explaining needs no compiler."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"gemmlab.experiment.{LATER[name]}"), name)
