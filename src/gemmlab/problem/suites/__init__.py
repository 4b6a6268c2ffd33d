"""Named suites of shapes: public lists, probes, and the multiplications of well-known models."""

from gemmlab.problem.suites.architecture import parameter_count
from gemmlab.problem.suites.catalogue import describe, suite, suite_names

__all__ = ["describe", "parameter_count", "suite", "suite_names"]
