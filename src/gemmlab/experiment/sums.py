"""In which type a kernel's program sums: what its rounding may do follows from that."""

from __future__ import annotations

from gemmlab.emulator.program import Atomic, Binary, Call, Program, expressions, subexpressions, walk

FLOATS = ("float16", "float32", "float64")  #: the narrowest first
STEPS = ("add", "sub", "mul")


def sums_in(program: Program) -> str | None:
    """The narrowest float type that the program adds or multiplies in; None where it does so in none."""
    found = set()
    for statement in walk(program.body):
        if isinstance(statement, Atomic) and statement.op in ("add", "sub"):
            found.add(program.arrays[statement.array].type)
        for whole in expressions(statement):
            for part in subexpressions(whole):
                if (isinstance(part, Binary) and part.op in STEPS) or (isinstance(part, Call) and part.name == "fma"):
                    found.add(part.type)
    return next((name for name in FLOATS if name in found), None)
