"""Finding out what a matrix unit is from nothing but its answers."""

from gemmlab.numerics.probing.evidence import Ambiguity, Difference, Evidence, Revealed
from gemmlab.numerics.probing.infer import reveal
from gemmlab.numerics.probing.trees import nested, tree

__all__ = ["Ambiguity", "Difference", "Evidence", "Revealed", "nested", "reveal", "tree"]
