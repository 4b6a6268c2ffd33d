"""Number formats by their ml_dtypes names: their widths, special codes and storage; encode, decode and round."""

from typing import TYPE_CHECKING, Any

from gemmlab.formats.format import Format
from gemmlab.formats.scalar import ROUNDINGS, decode, encode, round_to
from gemmlab.formats.table import bits_of, get, names, storage_bytes

if TYPE_CHECKING:
    from gemmlab.formats.array import decode_array, dtype_of, encode_array, round_array
    from gemmlab.formats.tfloat32 import float32_to_tfloat32, tfloat32_to_float32

__all__ = [
    "ROUNDINGS",
    "Format",
    "bits_of",
    "decode",
    "decode_array",
    "dtype_of",
    "encode",
    "encode_array",
    "float32_to_tfloat32",
    "get",
    "names",
    "round_array",
    "round_to",
    "storage_bytes",
    "tfloat32_to_float32",
]


def __getattr__(name: str) -> Any:
    """The array versions, which load numpy, only when somebody asks for them."""
    if name in ("encode_array", "decode_array", "round_array", "dtype_of"):
        from gemmlab.formats import array

        return getattr(array, name)
    if name in ("float32_to_tfloat32", "tfloat32_to_float32"):
        from gemmlab.formats import tfloat32

        return getattr(tfloat32, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
