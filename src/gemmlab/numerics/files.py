"""Matrices out of files: NumPy's .npy, and single tensors of .safetensors."""

from __future__ import annotations

import io
import json
import math
import os
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from gemmlab import formats
from gemmlab.formats.array import code_type
from gemmlab.numerics.operands import typed
from gemmlab.record import GemmlabError, unknown_name

SUFFIX = ".safetensors"
E5M2 = b"'descr': '<f1'"
#: what numpy raises for a file that is none, or whose header lies
BROKEN = (ValueError, TypeError, OverflowError, EOFError, SyntaxError, MemoryError, TokenError)
LARGEST_HEADER = 100_000_000  #: bytes, the limit of the safetensors library itself

#: element types of safetensors (its README, "Format") by our names
TENSOR_FORMATS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
}


def load(where: str, format: str | None = None, known: tuple[str, ...] = (), flag: str = "--a-format") -> Any:
    """The array in `FILE.npy`, or the tensor in `FILE.safetensors:TENSOR`, as `operand` takes it.

    Files of ml_dtypes' types hold bytes alone: they are read as `format`, else as the one of the formats `known` that
    has their size. Raises GemmlabError naming the file and `flag`, which would have named the format.
    """
    path, colon, name = where.rpartition(f"{SUFFIX}:")
    if colon:
        return load_tensor(f"{path}{SUFFIX}", name)
    if where.endswith(SUFFIX):
        return load_tensor(where, "")
    return untyped(load_npy(where), where, format, known, flag)


def load_npy(path: str) -> npt.NDArray[Any]:
    """The array of a .npy file; raises GemmlabError."""
    try:
        with open(path, "rb") as file:
            found = np.lib.format.read_array(readable(file), allow_pickle=False)
    except OSError as error:
        raise GemmlabError(f"cannot read `{path}`: {error.strerror or error}", "a .npy or .safetensors file") from None
    except BROKEN as error:
        said = str(error).split("\n")[0]
        raise GemmlabError(
            f"`{path}` is no .npy file that can be read: {said}", "numpy.save('x.npy', x), or FILE.safetensors:TENSOR"
        ) from None
    return np.asarray(found)


def readable(file: BinaryIO) -> BinaryIO:
    """The file; of float8_e5m2, which numpy.save writes as `<f1` and numpy.load refuses, with its elements as bytes."""
    start = file.read(128)
    file.seek(0)
    if E5M2 not in start:
        return file
    return io.BytesIO(file.read().replace(E5M2, b"'descr': '|V1'", 1))


def untyped(
    array: npt.NDArray[Any], where: str, format: str | None, known: tuple[str, ...], flag: str
) -> npt.NDArray[Any]:
    """An array whose elements are bytes without a type, as codes of the format named; any other as it is."""
    if array.dtype.kind != "V":
        return array
    size = array.dtype.itemsize
    names = [format] if format else [each for each in known if code_type(formats.get(each)).itemsize == size]
    if array.dtype.fields or len(names) != 1 or code_type(formats.get(names[0])).itemsize != size:
        held = f"`{where}` holds elements of {size} bytes" + (" without a type" if not array.dtype.fields else "")
        choices = " or ".join(names) if len(names) > 1 else "the format that they are of"
        raise GemmlabError(
            f"{held}; {format} has {code_type(formats.get(format)).itemsize}" if format else held,
            f"{flag} {choices}: numpy.save keeps no name of ml_dtypes' types",
        )
    return typed(array.view(code_type(formats.get(names[0]))), names[0])


class Tensor(NamedTuple):
    """One entry of a safetensors header."""

    kind: str
    shape: tuple[int, ...]
    start: int  #: of its bytes in the file
    stop: int


def load_tensor(path: str, name: str) -> npt.NDArray[Any]:
    """One tensor of a .safetensors file, the only one where no name is given; raises GemmlabError."""
    tensors = header(path)
    if not name and len(tensors) == 1:
        name = next(iter(tensors))
    if not name:
        some = ", ".join(list(tensors)[:4]) + (", ..." if len(tensors) > 4 else "")
        raise GemmlabError(f"`{path}` has {len(tensors)} tensors: {some or 'none'}", f"{path}:TENSOR names one")
    if name not in tensors:
        raise unknown_name(f"tensor of {path}", name, tensors)
    found = tensors[name]
    if found.kind not in TENSOR_FORMATS:
        raise unknown_name(f"element type of tensor {name}", found.kind, TENSOR_FORMATS)
    kind = np.dtype(TENSOR_FORMATS[found.kind]) if found.kind[0] in "IU" else None
    codes = kind or code_type(formats.get(TENSOR_FORMATS[found.kind]))
    count = math.prod(found.shape)
    if found.stop - found.start != count * codes.itemsize:
        shape = "x".join(map(str, found.shape)) or "a number"
        raise GemmlabError(
            f"tensor {name} of `{path}` has {found.stop - found.start} bytes, {shape} of {found.kind} needs "
            f"{count * codes.itemsize}",
            "the file is damaged",
        )
    raw = np.fromfile(path, codes.newbyteorder("<"), count, offset=found.start)
    try:
        raw = raw.reshape(found.shape)
    except (ValueError, OverflowError):  # zeros beside sides, or more of them, than an array may have
        raise damaged(path, f"tensor {name} has a shape that no array has") from None
    return raw.astype(codes) if kind is not None else typed(raw.astype(codes), TENSOR_FORMATS[found.kind])


def header(path: str) -> dict[str, Tensor]:
    """The tensors of a .safetensors file by name; raises GemmlabError.

    Format: 8 bytes with the length of the header, little endian; the header, JSON; then the data that its offsets
    are in (safetensors README, "Format").
    """
    try:
        size = os.stat(path).st_size
        with Path(path).open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, LARGEST_HEADER):
                raise damaged(path, f"its first 8 bytes announce a header of {length} bytes, it has {size}")
            told = json.loads(file.read(length))
    except OSError as error:
        raise GemmlabError(f"cannot read `{path}`: {error.strerror or error}", "FILE.safetensors:TENSOR") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, a number of thousands of digits
        raise damaged(path, f"its header is no JSON: {error}") from None
    if not isinstance(told, dict):
        raise damaged(path, "its header names no tensors")
    told.pop("__metadata__", None)
    return {name: entry(path, name, each, 8 + length, size) for name, each in told.items()}


def entry(path: str, name: str, told: Any, data: int, size: int) -> Tensor:
    """One tensor's entry; raises GemmlabError where it contradicts the file."""
    try:
        kind, shape, (first, stop) = told["dtype"], tuple(told["shape"]), told["data_offsets"]
        whole = isinstance(kind, str) and all(type(n) is int and n >= 0 for n in (*shape, first, stop))
    except (KeyError, TypeError, ValueError):
        whole = False
    if not whole or not first <= stop <= size - data:
        raise damaged(path, f"tensor {name} lies outside of it")
    return Tensor(kind, shape, data + first, data + stop)


def damaged(path: str, why: str) -> GemmlabError:
    """The error for a file that is none of safetensors."""
    return GemmlabError(f"`{path}` is no safetensors file: {why}", "safetensors.numpy.save_file writes one")


def npy_bytes(array: npt.NDArray[Any]) -> bytes:
    """What numpy.save writes of an array; ml_dtypes' types become bytes without a name."""
    held = io.BytesIO()
    given = np.ascontiguousarray(array)
    given = given.view("V1") if given.dtype.str.endswith("f1") else given  # as all others: numpy.load refuses `<f1`
    np.lib.format.write_array(held, given, allow_pickle=False)
    return held.getvalue()
