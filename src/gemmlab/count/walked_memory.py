"""Addresses and requests, one at a time: the part of the enumerator that knows where elements lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gemmlab.formats import bits_of
from gemmlab.kernels import WARP, Kernel
from gemmlab.problem import Gemm
from gemmlab.units import ceil_div

SECTOR_BITS = 256
Place = Callable[[int, int], int]  # bit address of the element with those two indices


class Fetch(NamedTuple):
    """How a tile of one operand is read."""

    name: str
    place: Place
    bits: int
    vector: int  #: elements of one lane's load
    by_rows: bool  #: neighbours along the second index stand side by side


class Matrix(NamedTuple):
    """An m x n matrix in memory, in bits."""

    base: int  #: start of the first batch entry, which decides alignment
    pitch: int  #: elements between rows
    bits: int
    first: int  #: address of the first element of the entry being walked


class Memory:
    """Where one multiplication's operands lie, and what has been asked for; `before` is where its operands begin."""

    def __init__(self, problem: Gemm, kernel: Kernel, before: tuple[int, int, int]) -> None:
        self.problem, self.kernel, self.before = problem, kernel, before
        self.seen: Counter[str] = Counter()
        self.sparse = problem.structure == "sparse_2_4"
        self.a_bits, self.b_bits = bits_of(problem.a_format), bits_of(problem.b_format)
        self.a_transposed, self.b_transposed = (letter == "t" for letter in problem.layout)
        self.a_pitch = problem.lda
        a_rows = problem.a_stored[0]
        if self.sparse and self.a_transposed:
            a_rows //= 2
        elif self.sparse:
            self.a_pitch = ceil_div(problem.lda, 2)
        self.a_entry = a_rows * self.a_pitch * self.a_bits
        self.b_entry = problem.b_stored[0] * problem.ldb * self.b_bits
        self.entry = 0  # the batch entry being walked
        self.cuts: dict[tuple[int, int, int], list[list[tuple[int, int]]]] = {}

    @property
    def after(self) -> tuple[int, int, int]:
        """Where the next member of a group begins: bits of A, bits of B, elements of the outputs."""
        outputs = self.problem.m * self.problem.ldc
        return (self.before[0] + self.a_entry, self.before[1] + self.b_entry, self.before[2] + outputs)

    def a_place(self, row: int, at: int) -> int:
        """Bit address of A's element (row, at); `at` counts kept elements where A is 2:4 sparse."""
        line, column = (at, row) if self.a_transposed else (row, at)
        base = self.problem.a_offset_bytes * 8 + self.before[0] + self.entry * self.a_entry
        return base + (line * self.a_pitch + column) * self.a_bits

    def mirrored_place(self, row: int, at: int) -> int:
        """Bit address of A's element (at, row), which equals (row, at) in a symmetric A."""
        return self.a_place(at, row)

    def b_place(self, at: int, column: int) -> int:
        """Bit address of B's element (at, column)."""
        line, along = (column, at) if self.b_transposed else (at, column)
        base = self.problem.b_offset_bytes * 8 + self.before[1] + self.entry * self.b_entry
        return base + (line * self.problem.ldb + along) * self.b_bits

    def placed(self, name: str) -> Matrix:
        """C or D in that format."""
        bits = bits_of(name)
        base = self.problem.c_offset_bytes * 8 + self.before[2] * bits
        return Matrix(base, self.problem.ldc, bits, base + self.entry * self.problem.m * self.problem.ldc * bits)

    def plain(self, bits: int, copy: int) -> Matrix:
        """The copy of that number among gapless m x n matrices one after another: partial results, a residual."""
        m, n = self.problem.m, self.problem.n
        return Matrix(0, n, bits, copy * m * n * bits)

    def vector(self, bits: int, base: int, pitch: int, width: int) -> int:
        """Elements of one lane's load: the most, up to vector_bytes, that divide the tile's rows and lie aligned."""
        size = self.kernel.vector_bytes
        while size * 8 > bits:
            elements, rest = divmod(size * 8, bits)
            aligned = all((base + row * pitch * bits) % (size * 8) == 0 for row in (0, 1))
            if not rest and width % elements == 0 and aligned:
                return elements
            size //= 2
        return 1

    def requests(self, height: int, width: int, vector: int) -> list[list[tuple[int, int]]]:
        """Rows and columns that each warp's request of a height x width tile wants, in range or not."""
        key = (height, width, vector)
        if key not in self.cuts:
            self.cuts[key] = list(self.cut(height, width, vector))
        return self.cuts[key]

    def cut(self, height: int, width: int, vector: int) -> Iterator[list[tuple[int, int]]]:
        """Threads take `vector` consecutive elements of the tile each, all of them again until none is left."""
        if self.kernel.family == "tensor":
            yield from ([(row, column) for column in range(width)] for row in range(height))
            return
        threads, size = self.kernel.threads, height * width
        for done in range(0, size, threads * vector):
            for warp in range(0, threads, WARP):
                lanes = range(warp, min(warp + WARP, threads))
                wanted = [done + lane * vector + element for lane in lanes for element in range(vector)]
                yield [divmod(element, width) for element in wanted if element < size]

    def load_tile(self, fetch: Fetch, inside: tuple[range, range], shape: tuple[int, int]) -> None:
        """A tile of that shape that starts where the ranges `inside` do; elements with indices in both are read."""
        first, second = inside[0].start, inside[1].start
        rows, columns, place = *inside, fetch.place
        for request in self.requests(*(shape if fetch.by_rows else shape[::-1]), fetch.vector):
            pairs = request if fetch.by_rows else [(j, i) for i, j in request]
            wanted = [place(first + i, second + j) for i, j in pairs if first + i in rows and second + j in columns]
            self.ask(fetch.name, wanted, fetch.bits)

    def ask(self, name: str, addresses: list[int], bits: int) -> None:
        """One request of a warp for elements at those bit addresses, one for each thread and element asked for."""
        if not addresses:
            return
        kind = name.split(maxsplit=1)[0]
        first = {address // SECTOR_BITS for address in addresses}
        last = {(address + bits - 1) // SECTOR_BITS for address in addresses}
        self.seen[name] += len(addresses) * bits
        self.seen[f"{kind} elements"] += len(addresses)
        self.seen[f"{kind} requests"] += 1
        self.seen[f"{kind} sectors"] += len(first | last)

    def ask_packed(self, elements: int, bits: int) -> None:
        """One request for data that lies together from a sector's boundary on."""
        self.seen["load side"] += bits
        self.seen["load elements"] += elements
        self.seen["load requests"] += 1
        self.seen["load sectors"] += ceil_div(bits, SECTOR_BITS)
