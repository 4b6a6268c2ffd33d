"""What can be asked for its bits, by name: matrix units of this machine, and libraries above them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gemmlab.record import GemmlabError, unknown_name


class Settings(NamedTuple):
    """How a backend is to be asked."""

    a_format: str
    b_format: str
    accumulate: str | None = None
    instruction: str | None = None  #: triton: wgmma, mma or tcgen05
    block_k: int | None = None  #: triton: k of one tile


class Asked(NamedTuple):
    """A backend ready to be called."""

    call: Callable[..., Any]  #: mma(a, b, c), or mma(a, b) where C is hidden
    accumulate: str  #: format of what it returns


def backend(name: str, settings: Settings) -> Asked:
    """The callable of that name; raises GemmlabError for unknown names, and where this machine has none of it."""
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
    return BACKENDS[name](settings)


def amx(settings: Settings) -> Asked:
    """AMX tiles of this CPU."""
    from gemmlab.numerics.backends.amx import missing, mma

    if missing():
        raise GemmlabError(f"no AMX: {missing()}", "--unit amx.tdp.bfloat16 emulates it anywhere")

    def call(a: Any, b: Any, c: Any = None) -> Any:
        return mma(a, b, c, a_format=settings.a_format, b_format=settings.b_format)

    integers = settings.a_format in ("int8", "uint8")
    return agreed("amx", settings, call, "int32" if integers else "float32")


def numpy(settings: Settings) -> Asked:
    """NumPy's own library, C hidden."""
    from gemmlab.numerics.backends.cpu import FORMATS, vendor

    if settings.a_format not in FORMATS:
        raise unknown_name("format of numpy's matrix multiplication", settings.a_format, FORMATS)
    return agreed("numpy", settings, vendor, settings.a_format)


def fma(settings: Settings) -> Asked:
    """Fused multiply-adds of this CPU, one after the other."""
    from gemmlab.numerics.backends.cpu import FORMATS, fma_chain

    if settings.a_format not in FORMATS:
        raise unknown_name("format of fused multiply-adds", settings.a_format, FORMATS)
    return agreed("fma", settings, fma_chain, settings.a_format)


def triton(settings: Settings) -> Asked:
    """A tensor core of this machine's GPU through Triton."""
    from gemmlab.numerics.backends.triton import Triton

    call = Triton(
        settings.a_format,
        b_format=settings.b_format,
        accumulate=settings.accumulate,
        instruction=settings.instruction,
        block_k=settings.block_k,
    )
    return Asked(call, call.accumulate)


def ptx(settings: Settings) -> Asked:
    """mma.sync of this machine's GPU, without Triton."""
    from gemmlab.numerics.backends.ptx import Mma

    call = Mma(settings.a_format, b_format=settings.b_format, accumulate=settings.accumulate)
    return Asked(call, call.accumulate)


def torch(settings: Settings) -> Asked:
    """What torch.mm makes of it on this machine's GPU, C hidden."""
    from gemmlab.numerics.backends.torch import Torch

    if settings.a_format.startswith("float8"):
        raise GemmlabError(f"torch.mm takes no {settings.a_format}", "--backend scaled_mm")
    call = Torch(settings.a_format, b_format=settings.b_format)
    return agreed("torch", settings, call, call.accumulate)


def scaled_mm(settings: Settings) -> Asked:
    """What torch._scaled_mm makes of float8 with scales of 1, accumulating fast, C hidden."""
    from gemmlab.numerics.backends.torch import Torch

    if not settings.a_format.startswith("float8"):
        raise GemmlabError(f"torch._scaled_mm takes no {settings.a_format}", "--backend torch, or a float8 format")
    call = Torch(settings.a_format, b_format=settings.b_format, fast=True)
    return agreed("scaled_mm", settings, call, call.accumulate)


def agreed(name: str, settings: Settings, call: Callable[..., Any], accumulate: str) -> Asked:
    """The backend, whose accumulator is not to be chosen; raises GemmlabError for another."""
    if settings.accumulate not in (None, accumulate):
        raise GemmlabError(
            f"{name} sums {settings.a_format} in {accumulate}, not {settings.accumulate}", f"--accumulate {accumulate}"
        )
    return Asked(call, accumulate)


BACKENDS: dict[str, Callable[[Settings], Asked]] = {
    "amx": amx,
    "fma": fma,
    "numpy": numpy,
    "ptx": ptx,
    "scaled_mm": scaled_mm,
    "torch": torch,
    "triton": triton,
}


def unread(call: Callable[..., Any]) -> tuple[str, ...]:
    """What is known of a library's kernel, whose machine code nobody reads; nothing of other backends."""
    kernel = getattr(call, "kernel", "")
    return (f"kernel {kernel}; its instruction is {call.opcode}",) if kernel and hasattr(call, "opcode") else ()


def compiled_by(call: Callable[..., Any]) -> Any:
    """What tells the machine code that ran, where the backend is one of a GPU; else None."""
    return getattr(call, "compiled", None)
