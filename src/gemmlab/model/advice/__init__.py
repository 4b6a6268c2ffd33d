"""What to change: each piece of advice is the model run again with one cause removed."""

from gemmlab.model.advice.advising import advise

__all__ = ["advise"]
