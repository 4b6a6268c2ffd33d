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
    from gemmlab.experiment.systolic import Simulated, simulate, simulate_array
    from gemmlab.experiment.systolic_chips import array_of, fitting
    from gemmlab.experiment.systolic_still import InFlight, Still, state_of, still_of
    from gemmlab.experiment.workload import profile_model

__all__ = [
    "Asked",
    "Given",
    "InFlight",
    "Multiplication",
    "Options",
    "Simulated",
    "Still",
    "array_of",
    "emulate_gemm",
    "emulate_kernel",
    "explain",
    "fitting",
    "multiplied",
    "named_kernel",
    "on_chip",
    "profile_model",
    "require",
    "run_one",
    "run_together",
    "simulate",
    "simulate_array",
    "state_of",
    "still_of",
]

LATER = {
    "Asked": "emulating",
    "Given": "arguments",
    "InFlight": "systolic_still",
    "Multiplication": "multiplying",
    "Options": "running",
    "Simulated": "systolic",
    "Still": "systolic_still",
    "array_of": "systolic_chips",
    "fitting": "systolic_chips",
    "emulate_gemm": "emulating",
    "emulate_kernel": "emulating",
    "multiplied": "multiplying",
    "named_kernel": "named_kernels",
    "profile_model": "workload",
    "run_one": "running",
    "run_together": "running",
    "simulate": "systolic",
    "simulate_array": "systolic",
    "state_of": "systolic_still",
    "still_of": "systolic_still",
}


def __getattr__(name: str) -> Any:
    """Whatever runs kernels loads when asked for: explaining needs no compiler."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"gemmlab.experiment.{LATER[name]}"), name)
