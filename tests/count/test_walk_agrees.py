"""The closed forms equal walking the loops, in every field, on 10,000 crooked problems and kernels."""

import random

import msgspec
import pytest

from count.random_cases import random_kernel, random_problem
from gemmlab.count import count
from gemmlab.count.enumerate import enumerated

CASES = 10_000
CHUNKS = 40
FAMILIES = ("naive", "tiled", "register", "tensor")
STRUCTURES = ("general", "general", "triangular", "symmetric", "banded", "sparse_2_4")


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_count_equals_walking(chunk):
    for case in range(chunk, CASES, CHUNKS):
        rng = random.Random(case)
        family = FAMILIES[case // CHUNKS % 4]
        naive = family == "naive"
        most = 12 if rng.random() < 0.1 else 6
        problem = random_problem(rng, STRUCTURES[:5] if naive else STRUCTURES, most, scaled=not naive)
        kernel = random_kernel(rng, family, problem)
        counted, walked = (msgspec.structs.asdict(f(problem, kernel)) for f in (count, enumerated))
        wrong = {name: (counted[name], walked[name]) for name in counted if counted[name] != walked[name]}
        assert not wrong, f"case {case}: counted, walked: {wrong}\n{problem}\n{kernel}"


@pytest.mark.parametrize("seed", range(12))
def test_larger_sides_too(seed):
    rng = random.Random(-1 - seed)
    problem = random_problem(rng, STRUCTURES[:5], 40)
    kernel = random_kernel(rng, FAMILIES[seed % 4], problem)
    assert count(problem, kernel) == enumerated(problem, kernel)
