"""The same counts by walking every loop: programs, steps of k, warps, lanes, addresses. Slow, and plain to check.

It shares with the closed forms only what says which problem and which kernel: every address is computed, every sector
put into a set. Meant for sides of a few dozen at most.
"""

from __future__ import annotations

from collections import Counter

from gemmlab.count.walked_memory import Fetch, Matrix, Memory
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel, checked, program_tile
from gemmlab.problem import Gemm
from gemmlab.problem.epilogue import cost
from gemmlab.record import Count
from gemmlab.units import ceil_div

LOADED = ("load a", "load b", "load c", "load side", "load workspace")
STORED = ("store d", "store workspace")


def enumerated(problem: Gemm, kernel: Kernel) -> Count:
    """The Record's `count`, by walking; raises GemmlabError as `count` does."""
    checked(kernel, problem)
    total: Counter[str] = Counter()
    before = (0, 0, 0)
    for member in problem.members:
        walker = Walker(member, kernel, before)
        walker.walk()
        for name, value in walker.seen.items():
            total[name] += ceil_div(value, 8) if name in (*LOADED, *STORED, "shared load", "shared store") else value
        before = walker.after
    loads, stores = sum(total[name] for name in LOADED), sum(total[name] for name in STORED)
    return Count(
        flop=total["flop"],
        epilogue_flop=problem.epilogue_flop,
        global_load_elements=total["load elements"],
        global_load_bytes=loads,
        global_store_bytes=stores,
        compulsory_bytes=problem.compulsory_bytes,
        raw_bytes=loads,
        sectors_requested=total["load sectors"],
        store_sectors=total["store sectors"],
        shared_load_bytes=total["shared load"],
        shared_store_bytes=total["shared store"],
        register_load_elements=total["register elements"],
        intensity_flop_per_byte=total["flop"] / (loads + stores),
        padded_flop=total["padded flop"],
        programs=total["programs"],
        load_requests=total["load requests"],
        store_requests=total["store requests"],
        workspace_bytes=total["store workspace"],
    )


class Walker(Memory):
    """Walks the programs of one multiplication without groups."""

    def walk(self) -> None:
        """All batch entries, all programs, and the reduction over ranges of k where there are several."""
        down = ceil_div(self.problem.m, self.kernel.block_m)
        across = ceil_div(self.problem.n, self.kernel.block_n)
        for entry in range(self.problem.batch):
            self.entry = entry
            for identity in range(down * across * self.kernel.split_k):
                tile_m, tile_n, split = program_tile(identity, down, across, self.kernel)
                self.program(*self.tile(tile_m, tile_n), split)
            for identity in range(down * across if self.kernel.split_k > 1 else 0):
                tile_m, tile_n, _ = program_tile(identity, down, across, self.kernel)
                self.reduce(*self.tile(tile_m, tile_n))

    def tile(self, tile_m: int, tile_n: int) -> tuple[range, range]:
        """In-range rows and columns of an output tile."""
        block_m, block_n = self.kernel.block_m, self.kernel.block_n
        rows = range(tile_m * block_m, min((tile_m + 1) * block_m, self.problem.m))
        return rows, range(tile_n * block_n, min((tile_n + 1) * block_n, self.problem.n))

    def program(self, rows: range, columns: range, split: int) -> None:
        """One thread block, its range of k, and what it leaves behind."""
        kernel, k = self.kernel, self.problem.k
        self.seen["programs"] += 1
        steps = ceil_div(k, kernel.block_k)
        share = ceil_div(steps, kernel.split_k)
        for step in range(split * share, min((split + 1) * share, steps)):
            depth = range(step * kernel.block_k, min((step + 1) * kernel.block_k, k))
            meeting = sum(self.in_structure(row, at) for row in rows for at in depth)
            if not meeting:
                continue
            self.seen["flop"] += 2 * len(columns) * (meeting // 2 if self.sparse else meeting)
            if kernel.family == "naive":
                self.naive_step(rows, columns, depth)
            else:
                self.tile_step(rows, columns, depth)
        if kernel.split_k == 1:
            self.finish(rows, columns)
        else:
            self.output("store workspace", rows, columns, self.partial(split))

    def reduce(self, rows: range, columns: range) -> None:
        """One tile of the reduction: every partial result is read, then the epilogue runs."""
        for split in range(self.kernel.split_k):
            self.output("load workspace", rows, columns, self.partial(split))
        self.finish(rows, columns)

    def partial(self, split: int) -> Matrix:
        """The partial result of one range of k."""
        return self.plain(bits_of(self.problem.accumulate), split * self.problem.batch + self.entry)

    def in_structure(self, row: int, at: int) -> bool:
        """Whether that element of A takes part in products; of a 2:4 sparse A, whether it may."""
        if self.problem.structure == "triangular":
            return at <= row
        if self.problem.structure == "banded":
            return -self.problem.upper_band <= row - at <= self.problem.lower_band
        return True

    def above_diagonal(self, rows: range, depth: range) -> bool:
        """Whether a symmetric A's tile lies wholly in the half that is not stored."""
        return self.problem.structure == "symmetric" and all(at > row for row in rows for at in depth)

    def naive_step(self, rows: range, columns: range, depth: range) -> None:
        """Every thread in range multiplies one element of its row of A by one of its column of B, k after k."""
        for at in depth:
            self.seen["padded flop"] += 2 * self.kernel.block_m * self.kernel.block_n
            place = self.mirrored_place if self.above_diagonal(rows, depth) else self.a_place
            for lanes in self.requests(self.kernel.block_m, self.kernel.block_n, 1):
                outputs = [(rows.start + i, columns.start + j) for i, j in lanes]
                here = [(row, column) for row, column in outputs if row in rows and column in columns]
                self.ask("load a", [place(row, at) for row, _ in here], self.a_bits)
                self.ask("load b", [self.b_place(at, column) for _, column in here], self.b_bits)
                self.seen["register elements"] += 2 * len(here)

    def tile_step(self, rows: range, columns: range, depth: range) -> None:
        """Both tiles go to shared memory, and from there to the arithmetic."""
        kernel = self.kernel
        block_k = kernel.block_k // 2 if self.sparse else kernel.block_k
        kept = range(depth.start // 2, depth.stop // 2) if self.sparse else depth
        mirrored = self.above_diagonal(rows, depth)
        along_k = self.a_transposed == mirrored  # neighbours along k stand side by side
        vector = self.vector(self.a_bits, self.a_place(0, 0), self.a_pitch, block_k if along_k else kernel.block_m)
        fetch = Fetch("load a", self.mirrored_place if mirrored else self.a_place, self.a_bits, vector, along_k)
        self.load_tile(fetch, (rows, kept), (kernel.block_m, block_k))
        width = kernel.block_k if self.b_transposed else kernel.block_n
        vector = self.vector(self.b_bits, self.b_place(0, 0), self.problem.ldb, width)
        fetch = Fetch("load b", self.b_place, self.b_bits, vector, not self.b_transposed)
        self.load_tile(fetch, (depth, columns), (kernel.block_k, kernel.block_n))
        self.load_side(rows, columns, depth)
        self.compute(block_k)

    def load_side(self, rows: range, columns: range, depth: range) -> None:
        """Metadata and block scales of one step."""
        if self.sparse:
            self.ask_packed(0, 2 * (len(rows) * len(depth) // 2))
        scale = self.problem.scale
        if scale is not None:
            of_a = {(row // scale.block_m, at // scale.block_k) for row in rows for at in depth}
            of_b = {(at // scale.block_k, column // scale.block_n) for at in depth for column in columns}
            for blocks in (of_a, of_b):
                self.ask_packed(len(blocks), len(blocks) * bits_of(scale.format))

    def compute(self, block_k: int) -> None:
        """One step between shared memory, registers and arithmetic, padding and all; `block_k` kept elements."""
        kernel, seen = self.kernel, self.seen
        a_bits, b_bits = self.a_bits + (2 if self.sparse else 0), self.b_bits  # 2 bits say where each kept one stood
        seen["shared store"] += kernel.block_m * block_k * a_bits + kernel.block_k * kernel.block_n * b_bits
        seen["padded flop"] += 2 * kernel.block_m * kernel.block_n * block_k
        if kernel.family == "tensor":
            self.matrix_instructions(a_bits)
            return
        for _ in range(kernel.threads):
            seen["shared load"] += block_k * (kernel.thread_m * a_bits + kernel.thread_n * b_bits)
            seen["register elements"] += block_k * 2 * kernel.thread_m * kernel.thread_n

    def matrix_instructions(self, a_bits: int) -> None:
        """Fragments that warps read from shared memory, and the instructions they feed."""
        kernel, seen = self.kernel, self.seen
        mma_m, mma_n, mma_k = kernel.mma
        a_part, b_part = mma_m * (mma_k // 2 if self.sparse else mma_k), mma_k * mma_n
        for _ in range(0, kernel.block_k, mma_k):
            for _warp in range(kernel.warps if kernel.tiles_from == "registers" else 0):
                seen["shared load"] += kernel.warp_m // mma_m * a_part * a_bits
                seen["shared load"] += kernel.warp_n // mma_n * b_part * self.b_bits
            for _row in range(0, kernel.block_m, mma_m):
                for _column in range(0, kernel.block_n, mma_n):
                    if kernel.tiles_from == "shared":
                        seen["shared load"] += a_part * a_bits + b_part * self.b_bits
                    else:
                        seen["register elements"] += a_part + b_part

    def finish(self, rows: range, columns: range) -> None:
        """The epilogue of one tile: C and other operands are read, D is written."""
        problem = self.problem
        needs = cost(problem.epilogue)
        bits = bits_of(problem.c_format)
        if problem.beta:
            self.output("load c", rows, columns, self.placed(problem.c_format))
        for _ in range(needs.matrices):
            self.output("load side", rows, columns, self.plain(bits, self.entry))
        for _ in range(needs.rows):
            self.bias(rows, columns, bits)
        self.output("store d", rows, columns, self.placed(problem.d_format))

    def output(self, name: str, rows: range, columns: range, matrix: Matrix) -> None:
        """One tile of an m x n matrix is read or written, by one element a lane where a thread owns one output."""
        base, pitch, bits, first = matrix
        block_m, block_n = self.kernel.block_m, self.kernel.block_n
        single = self.kernel.family in ("naive", "tiled")
        vector = 1 if single else self.vector(bits, base, pitch, block_n)
        fetch = Fetch(name, lambda row, column: first + (row * pitch + column) * bits, bits, vector, True)
        self.load_tile(fetch, (rows, columns), (block_m, block_n))

    def bias(self, rows: range, columns: range, bits: int) -> None:
        """A row of n values: each thread of one output asks for its own, other programs for their tile's columns."""
        single = self.kernel.family in ("naive", "tiled")
        vector = 1 if single else self.vector(bits, 0, self.problem.n, self.kernel.block_n)
        fetch = Fetch("load side", lambda row, column: column * bits, bits, vector, True)
        height = self.kernel.block_m if single else 1
        self.load_tile(fetch, (rows if single else rows[:1], columns), (height, self.kernel.block_n))
