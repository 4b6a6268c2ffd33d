"""A launch as the driver gets it, by ctypes' own way to call it, and what is done where it is refused."""

import ctypes
from types import SimpleNamespace

import pytest

from gemmlab.peak import driver as driver_module
from gemmlab.peak.driver import EARLY_START, Config, Kernel, Launch
from gemmlab.record import GemmlabError

ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
FUNCTION, CONTEXT = 0x7F12_3456_7890, 0x7F65_4321_0000  # more than 32 bits, as a C int has


class Driver:
    """A driver that notes what it is asked for, and refuses the first launches."""

    def __init__(self, refused=0):
        self.noted, self.refused, self.entry = [], refused, ENTRY(self.launched)
        # as a library's function, whose arguments ctypes knows nothing of
        self.cuLaunchKernelEx = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(self.entry, ctypes.c_void_p).value)

    def launched(self, config, function, arguments, extra):
        at = Config.from_address(config)
        early = [(each.id, each.value) for each in at.attributes[: at.count]]
        places = (ctypes.c_void_p * 2).from_address(arguments)
        values = [ctypes.c_uint64.from_address(place).value for place in places]
        sizes = (at.grid_x, at.grid_y, at.grid_z, at.block_x, at.block_y, at.block_z, at.shared)
        self.noted.append((sizes, at.stream or 0, early, function, values, extra))
        self.refused -= 1
        return 201 if self.refused >= 0 else 0

    def cuCtxPushCurrent_v2(self, context):
        self.noted.append(("push", context.value))
        return 0

    def cuCtxPopCurrent_v2(self, context):
        self.noted.append("pop")
        return 0

    def cuGetErrorName(self, status, name):
        return 0


@pytest.fixture
def made(monkeypatch):
    def make(refused=0, early=False):
        driver = Driver(refused)
        monkeypatch.setattr(driver_module, "library", lambda: driver)
        kernel = SimpleNamespace(
            api=driver, function=ctypes.c_void_p(FUNCTION), context=ctypes.c_void_p(CONTEXT), shared_bytes=1000
        )
        arguments = [ctypes.c_uint64(1 << 50), ctypes.c_uint64(2)]
        return driver, Kernel.prepare(kernel, (5, 6), 384, arguments, early=early), arguments

    return make


@pytest.mark.parametrize("early", [False, True])
def test_what_the_driver_gets(made, early):
    driver, launch, arguments = made(early=early)
    for stream in (0, 1 << 45, 0):
        launch(stream)
        arguments[1].value += 1  # moved: what is passed is read at each launch
    sizes, attributes = (5, 6, 1, 384, 1, 1, 1000), [(EARLY_START, 1)] if early else []
    assert driver.noted == [
        (sizes, stream, attributes, FUNCTION, [1 << 50, 2 + at], None) for at, stream in enumerate((0, 1 << 45, 0))
    ]


def test_a_thread_without_a_context_is_lent_the_kernels(made):
    driver, launch, _ = made(refused=1)
    launch(7)
    assert [each if isinstance(each, str) else each[:2] for each in driver.noted] == [
        ((5, 6, 1, 384, 1, 1, 1000), 7), ("push", CONTEXT), ((5, 6, 1, 384, 1, 1, 1000), 7), "pop",
    ]  # fmt: skip


def test_what_is_refused_again_is_an_error(made):
    driver, launch, _ = made(refused=2)
    with pytest.raises(GemmlabError, match="driver: 201"):
        launch(7)
    assert driver.noted[-1] == "pop"
    assert isinstance(launch, Launch)
