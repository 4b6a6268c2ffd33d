"""Measure a CPU's clock and its FMA rate with a few bytes of machine code.

`python -m gemmlab.chips.probe` prints one line of JSON. It runs as a child process, so that a machine which refuses
such code costs a measurement and not the caller.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import platform
import struct
import sys
import time

UNROLL = 64  # steps of a chain in one turn of its loop
RUN_S = 0.008  # one timing: long against the timer, short against a time slice
REPEATS = 15
PAGE = 1 << 14  # a multiple of every page size that matters here


def x86_loop(step: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """A function of one integer that runs `step` as often as that integer says."""
    turn = step + b"\x48\x83\xe9\x01"  # sub rcx, 1: the counter is a chain of its own, in parallel
    counter = b"" if sys.platform == "win32" else b"\x48\x89\xf9"  # mov rcx, rdi
    back = struct.pack("<i", -(len(turn) + 6))
    return counter + before + turn + b"\x0f\x85" + back + after + b"\xc3"


def arm_loop(step: bytes, before: bytes = b"") -> bytes:
    """The same for aarch64."""
    turn = step + struct.pack("<I", 0xF1000400)  # subs x0, x0, #1
    back = 0x54000001 | ((-(len(turn) // 4) & 0x7FFFF) << 5)  # b.ne
    return before + turn + struct.pack("<II", back, 0xD65F03C0)


def x86_zero(register: int) -> bytes:
    """Clear a register with vpxor: it also clears the upper parts, so no operand is ever denormal."""
    if register < 8:
        return bytes((0xC5, 0xF9 - (register << 3), 0xEF, 0xC0 | register << 3 | register))
    low = register - 8
    return bytes((0xC4, 0x41, 0x39 - (low << 3), 0xEF, 0xC0 | low << 3 | low))


def x86_fma(register: int, bits: int) -> bytes:
    """A vfmadd231ps of register, 15, 14 on 256 or 512 bits; registers 0 to 11."""
    high, low = register >= 8, register % 8
    prefix = (
        bytes((0xC4, 0x42 if high else 0xC2, 0x05))
        if bits == 256
        else bytes((0x62, 0x52 if high else 0xD2, 0x05, 0x48))
    )
    return prefix + bytes((0xB8, 0xC6 | low << 3))


def clock_chains() -> list[tuple[bytes, float]]:
    """Two dependent integer chains as (code, cycles of one turn) whose latency every core of this kind shares."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        # register-register forms: newer cores run chains of immediates faster than one a cycle
        return [
            (x86_loop(b"\x48\x01\xd0" * UNROLL), 1.0 * UNROLL),  # add rax, rdx
            (x86_loop(b"\x48\x0f\xaf\xc2" * UNROLL), 3.0 * UNROLL),  # imul rax, rdx
        ]
    if platform.machine().lower() in ("aarch64", "arm64"):
        return [
            (arm_loop(struct.pack("<I", 0x8B020021) * UNROLL), 1.0 * UNROLL),  # add x1, x1, x2
            (arm_loop(struct.pack("<I", 0xCA020021) * UNROLL), 1.0 * UNROLL),  # eor x1, x1, x2
        ]
    return []


def fma_loop(bits: int) -> tuple[bytes, float]:
    """Independent float32 FMAs of that width, as (code, FLOP of one turn)."""
    if bits == 128:
        registers = (*range(8), *range(16, 24))  # 8 to 15 belong to the caller
        zero = b"".join(struct.pack("<I", 0x6F00E400 | r) for r in (*registers, 30, 31))
        step = b"".join(struct.pack("<I", 0x4E3FCFC0 | r) for r in registers)
        return arm_loop(step * 4, zero), 4 * len(registers) * 2 * bits / 32
    zero = b"".join(x86_zero(r) for r in (*range(12), 14, 15))
    step = b"".join(x86_fma(r, bits) for r in range(12))
    return x86_loop(step * 4, zero, b"\xc5\xf8\x77"), 4 * 12 * 2 * bits / 32  # vzeroupper


class Code:
    """Machine code in memory that may run it; written first and made executable after, never both at once."""

    def __init__(self, code: bytes) -> None:
        size = max(PAGE, -(-len(code) // PAGE) * PAGE)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
        if sys.platform == "win32":
            kernel = ctypes.windll.kernel32
            kernel.VirtualAlloc.restype = ctypes.c_void_p
            address = kernel.VirtualAlloc(None, ctypes.c_size_t(size), 0x3000, 0x04)
            ctypes.memmove(address, code, len(code))
            kernel.VirtualProtect(ctypes.c_void_p(address), ctypes.c_size_t(size), 0x20, ctypes.byref(ctypes.c_ulong()))
        else:
            self.memory = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
            self.memory.write(code)
            address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
                raise OSError(ctypes.get_errno(), "mprotect refused")
        self.call = prototype(address)


def turns_per_second(code: bytes) -> float:
    """The fastest of many short runs: other work and a ramping clock only make a run slower."""
    function = Code(code)
    # a thread's own CPU time leaves out what other processes take; Windows counts it too coarsely
    timer = time.perf_counter if sys.platform == "win32" else time.thread_time
    turns = 1000
    while True:
        start = timer()
        function.call(turns)
        spent = timer() - start
        if spent >= RUN_S / 2:
            break
        turns *= 4
    best = 0.0
    for _ in range(REPEATS):
        start = timer()
        function.call(turns)
        best = max(best, turns / max(timer() - start, 1e-9))
    return best


def measure(fma_bits: int) -> dict[str, float]:
    """Clock in Hz by each chain, and FLOP per second of one core's FMAs where a width is given."""
    found: dict[str, float] = {}
    for place, (code, cycles) in enumerate(clock_chains()):
        found[f"clock_hz_{place}"] = turns_per_second(code) * cycles
    if fma_bits:
        code, flop = fma_loop(fma_bits)
        found["flop_per_s"] = turns_per_second(code) * flop
    return found


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 0)))
