"""What a kernel must satisfy before anything is said about it."""

from __future__ import annotations

from gemmlab.kernels.kernel import FAMILIES, RASTERS, WARP, Kernel
from gemmlab.problem import Gemm
from gemmlab.problem.checks import LARGEST_SIDE
from gemmlab.record import GemmlabError, unknown_name

MOST_THREADS = 1024  # of one program, on every CUDA chip
MOST_REGISTERS = 255  # of one thread, likewise
LEAST = {"stages": 1, "split_k": 1, "group_m": 1, "cluster_m": 1, "cluster_n": 1, "thread_m": 1, "thread_n": 1}
LEAST |= {"block_m": 1, "block_n": 1, "block_k": 1, "registers": 0, "shared_bytes": 0, "vector_bytes": 0, "warps": 1}


def checked(kernel: Kernel, problem: Gemm | None = None) -> Kernel:
    """The kernel itself, if it can be built for that problem; raises GemmlabError naming the value that stops it."""
    if kernel.family not in FAMILIES:
        raise unknown_name("kernel family", kernel.family, FAMILIES)
    if kernel.raster not in RASTERS:
        raise GemmlabError(
            f"unknown raster `{kernel.raster}`", "n: programs run along n (row-major); m: along m (column-major)"
        )
    for name in LEAST:
        check_number(name, getattr(kernel, name))
    if kernel.vector_bytes not in (0, 1, 2, 4, 8, 16):
        raise GemmlabError(f"vector_bytes={kernel.vector_bytes} is no load of one thread", "one of 1, 2, 4, 8, 16")
    if kernel.registers > MOST_REGISTERS:
        raise GemmlabError(
            f"{kernel.registers} registers a thread; a thread has at most {MOST_REGISTERS}",
            "--registers 255 or fewer, or leave it out for an estimate",
        )
    check_mma(kernel.mma)
    if kernel.family == "tensor":
        check_warps(kernel)
        check_instruction(kernel)
    else:
        check_threads(kernel)
    if problem is not None:
        check_problem(kernel, problem)
    return kernel


def check_number(name: str, value: object) -> None:
    """Raise GemmlabError where a field of a kernel holds no such number."""
    least = LEAST[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GemmlabError(f"{name}={value!r} of a kernel is not a whole number", f"at least {least}")
    if value > LARGEST_SIDE:
        raise GemmlabError(
            f"{name}={value} of a kernel is past the largest side of a problem, 2^40", "is a digit too many?"
        )


def check_mma(mma: object) -> None:
    """Raise GemmlabError where an instruction has not three sides."""
    sides = mma if isinstance(mma, tuple | list) else ()
    if len(sides) != 3 or any(isinstance(side, bool) or not isinstance(side, int) or side < 1 for side in sides):
        raise GemmlabError(f"instruction {mma!r} has not three sides", "(m, n, k) of one matrix instruction")


def check_threads(kernel: Kernel) -> None:
    """Raise GemmlabError where threads do not share the tile evenly, or are too many."""
    for axis, block, thread in (("m", kernel.block_m, kernel.thread_m), ("n", kernel.block_n, kernel.thread_n)):
        if block % thread:
            raise GemmlabError(
                f"block_{axis}={block} is no multiple of the {thread} outputs that a thread owns along {axis}",
                f"a tile whose {axis.upper()} is a multiple of {thread}",
            )
    if kernel.family == "naive" and kernel.block_k != 1:
        raise GemmlabError(
            f"block_k={kernel.block_k}, but the naive kernel walks k one element at a time",
            f"--tile {kernel.block_m}x{kernel.block_n}, or --kernel tiled",
        )
    if kernel.family in ("naive", "tiled") and (kernel.thread_m, kernel.thread_n) != (1, 1):
        raise GemmlabError(
            f"a thread of the {kernel.family} kernel owns one output, not {kernel.thread_m}x{kernel.thread_n}",
            "--kernel register",
        )
    if kernel.threads > MOST_THREADS:
        raise GemmlabError(
            f"tile {tile_text(kernel)} of kernel `{kernel.name}` needs {kernel.threads} threads; "
            f"a program has at most {MOST_THREADS}",
            "a smaller tile, or --kernel register, whose threads own more outputs"
            if kernel.family != "register"
            else "a smaller tile, or larger thread_m and thread_n",
        )
    if kernel.warps != -(-kernel.threads // WARP):
        raise GemmlabError(
            f"{kernel.warps} warps do not fit tile {tile_text(kernel)} of kernel `{kernel.name}`, whose "
            f"{kernel.threads} threads are {-(-kernel.threads // WARP)} warps",
            "leave --warps out",
        )


def check_warps(kernel: Kernel) -> None:
    """Raise GemmlabError where the warps do not share the tile evenly, or are too many."""
    if kernel.threads > MOST_THREADS:
        raise GemmlabError(
            f"{kernel.warps} warps are {kernel.threads} threads; a program has at most {MOST_THREADS}", "--warps 32"
        )
    if kernel.tiles_from not in ("shared", "registers"):
        raise GemmlabError(f"unknown tiles_from `{kernel.tiles_from}`", "shared (wgmma) or registers (mma.sync)")
    shape = "x".join(str(side) for side in kernel.mma)
    if kernel.warp_m < 1 or kernel.warp_n < 1:
        raise GemmlabError(
            f"tile {tile_text(kernel)} cannot be shared by {kernel.warps} warps in parts that are multiples of the "
            f"instruction {shape}",
            "a tile whose M and N are powers of two from 64 up, or other --warps",
        )
    for axis, block, part in (("m", kernel.block_m, kernel.warp_m), ("n", kernel.block_n, kernel.warp_n)):
        if block % part:
            raise GemmlabError(
                f"block_{axis}={block} is no multiple of warp_{axis}={part}",
                f"a tile whose {axis.upper()} is a multiple of {part}",
            )
    parts = (kernel.block_m // kernel.warp_m) * (kernel.block_n // kernel.warp_n)
    if parts != kernel.warps:
        raise GemmlabError(
            f"tile {tile_text(kernel)} holds {parts} warp tiles of {kernel.warp_m}x{kernel.warp_n}, but the kernel has "
            f"{kernel.warps} warps",
            f"--warps {parts}",
        )


def check_instruction(kernel: Kernel) -> None:
    """Raise GemmlabError where the warps' parts are not made of whole instructions."""
    mma_m, mma_n, mma_k = kernel.mma
    rows = 4 * kernel.warp_m if kernel.tiles_from == "shared" else kernel.warp_m
    for axis, part, step in (("m", rows, mma_m), ("n", kernel.warp_n, mma_n), ("k", kernel.block_k, mma_k)):
        if step < 1 or part % step:
            what = f"block_k={part}" if axis == "k" else f"the {part} outputs of one issue along {axis}"
            raise GemmlabError(
                f"{what} is no multiple of {step}, the instruction's {axis} ({mma_m}x{mma_n}x{mma_k})",
                f"a tile whose {axis.upper()} is a multiple of {step}",
            )


def check_problem(kernel: Kernel, problem: Gemm) -> None:
    """Raise GemmlabError where this kernel cannot read the problem's operands."""
    for member in () if kernel.guards else problem.members:
        for axis in "mnk":
            side, block = getattr(member, axis), getattr(kernel, f"block_{axis}")
            if side % block:
                raise GemmlabError(
                    f"{axis}={side} is no multiple of block_{axis}={block}, and kernel `{kernel.name}` has no guards: "
                    "it would read out of range",
                    "a kernel with guards, or a tile that divides the problem",
                )
    if kernel.family == "naive" and problem.structure == "sparse_2_4":
        raise GemmlabError(
            "the naive kernel cannot read a 2:4 sparse A, whose columns of B depend on the data",
            "--kernel tiled, register or tensor",
        )
    if kernel.family == "naive" and problem.scale is not None:
        raise GemmlabError("the naive kernel reads no block scales", "--kernel tiled, register or tensor")
    if problem.structure == "sparse_2_4" and kernel.block_k % 4:
        raise GemmlabError(
            f"block_k={kernel.block_k} would cut a group of four of a 2:4 sparse A", "a tile whose K is a multiple of 4"
        )


def tile_text(kernel: Kernel) -> str:
    """The tile as --tile spells it."""
    return f"{kernel.block_m}x{kernel.block_n}x{kernel.block_k}"
