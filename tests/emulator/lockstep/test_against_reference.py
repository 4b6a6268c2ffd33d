"""The engine equals the plain interpreter, in values, counts and faults, on random small programs of the dialect."""

import pytest

from emulator.lockstep.compared import launched, unlike
from emulator.programs import FRAGMENTS, random_program

SOURCES, LAUNCHES = 6, 21


def test_there_are_500_of_them():
    assert SOURCES * FRAGMENTS * LAUNCHES >= 500


@pytest.mark.parametrize("seed", range(SOURCES))
def test_random_programs(seed):
    for fragment in range(FRAGMENTS):
        for number in range(LAUNCHES):
            drawn = random_program(seed, fragment, number)
            assert unlike(drawn, *launched(drawn)) == set(), drawn
