"""What one operand's requests add up to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gemmlab.count.requests import Requests, sectors_of
from gemmlab.count.residues import SECTOR_BITS, Histogram, combined
from gemmlab.units import ceil_div


class Traffic(NamedTuple):
    """Exact totals, before any cache."""

    elements: int = 0
    bits: int = 0
    requests: int = 0
    sectors: int = 0

    @property
    def bytes(self) -> int:
        """Bytes asked for, the last one whole."""
        return ceil_div(self.bits, 8)


def together(parts: Iterable[Traffic]) -> Traffic:
    """Their sum, field by field."""
    sums = [sum(field) for field in zip(*parts, strict=True)]
    return Traffic(*sums) if sums else Traffic()


def asked(requests: Iterable[Requests], starts: Histogram, elements: int, bits: int, times: int = 1) -> Traffic:
    """Traffic of a tile whose first element starts at `starts`, the whole repeated `times`.

    `elements` of `bits` each are asked for by the threads of one tile, in those requests.
    """
    tiles = sum(starts.values()) * times
    if not tiles:
        return Traffic()
    calls = sectors = 0
    for pieces, shifts in requests:
        calls += sum(shifts.values())
        sectors += sum(visits * sectors_of(pieces, at) for at, visits in combined(starts, shifts).items())
    return Traffic(tiles * elements, tiles * elements * bits, tiles * calls, times * sectors)


def packed(tiles: int, elements: int, bits_of_tile: int) -> Traffic:
    """Traffic of data stored tile by tile at sector boundaries, one request a tile: block scales and 2:4 metadata."""
    return Traffic(tiles * elements, tiles * bits_of_tile, tiles, tiles * ceil_div(bits_of_tile, SECTOR_BITS))
