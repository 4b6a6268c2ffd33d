"""Triton rungs and kernels of one's own as programs, on PyTorch's memory and clock."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.run.backends.cuda.program import require
from gemmlab.run.backends.torch.program import TorchProgram
from gemmlab.run.own import function_at, require_arguments

EXTRA = 'pip install "gemmlab[triton,torch]"'
FORMATS = ("float16", "bfloat16")
ALIGNMENT = 16  # bytes, of what a tensor descriptor describes
DRIVERS = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "GROUP", "PARTS")

Launch = Callable[[Any, Any, Any], None]


def require_triton() -> str:
    """Triton's version; raises GemmlabError where it is not installed."""
    try:
        import triton
    except ImportError as error:
        raise GemmlabError("triton is not installed", EXTRA) from error
    version: str = triton.__version__
    return version


def tensor_launch(sizes: dict[str, int] | None = None, options: dict[str, int] | None = None) -> Launch:
    """How `tensor` is launched on tensors; sizes and options in place of its own."""
    from gemmlab.kernels.ladder.triton import tensor

    given, how = {**tensor.SIZES, **(sizes or {})}, {**tensor.OPTIONS, **(options or {})}

    def launch(a: Any, b: Any, c: Any) -> None:
        (m, k), n = a.shape, b.shape[1]
        grid = (-(-m // given["BLOCK_M"]) * -(-n // given["BLOCK_N"]),)
        tensor.kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), c.stride(0), **given, **how)

    return launch


def persistent_launch(
    programs: int, sizes: dict[str, int] | None = None, options: dict[str, int] | None = None
) -> Launch:
    """How `persistent` is launched on tensors, by so many programs at most."""
    from gemmlab.kernels.ladder.triton import persistent

    given, how = {**persistent.SIZES, **(sizes or {})}, {**persistent.OPTIONS, **(options or {})}
    made: dict[tuple[int, int, int], tuple[Any, Any, Any]] = {}

    def launch(a: Any, b: Any, c: Any) -> None:
        (m, k), n, turned = a.shape, b.shape[1], b.stride(0) == 1 and b.stride(1) > 1
        key = (a.data_ptr(), b.data_ptr(), c.data_ptr())
        if key not in made:
            made[key] = described(a, b, c, turned, given)
        tiles = -(-m // given["BLOCK_M"]) * -(-n // given["BLOCK_N"])
        grid = (min(programs, tiles),)
        persistent.kernel[grid](*made[key], m, n, k, PROGRAMS=programs, TURNED=turned, **given, **how)

    return launch


def described(a: Any, b: Any, c: Any, turned: bool, sizes: dict[str, int]) -> tuple[Any, Any, Any]:
    """Tensor descriptors of the operands."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    m, n, k = sizes["BLOCK_M"], sizes["BLOCK_N"], sizes["BLOCK_K"]
    stored = b.T if turned else b
    return (
        TensorDescriptor(a, list(a.shape), [a.stride(0), 1], [m, k]),
        TensorDescriptor(stored, list(stored.shape), [stored.stride(0), 1], [n, k] if turned else [k, n]),
        TensorDescriptor(c, list(c.shape), [c.stride(0), 1], [m, n // sizes["PARTS"]]),
    )


def settings_of(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """`BLOCK_M=128,num_stages=4` as sizes and options; raises GemmlabError."""
    found: dict[str, int] = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        if not value.isascii() or not value.isdigit() or name not in (*DRIVERS, "num_warps", "num_stages"):
            raise GemmlabError(f"`{word}` is no setting of a Triton rung", "BLOCK_M=128,num_stages=4")
        found[name] = int(value)
    sizes = {name: value for name, value in found.items() if name in DRIVERS}
    return sizes, {name: value for name, value in found.items() if name not in DRIVERS}


def program(problem: Gemm, name: str) -> TorchProgram:
    """The program of a rung, `tensor` or `persistent`, with other settings behind a colon: `persistent:num_stages=4`.

    Raises GemmlabError for an unknown rung, another format, rows of memory that TMA cannot address, and where GPU or
    packages are missing.
    """
    rung, _, text = name.partition(":")
    if rung not in ("tensor", "persistent"):
        raise unknown_name("kernel", rung, ("tensor", "persistent"))
    require(problem, FORMATS, layouts=("nn", "nt", "tn", "tt") if rung == "tensor" else ("nn", "nt"))
    version = require_triton()
    sizes, options = settings_of(text)
    if rung == "tensor":
        made = TorchProgram(problem, tensor_launch(sizes, options))
    else:
        require_alignment(problem)
        made = TorchProgram(problem, lambda a, b, c: None)
        count = made.torch.cuda.get_device_properties(0).multi_processor_count
        made.multiply = persistent_launch(count, sizes, options)
    made.environment |= {"compiler": f"Triton {version}"} | ({"settings": text} if text else {})
    return made


def require_alignment(problem: Gemm) -> None:
    """Raise GemmlabError where a row, or an operand, does not begin at a multiple of 16 bytes."""
    for letter in "abc":
        ld, offset = getattr(problem, f"ld{letter}"), getattr(problem, f"{letter}_offset_bytes")
        if ld * 2 % ALIGNMENT or offset % ALIGNMENT:
            raise GemmlabError(
                f"rows of {letter.upper()}, {ld} elements apart from byte {offset}, are not {ALIGNMENT}-byte aligned",
                f"--ld{letter} {-(-ld // 8) * 8}, or the kernel `tensor`, which takes any shape",
            )


def own(problem: Gemm, place: str) -> TorchProgram:
    """The program of one's own `FILE.py:FUNC`: FUNC(a, b, c) launches Triton kernels that write C = A @ B.

    a, b and c are tensors (m, k), (k, n) and (m, n) on the GPU, their strides those of the problem's layout. It must
    neither wait for the device nor allocate on each call: it is captured in a CUDA graph. Raises GemmlabError for a
    file or function that there is not, what cannot be called so, and where GPU or packages are missing.
    """
    formats = ("float32", "tfloat32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
    require(problem, formats, layouts=("nn", "nt", "tn", "tt"))
    version = require_triton()
    function = function_at(place)
    if hasattr(function, "__getitem__"):  # launched as kernel[grid](...)
        path, _, name = place.rpartition(":")
        raise GemmlabError(
            f"`{name}` of {os.path.basename(path)} is a kernel, and nothing says how it is launched",
            "name a function FUNC(a, b, c) that launches it on three tensors",
        )
    require_arguments(function, place, "FUNC(a, b, c) launches kernels that write the tensor c")
    made = TorchProgram(problem, function)
    made.environment["compiler"] = f"Triton {version}"
    return made
