"""What to change in a program: each rule is one cause, priced as the model's own advice prices it."""

from gemmlab.experiment.workload.changes.asking import candidates

__all__ = ["candidates"]
