"""One thread of a block: its position, its memory, and what it does to memory, told to the block."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gemmlab.emulator.reference.memory import Array, Storage
from gemmlab.record import GemmlabError

if TYPE_CHECKING:
    from gemmlab.emulator.reference.block import Block

Position = tuple[int, ...]  #: loops and their rounds, calls, then the node: smaller is earlier where threads go in step


@dataclass(slots=True, eq=False)
class Wait:
    """A thread waits at a barrier or warp operation, with what it brings."""

    position: Position
    node: int
    kind: str
    mask: int = 0
    value: Any = None
    lane: int = 0


class Thread:
    """The thread that a translated kernel runs as."""

    def __init__(self, block: Block, number: int) -> None:
        (x, y, z), (bx, by, bz) = block.size, block.index
        self.block, self.number = block, number
        self.index = (number % x, number // x % y, number // (x * y))
        self.threadIdx = tuple(map(np.int32, self.index))
        self.blockIdx = tuple(map(np.int32, block.index))
        self.blockDim = tuple(map(np.int32, block.size))
        self.gridDim = tuple(map(np.int32, block.grid_size))
        self.grid = tuple(np.int64(t + b * s) for t, b, s in zip(self.index, (bx, by, bz), (x, y, z), strict=True))
        self.gridsize = tuple(np.int64(s * g) for s, g in zip(block.size, block.grid_size, strict=True))
        self.warp, lane = divmod(number, 32)
        self.laneid = np.int32(lane)
        # clock[i]: how far thread i had come when it last ordered itself with this one by syncwarp
        self.clock = {number: 1}
        self.stack: list[int] = []  # loop, round, loop, round, call, loop, round ...
        self.base = 0  # where the present function's part begins
        self.locals: dict[Any, Array] = {}

    def position(self, number: int, depth: int) -> Position:
        """Where in the kernel the thread is."""
        return (*self.stack[: self.base + 2 * depth], number)

    def begin(self, loop: int, depth: int) -> None:
        """A loop is entered."""
        self.stack[self.base + 2 * depth :] = [loop, -1]

    def round(self, loop: int, depth: int) -> bool:
        """A loop's next round begins."""
        at = self.base + 2 * depth
        self.stack[at:] = [loop, self.stack[at + 1] + 1]
        return True

    def rounds(self, loop: int, depth: int, test: int, start: Any, stop: Any, step: Any, wrap: Any) -> Iterator[Any]:
        """The values of a `for`'s name; one test a value, and one for the end."""
        if not int(step):
            raise GemmlabError(
                f"thread {self.index} of block {self.block.index}: a range steps by 0", "step by 1, -1 ..."
            )
        self.begin(loop, depth)
        for value in range(int(start), int(stop), int(step)):
            self.round(loop, depth)
            self.test(test, depth + 1, True)
            yield wrap(value)
        self.round(loop, depth)
        self.test(test, depth + 1, False)

    def test(self, number: int, depth: int, condition: Any) -> bool:
        """A branch or a loop's test."""
        taken = bool(condition)
        self.block.step()
        self.block.tests.append((self.position(number, depth), self.warp, number, taken))
        return taken

    def decided(self, number: int, depth: int, value: Any) -> Any:
        """The first side of an `and` or `or`, which decides whether the second is looked at."""
        self.test(number, depth, value)
        return value

    def worked(self, number: int, _: int, value: Any, array: Array | None = None) -> Any:
        """Float arithmetic was done; the value is what came out."""
        key = number, "" if array is None else array.name
        self.block.work[key] = self.block.work.get(key, 0) + 1
        return value

    def call(self, number: int, depth: int, function: Any, *args: Any) -> Generator[Wait, Any, Any]:
        """A device function runs."""
        base = self.base
        self.stack[base + 2 * depth :] = [number]
        self.base = len(self.stack)
        result = yield from function(self, *args)
        self.base = base
        return result

    def load(self, number: int, depth: int, array: Array, index: tuple[Any, ...]) -> Any:
        """An element; zero where the index is out of range."""
        index = (*array.prefix, *map(int, index))
        placed = array.place(index)
        value = array.values.dtype.type(0) if placed is None else array.values[placed]
        self.block.access(self, self.position(number, depth), "load", array, index, placed, value)
        return value

    def store(self, number: int, depth: int, array: Array, index: tuple[Any, ...], value: Any) -> None:
        """An element takes a value; nothing happens where the index is out of range."""
        index = (*array.prefix, *map(int, index))
        placed = array.place(index)
        if placed is not None:
            self.writable(array)
            array.values[placed] = value
        self.block.access(self, self.position(number, depth), "store", array, index, placed, value)

    def atomic(
        self, number: int, depth: int, op: str, array: Array, index: tuple[Any, ...], value: Any, compare: Any = None
    ) -> Any:
        """An element takes a value made of the old one, which is given back."""
        index = (*array.prefix, *map(int, index))
        placed = array.place(index)
        if placed is None:
            old = new = array.values.dtype.type(0)
        else:
            self.writable(array)
            old = array.values[placed]
            new = updated(op, old, value, compare)
            array.values[placed] = new
        self.block.access(self, self.position(number, depth), "atomic", array, index, placed, new)
        return old

    def writable(self, array: Array) -> None:
        """Raise GemmlabError for an array that numpy keeps from being written."""
        if not array.values.flags.writeable:
            raise GemmlabError(f"the kernel stores to {array.name}, which is read-only", "pass a copy of it")

    def waits(self, number: int, depth: int, kind: str, mask: Any = 0, value: Any = None, lane: Any = 0) -> Wait:
        """The thread comes to a barrier or a warp operation."""
        return Wait(self.position(number, depth), number, kind, int(mask or 0) & 0xFFFFFFFF, value, int(lane))

    def shared(self, _: int, __: int, name: str, key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        """The block's array of that declaration."""
        return self.block.shared(name, key, shape, dtype)

    def dynamic(self, _: int, __: int, name: str, key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        """All dynamic shared memory as an array of that type."""
        return self.block.dynamic(name, key, dtype)

    def local(self, _: int, __: int, name: str, key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        """The thread's own array of that declaration."""
        if key not in self.locals:
            storage = Storage("local", ("local", self.block.index, self.number, key), dtype.itemsize)
            self.locals[key] = Array(name, self.block.filled(shape, dtype), storage)
        return self.locals[key]


def updated(op: str, old: Any, value: Any, compare: Any) -> Any:
    """What an atomic operation leaves behind."""
    if op == "add":
        return old + value
    if op == "sub":
        return old - value
    if op == "max":
        return max(old, value)
    if op == "min":
        return min(old, value)
    if op == "and":
        return old & value
    if op == "or":
        return old | value
    if op == "xor":
        return old ^ value
    if op == "cas":
        return value if old == compare else old
    return value
