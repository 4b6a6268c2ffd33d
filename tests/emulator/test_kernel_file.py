"""Kernels out of files: found by name, signatures ignored, neighbours and packages imported, failures told."""

import pytest

from gemmlab.emulator.kernel_file import kernel_from, kernels_of, module_of
from gemmlab.emulator.source import load
from gemmlab.record import GemmlabError

KERNELS = """
from numba import cuda, float32, void

@cuda.jit
def plain(a):
    a[0] = 1

@cuda.jit("void(float32[:])")
def eager(a):
    a[0] = 2

@cuda.jit(void(float32[:]), fastmath=True)
def typed(a):
    a[0] = 3

@cuda.jit(device=True)
def helper(x):
    return x

@cuda.jit("float32(float32)", device=True)
def typed_helper(x):
    return x

def made(value):
    @cuda.jit
    def kernel(a):
        a[0] = value
    return kernel

four = made(4)

def undecorated(a):
    a[0] = 5
"""


@pytest.fixture
def file(tmp_path):
    def write(text, name="kernels.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_kernels_are_listed_without_their_device_functions(file):
    assert list(kernels_of(module_of(file(KERNELS)))) == ["plain", "eager", "typed", "four"]


@pytest.mark.parametrize("name", ["plain", "eager", "typed", "four", "undecorated"])
def test_a_kernel_is_found_by_its_name(file, name):
    source = load(kernel_from(f"{file(KERNELS)}:{name}"))
    assert source.name == ("kernel" if name == "four" else name)
    assert source.file.endswith("kernels.py")


def test_a_file_is_read_anew_each_time(file):
    path = file("from numba import cuda\n\n@cuda.jit\ndef k(a):\n    a[0] = 1\n")
    first = kernel_from(f"{path}:k")
    path.write_text("from numba import cuda\n\n@cuda.jit\ndef k(a):\n    a[0] = 22\n")
    assert kernel_from(f"{path}:k") is not first
    assert load(kernel_from(f"{path}:k")).line(5) == "a[0] = 22"


def test_neighbours_and_packages_can_be_imported(file):
    file("WIDTH = 3\n", "beside.py")
    path = file(
        "from numba import cuda\nfrom beside import WIDTH\n\n@cuda.jit\ndef k(a):\n    a[0] = WIDTH\n", "alone.py"
    )
    assert kernel_from(f"{path}:k") is not None
    file("", "parts_of_mine/__init__.py")
    file("WIDTH = 4\n", "parts_of_mine/sizes.py")
    inner = file(
        "from numba import cuda\nfrom .sizes import WIDTH\n\n@cuda.jit\ndef k(a):\n    a[0] = WIDTH\n",
        "parts_of_mine/k.py",
    )
    assert kernel_from(f"{inner}:k") is not None


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("x = undefined\n", "line 1: NameError", "python "),
        ("import nowhere_at_all\n", "line 1: ModuleNotFoundError", "python "),
        ("\n\ndef f(:\n", "line 3: SyntaxError", "python "),
        ("raise SystemExit\n", "line 1: SystemExit", "__main__"),
        ("\x00", "fails to import", ""),
    ],
)
def test_a_file_that_fails_is_told_with_its_line(file, text, said, hint):
    with pytest.raises(GemmlabError) as caught:
        kernel_from(f"{file(text)}:k")
    assert said in caught.value.text
    assert hint in caught.value.hint
