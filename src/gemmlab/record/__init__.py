"""The Record: one multiplication, one chip, one kernel, and everything said about them."""

from gemmlab.record.errors import GemmlabError, unknown_name
from gemmlab.record.sections import (
    Advice,
    ChipSection,
    Count,
    KernelSection,
    LevelFigures,
    LevelPrediction,
    Measurement,
    Prediction,
    ProblemSection,
    Record,
    Term,
    Verdict,
    WorstElement,
)

__all__ = [
    "Advice",
    "ChipSection",
    "Count",
    "GemmlabError",
    "KernelSection",
    "LevelFigures",
    "LevelPrediction",
    "Measurement",
    "Prediction",
    "ProblemSection",
    "Record",
    "Term",
    "Verdict",
    "WorstElement",
    "unknown_name",
]
