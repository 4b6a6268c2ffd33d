"""How a tile is cut into the load and store requests of warps, and how many 32-byte sectors a request touches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import lcm
from typing import NamedTuple

from gemmlab.count.residues import SECTOR_BITS, Histogram, progression

Segment = tuple[int, int, int]  # row of the tile, first column, column past the last
Pieces = tuple[tuple[int, int], ...]  # (bits from the request's start, bits), ascending


class Cut(NamedTuple):
    """A thread's linear index runs over `columns` first; `elements` go out a pass, `request` of them a warp."""

    rows: int
    columns: int
    elements: int  #: of all threads in one pass
    request: int  #: of one warp in one pass


class Element(NamedTuple):
    """What a thread asks for: neighbouring rows' (else columns') elements stand `apart` bits from each other."""

    apart: int
    bits: int
    by_row: bool


class Requests(NamedTuple):
    """Requests that are alike but for where they start, relative to the tile's first element."""

    pieces: Pieces
    starts: Histogram


def sectors_of(pieces: Pieces, start: int) -> int:
    """Distinct sectors of one request that starts `start` bits past a sector's first."""
    total, last = 0, -1
    for position, bits in pieces:
        first, end = (start + position) // SECTOR_BITS, (start + position + bits - 1) // SECTOR_BITS
        total += end - max(first, last + 1) + 1
        last = end
    return total


def warps(cut: Cut, rows: int, columns: int) -> Iterator[tuple[list[Segment], int, int]]:
    """Each request's in-range segments, how often it repeats down the tile, and rows between repeats.

    `rows` and `columns` of the tile are in range; a request without an in-range element is not made. The cut repeats
    after `period` rows, so whole periods are given once.
    """
    size = cut.rows * cut.columns
    even = cut.elements % cut.request == 0
    period = min(cut.rows, lcm(cut.request if even else cut.elements, cut.columns) // cut.columns)
    whole, rest = divmod(rows, period)
    edges = list(request_edges(cut, period * cut.columns, size))
    for depth, times in ((period, whole), (rest, 1 if rest else 0)):
        for first, last in edges if times else ():
            segments = cut_segments(cut.columns, first, last, depth, columns)
            if segments:
                yield shifted(segments, whole * period if depth < period else 0), times, period


def request_edges(cut: Cut, until: int, size: int) -> Iterator[tuple[int, int]]:
    """First and past-last linear element of each request that begins before `until`."""
    for base in range(0, until, cut.elements):
        for first in range(base, min(base + cut.elements, until), cut.request):
            yield first, min(first + cut.request, base + cut.elements, size)


def cut_segments(width: int, first: int, last: int, rows: int, columns: int) -> list[Segment]:
    """Linear elements first..last of a tile that is `width` wide as row segments, those out of range left out."""
    segments = []
    for row in range(first // width, min(rows, (last - 1) // width + 1)):
        low, high = max(first - row * width, 0), min(last - row * width, columns)
        if low < high:
            segments.append((row, low, high))
    return segments


def shifted(segments: list[Segment], rows: int) -> list[Segment]:
    """The same segments that many rows further down."""
    return [(row + rows, low, high) for row, low, high in segments] if rows else segments


@lru_cache(maxsize=4096)
def tile_requests(cut: Cut, rows: int, columns: int, row_bits: int, bits: int) -> tuple[Requests, ...]:
    """Requests for the in-range part of a tile of elements of `bits`, its rows row_bits apart in memory."""
    alike: dict[Pieces, Histogram] = {}
    for segments, times, period in warps(cut, rows, columns):
        start = segments[0][0] * row_bits + segments[0][1] * bits
        pieces = tuple((row * row_bits + low * bits - start, (high - low) * bits) for row, low, high in segments)
        note(alike, pieces, progression(period * row_bits, times, start))
    return tuple(Requests(pieces, starts) for pieces, starts in alike.items())


@lru_cache(maxsize=4096)
def shared_requests(cut: Cut, rows: int, columns: int, element: Element) -> tuple[Requests, ...]:
    """Requests of threads that own one output each for one element of A by row, or of B by column.

    Lanes of one row ask for the same element of A (lanes of one column for the same of B) and get it from one place.
    """
    alike: dict[Pieces, Histogram] = {}
    for segments, times, period in warps(cut, rows, columns):
        apart, bits, by_row = element
        wanted = (
            {row for row, _, _ in segments} if by_row else {c for _, low, high in segments for c in range(low, high)}
        )
        order = sorted(wanted)
        start = order[0] * apart
        pieces = tuple((index * apart - start, bits) for index in order)
        note(alike, pieces, progression(period * apart if by_row else 0, times, start))
    return tuple(Requests(pieces, starts) for pieces, starts in alike.items())


def note(alike: dict[Pieces, Histogram], pieces: Pieces, starts: Histogram) -> None:
    """Add the starts of requests with these pieces."""
    histogram = alike.setdefault(pieces, {})
    for residue, times in starts.items():
        histogram[residue] = histogram.get(residue, 0) + times
