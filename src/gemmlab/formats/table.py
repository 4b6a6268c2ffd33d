"""Every number format by name, and the memory its elements take.

These are all types of ml_dtypes but its complex pairs, which no matrix unit multiplies, and the plain ones of numpy.
"""

from gemmlab.formats.format import Format
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.units import ceil_div


def ieee(name: str, exponent_bits: int, mantissa_bits: int, pad_bits: int = 0) -> Format:
    """A format built as IEEE 754 builds its own: infinities, NaNs under the top exponent, gradual underflow."""
    return Format(
        name=name,
        kind="float",
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=(1 << (exponent_bits - 1)) - 1,
        storage_bits=1 + exponent_bits + mantissa_bits + pad_bits,
        pad_bits=pad_bits,
        infinity=True,
        nan="ieee",
        signed_zero=True,
        subnormals=True,
        overflow="infinity",
    )


def finite(
    name: str, exponent_bits: int, mantissa_bits: int, *, bias: int, nan: str, overflow: str, signed: bool = True
) -> Format:
    """A format without infinities, as the names with `fn` say; with `fnu` unsigned as well."""
    return Format(
        name=name,
        kind="float",
        signed=signed,
        exponent_bits=exponent_bits,
        mantissa_bits=mantissa_bits,
        bias=bias,
        storage_bits=signed + exponent_bits + mantissa_bits,
        nan=nan,
        signed_zero=signed and nan != "negative_zero",
        subnormals=True,
        overflow=overflow,
    )


def integer(name: str, bits: int, signed: bool) -> Format:
    """A two's complement or unsigned integer."""
    return Format(name=name, kind="int", signed=signed, mantissa_bits=bits - signed, storage_bits=bits, overflow="wrap")


#: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats 1.0; else the ml_dtypes README
FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        ieee("float64", 11, 52),
        ieee("float32", 8, 23),
        ieee("tfloat32", 8, 10, pad_bits=13),
        ieee("bfloat16", 8, 7),
        ieee("float16", 5, 10),
        ieee("float8_e5m2", 5, 2),
        ieee("float8_e4m3", 4, 3),
        ieee("float8_e3m4", 3, 4),
        finite("float8_e4m3fn", 4, 3, bias=7, nan="ones", overflow="nan"),
        finite("float8_e5m2fnuz", 5, 2, bias=16, nan="negative_zero", overflow="nan"),
        finite("float8_e4m3fnuz", 4, 3, bias=8, nan="negative_zero", overflow="nan"),
        finite("float8_e4m3b11fnuz", 4, 3, bias=11, nan="negative_zero", overflow="nan"),
        finite("float8_e5m3fnu", 5, 3, bias=15, nan="ones", overflow="nan", signed=False),
        Format(
            name="float8_e8m0fnu",
            kind="float",
            signed=False,
            exponent_bits=8,
            bias=127,
            storage_bits=8,
            nan="ones",
            zero=False,
            overflow="nan",
        ),
        finite("float6_e2m3fn", 2, 3, bias=1, nan="none", overflow="saturate"),
        finite("float6_e3m2fn", 3, 2, bias=3, nan="none", overflow="saturate"),
        finite("float4_e2m1fn", 2, 1, bias=1, nan="none", overflow="saturate"),
        *(integer(f"int{bits}", bits, signed=True) for bits in (1, 2, 4, 8, 16, 32)),
        *(integer(f"uint{bits}", bits, signed=False) for bits in (1, 2, 4, 8, 16, 32)),
    )
}


def get(name: str) -> Format:
    """The format of that name; raises GemmlabError with the nearest names."""
    try:
        return FORMATS[name]
    except (KeyError, TypeError):
        raise unknown_name("format", str(name), FORMATS) from None


def names() -> tuple[str, ...]:
    """All formats' names, floating point from wide to narrow, then integers."""
    return tuple(FORMATS)


def bits_of(name: str) -> int:
    """Storage bits of one element, packed as hardware packs it: 32 for tfloat32, 6 for float6_*, 4 for float4_e2m1fn.

    Raises GemmlabError for an unknown name.
    """
    return get(name).storage_bits


def storage_bytes(name: str, elements: int) -> int:
    """Bytes that many packed elements take, the last byte whole; raises GemmlabError for an unknown name."""
    if elements < 0:
        raise GemmlabError(f"{elements} elements have no size", "a number of elements is at least 0")
    return ceil_div(elements * bits_of(name), 8)
