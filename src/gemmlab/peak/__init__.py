"""Multiplications on an NVIDIA GPU as fast as we can make them, with the accuracy that is asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.peak.tensors import matmul, plan
    from gemmlab.peak.tuning import tune

__all__ = ["matmul", "plan", "tune"]

HOMES = {"matmul": "gemmlab.peak.tensors", "plan": "gemmlab.peak.tensors", "tune": "gemmlab.peak.tuning"}


def __getattr__(name: str) -> Any:
    """They load torch, which the parts behind a plan do not; raises GemmlabError where it is missing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        import_module("gemmlab.peak.operator")
        found = globals()[name] = getattr(import_module(HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from gemmlab.record import GemmlabError

        raise GemmlabError("torch is not installed", "pip install torch") from error
    return found
