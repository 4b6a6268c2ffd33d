"""Tiles as text and as numbers, and how a program's tile is shared among its warps."""

from __future__ import annotations

from gemmlab.record import GemmlabError

LARGEST_TILE = 1 << 16
HINT = "M x N x K of one program's tile, for example 128x256x64"


def parse_tile(text: str) -> tuple[int, int, int]:
    """`128x256x64` as (128, 256, 64); `16x16` has K = 0, which leaves the kernel's own.

    Raises GemmlabError naming the side that is no size.
    """
    parts = text.strip().lower().replace("×", "x").split("x")
    if len(parts) not in (2, 3):
        raise GemmlabError(f"tile `{text}` has {len(parts)} sides, not three", HINT)
    sides = []
    for name, part in zip("MNK", parts, strict=False):
        if not (part.isascii() and part.isdigit()):
            raise GemmlabError(f"tile `{text}`: {name} is `{part}`, not a whole number", HINT)
        sides.append(side_of_tile(f"tile `{text}`: {name}", int(part)))
    return (sides[0], sides[1], sides[2] if len(sides) == 3 else 0)


def side_of_tile(name: str, value: int) -> int:
    """The value, if it can be a side of a tile; raises GemmlabError naming it."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_TILE:
        raise GemmlabError(f"{name} is {value!r}; a side of a tile is a whole number from 1 to {LARGEST_TILE}", HINT)
    return value


def warp_grid(block_m: int, block_n: int, warps: int, step_m: int, step_n: int) -> tuple[int, int] | None:
    """How `warps` share a tile so that each one's part is squarest: (warp_m, warp_n), or None where none fits.

    Each part is a multiple of step_m x step_n, the instruction's outputs. Squarest means fewest operands for the same
    products, warp_m + warp_n; of two alike the wider is taken, since rows of C are stored along n.
    """
    if isinstance(warps, bool) or not isinstance(warps, int) or warps > 1024:
        return None
    parts = []
    for down in range(1, warps + 1):
        across = warps // down
        if warps % down or block_m % (down * step_m) or block_n % (across * step_n):
            continue
        warp_m, warp_n = block_m // down, block_n // across
        parts.append((warp_m + warp_n, warp_m, warp_n))
    return min(parts)[1:] if parts else None
