"""What a number format is: a few widths and the codes that mean something special."""

import msgspec


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One number format; of a code, the highest bit is the sign, then the exponent, then the mantissa.

    Codes are unsigned integers of `storage_bits` bits; integers are two's complement. A magnitude is a code without
    sign and padding: magnitudes of finite values count up with the value.
    """

    name: str  #: as ml_dtypes and numpy spell it; tfloat32 has no type there
    kind: str  #: `float` or `int`
    signed: bool = True  #: has a sign bit
    exponent_bits: int = 0  #: 0 for integers
    mantissa_bits: int = 0  #: stored fraction bits, without the implied one; for integers the bits below the sign
    bias: int = 0  #: subtracted from the stored exponent
    storage_bits: int  #: of one element in memory, packed as hardware packs it
    pad_bits: int = 0  #: low bits of the stored word that mean nothing (tfloat32: 13 of 32)
    infinity: bool = False  #: has +Inf, and -Inf where signed
    nan: str = "none"  #: `ieee` (top exponent, mantissa not 0), `ones` (all ones), `negative_zero` (its code), `none`
    zero: bool = True  #: has a zero; float8_e8m0fnu has not
    signed_zero: bool = False  #: has -0 beside +0
    subnormals: bool = False  #: stored exponent 0 means gradual underflow to zero
    overflow: str  #: past the largest finite value: `infinity`, `nan`, `saturate` to it, or `wrap` modulo 2^bits

    @property
    def bits(self) -> int:
        """Bits that carry meaning: sign, exponent and mantissa (19 for tfloat32)."""
        return self.signed + self.exponent_bits + self.mantissa_bits

    @property
    def precision(self) -> int:
        """Significant bits of a normal value, the implied one included; for integers all bits but the sign."""
        return self.mantissa_bits + (self.kind == "float")

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal value, a power of two."""
        return 1 - self.bias if self.subnormals else -self.bias

    @property
    def max_magnitude(self) -> int:
        """Code of the largest finite value."""
        above = 1 << (self.exponent_bits + self.mantissa_bits)
        if self.nan == "ieee":
            return above - (1 << self.mantissa_bits) - 1
        return above - 2 if self.nan == "ones" else above - 1

    @property
    def nan_magnitude(self) -> int:
        """Code of the quiet NaN without payload; 0 where there is no NaN."""
        above = 1 << (self.exponent_bits + self.mantissa_bits)
        if self.nan == "ieee":
            return above - (1 << self.mantissa_bits) + (1 << (self.mantissa_bits - 1))
        return {"ones": above - 1, "negative_zero": above, "none": 0}[self.nan]

    @property
    def overflow_magnitude(self) -> int:
        """Code of what an infinity, or a finite value past the range, becomes without saturation; floats only."""
        if self.overflow == "nan":
            return self.nan_magnitude
        return self.max_magnitude + (self.overflow == "infinity")
