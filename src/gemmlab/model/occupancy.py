"""How many programs fit one SM, what stops the next one, and what cannot run at all."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel, accumulators, registers_needed, shared_bytes_of, stage_bytes
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.units import capacity_text, ceil_div, round_up

RESERVED_SHARED_BYTES = 1024  # CUDA keeps 1 KiB of each program's shared memory, compute capability 8.0 and later
REGISTER_UNIT = 256  # registers are handed to a warp in pieces of 256


class Occupancy(NamedTuple):
    """Programs resident on one SM."""

    programs: int
    limit: str  #: what a further program would exceed: registers, shared memory, warps, programs
    registers: int  #: of one thread, as the compiler would give them
    spilled: int  #: registers of one thread that do not fit and go to local memory
    warps: int


def warps_of(kernel: Kernel) -> int:
    """Warps of one program."""
    return kernel.warps or max(1, ceil_div(kernel.threads, 32))


def occupancy(problem: Gemm, chip: Chip, kernel: Kernel) -> Occupancy:
    """Programs of the kernel that one SM of the chip holds at once.

    Registers are given to warps in units of 256, shared memory to programs with 1 KiB beside what they ask for (CUDA
    C++ Programming Guide, technical specifications per compute capability). Registers past the thread's limit spill.
    A chip without such limits (a CPU core, a TPU's matrix unit) holds one. Raises GemmlabError where not even one
    fits.
    """
    limits = chip.limits
    needed = kernel.registers or registers_needed(kernel, problem)
    warps = warps_of(kernel)
    if limits is None:
        return Occupancy(1, "one program a core", needed, 0, warps)
    require_fit(problem, chip, kernel)
    given = min(needed, int(limits.registers_per_thread))
    given = min(given, int(limits.registers_per_sm) // (warps * limits.warp_size) // 8 * 8)
    shared = shared_bytes_of(kernel, problem)
    held = shared + RESERVED_SHARED_BYTES if chip.architecture not in ("volta", "turing") else shared
    fits = {
        "registers": int(limits.registers_per_sm) // (round_up(given * limits.warp_size, REGISTER_UNIT) * warps),
        "shared memory": int(limits.shared_bytes_per_sm) // held if shared else 1 << 20,
        "warps": int(limits.warps_per_sm) // warps,
        "programs": int(limits.programs_per_sm),
    }
    limit = min(fits, key=lambda name: fits[name])
    return Occupancy(max(1, fits[limit]), limit, given, needed - given, warps)


def require_fit(problem: Gemm, chip: Chip, kernel: Kernel) -> None:
    """Raise GemmlabError naming the limit that the tile exceeds and by how much, with tiles that fit as the hint."""
    limits = chip.limits
    if limits is None:
        return
    shared, most = shared_bytes_of(kernel, problem), int(limits.shared_bytes_per_program)
    if shared > most:
        stages = most // max(1, stage_bytes(kernel, problem))
        smaller = f"--stages {stages} needs {capacity_text(stages * stage_bytes(kernel, problem))}" if stages else ""
        halved = f"choose --tile {kernel.block_m}x{kernel.block_n}x{max(1, kernel.block_k // 2)}"
        raise GemmlabError(
            f"tile {kernel.block_m}x{kernel.block_n}x{kernel.block_k} with {kernel.stages} stages needs "
            f"{capacity_text(shared)} of shared memory a program; {chip.name} has {capacity_text(most)}",
            f"{smaller}, or {halved}" if smaller else halved,
        )
    warps = warps_of(kernel)
    if warps * limits.warp_size > int(limits.threads_per_program):
        raise GemmlabError(
            f"a program of {warps * limits.warp_size} threads; {chip.name} takes {int(limits.threads_per_program)}",
            "choose a smaller tile or fewer --warps",
        )
    file = int(limits.registers_per_sm)
    held = accumulators(kernel, problem) * warps * limits.warp_size
    if held > file and "tensor_memory" not in chip.features:
        raise GemmlabError(
            f"tile {kernel.block_m}x{kernel.block_n} needs {capacity_text(4 * held)} of accumulators a program; "
            f"an SM of {chip.name} has {capacity_text(4 * file)} of registers",
            f"choose --tile {kernel.block_m // 2}x{kernel.block_n}x{kernel.block_k}",
        )
