"""Engine and reference side by side: what must be equal, as values that a test can compare and print."""

from functools import cache

import numpy as np

from gemmlab.emulator.launch import launch_of
from gemmlab.emulator.lockstep.running import run
from gemmlab.emulator.lower import arguments_of, lower
from gemmlab.emulator.reference import run_reference
from gemmlab.emulator.source import load
from gemmlab.emulator.tallies import Tally


def rows(outcome):
    """Counts by row; arithmetic by line, since forms may count it with different statements of a line."""
    found = {}
    arithmetic = {}
    for key, tally in outcome.tallies.items():
        line = key.place.number
        flop, fma = arithmetic.get(line, (0, 0))
        arithmetic[line] = (flop + tally.flop, fma + tally.fma)
        if key.kind != "assign":
            row = (line, key.kind, key.array)
            found[row] = found.get(row, Tally()) + Tally(tally.threads, tally.requests, tally.pieces, tally.splits)
    nothing = Tally()
    return {row: tally for row, tally in found.items() if tally != nothing}, {
        k: v for k, v in arithmetic.items() if any(v)
    }


def faults(outcome):
    """Faults by kind, array and lines."""
    return {
        (f.kind, f.array, frozenset(p.number for p in (f.line, f.other_line) if p is not None)) for f in outcome.faults
    }


def copied(args):
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


@cache
def lowered(kernel, arguments):
    """A kernel's program for arguments of these types: many launches are of one."""
    return lower(load(kernel), arguments)


def both(kernel, grid, block, make_args, **more):
    """(engine's outcome and arrays, reference's) of one launch."""
    args, others = make_args(), make_args()
    program = lowered(kernel, arguments_of(load(kernel), args))
    launch = launch_of(program, grid, block, args, **more)
    one = run(program, launch)
    other = run_reference(kernel, grid, block, *others, **more)
    return (one, launch.args), (other, others)


def same_values(some, others):
    """Whether all arrays are equal bit for bit, NaN as NaN."""
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(some, others, strict=True)
        if isinstance(a, np.ndarray)
    )


def launched(drawn):
    """`both` of a launch of a random program."""
    return both(drawn.kernel, drawn.grid, drawn.block, drawn.make_args)


def unlike(drawn, engines, references):
    """In what engine and reference differ, as `both` gives them: values, counts, faults; empty where alike.

    Where threads race, what they read is the schedule's, and whether it was there yet: values are not compared, and of
    faults the races alone. Where it steers the program too, both have to have found a race, or neither.
    """
    (one, arrays), (other, others) = engines, references
    found, expected = faults(one), faults(other)
    if drawn.racy:
        found, expected = ({f for f in some if "race" in f[0]} for some in (found, expected))
    if drawn.steered:
        return {"faults"} if bool(found) != bool(expected) else set()
    alike = {"counts": rows(one) == rows(other), "faults": found == expected}
    if not drawn.racy:
        alike["values"] = same_values(arrays, others)
    return {name for name, same in alike.items() if not same}
