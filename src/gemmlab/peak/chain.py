"""The launches of one multiplication, made once for its geometry and moved to wherever its operands lie."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from ctypes import addressof, c_uint64
from typing import Any

from msgspec.structs import replace

from gemmlab.peak.driver import Launch
from gemmlab.peak.planned import Plan
from gemmlab.peak.ready import launches_of
from gemmlab.peak.stored import ROAD_BYTES, Stored
from gemmlab.units import round_up

APART = 1 << 42  # bytes between addresses that stand in for real ones: more than any memory has
BASES, TENSORS = 5, 3  # A, B, D, the buffer, the zeros; the first are tensors
LINE = 256  # bytes, at multiples of which parts of a buffer begin


class ImmovableError(Exception):
    """An argument that depends on an address in another way than by holding it."""


class Noted:
    """Memory that was asked for: only its address."""

    def __init__(self, address: int) -> None:
        self.address = address

    def data_ptr(self) -> int:
        """The address, as a tensor tells it."""
        return self.address


class Ledger:
    """Stands in for torch where buffers are asked for: notes their bytes, one behind another, and lends addresses."""

    def __init__(self, torch: Any, buffer: int, zeros: int) -> None:
        self.torch, self.starts, self.bytes = torch, {"empty": buffer, "zeros": zeros}, {"empty": 0, "zeros": 0}

    def __getattr__(self, name: str) -> Any:
        if name in ("empty", "zeros"):
            return lambda *size, dtype, device: self.noted(name, size, dtype)
        return getattr(self.torch, name)

    def noted(self, kind: str, size: tuple[Any, ...], dtype: Any) -> Noted:
        """The address of a new part of a buffer."""
        sides = size[0] if size and isinstance(size[0], (tuple, list)) else size
        begin = self.bytes[kind]
        self.bytes[kind] = begin + round_up(math.prod(sides) * dtype.itemsize, LINE)
        return Noted(self.starts[kind] + begin)


class Chain:
    """Launches of a plan for one geometry of operands; a call moves them to its addresses and puts them on its stream.

    It is one thread's: what it moves is read by the driver while a launch lasts, no longer. Raises ImmovableError where
    an argument holds no address that can be found, GemmlabError as the plan's kernels do.
    """

    def __init__(
        self, torch: Any, plan: Plan, a: Stored, b: Stored, d: Stored, sides: tuple[int, int, int], device: int
    ) -> None:
        made = []
        for turn in range(2):  # the same launches at two sets of addresses: where they differ, an address is held
            stands = [stand_in(turn, base) for base in range(BASES)]
            ledger = Ledger(torch, stands[3], stands[4])
            there = [
                replace(each, address=at + each.address % ROAD_BYTES)
                for each, at in zip((a, b, d), stands, strict=False)
            ]
            made.append(launches_of(ledger, plan, there[0], there[1], there[2], sides, device)[0])
        self.launches: list[Launch] = made[0]
        self.buffer_bytes, self.zero_bytes = ledger.bytes["empty"], ledger.bytes["zeros"]
        self.moves: list[tuple[c_uint64, int, int]] = []
        for one, other in zip(*made, strict=True):
            for held, also in zip(one.arguments, other.arguments, strict=True):
                for place, base, past in addresses(bytes(held), bytes(also)):
                    self.moves.append((c_uint64.from_address(addressof(held) + place), base, past))
        self.tensor_moves = [move for move in self.moves if move[1] < TENSORS]
        self.places: Sequence[int] = (0,) * BASES
        self.stream = 0

    def __call__(self, places: Sequence[int], stream: int) -> None:
        """Multiply: `places` are the addresses of A, B and D less what they are past 16 bytes, buffer and zeros.

        Raises GemmlabError where the driver refuses.
        """
        if places != self.places:
            # torch's allocator gives a buffer its address again: tensors alone have moved, as a rule
            moves = self.tensor_moves if places[TENSORS:] == self.places[TENSORS:] else self.moves
            self.places = ()  # where an interruption leaves some moved, all are moved again
            for word, base, past in moves:
                word.value = places[base] + past
            self.places = places
        if stream != self.stream:
            self.stream = -1
            for launch in self.launches:
                launch.to(stream)
            self.stream = stream
        for launch in self.launches:  # what calling each does, less a call of Python's
            if launch.put():
                launch.put_again()


def stand_in(turn: int, base: int) -> int:
    """An address that no memory has, at a multiple of 16 bytes."""
    return (1 + turn * BASES + base) * APART + APART // 2


def addresses(held: bytes, also: bytes) -> list[tuple[int, int, int]]:
    """Where an argument holds addresses: byte, base, and bytes past the base; raises ImmovableError."""
    count = len(held) // 8
    ones, others = (struct.unpack_from(f"<{count}Q", each) for each in (held, also))
    found = []
    for word, (one, other) in enumerate(zip(ones, others, strict=True)):
        base = one // APART - 1
        if one != other:
            if not (0 <= base < BASES and one - stand_in(0, base) == other - stand_in(1, base)):
                raise ImmovableError(f"word {word} is {one:#x} at one address, {other:#x} at another")
            found.append((8 * word, base, one - stand_in(0, base)))
    if held[8 * count :] != also[8 * count :]:
        raise ImmovableError("its last bytes depend on an address")
    return found
