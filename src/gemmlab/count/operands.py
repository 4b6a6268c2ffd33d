"""What the programs of one multiplication ask of each operand in global memory.

- A tile is read in the order it is stored, the threads' linear index along the stored row. `tiled` and `register`:
  each lane takes one element, or as many as a load of at most vector_bytes holds where base and rows are aligned to it.
  `tensor`: one request for each stored row of the tile (bulk and asynchronous copies fetch whole row segments).
- `naive`: for each k, a warp asks once for A and once for B; lanes that want the same element share it.
- C, D and a residual go by the same cut as tiles, one element a lane where a thread owns one output; with split_k they
  belong to the reduction, which walks the same tiles.
- A request touches the distinct 32-byte sectors from its first byte to its last; nothing out of range is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gemmlab.count.requests import Cut, Element, shared_requests, tile_requests
from gemmlab.count.residues import Histogram, combined, progression
from gemmlab.count.traffic import Traffic, asked, together
from gemmlab.count.visits import Span, Stride, Walk, starts
from gemmlab.formats import bits_of
from gemmlab.kernels import WARP, Kernel
from gemmlab.problem import Gemm
from gemmlab.units import ceil_div


class Operand(NamedTuple):
    """One stored matrix; distances in bits."""

    rows: int
    columns: int
    bits: int  #: of one element
    row_bits: int  #: between the starts of two stored rows
    offset_bits: int = 0  #: from a sector's boundary to the first element
    transposed: bool = False

    @property
    def entry_bits(self) -> int:
        """From one batch entry to the next: they are stored one after another."""
        return self.rows * self.row_bits


def stored_a(problem: Gemm, moved_bits: int = 0) -> Operand:
    """A as it lies in memory; a 2:4 sparse one by its kept half, along k. `moved_bits`: earlier members of a group."""
    bits = bits_of(problem.a_format)
    rows, columns = problem.a_stored
    pitch, transposed = problem.lda, problem.layout[0] == "t"
    if problem.structure == "sparse_2_4":
        rows, columns, pitch = (rows // 2, columns, pitch) if transposed else (rows, columns // 2, ceil_div(pitch, 2))
    return Operand(rows, columns, bits, pitch * bits, problem.a_offset_bytes * 8 + moved_bits, transposed)


def stored_b(problem: Gemm, moved_bits: int = 0) -> Operand:
    """B as it lies in memory."""
    bits = bits_of(problem.b_format)
    rows, columns = problem.b_stored
    offset = problem.b_offset_bytes * 8 + moved_bits
    return Operand(rows, columns, bits, problem.ldb * bits, offset, problem.layout[1] == "t")


def stored_output(problem: Gemm, format_name: str, moved_bits: int = 0) -> Operand:
    """C or D as it lies in memory."""
    bits = bits_of(format_name)
    return Operand(problem.m, problem.n, bits, problem.ldc * bits, problem.c_offset_bytes * 8 + moved_bits)


def cut_of(kernel: Kernel, operand: Operand, rows: int, columns: int) -> Cut:
    """How a stored tile of rows x columns is cut into requests."""
    if kernel.family == "tensor":
        return Cut(rows, columns, columns, columns)
    wide = lane_elements(kernel, operand, columns)
    return Cut(rows, columns, kernel.threads * wide, WARP * wide)


def cut_of_outputs(kernel: Kernel, operand: Operand, rows: int) -> Cut:
    """How a program's outputs are cut into requests: where a thread owns one output it moves that one."""
    if kernel.family in ("naive", "tiled"):
        return Cut(rows, kernel.block_n, kernel.threads, WARP)
    return cut_of(kernel, operand, rows, kernel.block_n)


def lane_elements(kernel: Kernel, operand: Operand, columns: int) -> int:
    """Elements that one lane loads at once: the widest load to which base, rows and the tile's width are aligned."""
    width = kernel.vector_bytes * 8
    while width > operand.bits:
        whole = width % operand.bits == 0 and columns % (width // operand.bits) == 0
        if whole and operand.offset_bits % width == 0 and operand.row_bits % width == 0:
            return width // operand.bits
        width //= 2
    return 1


def sides(total: int, block: int) -> Iterator[tuple[int, range]]:
    """In-range length of the tiles along one axis, and which tiles have it: the whole ones, then the ragged last."""
    whole, rest = divmod(total, block)
    if whole:
        yield block, range(whole)
    if rest:
        yield rest, range(whole, whole + 1)


def entries(operand: Operand, batch: int) -> Histogram:
    """Starts of the batch entries."""
    return progression(operand.entry_bits, batch, operand.offset_bits)


def a_traffic(problem: Gemm, kernel: Kernel, operand: Operand, span: Span) -> Traffic:
    """A's tiles over one span of steps, once for every column of tiles."""
    walk = Walk(problem.m, problem.k, kernel.block_m, kernel.block_k)
    across = ceil_div(problem.n, kernel.block_n)
    kept = 2 if problem.structure == "sparse_2_4" else 1
    transposed = operand.transposed != span.mirrored
    along_m, along_k = (operand.bits, operand.row_bits) if transposed else (operand.row_bits, operand.bits)
    block_k = kernel.block_k // kept
    shape = (block_k, kernel.block_m) if transposed else (kernel.block_m, block_k)
    cut = cut_of(kernel, operand, *shape)
    stride = Stride(kernel.block_m * along_m, block_k * along_k)
    parts = []
    for height, blocks in sides(problem.m, kernel.block_m):
        for width, _ in sides(problem.k // kept, block_k):
            visits = starts(walk, span, blocks, stride, whole_steps=width == block_k)
            rows, columns = (width, height) if transposed else (height, width)
            requests = tile_requests(cut, rows, columns, operand.row_bits, operand.bits)
            at = combined(visits, entries(operand, problem.batch))
            parts.append(asked(requests, at, height * width, operand.bits, across))
    return together(parts)


def b_traffic(problem: Gemm, kernel: Kernel, operand: Operand, span: Span) -> Traffic:
    """B's tiles over one span of steps, once for every row of tiles that visits the step."""
    walk = Walk(problem.m, problem.k, kernel.block_m, kernel.block_k)
    along_k, along_n = (operand.bits, operand.row_bits) if operand.transposed else (operand.row_bits, operand.bits)
    shape = (kernel.block_n, kernel.block_k) if operand.transposed else (kernel.block_k, kernel.block_n)
    cut = cut_of(kernel, operand, *shape)
    stride = Stride(0, kernel.block_k * along_k)  # the same tile of B, whichever row of tiles asks for it
    parts = []
    for depth, _ in sides(problem.k, kernel.block_k):
        visits = starts(walk, span, range(walk.blocks), stride, whole_steps=depth == kernel.block_k)
        visits = combined(visits, entries(operand, problem.batch))
        for width, columns in sides(problem.n, kernel.block_n):
            step = kernel.block_n * along_n
            at = combined(visits, progression(step, len(columns), columns.start * step))
            rows, length = (width, depth) if operand.transposed else (depth, width)
            requests = tile_requests(cut, rows, length, operand.row_bits, operand.bits)
            parts.append(asked(requests, at, depth * width, operand.bits))
    return together(parts)


def naive_traffic(problem: Gemm, kernel: Kernel, operand: Operand, span: Span, of_a: bool) -> Traffic:
    """Requests of threads that walk k by themselves: for each k one element of A (or of B) a thread."""
    walk = Walk(problem.m, problem.k, kernel.block_m, 1)
    transposed = operand.transposed != (span.mirrored and of_a)
    across_rows = transposed == of_a  # neighbouring threads' elements stand side by side in a stored row
    apart, along_k = (operand.bits, operand.row_bits) if across_rows else (operand.row_bits, operand.bits)
    cut = Cut(kernel.block_m, kernel.block_n, kernel.threads, WARP)
    stride = Stride(kernel.block_m * apart if of_a else 0, along_k)
    at_entries = entries(operand, problem.batch)
    parts = []
    for height, blocks in sides(problem.m, kernel.block_m):
        visits = starts(walk, span, blocks, stride, whole_steps=True)
        for width, columns in sides(problem.n, kernel.block_n):
            requests = shared_requests(cut, height, width, Element(apart, operand.bits, of_a))
            step = 0 if of_a else kernel.block_n * apart
            at = combined(visits, progression(step, len(columns), columns.start * step))
            parts.append(asked(requests, combined(at, at_entries), height * width, operand.bits))
    return together(parts)


def output_traffic(problem: Gemm, kernel: Kernel, operand: Operand, copies: int) -> Traffic:
    """One pass over all tiles of an m x n matrix, `copies` of them stored one after another (batch, ranges of k)."""
    cut = cut_of_outputs(kernel, operand, kernel.block_m)
    parts = []
    for height, blocks in sides(problem.m, kernel.block_m):
        for width, columns in sides(problem.n, kernel.block_n):
            down, right = kernel.block_m * operand.row_bits, kernel.block_n * operand.bits
            at = combined(
                progression(down, len(blocks), blocks.start * down),
                progression(right, len(columns), columns.start * right),
            )
            requests = tile_requests(cut, height, width, operand.row_bits, operand.bits)
            parts.append(asked(requests, combined(at, entries(operand, copies)), height * width, operand.bits))
    return together(parts)


def bias_traffic(problem: Gemm, kernel: Kernel, operand: Operand) -> Traffic:
    """A row of n values: each thread with one output asks for its own, a program of other families for its tile's."""
    single = kernel.family in ("naive", "tiled")
    rows = kernel.block_m if single else 1
    cut = cut_of_outputs(kernel, operand, rows)
    parts = []
    for height, blocks in sides(problem.m, kernel.block_m):
        for width, columns in sides(problem.n, kernel.block_n):
            right = kernel.block_n * operand.bits
            at = progression(right, len(columns), columns.start * right)
            high = height if single else 1
            requests = (
                shared_requests(cut, high, width, Element(operand.bits, operand.bits, by_row=False))
                if single
                else tile_requests(cut, high, width, operand.row_bits, operand.bits)
            )
            parts.append(asked(requests, at, high * width, operand.bits, len(blocks) * problem.batch))
    return together(parts)
