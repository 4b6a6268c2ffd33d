"""The engine equals the plain interpreter, in values, counts and faults, on random small programs of the dialect."""

import pytest

from emulator.lockstep.compared import both, faults, rows, same_values
from emulator.programs import FRAGMENTS, random_program

SOURCES, LAUNCHES = 6, 21


def test_there_are_500_of_them():
    assert SOURCES * FRAGMENTS * LAUNCHES >= 500


@pytest.mark.parametrize("seed", range(SOURCES))
def test_random_programs(seed):
    for fragment in range(FRAGMENTS):
        for number in range(LAUNCHES):
            drawn = random_program(seed, fragment, number)
            (one, arrays), (other, others) = both(drawn.kernel, drawn.grid, drawn.block, drawn.make_args)
            assert rows(one) == rows(other), drawn
            found, expected = faults(one), faults(other)
            if drawn.racy:  # what is read, and whether it was written before, is the schedule's: the races are not
                found, expected = ({f for f in some if "race" in f[0]} for some in (found, expected))
            else:
                assert same_values(arrays, others), drawn
            assert found == expected, drawn
