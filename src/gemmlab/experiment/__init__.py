"""Experiments: one multiplication, one chip and one kernel become one Record."""

from gemmlab.experiment.explaining import explain

__all__ = ["explain"]
