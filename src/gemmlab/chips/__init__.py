"""Chips: their data sheets as files, every figure with its source, their self-check, and the chips at hand."""

from gemmlab.chips.chip import Calibration, Chip, Figure, Level, Limits, Peak
from gemmlab.chips.files import get, load, names
from gemmlab.chips.listing import Entry, figures, section, standing
from gemmlab.chips.local import here
from gemmlab.chips.selfcheck import Finding, self_check

__all__ = [
    "Calibration",
    "Chip",
    "Entry",
    "Figure",
    "Finding",
    "Level",
    "Limits",
    "Peak",
    "figures",
    "get",
    "here",
    "load",
    "names",
    "section",
    "self_check",
    "standing",
]
