"""A multiplication as a list of shapes knows it: how often it occurs, and what it is called."""

import msgspec

from gemmlab.problem.gemm import Gemm


class Shape(msgspec.Struct, frozen=True):
    """One entry of a list of shapes."""

    problem: Gemm
    count: int = 1  #: how often it occurs in what the list describes, such as once for each layer
    name: str = ""
