"""Chips: their data sheets as files, every figure with its source, and this machine."""

from gemmlab.chips.chip import Calibration, Chip, Figure, Level, Limits, Peak
from gemmlab.chips.load import get, load, names

__all__ = ["Calibration", "Chip", "Figure", "Level", "Limits", "Peak", "get", "load", "names"]
