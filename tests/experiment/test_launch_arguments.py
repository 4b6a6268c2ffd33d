"""Arguments as they are spelled, parameters as a kernel uses them, and the roles of a multiplication's operands."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.experiment import gemm_arguments as operands
from gemmlab.experiment import memory
from gemmlab.experiment.arguments import TYPES, Given, assigned, value
from gemmlab.experiment.parameters import parameters
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

SIZES = {"m": 3, "n": 5}


def read(text):
    return value(Given.read(text), SIZES, np.random.RandomState(0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1024", np.int64(1024)),
        ("-3", np.int64(-3)),
        ("0x10", np.int64(16)),
        ("0.5", np.float64(0.5)),
        ("1e3", np.float64(1000)),
        ("true", np.bool_(True)),
        ("n=7", np.int64(7)),
        ("m", np.int64(3)),
        ("float32:0.5", np.float32(0.5)),
        ("uint8:255", np.uint8(255)),
        ("size=int32:-4", np.int32(-4)),
    ],
)
def test_numbers(text, expected):
    found = read(text)
    assert found == expected
    assert found.dtype == expected.dtype


def test_arrays():
    assert read("float32[2,m]:iota").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert read("x=int16[m*n]").shape == (15,)
    assert read("bool[4]").dtype == np.bool_
    assert np.isnan(read("float16[3]:nan")).all()
    assert read("float64[3]:ones").tolist() == [1, 1, 1]
    assert 0 < np.abs(read("float32[100]")).mean() < 2
    assert set(read("uint8[1000]").tolist()) == set(range(10))


@given(st.sampled_from(TYPES), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_every_type_and_shape(name, sides):
    found = read(f"{name}[{','.join(map(str, sides))}]")
    assert (found.dtype.name, found.shape) == (name, tuple(sides))


def test_arguments_by_name_and_in_order():
    words = [Given.read(word) for word in ("b=1", "2", "3")]
    found = assigned("kernel", ["a", "b", "c"], words)
    assert {name: each.text for name, each in found.items()} == {"b": "1", "a": "2", "c": "3"}


def test_an_array_of_addresses_takes_no_memory():
    found = value(Given.read("float32[1048576,1048576]"), {}, np.random.RandomState(0), blank=True)
    assert found.nbytes == 1 << 42
    assert found[1048575, 1048575] == 0
    with pytest.raises(GemmlabError, match="an array of"):
        memory.addresses(1 << 60)


def kernel(text):
    return ast.parse(text).body[0]


def test_parameters_are_known_by_their_use():
    found = parameters(
        kernel("""
def f(a, b, c, d, e, n, g):
    rows, columns = e.shape
    c[i, j] += a[i, k, 0] * b[n]
    cuda.atomic.add(d, (i, j), 1)
    helper(g)
""")
    )
    assert [(p.name, p.ndim, p.read, p.written) for p in found] == [
        ("a", 3, True, False), ("b", 1, True, False), ("c", 2, True, True), ("d", 2, True, True),
        ("e", 2, False, False), ("n", None, False, False), ("g", None, False, False),
    ]  # fmt: skip


def roles(text, elsewhere=()):
    return operands.roles("f", parameters(kernel(text)), frozenset(elsewhere))


def test_c_is_what_is_written():
    found = roles("def f(out, x, y, K):\n    out[i, j] = x[i, k] * y[k, j]\n")
    assert found.names == ("x", "y", "out")
    assert found.scalars == {"K": "k"}
    assert not found.reads


def test_the_third_array_is_c_where_several_are_written():
    found = roles("def f(a, b, c):\n    a[0] = b[0]\n    c[0] += a[1]\n")
    assert found.names == ("a", "b", "c")
    assert found.axes == {"a": 1, "b": 1, "c": 1}
    assert found.reads


def test_an_array_given_elsewhere_is_no_operand():
    text = "def f(a, b, bias, c):\n    c[i, j] = a[i, k] * b[k, j] + bias[j]\n"
    assert roles(text, ["bias"]).names == ("a", "b", "c")
    with pytest.raises(GemmlabError, match="4 arrays"):
        roles(text)


def test_an_unknown_number_is_asked_for():
    with pytest.raises(GemmlabError, match="`tile`"):
        roles("def f(a, b, c, tile):\n    c[0] = a[0] * b[0]\n")


def test_operands_are_as_they_are_stored():
    problem = Gemm(4, 6, 3, layout="tn", lda=8, ldc=10)
    parts = roles("def f(a, b, c):\n    c[i, j] = a[i, k] * b[k, j]\n")
    filled = operands.filled(problem, parts)
    assert [filled.values[name].shape for name in "abc"] == [(3, 4), (3, 6), (4, 6)]
    assert filled.values["a"].strides == (8 * 4, 4)
    assert np.array_equal(filled.values["a"].T, filled.a)
    assert np.isnan(filled.values["c"]).all()
    assert np.shares_memory(filled.values["c"], filled.result)
    assert [operands.blank(problem, parts)[name].strides for name in "abc"] == [(32, 4), (24, 4), (40, 4)]


def test_flat_operands_keep_their_gaps():
    problem = Gemm(4, 6, 3, lda=8, beta=2.0)
    parts = roles("def f(a, b, c, beta):\n    c[i] = a[i] * b[k] + beta * c[i]\n")
    filled = operands.filled(problem, parts)
    assert [filled.values[name].shape for name in "abc"] == [(32,), (18,), (24,)]
    assert np.array_equal(filled.values["a"].reshape(4, 8)[:, :3], filled.a)
    assert np.array_equal(filled.addend, filled.result)
    assert filled.values["beta"] == np.float32(2)


def test_a_kernel_that_adds_finds_zeros():
    parts = roles("def f(a, b, c):\n    cuda.atomic.add(c, (i, j), a[i, k] * b[k, j])\n")
    assert not operands.filled(Gemm(4, 4, 4), parts).result.any()
