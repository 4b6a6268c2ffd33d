"""Scale factors that stand beside narrow operands, one for each block of elements."""

from __future__ import annotations

import msgspec

from gemmlab.formats import bits_of, storage_bytes
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div


class BlockScale(msgspec.Struct, frozen=True):
    """Scale factors of A and B: a block spans block_k elements of k and block_m rows of A, or block_n columns of B.

    MX formats scale 32 elements of k by a float8_e8m0fnu (OCP Microscaling Formats 1.0); DeepSeek-V3 scales 1x128 of A
    and 128x128 of B by a float32. Raises GemmlabError for an unknown format or a block without elements.
    """

    format: str = "float8_e8m0fnu"
    block_k: int = 32  #: elements of k that share a scale
    block_m: int = 1  #: rows of A that share a scale
    block_n: int = 1  #: columns of B that share a scale

    def __post_init__(self) -> None:
        bits_of(self.format)
        for name in ("block_k", "block_m", "block_n"):
            side = getattr(self, name)
            if type(side) is not int or side < 1:
                raise GemmlabError(f"{name}={side!r} of a block scale is not a size", "a whole number, at least 1")

    @classmethod
    def parse(cls, text: str) -> BlockScale:
        """`float8_e8m0fnu/32`, or `float32/1x128x128` for blocks of m, n, k; raises GemmlabError."""
        name, slash, block = text.partition("/")
        try:
            sides = [int(side) for side in block.split("x")] if slash else [32]
        except ValueError:
            sides = []
        if len(sides) not in (1, 3):
            raise GemmlabError(
                f"block scale `{text}` is neither FORMAT/K nor FORMAT/MxNxK",
                "for example float8_e8m0fnu/32, or float32/1x128x128",
            )
        m, n, k = sides if len(sides) == 3 else (1, 1, sides[0])
        return cls(format=name, block_k=k, block_m=m, block_n=n)

    def __str__(self) -> str:
        """The form that `parse` reads."""
        if self.block_m == self.block_n == 1:
            return f"{self.format}/{self.block_k}"
        return f"{self.format}/{self.block_m}x{self.block_n}x{self.block_k}"

    def count(self, m: int, n: int, k: int) -> int:
        """Scales of A (m, k) and B (k, n) together; a block that a matrix does not fill has its scale all the same."""
        along_k = ceil_div(k, self.block_k)
        return (ceil_div(m, self.block_m) + ceil_div(n, self.block_n)) * along_k

    def bytes(self, m: int, n: int, k: int) -> int:
        """Bytes of the scales of A (m, k) and B (k, n)."""
        return storage_bytes(self.format, self.count(m, n, k))
