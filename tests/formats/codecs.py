"""The scalar and the array version behind one face, the types to compare with, and inputs that are hard to round."""

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from gemmlab.formats import decode, decode_array, encode, encode_array, get, names


@dataclass(frozen=True)
class Codec:
    encode: Callable
    decode: Callable
    stride: int  #: of a sample from input too long for it

    def round(self, values, name, rounding="rne", saturate=False):
        return self.decode(self.encode(values, name, rounding, saturate), name)


def scalar_encode(values, name, rounding="rne", saturate=False):
    return np.array([encode(value, name, rounding, saturate) for value in np.asarray(values).tolist()], dtype=np.uint64)


def scalar_decode(codes, name):
    return np.array([decode(code, name) for code in np.asarray(codes).tolist()], dtype=np.float64)


SCALAR = Codec(scalar_encode, scalar_decode, 3)
ARRAY = Codec(encode_array, decode_array, 1)

#: the type of another library behind each name, an oracle for codes and casts
PEERS = {name: getattr(ml_dtypes, name) for name in names() if hasattr(ml_dtypes, name)}
PEERS |= {name: getattr(np, name) for name in ("float16", "float32", "float64")}
FLOATS = [name for name in names() if get(name).kind == "float"]
INTEGERS = [name for name in names() if get(name).kind == "int"]
NARROW_FLOATS = [name for name in FLOATS if get(name).storage_bits <= 16]


def word(bits):
    """The unsigned type in which numpy and ml_dtypes keep codes of that many bits."""
    return np.dtype(f"u{max(bits, 8) // 8}")


def peer_decode(codes, name):
    with np.errstate(invalid="ignore"):
        return codes.astype(word(get(name).storage_bits)).view(PEERS[name]).astype(np.float64)


def peer_encode(values, name):
    """The other library's cast; from float32, as its casts from float64 round twice."""
    assert values.dtype == np.float32 or name in ("float16", "float32", "float64")
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(PEERS[name]).view(word(get(name).storage_bits))


def all_codes(name):
    return np.arange(1 << get(name).storage_bits, dtype=np.uint64)


def hard_values(name, dtype=np.float32):
    """All values of a narrow format, the middles between neighbours and past the ends, each with its two neighbours
    in `dtype`, both signs; zeros, infinities, NaN of both signs and the extremes of `dtype`."""
    values = np.unique(np.abs(peer_decode(all_codes(name), name)))
    values = values[np.isfinite(values)]
    largest, below = values[-1], values[-2]
    ratio = largest / below if get(name).mantissa_bits == 0 else 1
    past = [largest * ratio + (largest - below) * step * (ratio == 1) for step in (1, 2, 3)]
    ladder = np.concatenate([[0.0], values, past])
    points = np.concatenate([ladder, (ladder[1:] + ladder[:-1]) / 2])
    with np.errstate(over="ignore"):
        points = points.astype(dtype)
    extremes = np.array([np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal, np.inf, np.nan, 0], dtype)
    with np.errstate(over="ignore", under="ignore"):
        each = [points, np.nextafter(points, dtype(np.inf)), np.nextafter(points, dtype(0)), extremes]
    positive = np.unique(np.concatenate(each))
    return np.concatenate([positive, -positive])


def assert_same_values(got, want):
    """Equal as values, the sign of zero included; any NaN equals any other."""
    np.testing.assert_array_equal(got, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))
