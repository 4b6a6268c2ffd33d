import numpy as np
import pytest

from emulator.programs import programs, random_program
from emulator.steered import steered
from gemmlab.emulator.reference import run_reference
from gemmlab.emulator.tallies import OUT_OF_BOUNDS, SAME_VALUE, SHARED_RACE, UNINITIALISED

SOURCES = 12


@pytest.fixture(scope="module")
def outcomes():
    found = []
    for program in programs(SOURCES, 1):
        args = program.make_args()
        found.append((program, args, run_reference(program.kernel, program.grid, program.block, *args)))
    return found


def test_a_seed_gives_one_program_and_one_set_of_arguments():
    one, other = random_program(3, 1, 2), random_program(3, 1, 2)
    assert (one.text, one.grid, one.block) == (other.text, other.grid, other.block)
    for x, y in zip(one.make_args(), other.make_args(), strict=True):
        assert np.array_equal(x, y)
    assert random_program(4, 1, 2).text != one.text


def test_programs_are_small_and_do_something(outcomes):
    for program, _, outcome in outcomes:
        assert np.prod(program.grid) <= 4
        assert np.prod(program.block) <= 70
        assert outcome.tallies
    stored = [
        any(np.any(args[program.names.index(name)]) for name in ("oi", "of") if name in program.names)
        for program, args, _ in outcomes
    ]
    assert sum(stored) > 0.8 * len(stored)


def test_only_racy_programs_race(outcomes):
    for program, _, outcome in outcomes:
        kinds = {fault.kind for fault in outcome.faults}
        assert program.racy or kinds <= {OUT_OF_BOUNDS, UNINITIALISED}, program


def test_most_of_the_dialect_and_of_the_faults_is_among_them():
    sources = [random_program(seed).text for seed in range(60)]
    every = "".join(text[text.index("def kernel") :] for text in sources)
    words = """while continue break return elif float16( local.array shared.array syncwarp shfl_up_sync shfl_xor_sync
    ballot_sync activemask syncthreads_count atomic.add atomic.xor fma popc ffs picked( both( c3[ b2[ math.trunc uint8(
    if and or not //= oh[t]"""
    for word in words.split():
        assert word in every, word


def test_some_programs_race_and_some_store_equal_values():
    kinds = set()
    for program in programs(40, 1):
        if program.racy:
            kinds |= {
                f.kind for f in run_reference(program.kernel, program.grid, program.block, *program.make_args()).faults
            }
    assert {SHARED_RACE, SAME_VALUE} <= kinds


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s[t] = 1\nx = s[t + 1]\noi[t] = x", False),
        ("s[t] = 1\nx = s[t + 1]\ny = x + 1\noi[t] = a[y]", True),
        ("s[t] = 1\ny = 0\ny += s[t + 1]\nif y > 2:\n    oi[t] = 1", True),
        ("s[t] = 1\nfor i in range(s[0]):\n    oi[i] = 1", True),
        ("cuda.atomic.add(ai, 0, 1)\nx = ai[0] and t", True),
        ("x = a[a[t]]\noi[t] = x", False),
    ],
)
def test_what_a_race_steers(body, expected):
    assert steered(body) == expected
