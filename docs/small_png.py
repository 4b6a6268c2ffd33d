"""A browser's picture in 256 colours: a third of its bytes, with nothing installed but NumPy."""

from __future__ import annotations

import struct
import zlib

import numpy as np


def read_png(data: bytes) -> np.ndarray:
    """The pixels of a browser's picture, (height, width, 3)."""
    at, width, height, channels, packed = 8, 0, 0, 3, b""
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            channels = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    pixels = np.zeros((height, width, channels), np.uint8)
    above = np.zeros((width, channels), np.int64)
    for y in range(height):
        above = pixels[y] = unfiltered(rows[y, 0], rows[y, 1:].reshape(width, channels), above)
    return pixels[:, :, :3]


def unfiltered(kind: int, row: np.ndarray, above: np.ndarray) -> np.ndarray:
    """One row of a PNG from the difference that is stored: none, left, above, mean, or Paeth's."""
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row, axis=0, dtype=np.uint8)
    if kind == 2:
        return row + above.astype(np.uint8)
    found = np.zeros(row.shape, np.uint8)
    left, corner = [0] * row.shape[1], [0] * row.shape[1]
    over, given = above.tolist(), row.tolist()
    for x, each in enumerate(given):
        now = []
        for c, value in enumerate(each):
            a, b, d = left[c], over[x][c], corner[c]
            near = (a + b) // 2
            if kind == 4:
                pa, pb, pd = abs(b - d), abs(a - d), abs(a + b - 2 * d)
                near = a if pa <= pb and pa <= pd else b if pb <= pd else d
            now.append((value + near) & 255)
        found[x], left, corner = now, now, over[x]
    return found


def small_png(pixels: np.ndarray) -> bytes:
    """The same picture in its 256 commonest colours, every other one as the nearest of them."""
    height, width, _ = pixels.shape
    codes = pixels.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    colours, where, often = np.unique(codes, return_inverse=True, return_counts=True)
    kept = colours[np.argsort(often)[::-1][:256]]
    parts = lambda c: np.stack([c >> 16, c >> 8 & 255, c & 255], -1).astype(np.float32)  # noqa: E731
    palette = parts(kept)
    nearest = np.concatenate(
        [
            ((parts(colours[i : i + 512])[:, None] - palette[None]) ** 2).sum(-1).argmin(1)
            for i in range(0, len(colours), 512)
        ]
    ).astype(np.uint8)
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = nearest[where.reshape(height, width)]

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        + chunk(b"PLTE", palette.astype(np.uint8).tobytes())
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + chunk(b"IEND", b"")
    )
