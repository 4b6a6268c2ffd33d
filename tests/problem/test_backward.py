"""The gradients' multiplications, done on arrays stored as the layouts say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.problem import Gemm, Shape
from gemmlab.problem.backward import gradient_a, gradient_b, training_step


def multiply(problem, a, b):
    """The problem's product from its operands as they lie in memory."""
    assert a.shape == problem.a_stored
    assert b.shape == problem.b_stored
    return (a.T if problem.layout[0] == "t" else a) @ (b.T if problem.layout[1] == "t" else b)


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.sampled_from(["nn", "nt", "tn", "tt"]))
def test_gradients_come_out_as_their_operands_are_stored(m, n, k, layout):
    problem = Gemm(m, n, k, "float16", layout=layout, batch=3)
    generator = np.random.default_rng(m + 7 * n + 49 * k)
    a, b = (generator.integers(-9, 9, shape) for shape in (problem.a_stored, problem.b_stored))
    d = generator.integers(-9, 9, (m, n))
    left, right = (b, d) if layout[0] == "t" else (d, b)
    of_a = multiply(gradient_a(problem), left, right)
    plain_b = b.T if layout[1] == "t" else b
    expected = d @ plain_b.T
    assert np.array_equal(of_a, expected.T if layout[0] == "t" else expected)
    left, right = (d, a) if layout[1] == "t" else (a, d)
    of_b = multiply(gradient_b(problem), left, right)
    plain_a = a.T if layout[0] == "t" else a
    expected = plain_a.T @ d
    assert np.array_equal(of_b, expected.T if layout[1] == "t" else expected)
    assert gradient_a(problem).flop == gradient_b(problem).flop == problem.flop
    assert gradient_a(problem).batch == 3


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_members_of_a_group_turn_one_by_one(layout):
    problem = Gemm.grouped([(2, 3, 5), (7, 3, 5)], "bfloat16", layout=layout)
    for gradient in (gradient_a, gradient_b):
        turned = gradient(problem)
        alone = [gradient(Gemm(*sides, "bfloat16", layout=layout)) for sides in problem.groups]
        assert turned.groups == tuple((each.m, each.n, each.k) for each in alone)
        assert turned.layout == alone[0].layout


def test_a_training_step_is_three_times_the_work():
    shapes = [Shape(Gemm(4, 5, 6, layout="nt"), 12, "up"), Shape(Gemm(7, 8, 9), 2)]
    step = training_step(shapes)
    assert sum(s.count * s.problem.flop for s in step) == 3 * sum(s.count * s.problem.flop for s in shapes)
    assert [s.name for s in step[:3]] == ["up", "up dgrad", "up wgrad"]
    assert [s.count for s in step] == [12] * 3 + [2] * 3
