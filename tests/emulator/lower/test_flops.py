"""Float operations and fmas of each line."""

import numpy as np
import pytest

from emulator.lower.written import LINES_BEFORE, F, M, module, program
from gemmlab.emulator.lower import program_of


def counts(body, *values):
    """(flop, fma) of one execution of each line of a body; of float32 `a` and `m`, int `n`."""
    made = program(body, *values)
    found = {}
    for site in made.sites:
        flop, fma = found.get(site.line.number - LINES_BEFORE - 2, (0, 0))
        found[site.line.number - LINES_BEFORE - 2] = flop + site.flop, fma + site.fma
    return [found[line] for line in sorted(found)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a[0] + a[1]", (1, 0)),
        ("x = a[0] * a[1]", (1, 0)),
        ("x = a[0] * a[1] + a[2]", (2, 1)),
        ("x = a[2] - a[0] * a[1]", (2, 1)),
        ("x = a[0] * a[1] + a[2] * a[3]", (3, 1)),
        ("x = (a[0] + a[1]) * a[2] + a[3]", (3, 1)),
        ("x = a[0] * a[1] + 1.0", (2, 0)),
        ("x = a[0] * a[1] + float32(1.0)", (2, 1)),
        ("x = a[0] * 2.0 + 1.0", (2, 1)),
        ("x = -(a[0] * a[1]) + a[2]", (2, 0)),
        ("x = a[0] * a[1] / a[2]", (2, 0)),
        ("x = a[0] // a[1] + a[2] % a[3]", (3, 0)),
        ("x = a[0] ** 2", (1, 0)),
        ("x = math.sqrt(a[0]) + math.exp(a[1])", (3, 0)),
        ("x = abs(a[0]) + max(a[0], a[1])", (1, 0)),
        ("x = math.isnan(a[0])", (0, 0)),
        ("x = a[0] < a[1]", (0, 0)),
        ("x = cuda.fma(a[0], a[1], a[2])", (2, 1)),
        ("x = cuda.fma(a[0], a[1], a[2]) + a[3]", (3, 1)),
        ("x = n * n + n", (0, 0)),
        ("x = n / 3", (1, 0)),
        ("x = n * n + a[0]", (1, 0)),
        ("x = a[n * 2 + 1]", (0, 0)),
        ("x = a[int(a[0] * a[1])]", (1, 0)),
        ("a[0] += a[1] * a[2]", (2, 1)),
        ("a[int(a[0] * a[1])] += a[2]", (2, 0)),
        ("x = a[0] * a[1] if n > 2 else a[2] + a[3]", (2, 0)),
        ("x = n > 2 and a[0] * a[1] > a[2] * a[3]", (2, 0)),
    ],
)
def test_a_line(line, expected):
    assert counts(line) == [expected]


def test_a_product_in_a_variable_of_its_own():
    assert counts("p = a[0] * a[1]\nx = a[2] + p") == [(1, 0), (1, 1)]
    assert counts("p = a[0] * a[1]\na[3] = 1\nx = a[2] + p") == [(1, 0), (0, 0), (1, 1)]


@pytest.mark.parametrize(
    "body",
    [
        "p = a[0] * a[1]\nx = p + p",
        "p = a[0] * a[1]\nx = p + a[0]\na[1] = p",
        "p = a[0] * a[1]\nif n > 2:\n    x = p + a[0]",
        "p = a[0] * a[1]\nfor i in range(n):\n    pass\nx = p + a[0]",
        "p = a[0] * a[1]\np = a[0] * a[2]\nx = p + a[3]",
        "p = a[0] * a[1]\nx = p + 1.0",
    ],
)
def test_a_product_that_is_not_only_for_that_sum(body):
    assert sum(fma for _, fma in counts(body)) == 0


@pytest.mark.parametrize("first", ["p = n", "p = a[0] + a[1]", "p = 2.0"])
def test_a_name_that_takes_another_type_is_no_variable_of_its_own(first):
    assert counts(f"{first}\np = p * 1.5\nx = p + 1.0")[2] == (1, 0)
    assert counts(f"{first}\nq = p * 1.5\nx = q + 1.0")[2] == (1, 1)


def test_arithmetic_is_of_the_statement_it_stands_in():
    made = program("a[0] = a[1] * a[2]\nif a[1] + a[2] > 3:\n    pass\nwhile a[1] * 2 > 3:\n    break")
    found = {(site.kind, site.array): (site.flop, site.fma) for site in made.sites if site.flop}
    assert found == {("store", "a"): (1, 0), ("if", ""): (1, 0), ("while", ""): (1, 0)}


def test_arithmetic_of_a_device_function_is_of_its_own_lines():
    mul = "@cuda.jit(device=True)\ndef mul(x, y):\n    return x * y\n"
    made = program_of(module(f"{mul}@cuda.jit\ndef k(a):\n    a[0] = a[1] + mul(a[2], a[3])\n")["k"], F)
    found = {site.line.number - LINES_BEFORE: (site.flop, site.fma) for site in made.sites if site.flop}
    assert found == {3: (1, 0), 6: (1, 1)}


def test_float16_counts_too():
    assert counts("x = a[0] * a[1] + a[2]", np.zeros(4, np.float16), M, 3) == [(2, 1)]
