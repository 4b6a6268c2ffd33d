"""How a report says a number, a name, and what kind of number it is."""

import math
import unicodedata

from gemmlab.units import bytes_text, seconds_text, si, significant

#: what a shown number is; every number of a report carries one of these words
KINDS = {
    "given": "what was asked",
    "datasheet": "published by the vendor; the chip file names the source of each figure",
    "counted": "exact, from a formula, before any cache",
    "emulated": "exact: counted access by access while a kernel ran on a CPU, before any compiler or cache; or "
    "computed by the rules of a matrix unit, bit for bit",
    "predicted": "from the model of the chip",
    "measured": "read on a real chip, or reported by the user",
    "checked": "every element of a result compared with a reference",
}

ASSUMPTION = "lower bounds hold for algorithms doing all m*n*k products, not Strassen's"
LEFT_IN_CACHE = "DRAM traffic may be below: results that L2 still holds at the end are not in it"

MATRIX_UNITS = "matrix units"  #: a Record's kernel on a TPU: blocks in VMEM instead of programs

SCHEDULE = "hong_kung"  #: the entry of a Record's lower bounds that a schedule reaches, and that is no bound

BOUNDS = {
    "compute": "Compute-bound",
    "dram": "Memory-bound",
    "memory": "Memory-bound",
    "l1": "Bound by the L1 cache",
    "l2": "Bound by the L2 cache",
    "l3": "Bound by the L3 cache",
    "shared": "Bound by shared memory",
    "register": "Bound by the registers",
    "latency": "Latency-bound",
    "padding": "Bound by padded sides",
    "launch": "Bound by the launch",
}

LOWER_BOUNDS = {
    "compulsory": "each matrix once",
    "hong_kung": "Hong-Kung's three tiles",
    "tight": "tight bound",
}


def clean(text: object) -> str:
    """A name or note from outside as one printable line: control characters and lone surrogates become `?`."""
    line = " ".join(str(text).split())
    if line.isascii() and line.isprintable():
        return line
    return "".join("?" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn") else c for c in line)


def amount(value: float | None, unit: str) -> str:
    """A quantity with its unit, SI below 10^18 and an exponent past it; `-` where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    if abs(value) >= (1e6 if unit == "s" else 1e18):
        return f"{value:.2e} {unit}".replace("e+0", "e").replace("e+", "e")
    if unit == "s":
        return f"{value:,.0f} s" if abs(value) >= 1000 else seconds_text(value)
    if unit in ("B", "FLOP") and abs(value) < 999.5:
        return f"<1 {unit}" if 0 < value < 1 else f"{value:.0f} {unit}"
    return bytes_text(value) if unit == "B" else si(value, unit)


def plain(value: float | None, digits: int = 3) -> str:
    """A number without unit, as an intensity or a knee; `-` where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    return significant(value, digits)


def percent(share: float | None) -> str:
    """A share as a percentage; what is neither nothing nor all never reads so: `<1%`, `>99%`."""
    if share is None or not math.isfinite(share):
        return "-"
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{100 * share:.0f}%"


def bound_key(bound: str) -> str:
    """The level, or `compute`, that a verdict such as `memory-bound` names."""
    key = clean(bound).lower()
    for tail in ("-bound", "_bound", " bound"):
        key = key.removesuffix(tail)
    return "dram" if key == "memory" else key


def bound_phrase(bound: str) -> str:
    """The verdict as a sentence starts with it: `Compute-bound`."""
    key = bound_key(bound)
    return BOUNDS.get(key, f"Bound by {key}" if key else "Bound by nothing named")


def speedup(factor: float) -> str:
    """A predicted speed-up: `1.36x`, or that there is none."""
    if not math.isfinite(factor) or factor <= 0:
        return "-"
    return "no gain" if abs(factor - 1) < 0.005 else f"{significant(factor, 3)}x"


def several(count: int, thing: str) -> str:
    """`1 tile`, `2 tiles`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def split_exactly(parts: list[float], places: int) -> list[str]:
    """Decimals of the parts such that the shown digits add up to the shown total.

    Each part is the difference of two rounded running totals, so none is off by more than one unit of its last place.
    """
    shown, running, before = [], 0.0, 0
    for part in parts:
        running += part
        now = round(running * 10**places)
        shown.append(f"{(now - before) / 10**places:.{places}f}")
        before = now
    return shown
