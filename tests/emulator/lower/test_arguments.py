"""Arguments of a launch against a kernel's parameters."""

import ml_dtypes
import numpy as np
import pytest

from emulator.lower.written import kernel
from gemmlab.emulator.lower import arguments_of
from gemmlab.emulator.program import Argument
from gemmlab.emulator.source import load
from gemmlab.record import GemmlabError


def bound(value):
    return arguments_of(load(kernel("pass", "x")), (value,))[0]


@pytest.mark.parametrize(
    ("value", "kind", "ndim"),
    [
        (3, "int64", None),
        (2**63, "uint64", None),
        (2.5, "float64", None),
        (True, "bool", None),
        (np.float32(1), "float32", None),
        (np.float64(1), "float64", None),
        (np.uint8(1), "uint8", None),
        (np.bool_(True), "bool", None),
        (np.zeros(3, np.float16), "float16", 1),
        (np.zeros((3, 2), np.int8), "int8", 2),
        (np.zeros((3, 2, 1), bool), "bool", 3),
        (np.zeros((8, 8))[::2, 1:], "float64", 2),
        (np.zeros(0, np.uint64), "uint64", 1),
    ],
)
def test_types(value, kind, ndim):
    assert bound(value) == Argument("x", kind, ndim)


@pytest.mark.parametrize(
    ("value", "says", "remedy"),
    [
        ([1, 2], "of type list", "numpy array"),
        ("text", "of type str", "numpy array"),
        (None, "of type NoneType", "numpy array"),
        (3j, "of type complex", "numpy array"),
        (np.zeros(3, complex), "elements of complex128", "two arrays"),
        (np.array([None]), "elements of object", "one number type"),
        (np.array(["a"]), "elements of str", "are emulated"),
        (np.zeros(3, ml_dtypes.bfloat16), "elements of bfloat16", "astype"),
        (np.zeros(3, ml_dtypes.float8_e4m3fn), "elements of float8_e4m3fn", "are emulated"),
        (np.zeros(3, "datetime64[s]"), "elements of datetime64[s]", "are emulated"),
        (np.zeros(3, ">f4"), "foreign order", "astype"),
        (np.array(3.0), "0 axes", "value[()]"),
        (np.zeros((1, 1, 1, 1)), "4 axes", "at most three"),
        (np.longdouble(1), "longdouble", "numpy array"),
    ],
    ids=str,
)
def test_refused(value, says, remedy):
    with pytest.raises(GemmlabError) as caught:
        bound(value)
    assert "`x`" in caught.value.text
    assert says in caught.value.text
    assert remedy in caught.value.hint


def test_their_number():
    source = load(kernel("pass", "a, b"))
    with pytest.raises(GemmlabError, match="takes 2 arguments: a, b; 1 given"):
        arguments_of(source, (1,))
    with pytest.raises(GemmlabError, match="takes 0 arguments: none; 1 given"):
        arguments_of(load(kernel("pass", "")), (1,))
