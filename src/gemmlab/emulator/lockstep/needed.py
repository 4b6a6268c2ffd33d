"""What has to be worked out where only counts are asked for: what steers and what addresses."""

from __future__ import annotations

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.linear import variables


def steering_variables(program: p.Program) -> set[str]:
    """Variables that a branch, a loop, a barrier or an address depends on."""
    wanted: set[str] = set()
    for statement in p.walk(program.body):
        expressions: tuple[p.Expr, ...] = ()
        match statement:
            case p.Load() | p.Store() | p.Atomic():
                array = program.arrays[statement.array]
                expressions = (*statement.index, array.offset, *array.extents)
            case p.If() | p.For() | p.While():
                expressions = p.expressions(statement)
            case p.WarpOp():
                expressions = (statement.mask,) if statement.mask is not None else ()
        for expression in expressions:
            wanted |= variables(expression)
    while True:
        before = len(wanted)
        for statement in p.walk(program.body):
            if getattr(statement, "name", None) in wanted:
                for expression in p.expressions(statement):
                    wanted |= variables(expression)
        if len(wanted) == before:
            return wanted
