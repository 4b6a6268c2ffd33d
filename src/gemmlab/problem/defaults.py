"""The formats that a multiplication takes where none is given."""

from functools import lru_cache

from gemmlab.formats import Format, get


def leading(a: Format, b: Format) -> Format:
    """The operand that decides for both: the floating-point one when integer weights meet it, else A."""
    return b if a.kind == "int" and b.kind == "float" else a


def result_format(a: Format, b: Format) -> str:
    """Format of C and D: int32 for integers, bfloat16 below 16 bits, float32 for tfloat32, else the operand's own.

    These are pairs that cuBLASLt computes: float8 to bfloat16, int8 to int32.
    """
    operand = leading(a, b)
    if operand.kind == "int":
        return "int32"
    if operand.bits < 16:
        return "bfloat16"
    return "float32" if operand.name == "tfloat32" else operand.name


def accumulate_format(a: Format, b: Format) -> str:
    """Format of the sums: int32 for integers, float64 where an operand is float64, else float32."""
    if leading(a, b).kind == "int":
        return "int32"
    return "float64" if "float64" in (a.name, b.name) else "float32"


@lru_cache(maxsize=256)
def formats_of(a: str, b: str, c: str, d: str, accumulate: str) -> tuple[str, str, str, str, str]:
    """The five formats with the empty ones filled in; raises GemmlabError for an unknown name."""
    first = get(a)
    second = get(b) if b else first
    for given in (c, d, accumulate):
        if given:
            get(given)
    c = c or result_format(first, second)
    return a, second.name, c, d or c, accumulate or accumulate_format(first, second)
