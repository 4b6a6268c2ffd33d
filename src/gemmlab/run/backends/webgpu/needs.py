"""What a multiplication needs of an adapter, held against its limits before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping

from gemmlab.check.storage import first_element, placed
from gemmlab.formats import dtype_of
from gemmlab.kernels.ladder.webgpu import Text
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.units import capacity_text, round_up

WORD = 4  # bytes: buffers are whole words


def operand_bytes(problem: Gemm, operand: str) -> int:
    """Bytes of the storage of `a`, `b` or `c` (which is D's), its offset included, in whole words."""
    name = problem.d_format if operand == "c" else getattr(problem, f"{operand}_format")
    rows, _, ld, _ = placed(problem, operand)
    return round_up((first_element(problem, operand, name) + rows * ld) * dtype_of(name).itemsize, WORD)


def require_limits(problem: Gemm, text: Text, limits: Mapping[str, int], where: str) -> None:
    """Raise GemmlabError for what an adapter, called `where`, has too little of, with how much is needed."""
    bound = min(limits["max-storage-buffer-binding-size"], limits["max-buffer-size"])
    for operand in "abc":
        if (size := operand_bytes(problem, operand)) > bound:
            raise GemmlabError(
                f"{operand.upper()} takes {capacity_text(size)}, and a kernel on {where} is given "
                f"{capacity_text(bound)} of one matrix at most",
                "a smaller shape",
            )
    most = limits["max-compute-workgroups-per-dimension"]
    for side, letter, count, covers in zip("xy", "nm", text.grid(problem.m, problem.n), text.tile[::-1], strict=True):
        if count > most:
            length = getattr(problem, letter)
            raise GemmlabError(
                f"{letter}={length} needs {count} workgroups of {covers} along {side}, and {where} starts {most}",
                f"{letter} of {most * covers} at most, or a kernel of wider tiles",
            )
    require_workgroup(text, limits, where)


def require_workgroup(text: Text, limits: Mapping[str, int], where: str) -> None:
    """Raise GemmlabError where a workgroup is larger than the adapter's."""
    height, width = text.tile
    whole, sides = limits["max-compute-invocations-per-workgroup"], ("x", "y")
    if text.invocations > whole:
        raise GemmlabError(
            f"{text.name} in tiles of {width} needs {text.invocations} invocations a workgroup, "
            f"and {where} has {whole}",
            f"a tile of {int(whole**0.5)} at most",
        )
    for side, length in zip(sides, (width, height), strict=True):
        if text.rung and length > (most := limits[f"max-compute-workgroup-size-{side}"]):
            raise GemmlabError(
                f"{text.name} needs {length} invocations along {side}, and {where} has {most}",
                f"a tile of {most} at most",
            )
    if text.workgroup_bytes > (room := limits["max-compute-workgroup-storage-size"]):
        raise GemmlabError(
            f"{text.name} in tiles of {width} needs {capacity_text(text.workgroup_bytes)} of workgroup memory, "
            f"and {where} has {capacity_text(room)}",
            f"a tile of {int((room / 4 / text.staged) ** 0.5)} at most",
        )


def require_half(problem: Gemm, features: frozenset[str], where: str) -> None:
    """Raise GemmlabError for float16 where the adapter, or its driver, does not offer it to kernels."""
    if "float16" in (problem.a_format, problem.d_format) and "shader-f16" not in features:
        raise GemmlabError(
            f"{where} does not offer `shader-f16`, without which no WGSL kernel reads float16",
            "--format float32; some drivers hide what the chip has, and a newer one may show it",
        )
