"""What a GPU's backend says where packages or the GPU itself are missing, on any machine."""

import importlib.metadata
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from gemmlab.kernels import nvrtc
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cuda import device, numba_program
from gemmlab.run.backends.torch import program as torch_program
from gemmlab.run.backends.triton import program as triton_program
from gemmlab.run.worker import made

EXTRAS = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def extras_of(hint):
    """The extras of a line of pip."""
    assert hint.startswith('pip install "gemmlab[')
    assert hint.endswith(']"')
    return hint.removeprefix('pip install "gemmlab[').removesuffix(']"').split(",")


def without_numba_cuda(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(numba_program.importlib.metadata, "version", version)


@pytest.mark.parametrize(
    ("package", "ask"),
    [
        ("cuda-bindings", device.driver),
        ("numba-cuda", lambda: numba_program.program(Gemm(8, 8, 8), "naive")),
        ("nvidia-cuda-nvrtc", lambda: nvrtc.compiled("")),
        ("triton", triton_program.require_triton),
        ("torch", torch_program.torch_with_gpu),
    ],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(package, ask, monkeypatch):
    for module in ("cuda.bindings", "cuda.bindings.driver", "cuda.bindings.nvrtc", "triton", "torch"):
        monkeypatch.setitem(sys.modules, module, None)  # an import of it fails
    without_numba_cuda(monkeypatch)
    with pytest.raises(GemmlabError) as refused:
        ask()
    said = {"nvidia-cuda-nvrtc": "NVRTC"}.get(package, package)
    assert refused.value.text == f"{said} is not installed"
    needed = [line for extra in extras_of(refused.value.hint) for line in EXTRAS[extra]]
    assert any(line.startswith(package) for line in needed)


@pytest.mark.parametrize("extra", [numba_program.EXTRA, triton_program.EXTRA, torch_program.EXTRA])
def test_every_extra_that_is_named_exists(extra):
    assert set(extras_of(extra)) <= set(EXTRAS)


@pytest.fixture
def no_gpu(monkeypatch):
    """All packages, and a driver that finds no device."""
    api = SimpleNamespace(cuInit=lambda flags: (100,))
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=api))
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(triton_program, "require_triton", lambda: "0")
    monkeypatch.setattr(triton_program, "tensor_launch", lambda *given: None)
    monkeypatch.setattr(numba_program, "numba_cuda", lambda: (None, "0"))


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("gemmlab.run.backends.cuda.numba_program:program:naive", "float32"),
        ("gemmlab.run.backends.cuda.text:program:warp_tile", "float32"),
        ("gemmlab.run.backends.triton.program:program:tensor", "float16"),
        ("gemmlab.run.backends.triton.program:program:persistent", "bfloat16"),
        ("gemmlab.run.backends.torch.vendor:matmul", "float16"),
    ],
)
def test_no_gpu_is_said_before_anything_is_compiled(source, form, no_gpu):
    with pytest.raises(GemmlabError, match=r"no NVIDIA GPU is found|torch finds no GPU") as refused:
        made(source, Gemm(64, 64, 64, form))
    assert refused.value.hint == "--backend cpu, or run it on a machine that has one"
