"""Finding out what a matrix unit is from nothing but its answers."""

from gemmlab.numerics.reveal.evidence import Ambiguity, Difference, Evidence, Revealed
from gemmlab.numerics.reveal.infer import reveal
from gemmlab.numerics.reveal.trees import nested, tree

__all__ = ["Ambiguity", "Difference", "Evidence", "Revealed", "nested", "reveal", "tree"]
