"""What happens to each output between the accumulator and memory."""

from typing import NamedTuple


class Step(NamedTuple):
    """One step of an epilogue: its work for each output, and the operands that it reads."""

    flop: int  #: for each output; an exponential or a tanh counts as one
    matrices: int = 0  #: m x n operands read, each batch entry its own
    rows: int = 0  #: operands of n elements read, shared by all batch entries


#: relu: a maximum; gelu: x/2 * (1 + tanh(x * (a + b*x*x))); silu: x / (1 + exp(-x))
EPILOGUES: dict[str, Step] = {
    "bias": Step(flop=1, rows=1),
    "residual": Step(flop=1, matrices=1),
    "relu": Step(flop=1),
    "gelu": Step(flop=8),
    "silu": Step(flop=4),
}


def steps(epilogue: str) -> tuple[str, ...]:
    """The names of an epilogue's steps in order: `bias+gelu` is bias, then gelu."""
    return tuple(epilogue.split("+")) if epilogue else ()


def cost(epilogue: str) -> Step:
    """All steps of an epilogue together."""
    parts = [EPILOGUES[name] for name in steps(epilogue)]
    return Step(sum(p.flop for p in parts), sum(p.matrices for p in parts), sum(p.rows for p in parts))
