"""A driver and a chip in words, so that launches are made ready where there is no GPU."""

import contextlib
import ctypes
from types import SimpleNamespace

import pytest

from gemmlab.peak import asking, driver, float32, multiply, tf32x3, vector

KERNELS = (
    multiply.engine_kernel,
    multiply.repack_kernel,
    float32.split_kernel,
    vector.vector_kernel,
    tf32x3.tf32x3_kernel,
)


class Driver:
    """A driver whose tensor maps are an address and all else that they are made of."""

    def __getattr__(self, name):
        return lambda *arguments: 0

    def cuTensorMapEncodeTiled(self, found, kind, rank, address, *arguments):
        rest = [list(each) if isinstance(each, ctypes.Array) else each for each in arguments]
        text = repr((kind, rank, rest)).encode()[:120].ljust(120)
        ctypes.memmove(found, address.value.to_bytes(8, "little") + text, 128)
        return 0


class Cuda:
    """What is used of torch.cuda, of one chip."""

    def __init__(self):
        self.is_current_stream_capturing = lambda: False

    device = staticmethod(lambda device: contextlib.nullcontext())
    device_count = staticmethod(lambda: 1)
    current_stream = staticmethod(lambda device: SimpleNamespace(cuda_stream=7, synchronize=lambda: None))
    get_device_properties = staticmethod(
        lambda device: SimpleNamespace(name="none", major=9, minor=0, multi_processor_count=132)
    )


class Torch:
    """torch on the CPU, as if that were the chip."""

    def __init__(self, torch):
        self.torch, self.cuda, self._C = torch, Cuda(), SimpleNamespace()

    def __getattr__(self, name):
        return getattr(self.torch, name)

    def zeros(self, *size, dtype, device=None):
        return self.torch.zeros(*size, dtype=dtype)

    def empty_strided(self, shape, strides, dtype, device):
        return self.torch.empty_strided(shape, strides, dtype=dtype)

    def empty(self, *size, dtype, device=None):
        return self.torch.empty(*size, dtype=dtype)


@contextlib.contextmanager
def in_words(monkeypatch):
    """Torch above, while kernels are compiled to nothing and launched nowhere."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    fake = Driver()
    monkeypatch.setattr(driver, "library", lambda: fake)
    for part in (multiply, float32, vector, tf32x3):
        monkeypatch.setattr(part, "kept", lambda *text, **headers: b"")
    monkeypatch.setattr(asking, "sm_count", lambda *device: 132)
    for each in KERNELS:
        each.cache_clear()
    yield Torch(torch)
    for each in KERNELS:
        each.cache_clear()
