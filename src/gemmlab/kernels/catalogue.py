"""The catalogue: every kernel of the ladder as data, and how flags and formats change it."""

from __future__ import annotations

from typing import Any

from gemmlab.formats import bits_of
from gemmlab.kernels.checks import LEAST, check_mma, check_number, checked
from gemmlab.kernels.kernel import WARP, Kernel
from gemmlab.kernels.resources import REGISTER_BITS
from gemmlab.kernels.tile import parse_tile, side_of_tile, warp_grid
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.units import ceil_div, round_up

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel(name="naive", family="naive", block_m=16, block_n=16, block_k=1),
        Kernel(name="tiled", family="tiled", block_m=16, block_n=16, block_k=16),
        Kernel(
            name="register",
            family="register",
            block_m=128,
            block_n=128,
            block_k=8,
            thread_m=8,
            thread_n=8,
            vector_bytes=16,
        ),
        # 64 bytes of k a step and a 64x64 warp tile: what mma.sync kernels for Ampere are built from
        Kernel(
            name="tensor",
            family="tensor",
            block_m=128,
            block_n=128,
            block_k=32,
            stages=3,
            vector_bytes=16,
        ),
        # two consumer warpgroups, each 64x256 outputs read straight from shared memory: Hopper's wgmma
        Kernel(
            name="warpgroup",
            family="tensor",
            block_m=128,
            block_n=256,
            block_k=64,
            mma=(64, 256, 16),
            stages=4,
            vector_bytes=16,
            cluster_m=2,
            tiles_from="shared",
        ),
    )
}

SETTINGS = frozenset(Kernel.__struct_fields__) - {"name", "family", "block_m", "block_n", "block_k"}
PACKED = {1: 4, 2: 4, 6: 8}  # widths that tensor cores take in the containers of another
MICRO_TILES = ((8, 8), (8, 4), (4, 8), (4, 4), (4, 2), (2, 4), (2, 2), (2, 1), (1, 2), (1, 1))


def names() -> tuple[str, ...]:
    """The kernels of the catalogue, from naive to the peak."""
    return tuple(KERNELS)


def get(
    name: str, *, problem: Gemm | None = None, tile: tuple[int, int, int] | str | None = None, **settings: Any
) -> Kernel:
    """The kernel of that name, its tile and settings as given, what is left out suited to the problem's formats.

    `tile` is (block_m, block_n, block_k) or its text; block_k 0 keeps the kernel's own. `settings` are fields of
    Kernel; None leaves a field alone. Raises GemmlabError for a name, setting or tile that cannot be used.
    """
    try:
        kernel = KERNELS[name]
    except (KeyError, TypeError):
        raise unknown_name("kernel", str(name), KERNELS) from None
    given = {key: value for key, value in settings.items() if value is not None}
    for key, value in given.items():
        if key not in SETTINGS:
            raise unknown_name("setting of a kernel", key, SETTINGS)
        if key in LEAST:
            check_number(key, value)
    if "mma" in given:
        check_mma(given["mma"])
    block = parse_tile(tile) if isinstance(tile, str) else tile
    if kernel.family == "tensor":
        kernel = fitted_tensor(kernel, problem, block, given)
    else:
        kernel = fitted_threads(kernel, block, given)
    return checked(kernel.replace(**given), problem)


def default_for(problem: Gemm) -> Kernel:
    """The kernel that a problem gets where nobody names one.

    `tensor` for operands that tensor cores multiply: formats of 16 bits or less, and tfloat32; else `register`.
    """
    wide = max(bits_of(problem.a_format), bits_of(problem.b_format))
    return get("tensor" if wide <= 16 or problem.a_format == "tfloat32" else "register", problem=problem)


def with_block(kernel: Kernel, block: tuple[int, int, int] | None) -> Kernel:
    """The kernel with that tile; a side that is 0 for k keeps the kernel's own."""
    if block is None:
        return kernel
    if not isinstance(block, tuple | list) or len(block) != 3:
        raise GemmlabError(f"tile {block!r} has not three sides", "(m, n, k) of one program's tile")
    block_m, block_n, block_k = block
    return kernel.replace(
        block_m=side_of_tile("tile: M", block_m),
        block_n=side_of_tile("tile: N", block_n),
        block_k=side_of_tile("tile: K", block_k) if block_k else kernel.block_k,
    )


def fitted_threads(kernel: Kernel, block: tuple[int, int, int] | None, given: dict[str, Any]) -> Kernel:
    """Families of ordinary arithmetic: the outputs of a thread follow from the tile, the warps from the threads."""
    kernel = with_block(kernel, block)
    if kernel.family == "register" and not {"thread_m", "thread_n"} & given.keys():
        thread_m, thread_n = micro_tile(kernel.block_m, kernel.block_n, given.get("warps", 0))
        kernel = kernel.replace(thread_m=thread_m, thread_n=thread_n)
    kernel = kernel.replace(
        thread_m=given.get("thread_m", kernel.thread_m), thread_n=given.get("thread_n", kernel.thread_n)
    )
    return kernel.replace(warps=ceil_div(kernel.threads, WARP))


def micro_tile(block_m: int, block_n: int, warps: int) -> tuple[int, int]:
    """Outputs of a thread: the largest square-like micro-tile that divides the tile and gives the warps asked for.

    Where none gives them, the largest that leaves a whole warp; `checked` then names what does not fit.
    """
    fitting = [(m, n) for m, n in MICRO_TILES if block_m % m == 0 and block_n % n == 0]
    threads = {(m, n): (block_m // m) * (block_n // n) for m, n in fitting}
    if warps:
        exact = [side for side in fitting if threads[side] == warps * 32]
        return exact[0] if exact else fitting[0]
    whole = [side for side in fitting if threads[side] >= 32]
    return whole[0] if whole else fitting[-1]


def fitted_tensor(
    kernel: Kernel, problem: Gemm | None, block: tuple[int, int, int] | None, given: dict[str, Any]
) -> Kernel:
    """Tensor cores: the instruction follows from the format, the warps' parts from tile and warps."""
    shared = given.get("tiles_from", kernel.tiles_from) == "shared"
    a_format = problem.a_format if problem else "float16"
    step_k = instruction_k(a_format, problem)
    # the catalogue's block_k is for 16-bit formats; others take as many bytes, 6-bit ones as many elements as 8-bit
    same_bytes = kernel.block_k * 16 // PACKED.get(bits_of(a_format), bits_of(a_format))
    kernel = with_block(kernel.replace(block_k=round_up(same_bytes, step_k)), block)
    mma = given.get("mma")
    if mma is None and shared:
        mma = (64, widest_instruction(kernel.block_n), step_k)
    elif mma is None:
        mma = (8, 8, 4) if a_format == "float64" else (16, 8, step_k)
    # the four warps of a warpgroup stand below each other: an instruction's 64 rows are 16 rows a warp
    step_m = mma[0] // 4 if shared else mma[0]
    words = ceil_div(bits_of(problem.accumulate), REGISTER_BITS) if problem else 1
    choices = [given["warps"]] if "warps" in given else (8, 4, 12, 16) if shared else default_warps(kernel, words)
    for warps in choices:
        part = warp_grid(kernel.block_m, kernel.block_n, warps, step_m, mma[1])
        if part is not None:
            return kernel.replace(mma=mma, warps=warps, warp_m=part[0], warp_n=part[1])
    return kernel.replace(mma=mma, warps=choices[-1], warp_m=0, warp_n=0)


def default_warps(kernel: Kernel, words: int) -> tuple[int, ...]:
    """Numbers of warps to try where nobody says: one for each 128 accumulators a thread, at least 4.

    That is one for each 64x64 outputs where a sum takes one register; `words` are the registers of a sum.
    """
    wanted = min(32, max(4, kernel.block_m * kernel.block_n * words // 4096))
    return tuple(warps for warps in (32, 16, 12, 8, 6, 4, 3, 2, 1) if warps <= wanted)


def widest_instruction(block_n: int) -> int:
    """Columns of one wgmma: the largest multiple of 8 up to 256 that divides the tile, 8 where none does."""
    return next((n for n in range(256, 7, -8) if block_n % n == 0), 8)


def instruction_k(a_format: str, problem: Gemm | None) -> int:
    """How far along k one tensor-core instruction reaches: 32 bytes of A, twice that where A is 2:4 sparse.

    m16n8k16 for 16-bit, k8 for tfloat32, k32 for 8-bit and k64 for 4-bit operands (NVIDIA PTX ISA, mma and wgmma).
    """
    bits = PACKED.get(bits_of(a_format), bits_of(a_format))
    whole = 4 if bits == 64 else 256 // bits
    return whole * 2 if problem is not None and problem.structure == "sparse_2_4" else whole
