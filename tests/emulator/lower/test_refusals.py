"""Whatever is not in the dialect is refused at its line, with what to write instead."""

import re

import numpy as np
import pytest

from emulator.lower.written import LINES_BEFORE, F, M, kernel, module, program, text
from gemmlab.emulator.lower import program_of
from gemmlab.record import GemmlabError

REFUSED = {
    # statement: (what the message says, what the hint says)
    "x = [1, 2]": ("`[1, 2]` is not in", "local.array"),
    "x = {1: 2}": ("`{1: 2}` is not in", "pass an array"),
    "x = {1, 2}": ("`{1, 2}` is not in", "pass an array"),
    "x = [i for i in range(3)]": ("is not in", "for loop"),
    "x = sum(i for i in range(3))": ("is not in", "add in a for loop"),
    "x = lambda y: y": ("is not in", "device=True"),
    "x = f'{n}'": ("is not in", "strings"),
    "x = 10000000000000000000000000000": ("does not fit into 64 bits", "float"),
    "x = 2**40 * 2**40": ("`2 ** 40 * 2 ** 40` does not fit into 64 bits", "float"),
    "x = cuda.syncthreads_count(n > 2)": ("counts bool at a barrier", "int32(x)"),
    "x = cuda.syncthreads_or(a[0])": ("counts float32 at a barrier", "int32(x)"),
    "x = a[2.5:3]": ("no place to cut at", "whole numbers"),
    "x = a[a[0]:3]\nx[0] = 1": ("cuts at a float", "int(x)"),
    "cuda.syncwarp(1, 2)": ("has 2 arguments", "give 1"),
    "x = cuda.grid(1.0)": ("needs 1, 2 or 3", "1, 2 or 3"),
    "t = (1, 2)\nif n > 2:\n    t = (3, 4, 5)\na[0] = t[0]": ("means something else on another path", "its own name"),
    "x = 3j": ("is not in", "imaginary"),
    "x = (y := 3) + 1": ("is not in", "line of its own"),
    "print(n)": ("`print(n)` is not in", "print them on the host"),
    "assert n > 2": ("`assert n > 2` is not in", "write the test's result to an array"),
    "raise ValueError": ("`raise ValueError` is not in", "error code"),
    "try:\n    a[0] = 1\nexcept Exception:\n    pass": ("`try:` is not in", "test with `if`"),
    "with a:\n    pass": ("`with a:` is not in", "context managers"),
    "import os": ("is not in", "top of the file"),
    "def f():\n    pass": ("is not in", "outside of the kernel"),
    "global TILE": ("is not in", "pass an array"),
    "del n": ("is not in", "leave it out"),
    "match n:\n    case 1:\n        pass": ("is not in", "if and elif"),
    "yield n": ("is not in", "generators"),
    "return n": ("returns a value from a kernel", "write the result to an array"),
    "for x in a:\n    pass": ("cannot be looped over", "range(...)"),
    "for i, j in range(3):\n    pass": ("is not in", "name one variable"),
    "for i in range(3):\n    pass\nelse:\n    n = 2": ("loop's else", "set a variable"),
    "while n > 3:\n    n -= 1\nelse:\n    n = 2": ("loop's else", "set a variable"),
    "for i in range(0, 3, 0):\n    pass": ("step 0", "step by 1"),
    "for i in range(2.5):\n    pass": ("counts with float64", "int(x)"),
    "for i in range():\n    pass": ("is not in", "range(stop)"),
    "a[0] = np.sqrt(a[1])": ("`np.sqrt(a[1])` is not in", "math.sqrt"),
    "a[0] = np.dot(a, a)": ("`np.dot(a, a)` is not in", "loop over elements"),
    "a[0] = m @ m": ("is an array where a number", "a[i, j]"),
    "a[0] = n @ n": ("is not in", "write the product out"),
    "a[:] = 0": ("writes many elements at once", "write its elements in a loop"),
    "x = a[::2]": ("is not in", "multiply the index by the step"),
    "x = m[0:2]": ("is not in", "slice arrays of one axis only"),
    "x = m[0:2, 1]": ("is not in", "slice arrays of one axis only"),
    "x = a.T": ("is not in", "swap the indices"),
    "x = a.sum()": ("is not in", "element by element"),
    "m[0] = 1": ("is a whole row", "write its elements in a loop"),
    "a[0, 1] = 1": ("has 2 indices, and the array 1 axes", "give 1 at most"),
    "a[1.5] = 1": ("indexes with float64", "int(x)"),
    "a[n > 1] = 1": ("indexes with bool", "int(x)"),
    "a[0] = a": ("is an array where a number", "a[i]"),
    "a = a + 1": ("is an array where a number", "a[i]"),
    "a += 1": ("is an array where a number", "a[i]"),
    "a[0] = a < 3": ("is an array where a number", "a[i]"),
    "n[0] = 1": ("is no array", "index arrays"),
    "a[0] = missing": ("`missing` is not defined", "pass it as an argument"),
    "a[0] = late\nlate = 2": ("uses `late` before it has a value", "assign it before"),
    "x, y = n": ("unpacks what is no tuple", "m, n = a.shape"),
    "x, y = m.shape[0], 1, 2": ("unpacks 3 items into 2", "one name for each"),
    "x, *y = m.shape": ("is not in", "one by one"),
    "s = cuda.shared.array(n, float32)": ("is no shape known before the launch", "cuda.shared.array(0, dtype)"),
    "s = cuda.shared.array((TILE, TILE + 1), float32)": ("`TILE + 1` is no shape to numba", "WIDTH = TILE + 1"),
    "s = cuda.shared.array(8, complex)": ("is no element type", "float64"),
    "s = cuda.shared.array(8, float)": ("is no element type", "numpy's or numba's"),
    "s = cuda.shared.array((2, 2, 2, 2), float32)": ("has 4 axes", "one to three"),
    "s = cuda.local.array(0, float32)": ("is empty", "at least 1"),
    "s = cuda.shared.array(8)": ("is not in", "shared.array(shape, dtype)"),
    "s = cuda.const.array_like(a)": ("is not in", "as an argument"),
    "x = cuda.grid(4)": ("needs 1, 2 or 3", "1, 2 or 3"),
    "x = cuda.grid(n)": ("needs 1, 2 or 3", "1, 2 or 3"),
    "cuda.threadfence()": ("is not in", "syncthreads"),
    "cuda.cg.this_grid()": ("is not in", "two launches"),
    "cuda.nanosleep(3)": ("is not in", "changes no result"),
    "x = cuda.fp16.hadd(a[0], a[1])": ("is not in", "operators"),
    "cuda.atomic.inc(a, 0, 3)": ("is not in", "atomic.add"),
    "cuda.atomic.add(a, 0)": ("has 2 arguments", "array, index, value"),
    "cuda.atomic.and_(a, 0, 1)": ("has no form for float32", "int32"),
    "cuda.atomic.add(m, 0, 1)": ("names no single element", "as a tuple"),
    "cuda.atomic.add(n, 0, 1)": ("is no array", "array and an index"),
    "cuda.syncthreads(1)": ("has 1 argument", "give 0"),
    "x = cuda.fma(1.0, 2.0)": ("has 2 arguments", "give 3"),
    "x = math.sqrt(x=2)": ("is not in", "by position"),
    "x = math.cbrt(2.0)": ("is not in", "1.0 / 3.0"),
    "x = a[0] << 1": ("works on the bits of float32", "integers"),
    "x = ~a[0]": ("inverts the bits of float32", "integers"),
    "x = cuda.popc(a[0])": ("counts the bits of float32", "integer"),
    "x = cuda.selp(n > 1, a[0], 1.0)": ("selects among float32 and float64", "one type"),
    "x = min(np.float16(1), n)": ("min of float16", "float32(x)"),
    "x = n is None": ("is not in", "compare numbers"),
    "x = n in m.shape": ("is not in", "compare numbers"),
    "x = m.shape[n]": ("is not in", "constant from 0 to 1"),
    "x = m.shape[2]": ("is not in", "constant from 0 to 1"),
    "x = len(n)": ("is not in", "one array or tuple"),
    "x = round(a[0])": ("is not in", "math.floor"),
    "x = int": ("is no number", "call it"),
    "x = a(1)": ("is not in", "[ ]"),
    "x = 'text'\na[0] = x": ("is no number", "number"),
    "a.x = 1": ("is not in", "elements of arrays"),
}


@pytest.mark.parametrize("statement", REFUSED)
def test_refused_at_its_line(statement):
    says, remedy = REFUSED[statement]
    if statement.startswith("x = int"):
        statement += "\na[0] = x + 1"
    with pytest.raises(GemmlabError) as caught:
        program("a[0] = 1\n" + statement)
    place = re.match(r"<written \d+>:(\d+): `", caught.value.text)
    assert place, caught.value.text
    first = LINES_BEFORE + 4
    assert first <= int(place[1]) < first + 1 + statement.count("\n") + 1
    assert says in caught.value.text
    assert remedy in caught.value.hint


def test_the_line_is_the_one_at_fault():
    with pytest.raises(GemmlabError, match=rf":{LINES_BEFORE + 6}: `print\(i\)`"):
        program("for i in range(3):\n    a[i] = 1\n\n    print(i)\n    a[i] = 2")


def test_two_arrays_under_one_name():
    swap = """
        one = cuda.shared.array(8, float32)
        two = cuda.shared.array(8, float32)
        for i in range(3):
            one[0] = 1
            one, two = two, one
    """
    with pytest.raises(GemmlabError, match="something else in a loop's next round") as caught:
        program(swap)
    assert "buffer[stage, i]" in caught.value.hint
    branch = """
        one = cuda.shared.array(8, float32)
        if n > 3:
            one = a
        one[0] = 1
    """
    with pytest.raises(GemmlabError, match="something else on another path") as caught:
        program(branch)
    assert "first index" in caught.value.hint


def test_an_array_of_the_module():
    names = module("TABLE = np.zeros(3)\n@cuda.jit\ndef k(a):\n    a[0] = TABLE[1]\n")
    with pytest.raises(GemmlabError, match="is an array of the module") as caught:
        program_of(names["k"], F)
    assert "argument" in caught.value.hint


CALLS = {
    "def f(x):\n    return x": ("none of the GPU's", "@cuda.jit(device=True) on `f`"),
    "@cuda.jit(device=True)\ndef f(x):\n    return f(x - 1)": ("calls itself again", "loop"),
    "@cuda.jit(device=True)\ndef f(x):\n    if x > 1:\n        return x": (
        "on some paths only",
        "end `f` with a return",
    ),
    "@cuda.jit(device=True)\ndef f(x):\n    if x > 1:\n        return x\n    return x, x": (
        "something else than before",
        "as many",
    ),
    "@cuda.jit(device=True)\ndef f(*x):\n    return 1": ("any number of arguments", "name every parameter"),
    "@cuda.jit(device=True)\ndef f(x, y):\n    return 1": ("without y", "give y too"),
    "@cuda.jit(device=True)\ndef f():\n    return 1": ("arguments it has not", "takes nothing"),
}


@pytest.mark.parametrize("function", CALLS)
def test_calls_of_device_functions(function):
    says, remedy = CALLS[function]
    names = module(f"{function}\n@cuda.jit\ndef k(a):\n    a[0] = f(a[0])\n")
    with pytest.raises(GemmlabError) as caught:
        program_of(names["k"], F)
    assert says in caught.value.text
    assert remedy in caught.value.hint


def test_a_refusal_in_a_device_function_names_its_own_line():
    names = module("@cuda.jit(device=True)\ndef f(x):\n    print(x)\n@cuda.jit\ndef k(a):\n    f(1)\n")
    with pytest.raises(GemmlabError, match=rf":{LINES_BEFORE + 3}: `print\(x\)`"):
        program_of(names["k"], F)


def test_a_branch_that_never_runs_is_not_looked_at():
    assert text("if TILE:\n    a[0] = 1\nelse:\n    print(2)\nwhile n > 2:\n    break\n    print(3)") == [
        "a[0] = float32(1.0)",
        "while:",
        "  (n > 2):",
        "    break",
    ]


def test_a_kernel_of_any_number_of_parameters():
    with pytest.raises(GemmlabError, match="any number of arguments"):
        program_of(kernel("pass", "*a"), F)
    with pytest.raises(GemmlabError, match=r"takes 3 arguments: a, m, n; 2 given"):
        program("pass", F, np.float32(1))


def test_a_kernel_with_a_parameter_that_is_given_by_name_only():
    with pytest.raises(GemmlabError, match=r"takes n by name only") as caught:
        program_of(kernel("pass", "a, *, n"), F)
    assert "leave the `*` out" in caught.value.hint


def test_literals_are_worked_out_as_python_does_before_numba_sees_them():
    assert text("x = 2**70 // 2**60\na[x] = 0") == text("x = 1024\na[x] = 0")
    assert text("x = 2**64 - 1\na[0] = x") == text("x = 18446744073709551615\na[0] = x")


def test_a_message_keeps_long_lines_short():
    with pytest.raises(GemmlabError) as caught:
        program("x = [" + ", ".join(["n"] * 100) + "]")
    assert len(caught.value.text) < 140
    assert M.ndim == 2
