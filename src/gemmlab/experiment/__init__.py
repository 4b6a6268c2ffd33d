"""Experiments: one multiplication, one chip and one kernel become one Record."""

from gemmlab.experiment.explaining import explain, require
from gemmlab.model.suited import on_chip

__all__ = ["explain", "on_chip", "require"]
