"""What is told of machine and GPU beside a figure."""

import ctypes

import pytest

from gemmlab.run.environment import Gauge, number_of, surroundings


class Driver:
    """NVIDIA's library as a table of readings, one after another."""

    def __init__(self, readings, status=0):
        self.readings, self.status, self.index = list(readings), status, 0

    def __getattr__(self, name):
        return lambda *arguments: self.answer(name, *arguments)

    def answer(self, name, *arguments):
        if name == "nvmlSystemGetDriverVersion":
            arguments[0].value = b"580.95.05"
            return 0
        fields = {"ClockInfo": 0, "PowerUsage": 1, "Temperature": 2, "CurrentClocksThrottleReasons": 3}
        for ending, field in fields.items():
            if name == f"nvmlDeviceGet{ending}":
                reading = self.readings[self.index]
                self.index += field == 3
                ctypes.cast(arguments[-1], ctypes.POINTER(ctypes.c_ulonglong if field == 3 else ctypes.c_uint))[0] = (
                    reading[field]
                )
        return self.status


def test_a_gauge_tells_the_range_of_its_readings():
    gauge = Gauge(0, Driver([(1980, 300_400, 40, 0x1), (1455, 692_000, 61, 0x4), (1500, 650_000, 60, 0x24)]))
    for _ in range(3):
        gauge.read()
    assert gauge.words() == {
        "driver": "580.95.05",
        "sm_clock": "1455 to 1980 MHz",
        "power": "300 to 692 W",
        "temperature": "40 to 61 C",
        "throttled": "software power cap, software thermal slowdown",
    }


def test_idle_is_no_throttling():
    gauge = Gauge(0, Driver([(345, 70_000, 30, 0x1)]))
    gauge.read()
    assert gauge.words()["throttled"] == "no"
    assert gauge.words()["sm_clock"] == "345 MHz"


@pytest.mark.parametrize("status", [1, 999])
def test_a_driver_that_fails_tells_nothing(status):
    gauge = Gauge(0, Driver([], status))
    gauge.read()
    assert gauge.words() == {}


def test_versions_are_there():
    found = surroundings()
    assert found["numpy"]
    assert found["python"].startswith("3.")


@pytest.mark.parametrize(
    ("seen", "device", "number"),
    [(None, None, 0), (None, 3, 3), ("4,6", 1, 6), ("5", None, 5), ("GPU-b2,GPU-a", 0, 1), ("GPU-b2,GPU-a", 1, 0)],
)
def test_devices_are_numbered_as_the_driver_does(monkeypatch, seen, device, number):
    lines = "GPU-a1b2\nGPU-b2c3\nGPU-c3d4\n"
    monkeypatch.setattr("gemmlab.chips.nvidia.asked", lambda query: {"uuid": lines}[query])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if seen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert number_of(device) == number


class Memories:
    """NVIDIA's library that knows of two GPUs how much memory is free."""

    def __init__(self, *free, status=0):
        self.free, self.status = free, status

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, number, handle):
        handle._obj.value = number.value + 1
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle, memory):
        memory._obj.total, memory._obj.free = 10_000, self.free[handle.value - 1]
        return self.status


def test_free_memory_is_that_of_the_device(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert Gauge(0, Memories(300, 7000)).free_bytes() == 300
    assert Gauge(1, Memories(300, 7000)).free_bytes() == 7000
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert Gauge(0, Memories(300, 7000)).free_bytes() == 7000
    assert Gauge(0, Memories(300, 7000, status=999)).free_bytes() is None
