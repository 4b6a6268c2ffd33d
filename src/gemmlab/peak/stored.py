"""How an operand lies in memory, read off a tensor's strides: what its rows run along, and whether on the road."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmlab.record import GemmlabError

ROAD_BYTES = 16  # the copy engine's: base addresses and rows
MOST_SIDE = (1 << 31) - (1 << 12)  # its coordinates are 32 bits, the end of a tile's that reaches past a side too

#: our names of torch's types that are multiplied here
FORMATS = {
    "torch.float32": "float32",
    "torch.float16": "float16",
    "torch.bfloat16": "bfloat16",
    "torch.float8_e4m3fn": "float8_e4m3fn",
    "torch.float8_e5m2": "float8_e5m2",
}


class Stored(msgspec.Struct, frozen=True):
    """A matrix (rows, columns) of an operand, its rows contiguous and `ld` elements apart, or a batch of such."""

    address: int
    rows: int
    columns: int
    ld: int
    element_bytes: int
    along_k: bool  #: rows run along k; else along m or n
    batch: int = 1  #: matrices of these sides
    step: int = 0  #: elements from one to the next; 0: they are the same one

    @property
    def on_road(self) -> bool:
        """Whether the copy engine can fetch from it."""
        starts = (self.address, self.ld * self.element_bytes, self.step * self.element_bytes)
        return all(start % ROAD_BYTES == 0 for start in starts)

    @property
    def own(self) -> int:
        """Matrices that differ: all of a batch, or one."""
        return self.batch if self.step else 1

    @property
    def written_on_road(self) -> bool:
        """Whether the copy engine can write it and nothing else: it rounds a row's last bytes up to 16, with zeros."""
        return self.on_road and self.columns * self.element_bytes % ROAD_BYTES == 0


def stored(tensor: Any, k_axis: int) -> Stored | None:
    """The matrix that a two-dimensional tensor is; None where neither axis is contiguous, or rows overlap.

    A tensor of three axes is a batch, the first one's. A side of one element may have any stride. Where both readings
    hold, rows run along k.
    """
    sides, strides = tuple(tensor.shape[-2:]), tuple(tensor.stride()[-2:])
    batch = tensor.shape[0] if tensor.dim() == 3 else 1
    step = tensor.stride(0) if batch > 1 else 0
    for axis in (k_axis, 1 - k_axis):
        columns, rows = sides[axis], sides[1 - axis]
        ld = strides[1 - axis] if rows > 1 else columns
        if (columns == 1 or strides[axis] == 1) and ld >= columns:
            return Stored(tensor.data_ptr(), rows, columns, ld, tensor.element_size(), axis == k_axis, batch, step)
    return None


def format_of(tensor: Any) -> str:
    """Our name of a tensor's type; raises GemmlabError for a type that is not multiplied here."""
    name = str(tensor.dtype)
    if name not in FORMATS:
        raise GemmlabError(f"a tensor of {name}", f"one of {', '.join(FORMATS)}")
    return FORMATS[name]
