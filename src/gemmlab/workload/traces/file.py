"""The text of a trace file: found, unpacked, and refused where it is none."""

from __future__ import annotations

import contextlib
import importlib
import re
import zlib
from pathlib import Path
from typing import IO, Any

from gemmlab.record import GemmlabError
from gemmlab.workload.traces.foreign import refuse_binary

SUFFIXES = (".json", ".json.gz", ".json.zst")
HINT = "give what torch.profiler's export_chrome_trace wrote: a .json or .json.gz file"
AGAIN = "export it again, and wait until export_chrome_trace has returned"
NOT_BLANK = re.compile(rb"[^\s\0]")
GZIP = b"\x1f\x8b"
CHUNK = 1 << 20  # packed bytes at a time: some 15 times as many unpacked


def is_trace(path: str | Path) -> bool:
    """Whether a path names a trace file, by its ending or how it begins, or a folder that holds one.

    What is in it, only reading tells.
    """
    place = Path(path)
    if place.is_dir():
        return newest(place) is not None
    return place.name.lower().endswith(SUFFIXES) or (place.is_file() and begins_as_trace(place))


def begins_as_trace(place: Path) -> bool:
    """Whether a file of any name begins as a trace does."""
    try:
        with place.open("rb") as stream:
            start = stream.read(1 << 16)
    except OSError:
        return False
    if start.startswith(GZIP):
        with contextlib.suppress(zlib.error):
            start = zlib.decompressobj(wbits=31).decompress(start, 1 << 16)
    begun = start.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    return (begun == b"{" and b'"traceEvents"' in start) or (begun == b"[" and b'"ph"' in start)


def newest(folder: Path) -> Path | None:
    """The trace that was written last into a folder, as tensorboard_trace_handler fills one; None without traces.

    Without a file that is named as it names them, files that do not begin as a trace are passed over, unless there are
    no others: reading then tells what they are.
    """
    files = [each for each in folder.iterdir() if each.name.lower().endswith(SUFFIXES) and each.is_file()]
    found = [each for each in files if ".pt.trace.json" in each.name]
    found = found or [each for each in files if each.name.lower().endswith(".zst") or begins_as_trace(each)]
    return max(found or files, key=lambda each: (each.stat().st_mtime_ns, each.name), default=None)


def read_text(path: str | Path) -> tuple[Path, bytes | bytearray]:
    """The file that a path means, and its JSON text as bytes.

    Raises GemmlabError for what cannot be read, is cut off while packed, is empty, or is no text.
    """
    place = Path(path)
    try:
        if place.is_dir():
            found = newest(place)
            if found is None:
                raise GemmlabError(
                    f"{path} is a folder without traces", "give a folder with .pt.trace.json files in it"
                )
            place = found
        with place.open("rb", buffering=0) as stream:  # a buffer would hold the text a second time
            start = stream.read(512)
            stream.seek(0)
            text = unpack(place, start, stream)
    except OSError as error:
        raise GemmlabError(f"cannot read {path}: {error.strerror or error}", HINT) from None
    if text[:2] in (b"\xff\xfe", b"\xfe\xff"):  # a shell's redirection on Windows
        text = bytes(text).decode("utf-16", "replace").encode()
    if text[:3] == b"\xef\xbb\xbf":
        text = text[3:]
    if not NOT_BLANK.search(text):
        raise GemmlabError(f"{place} is empty", AGAIN)
    refuse_binary(place, bytes(text[:512]))
    return place, text


def unpack(place: Path, start: bytes, stream: IO[bytes]) -> bytes | bytearray:
    """The bytes of an open file, whatever its name says of how it is packed."""
    if start.startswith(GZIP):
        return gunzip(place, stream)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return unzstd(place, stream)
    return stream.read()


def gunzip(place: Path, stream: IO[bytes]) -> bytearray:
    """All that a gzip file holds; raises GemmlabError where it ends early or is damaged, and after how much."""
    text = bytearray()
    unpacker = zlib.decompressobj(wbits=31)
    try:
        while piece := stream.read(CHUNK):
            while piece:
                text += unpacker.decompress(piece)
                piece = unpacker.unused_data.lstrip(b"\0")  # a further member, or padding
                if piece:
                    unpacker = zlib.decompressobj(wbits=31)
    except zlib.error as error:
        raise GemmlabError(
            f"{place} is damaged after {len(text):,} bytes of its text: {error}", f"`gunzip -t {place}` tells more"
        ) from None
    if not unpacker.eof:
        raise GemmlabError(f"{place} is cut off: the packed text ends after {len(text):,} bytes of it", AGAIN)
    return text


def unzstd(place: Path, stream: IO[bytes]) -> bytes:
    """All that a zstd file holds, by what this Python has for it."""
    try:
        module: Any = importlib.import_module("compression.zstd")  # since Python 3.14
    except ImportError:
        raise GemmlabError(f"{place} is packed by zstd, which this Python does not read", f"zstd -d {place}") from None
    try:
        return bytes(module.decompress(stream.read()))
    except (module.ZstdError, EOFError) as error:
        raise GemmlabError(f"{place} is cut off or damaged: {error}", f"`zstd -t {place}` tells more") from None
