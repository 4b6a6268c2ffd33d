"""float32 words to tfloat32 and back: the same word, its low 13 bits rounded away."""

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.formats.scalar import ROUNDINGS
from gemmlab.formats.table import get
from gemmlab.record import GemmlabError, unknown_name

TFLOAT32 = get("tfloat32")
PADDING = np.uint32((1 << TFLOAT32.pad_bits) - 1)
HALF = np.uint32(1 << (TFLOAT32.pad_bits - 1))
SIGN = np.uint32(1 << 31)
INFINITE = np.uint32(0xFF << 23)


def float32_to_tfloat32(values: npt.NDArray[np.float32], rounding: str = "rna") -> npt.NDArray[np.float32]:
    """float32 values of any shape rounded to tfloat32, each still a float32 whose low 13 bits are 0.

    `rna` is what PTX's cvt.rna.tf32.f32 does, the conversion that libraries use; `rz` is what a tensor core does to a
    float32 operand that nobody converted; `rne` as IEEE. A carry past the largest value gives infinity. NaN keeps its
    sign, not its payload. Raises GemmlabError for other arrays than float32 and unknown roundings.
    """
    if rounding not in ROUNDINGS:
        raise unknown_name("rounding", str(rounding), ROUNDINGS)
    words = float32_words(values)
    if rounding == "rz":
        rounded = words & ~PADDING
    elif rounding == "rna":
        rounded = (words + HALF) & ~PADDING
    else:
        last_kept = (words >> np.uint32(TFLOAT32.pad_bits)) & np.uint32(1)
        rounded = (words + (HALF - np.uint32(1)) + last_kept) & ~PADDING
    # Infinity has no low bits to carry; only a NaN's payload could carry into the sign, so it is replaced.
    quiet = np.uint32(TFLOAT32.nan_magnitude << TFLOAT32.pad_bits)
    rounded = np.where((words & ~SIGN) > INFINITE, (words & SIGN) | quiet, rounded)
    return rounded.view(np.float32)


def tfloat32_to_float32(words: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The values of stored tfloat32 words (uint32, any shape), exact; the low 13 bits are ignored, whatever they hold.

    Raises GemmlabError for other arrays than uint32.
    """
    if words.dtype != np.uint32:
        raise GemmlabError(f"stored tfloat32 words are uint32, not {words.dtype}", "view the array as uint32")
    return (words & ~PADDING).view(np.float32)


def float32_words(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """The bits of float32 values; raises GemmlabError for other arrays."""
    if values.dtype != np.float32:
        raise GemmlabError(f"an array of {values.dtype} is not float32", "round_array takes any float, and rounds once")
    return np.ascontiguousarray(values).view(np.uint32)
