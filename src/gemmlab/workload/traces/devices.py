"""The devices that a trace names: which kernels ran on, and what arithmetic they offer."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gemmlab.units import capacity_text
from gemmlab.workload.operation import Settings

Device = dict[str, Any]
OTHER_VENDORS = re.compile(r"AMD|Radeon|Instinct|Intel|Ascend|Gaudi", re.IGNORECASE)
AMPERE = 8  # computeMajor: the first that has tfloat32


def devices_of(recorded: bytes) -> list[Device]:
    """The devices that `deviceProperties` holds; none where it is in no way that is known."""
    try:
        devices = msgspec.json.decode(recorded) if recorded else []
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    return [each for each in devices if isinstance(each, dict)] if isinstance(devices, list) else []


def in_use(devices: list[Device], used: set[int]) -> Device | None:
    """The first device that kernels ran on; the only one where their events name none of them."""
    named = [each for each in devices if each.get("id") in used] or devices[:1]
    return named[0] if named else None


def chip_of(device: Device | None) -> str:
    """A device's name."""
    return str(device.get("name", "")) if device else ""


def words_of(device: Device | None) -> list[str]:
    """What a trace says of its device's size."""
    if device is None:
        return []
    units, memory = device.get("numSms"), device.get("totalGlobalMem")
    told = [f"{units} SMs"] if isinstance(units, int) else []
    told += [capacity_text(memory)] if isinstance(memory, int) else []
    return [f"the trace's device is {chip_of(device)}: {', '.join(told)}"] if told else []


def settings_of(devices: list[Device]) -> Settings:
    """PyTorch's defaults, on a trace's devices: a CPU and other vendors' chips know no tfloat32, nor does Volta."""
    knows = [
        not OTHER_VENDORS.search(chip_of(device)) and int(device.get("computeMajor") or AMPERE) >= AMPERE
        for device in devices
    ]
    return Settings() if any(knows) else Settings(convolution_tf32=False)
