"""Whole programs explained: every multiplication with its time, its limit and what to change, and Amdahl's line."""

from typing import TYPE_CHECKING, Any

from gemmlab.experiment.workload.answer import Answer, Rest, Row

if TYPE_CHECKING:
    from gemmlab.experiment.workload.answering import answer_of
    from gemmlab.experiment.workload.differing import Changed, Difference, difference
    from gemmlab.experiment.workload.profiling import profile_model

__all__ = ["Answer", "Changed", "Difference", "Rest", "Row", "answer_of", "difference", "profile_model"]

LATER = {
    "Changed": "differing",
    "Difference": "differing",
    "answer_of": "answering",
    "difference": "differing",
    "profile_model": "profiling",
}


def __getattr__(name: str) -> Any:
    """What answers loads when asked for: a report needs the answer's types alone."""
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"gemmlab.experiment.workload.{LATER[name]}"), name)
