"""What can be said of a launch without running all of it, and what one run proves beyond itself."""

from gemmlab.emulator.proof.blocks import Brute, Classes, classes, verify
from gemmlab.emulator.proof.disjoint import Disjoint, disjoint_writes
from gemmlab.emulator.proof.shapes import Shapes, prove_shapes
from gemmlab.emulator.proof.taint import Steer, Taint, taint
from gemmlab.emulator.proof.verdict import Claim, Proof, prove

__all__ = [
    "Brute",
    "Claim",
    "Classes",
    "Disjoint",
    "Proof",
    "Shapes",
    "Steer",
    "Taint",
    "classes",
    "disjoint_writes",
    "prove",
    "prove_shapes",
    "taint",
    "verify",
]
