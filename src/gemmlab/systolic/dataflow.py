"""Which side of a multiplication lies where: three dataflows are three rows of a table."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.problem import Gemm
from gemmlab.record import unknown_name


class Dataflow(NamedTuple):
    """Sides of the problem along the array, and the operand that has no way to go.

    Where an operand is held, tiles of it are shifted in and partial sums move down; where sums are held, both operands
    move, one to the right and one down.
    """

    rows: str  #: side of the problem that runs down a column of PEs
    cols: str  #: side that runs along a row of PEs
    stream: str  #: side that runs in time
    held: str  #: operand that stays in the PEs: a, b, or c for the sums
    right: str  #: operand that moves to the right
    down: str  #: operand that moves down; c for partial sums
    about: str  #: in words


#: Chen, Emer and Sze, Eyeriss, ISCA 2016: section on the taxonomy of dataflows
DATAFLOWS = {
    "ws": Dataflow("k", "n", "m", "b", "a", "c", "weight stationary: B stays, rows of A pass, sums move down"),
    "is": Dataflow("k", "m", "n", "a", "b", "c", "input stationary: A stays, columns of B pass, sums move down"),
    "os": Dataflow("m", "n", "k", "c", "a", "b", "output stationary: sums stay, A moves right, B moves down"),
}


def dataflow(name: str) -> Dataflow:
    """The dataflow of that name; raises GemmlabError with the known ones."""
    if name not in DATAFLOWS:
        raise unknown_name("dataflow", str(name), DATAFLOWS)
    return DATAFLOWS[name]


class Sides(NamedTuple):
    """A problem as the array sees it, elements."""

    rows: int  #: down the columns of PEs
    cols: int  #: along the rows of PEs
    stream: int  #: in time


def sides(problem: Gemm, flow: Dataflow) -> Sides:
    """The problem's m, n and k by their place in the array."""
    return Sides(getattr(problem, flow.rows), getattr(problem, flow.cols), getattr(problem, flow.stream))
