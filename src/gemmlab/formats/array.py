"""Arrays of numbers to codes and back, in numpy; what each value becomes is said, and tested, in scalar.py."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.formats.format import Format
from gemmlab.formats.scalar import ROUNDINGS
from gemmlab.formats.table import get
from gemmlab.record import GemmlabError, unknown_name

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Codes = npt.NDArray[Any]  #: unsigned integers

BLOCK = 1 << 14  # elements rounded at a time, so that the temporaries stay in a core's cache
FRACTION_BITS = 52  # of float64, below
FRACTION = np.uint64((1 << FRACTION_BITS) - 1)
MAGNITUDE = np.uint64((1 << 63) - 1)
INFINITE = np.uint64(0x7FF << FRACTION_BITS)


def encode_array(values: npt.ArrayLike, name: str | Format, rounding: str = "rne", saturate: bool = False) -> Codes:
    """The codes of values of any shape, one unsigned integer of 8, 16, 32 or 64 bits an element, not packed.

    Takes real numbers that float64 holds exactly: every float, ml_dtypes' types too, and integers up to 2^53. Each is
    rounded once. Arguments and special values as for `encode`; raises GemmlabError for what is not such numbers.
    """
    form = name if isinstance(name, Format) else get(name)
    if rounding not in ROUNDINGS:
        raise unknown_name("rounding", str(rounding), ROUNDINGS)
    source = real_numbers(values)
    flat = source.reshape(-1)
    codes = np.empty(flat.shape, dtype=code_type(form))
    encode_block = integer_codes if form.kind == "int" else float_codes
    for start in range(0, flat.size, BLOCK):
        with np.errstate(invalid="ignore"):  # a signalling NaN
            block = np.ascontiguousarray(flat[start : start + BLOCK]).astype(np.float64)
        codes[start : start + BLOCK] = encode_block(block, form, rounding, saturate)
    return codes.reshape(source.shape)


def decode_array(codes: npt.ArrayLike, name: str | Format) -> Floats:
    """The values of unpacked codes of any shape, as float64, which holds all of them exactly; specials as `decode`.

    Raises GemmlabError for codes that are no integers or do not fit the format's storage.
    """
    form = name if isinstance(name, Format) else get(name)
    words = np.asarray(codes)
    if words.dtype.kind not in "iu":
        raise GemmlabError(
            f"codes of {form.name} are integers, not {words.dtype}", "view the array as unsigned integers"
        )
    if words.size:
        low, high = int(words.min()), int(words.max())
        if low < 0 or high >= 1 << form.storage_bits:
            raise GemmlabError(
                f"codes from {low} to {high} do not fit {form.name}, whose codes have {form.storage_bits} bits",
                f"whole numbers from 0 to {(1 << form.storage_bits) - 1}",
            )
    if form.storage_bits <= 16:
        return np.asarray(value_table(form)[words])
    return decoded(words.astype(np.uint64), form)


def round_array(values: npt.ArrayLike, name: str | Format, rounding: str = "rne", saturate: bool = False) -> Floats:
    """The format's values that `values` become, as float64; arguments and errors as for `encode_array`."""
    return decode_array(encode_array(values, name, rounding, saturate), name)


def dtype_of(name: str) -> np.dtype[Any]:
    """The numpy type that holds a format, ml_dtypes' where numpy has none; float32 for tfloat32.

    Raises GemmlabError for a format that neither has: older releases of ml_dtypes know fewer.
    """
    get(name)
    found = np.float32 if name == "tfloat32" else getattr(np, name, None)
    if found is None:
        import ml_dtypes  # only for formats that numpy has not: release 0.7 takes most of a second to load

        found = getattr(ml_dtypes, name, None)
    if found is None:
        raise GemmlabError(
            f"no numpy type holds {name}", "a newer ml_dtypes, or a wider format that holds the same values"
        )
    kind: np.dtype[Any] = np.dtype(found)
    return kind


def code_type(form: Format) -> np.dtype[Any]:
    """The smallest unsigned integer type that holds a code."""
    return np.dtype(f"u{next(size for size in (1, 2, 4, 8) if 8 * size >= form.storage_bits)}")


def real_numbers(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """`values` as an array whose elements float64 holds exactly; raises GemmlabError."""
    source = np.asarray(values)
    remedy = "give floats of at most 64 bits, or integers up to 2^53"
    custom = source.dtype.kind == "V" and source.dtype.fields is None and np.can_cast(source.dtype, np.float64)
    if not custom and (source.dtype.kind not in "biuf" or source.dtype.itemsize > 8):
        raise GemmlabError(f"an array of {source.dtype} is not of real numbers that float64 holds", remedy)
    if source.dtype.kind in "iu" and source.dtype.itemsize == 8 and source.size:
        largest = max(abs(int(source.min())), abs(int(source.max())))
        if largest > 1 << (FRACTION_BITS + 1):
            raise GemmlabError(f"float64 does not hold every integer as large as {largest}", remedy)
    return source


def float_codes(values: Floats, form: Format, rounding: str, saturate: bool) -> Words:
    """Codes of one block in a floating-point format."""
    words = values.view(np.uint64)
    negative = words >> np.uint64(63)
    source = words & MAGNITUDE
    magnitude = finite_magnitudes(source, form, rounding)
    past = form.max_magnitude if saturate or rounding == "rz" else form.overflow_magnitude
    magnitude[magnitude > np.uint64(form.max_magnitude)] = past
    magnitude[source == INFINITE] = form.max_magnitude if saturate else form.overflow_magnitude
    is_nan = source > INFINITE
    if not form.signed:
        lost = is_nan | ((negative == 1) & (source != 0)) | ((source == 0) & (not form.zero))
        magnitude[lost] = form.nan_magnitude
        return magnitude << np.uint64(form.pad_bits)
    magnitude[is_nan] = form.nan_magnitude
    if form.nan == "none":
        magnitude[is_nan] = form.max_magnitude if saturate else 0
        negative[is_nan] = 0 if saturate else 1 - negative[is_nan]
    if not form.signed_zero:
        negative[magnitude == 0] = 0
    return (magnitude | (negative << np.uint64(form.bits - 1))) << np.uint64(form.pad_bits)


def finite_magnitudes(source: Words, form: Format, rounding: str) -> Words:
    """Rounded magnitudes, the range left open at the top, of float64 magnitudes; NaN and Inf give any number."""
    stored = (source >> np.uint64(FRACTION_BITS)).astype(np.int64)
    significand = (source & FRACTION) | ((stored > 0).astype(np.uint64) << np.uint64(FRACTION_BITS))
    exponent = np.maximum(stored, 1) - 1023
    kept = np.maximum(exponent, form.min_exponent)
    # Past 55 places nothing but a remainder below one half is left, and a 64-bit shift would wrap.
    drop = np.minimum(FRACTION_BITS - form.mantissa_bits + kept - exponent, 55).astype(np.uint64)
    whole = significand >> drop
    if rounding != "rz":
        twice_rest = (significand - (whole << drop)) << np.uint64(1)
        unit = np.uint64(1) << drop
        up = twice_rest >= unit if rounding == "rna" else twice_rest > unit - (whole & np.uint64(1))
        whole += up
    magnitude: npt.NDArray[np.int64] = ((kept - form.min_exponent) << form.mantissa_bits) + whole.astype(np.int64)
    if not form.subnormals:
        magnitude = np.maximum(magnitude - (1 << form.mantissa_bits), 0)
    return magnitude.view(np.uint64)


def integer_codes(values: Floats, form: Format, rounding: str, saturate: bool) -> Words:
    """Codes of one block in an integer format."""
    low, high = (-(1 << form.mantissa_bits), form.max_magnitude) if form.signed else (0, form.max_magnitude)
    if saturate:
        values = np.nan_to_num(values, nan=0.0, posinf=high, neginf=low)
    else:
        values = np.where(np.isfinite(values), values, 0.0)
    whole = np.rint(values) if rounding == "rne" else np.trunc(values)
    if rounding == "rna":
        whole = whole + np.copysign(np.abs(values - whole) >= 0.5, values)
    if saturate:
        whole = np.clip(whole, low, high)
    return np.mod(whole, float(1 << form.bits)).astype(np.uint64)


def decoded(words: Words, form: Format) -> Floats:
    """Values of codes by arithmetic, each element."""
    words = words >> np.uint64(form.pad_bits)
    negative = (words >> np.uint64(form.bits - 1)).astype(bool) & form.signed
    if form.kind == "int":
        return words.astype(np.float64) - negative * float(1 << form.bits)
    magnitude = words & np.uint64((1 << (form.exponent_bits + form.mantissa_bits)) - 1)
    stored = (magnitude >> np.uint64(form.mantissa_bits)).astype(np.int32)
    fraction = magnitude & np.uint64((1 << form.mantissa_bits) - 1)
    normal = (stored > 0) | (not form.subnormals)
    exponent = np.where(normal, stored - form.bias, form.min_exponent) - form.mantissa_bits
    significand = fraction.astype(np.float64) + normal * float(1 << form.mantissa_bits)
    with np.errstate(over="ignore"):  # codes of Inf and NaN, replaced below
        values = np.ldexp(significand, exponent.astype(np.int32))
    if form.nan in ("ieee", "ones"):
        values[magnitude > np.uint64(form.max_magnitude)] = np.nan
    if form.infinity:
        values[magnitude == np.uint64(form.overflow_magnitude)] = np.inf
    values = np.where(negative, np.negative(values), values)
    if form.nan == "negative_zero":
        values[words == np.uint64(form.nan_magnitude)] = np.nan
    return values


@lru_cache(maxsize=64)
def value_table(form: Format) -> Floats:
    """The values of all codes of a format of at most 16 bits."""
    table = decoded(np.arange(1 << form.storage_bits, dtype=np.uint64), form)
    table.flags.writeable = False
    return table
