"""Where a kernel's text comes from."""

import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda

from gemmlab.emulator.source import load, python_function
from gemmlab.record import GemmlabError

SIZE = 3


def decorate(function):
    return function


@cuda.jit(
    fastmath=True,
)
def decorated(
    a,
    b,
):
    a[0] = b  # the line


def test_a_dispatcher_keeps_the_lines_of_its_file():
    source = load(decorated)
    assert source.name == "decorated"
    assert source.file == __file__
    (statement,) = source.tree.body
    assert source.line(statement.lineno) == "a[0] = b  # the line"
    assert source.names["SIZE"] == 3


def test_plain_functions_and_the_simulators_kernels():
    function = decorated.py_func
    assert load(function).tree.lineno == load(decorated).tree.lineno
    assert load(SimpleNamespace(fn=function)).name == "decorated"
    assert python_function(3) is None


def test_names_of_functions_around_it_cover_the_modules():
    def inner(a):
        a[0] = SIZE

    assert load(inner).names["SIZE"] == 3

    def make(SIZE):  # noqa: N803
        def kernel(a):
            a[0] = SIZE

        return kernel

    assert load(make(7)).names["SIZE"] == 7


def test_the_right_one_of_two_of_a_name():
    def twin(a):
        a[0] = 1

    one = twin

    @decorate
    def twin(a):
        a[0] = 2

    assert [load(f).tree.body[0].value.value for f in (one, twin)] == [1, 2]


def test_text_with_lines_that_run_out_of_the_indentation(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text("if True:\n    def k(a):\n        a[0] = (1 +\n2)\n        '''\nx\n'''\n        a[1] = 3\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    source = load(names["k"])
    assert [source.line(node.lineno) for node in source.tree.body] == ["a[0] = (1 +", "'''", "a[1] = 3"]


def test_a_file_that_changed_meanwhile_is_read_anew(tmp_path):
    path = tmp_path / "changing.py"
    for value in (1, 22):
        path.write_text(f"def k(a):\n    a[0] = {value}\n")
        names = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        assert load(names["k"]).tree.body[0].value.value == value


@pytest.mark.parametrize("value", [3, "text", None, np.zeros(3), print], ids=repr)
def test_what_is_no_kernel(value):
    with pytest.raises(GemmlabError, match="is no kernel") as caught:
        load(value)
    assert "@cuda.jit" in caught.value.hint


def test_text_that_is_kept_nowhere():
    names = {}
    exec(textwrap.dedent("def k(a):\n    a[0] = 1\n"), names)
    for function in (names["k"], lambda a: a):
        with pytest.raises(GemmlabError, match="is not available") as caught:
            load(function)
        assert "in a file" in caught.value.hint
