"""The adapters of this machine, real ones first; asked in a child process, since a driver may crash whoever loads it.

`python -m gemmlab.run.backends.webgpu.adapters` prints them as JSON.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gemmlab.record import GemmlabError
from gemmlab.run.fault import one_line
from gemmlab.run.process import environment_of

EXTRA = 'pip install "gemmlab[webgpu]"'
DRIVERS = (
    "a driver for Vulkan, Metal or Direct3D 12; on Linux a software one: "
    "apt install mesa-vulkan-drivers libvulkan1, or your system's lavapipe"
)
ASK_S = 60.0
ASK_IT = "`vulkaninfo --summary` asks the driver itself"
KINDS = ("DiscreteGPU", "IntegratedGPU")  #: the best first; whatever else is no software comes behind
SOFTWARE = ("llvmpipe", "lavapipe", "softpipe", "swiftshader", "basic render driver", "warp")


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """One adapter as its driver names it."""

    name: str
    backend: str  #: Vulkan, Metal, D3D12 or OpenGL
    kind: str  #: DiscreteGPU, IntegratedGPU, CPU, or what else wgpu says
    driver: str  #: its name and version, as far as it tells them

    @property
    def software(self) -> bool:
        """Whether it is no GPU: the CPU computes."""
        return self.kind == "CPU" or any(word in self.name.lower() for word in SOFTWARE)


def described(info: Mapping[str, Any]) -> Adapter:
    """What wgpu tells of an adapter."""
    return Adapter(
        name=str(info.get("device") or info.get("vendor") or "an unnamed adapter"),
        backend=str(info.get("backend_type", "")),
        kind=str(info.get("adapter_type", "")),
        driver=str(info.get("description", "")),
    )


def in_order(found: Sequence[Any]) -> list[Any]:
    """Adapters as wgpu lists them, GPUs before software; through OpenGL only where nothing else is there."""
    told = [(described(each.info), place) for place, each in enumerate(found)]
    modern = [pair for pair in told if pair[0].backend != "OpenGL"] or told

    def rank(pair: tuple[Adapter, int]) -> tuple[bool, int, int]:
        adapter, place = pair
        return adapter.software, KINDS.index(adapter.kind) if adapter.kind in KINDS else len(KINDS), place

    return [found[place] for _, place in sorted(modern, key=rank)]


def wgpu_module() -> Any:
    """The wgpu module; raises GemmlabError where it is not installed."""
    try:
        import wgpu
    except ImportError as error:
        raise GemmlabError("wgpu is not installed", EXTRA) from error
    return wgpu


def opened(number: int) -> Any:
    """The adapter of that number as wgpu has it, in this process; raises GemmlabError where there is none."""
    found = in_order(wgpu_module().gpu.enumerate_adapters_sync())
    return chosen(found, number)


def chosen(found: Sequence[Any], number: int) -> Any:
    """The adapter of that number; raises GemmlabError."""
    if not found:
        raise GemmlabError("wgpu finds no adapter on this machine", DRIVERS)
    if number >= len(found):
        raise GemmlabError(f"there is no adapter {number}", f"--device 0 to {len(found) - 1}")
    return found[number]


def adapter(number: int) -> Adapter:
    """The adapter of that number, asked in a child; raises GemmlabError where there is none or wgpu is missing."""
    if importlib.util.find_spec("wgpu") is None:
        raise GemmlabError("wgpu is not installed", EXTRA)
    command = [sys.executable, "-P", "-m", __spec__.name]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=ASK_S,
            env=environment_of(1, None),
            check=True,
            stdin=subprocess.DEVNULL,
        )
        found = msgspec.json.decode(done.stdout, type=list[Adapter])
    except subprocess.TimeoutExpired:
        raise GemmlabError(
            f"wgpu does not answer within {ASK_S:g} s", "`vulkaninfo --summary` asks the driver"
        ) from None
    except (OSError, subprocess.CalledProcessError, msgspec.DecodeError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        words = one_line(said.decode(errors="replace").strip().rpartition("\n")[2])
        raise GemmlabError(f"wgpu cannot list adapters: {words}", ASK_IT) from None
    result: Adapter = chosen(found, number)
    return result


if __name__ == "__main__":
    adapters_here = [described(each.info) for each in in_order(wgpu_module().gpu.enumerate_adapters_sync())]
    sys.stdout.buffer.write(msgspec.json.encode(adapters_here))
