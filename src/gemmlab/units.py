"""Small arithmetic that every part uses, and the one place where numbers become text."""

import math

SI_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
SMALL_PREFIXES = ((1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))


def ceil_div(a: int, b: int) -> int:
    """How many pieces of `b` cover `a`; both positive integers."""
    return -(-a // b)


def round_up(a: int, b: int) -> int:
    """The smallest multiple of `b` that is not below `a`."""
    return ceil_div(a, b) * b


def si(value: float, unit: str, digits: int = 3) -> str:
    """A value with an SI prefix and its unit: `si(1.935e12, "B/s")` is `1.94 TB/s`."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {unit}"
    size = abs(value)
    if size >= 999.5:
        scale, prefix = next(((s, p) for s, p in SI_PREFIXES if size >= s * 0.9995), (1.0, ""))
    elif size < 1:
        scale, prefix = next(((s, p) for s, p in SMALL_PREFIXES if size >= s * 0.9995), (1e-12, "p"))
    else:
        scale, prefix = 1.0, ""
    return f"{significant(value / scale, digits)} {prefix}{unit}"


def significant(value: float, digits: int = 3) -> str:
    """A plain decimal with that many significant digits and no exponent: `17.2`, `403`, `0.0612`."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):.{max(places, 0)}f}"


def bytes_text(value: float) -> str:
    """Bytes in SI units: traffic and bandwidth, `17.2 GB`."""
    return si(value, "B")


def seconds_text(value: float) -> str:
    """A time in SI units: `3.52 ms`."""
    return si(value, "s")


def capacity_text(value: float) -> str:
    """Capacities of memories in binary units, as their data sheets mean them: `164 KiB`, `40 MiB`."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if abs(value) >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.4g} B"
