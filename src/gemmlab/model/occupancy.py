"""How many programs fit one SM, what stops the next one, and what cannot run at all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel, accumulators, get, registers_of, shared_bytes_of, stage_bytes
from gemmlab.model.clusters import require_cluster
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.units import capacity_text, ceil_div, round_up

RESERVED_SHARED_BYTES = 1024  # CUDA keeps 1 KiB of each program's shared memory, compute capability 8.0 and later
RESERVING = ("ampere", "ada", "hopper", "blackwell")
SHORTEST_STEP = 8  # elements of k below which a smaller tile is the better remedy
REGISTER_UNIT = 256  # registers are handed to a warp in pieces of 256
THREAD_REGISTER_UNIT = 8  # and so to a thread of its 32 in pieces of 8
UNLIMITED = 1 << 20  # programs, where a resource is not used at all


class Occupancy(NamedTuple):
    """Programs resident on one SM."""

    programs: int
    limit: str  #: what a further program would exceed: registers, shared memory, warps, programs
    registers: int  #: of one thread, as the compiler would give them
    spilled: int  #: registers of one thread that do not fit and go to local memory


def occupancy(problem: Gemm, chip: Chip, kernel: Kernel) -> Occupancy:
    """Programs of the kernel that one SM of the chip holds at once.

    Registers are given to warps in units of 256, shared memory to programs with 1 KiB beside what they ask for (CUDA
    C++ Programming Guide, technical specifications per compute capability). Registers past the thread's limit spill.
    A chip without such limits (a CPU core, a TPU's matrix unit) holds one. Raises GemmlabError where not even one
    fits.
    """
    require_cluster(chip, kernel.cluster_m * kernel.cluster_n)
    limits = chip.limits
    needed = registers_of(kernel, problem)
    if limits is None:
        return Occupancy(1, "one program a core", needed, 0)
    require_fit(problem, chip, kernel)
    warps = ceil_div(kernel.threads, limits.warp_size)  # 64 threads on AMD's chips
    even_share = int(limits.registers_per_sm) // (warps * limits.warp_size)
    whole_units = even_share // THREAD_REGISTER_UNIT * THREAD_REGISTER_UNIT
    given = min(needed, int(limits.registers_per_thread), whole_units)
    shared = shared_bytes_of(kernel, problem)
    held = shared + RESERVED_SHARED_BYTES if chip.architecture in RESERVING else shared
    fits = {
        "registers": int(limits.registers_per_sm) // (round_up(given * limits.warp_size, REGISTER_UNIT) * warps),
        "shared memory": int(limits.shared_bytes_per_sm) // held if shared else UNLIMITED,
        "warps": int(limits.warps_per_sm) // warps,
        "programs": int(limits.programs_per_sm),
    }
    limit = min(fits, key=lambda name: fits[name])
    return Occupancy(max(1, fits[limit]), limit, given, needed - given)


def require_fit(problem: Gemm, chip: Chip, kernel: Kernel) -> None:
    """Raise GemmlabError naming the limit that the tile exceeds and by how much, with what fits as the hint."""
    said = excess(problem, chip, kernel)
    if said:
        raise GemmlabError(said, remedy(problem, chip, kernel))


def excess(problem: Gemm, chip: Chip, kernel: Kernel) -> str:
    """The first limit of one SM that one program of the kernel exceeds, in words; empty where it fits."""
    limits = chip.limits
    if limits is None:
        return ""
    shared, most = shared_bytes_of(kernel, problem), int(limits.shared_bytes_per_program)
    if shared > most:
        return (
            f"tile {kernel.block_m}x{kernel.block_n}x{kernel.block_k} with {kernel.stages} "
            f"{'stage' if kernel.stages == 1 else 'stages'} needs {capacity_text(shared)} of shared memory a program; "
            f"{chip.name} has {capacity_text(most)}"
        )
    if kernel.threads > int(limits.threads_per_program):
        return f"a program of {kernel.threads} threads; {chip.name} takes {int(limits.threads_per_program)}"
    file = int(limits.registers_per_sm)
    held = accumulators(kernel, problem) * kernel.threads
    if held > file and "tensor_memory" not in chip.features:
        return (
            f"tile {kernel.block_m}x{kernel.block_n} needs {capacity_text(4 * held)} of accumulators a program; "
            f"an SM of {chip.name} has {capacity_text(4 * file)} of registers"
        )
    return ""


def remedy(problem: Gemm, chip: Chip, kernel: Kernel) -> str:
    """What fits instead: fewer stages of the same tile; the next smaller tile at the same stages, if need be at one."""
    said = []
    most = int(chip.limits.shared_bytes_per_program) if chip.limits else 0
    shallow = kernel.replace(stages=max(1, most // max(1, stage_bytes(kernel, problem))))
    if shallow.stages < kernel.stages and not excess(problem, chip, shallow):
        said.append(f"--stages {shallow.stages} needs {capacity_text(shared_bytes_of(shallow, problem))}")
    smaller = ((tile, stages) for stages in dict.fromkeys((kernel.stages, 1)) for tile in smaller_tiles(kernel))
    for tile, stages in smaller:
        try:
            small = get(kernel.name, problem=problem, tile=tile, stages=stages)
        except GemmlabError:
            continue
        if not excess(problem, chip, small):
            fewer_too = "" if stages == kernel.stages else f" --stages {stages}"
            said.append(f"choose --tile {tile[0]}x{tile[1]}x{tile[2]}{fewer_too}")
            break
    return ", or ".join(said) or "choose a smaller tile"


def smaller_tiles(kernel: Kernel) -> Iterator[tuple[int, int, int]]:
    """Tiles to try: sides halved any number of times, the largest and squarest first, each with k halved too."""
    own = kernel.block_m, kernel.block_n, kernel.block_k
    sides = product(halvings(kernel.block_m), halvings(kernel.block_n))
    for block_m, block_n in sorted(sides, key=lambda side: (-side[0] * side[1], sum(side))):
        for block_k in halvings(kernel.block_k, least=min(SHORTEST_STEP, kernel.block_k)):
            if (block_m, block_n, block_k) != own:
                yield block_m, block_n, block_k


def halvings(side: int, least: int = 1) -> list[int]:
    """The side, half of it, and so on down to `least`."""
    return [side >> times for times in range(side.bit_length()) if side >> times >= least]
