"""A whole multiplication, output by output, in plain Python: what the fast path is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from gemmlab import formats
from gemmlab.formats import Format
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.reference import Watch, addition, dot
from gemmlab.numerics.schedule import Schedule
from gemmlab.numerics.values import exact, pack, read

NAN = {"float32": 0x7FFFFFFF, "float64": 0x7FF8000000000000}  # of CUDA's own additions


def output(
    unit: Unit,
    schedule: Schedule,
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    a_format: str,
    b_format: str,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    c_format: str = "float32",
    d_format: str = "float32",
    a_scales: Sequence[int] = (),
    b_scales: Sequence[int] = (),
    scale_format: str = "",
    watch: Watch | None = None,
) -> int:
    """The code of one element of D in `d_format`; `a` is a row of A, `b` a column of B, in codes of their formats.

    Raises GemmlabError as Schedule and `dot` do.
    """
    schedule.check(unit, alpha, beta, d_format)
    unit = schedule.on(unit)
    wide = "float64" if unit.accumulate == "float64" else "float32"
    shares = []
    for chains in schedule.chains(len(a), unit):
        total: int | None = None
        for first, stop in chains:
            chosen = slice(first // unit.scale_block, -(-stop // unit.scale_block)) if unit.scaled else slice(0)
            found = dot(
                unit, a[first:stop], b[first:stop], 0, a_format, b_format,
                a_scales[chosen], b_scales[chosen], scale_format, counted_from(first, watch),
            )  # fmt: skip
            if schedule.promote:
                wider = convert(found, unit.accumulate, wide)
                found = wider if total is None else fused(1.0, total, wider, wide)
                if watch is not None and total is not None:
                    watch(addition("promotion", (total, wider), formats.get(wide), found))
            total = found
        shares.append(total or 0)
    held = wide if schedule.promote else unit.accumulate
    if unit.accumulate == "int32":
        whole = shares[0]
        for part in shares[1:]:
            both, whole = whole, (whole + part) % (1 << 32)
            if watch is not None:
                watch(addition("split-k", (both, part), formats.get("int32"), whole))
        return integer_epilogue(whole, alpha, beta, c, c_format, d_format, watch)
    summed = shares[0]
    if schedule.split_k > 1:
        parts = [convert(convert(share, held, schedule.reduce), schedule.reduce, wide) for share in shares]
        if watch is not None and schedule.reduce != held:
            for share, part in zip(shares, parts, strict=True):
                watch(addition("share", (convert(share, held, wide),), formats.get(wide), part))
        summed, held = parts[0], wide
        for part in parts[1:]:
            added = fused(1.0, summed, part, wide)
            rounded = convert(convert(added, wide, schedule.reduce_sum), schedule.reduce_sum, wide)
            if watch is not None:
                watch(addition("split-k", (summed, part), formats.get(wide), rounded))
            summed = rounded
    return epilogue(convert(summed, held, wide), wide, alpha, beta, c, c_format, d_format, watch)


def counted_from(first: int, watch: Watch | None) -> Watch | None:
    """Who watches a chain that begins at k = `first`, told of every k from the dot product's start."""
    if watch is None or first == 0:
        return watch
    return lambda told: watch(told._replace(ks=[first + k for k in told.ks]))


def epilogue(
    total: int, wide: str, alpha: float, beta: float, c: int, c_format: str, d_format: str, watch: Watch | None = None
) -> int:
    """The code of alpha * total + beta * C, rounded to D's format."""
    scaled = 0
    if beta != 0:
        scaled = fused(beta, convert(c, c_format, wide), 0, wide)
    value = total if alpha == 1 and beta == 0 else fused(alpha, total, scaled, wide)
    result = convert(value, wide, d_format)
    if watch is not None:
        form = formats.get(wide)
        if alpha != 1 or beta != 0:
            watch(addition("alpha and beta", (total, scaled), form, value, formats.encode(alpha, wide)))
        if d_format != wide and formats.get(d_format).kind == "float":
            watch(addition("D", (value,), form, convert(result, d_format, wide)))
    return result


def integer_epilogue(
    total: int, alpha: float, beta: float, c: int, c_format: str, d_format: str, watch: Watch | None = None
) -> int:
    """The same for an int32 sum: integers stay integers, anything else goes through float32."""
    if formats.get(d_format).kind == "int":
        whole = read(total, formats.get("int32")).signed
        whole += read(c, formats.get(c_format)).signed if beta else 0
        return formats.encode(whole, d_format)
    wide = formats.encode(read(total, formats.get("int32")).signed, "float32")
    return epilogue(wide, "float32", alpha, beta, c, c_format, d_format, watch)


def fused(factor: float, x: int, y: int, name: str) -> int:
    """The code of factor * x + y, rounded once to nearest; factor is a value of the format, x and y are codes."""
    form = formats.get(name)
    f = read(formats.encode(factor, name), form)
    a, b = read(x, form), read(y, form)
    if "nan" in (f.kind, a.kind, b.kind):
        return NAN[name]
    if "inf" in (f.kind, a.kind):
        if f.zero or a.zero or (b.kind == "inf" and (f.negative != a.negative) != b.negative):
            return NAN[name]
        return infinity(form, f.negative != a.negative)
    if b.kind == "inf":
        return infinity(form, b.negative)
    (p, low), (q, other) = exact(f), exact(a)
    product, scale = p * q, low + other
    addend, at = exact(b)
    least = min(scale, at)
    total = (product << (scale - least)) + (addend << (at - least))
    if total == 0:
        negative = product == 0 and addend == 0 and (f.negative != a.negative) and b.negative
        return negative << (form.bits - 1)
    return pack(total, least, form, form.mantissa_bits, "rne")


def infinity(form: Format, negative: bool) -> int:
    """Its code."""
    return (form.max_magnitude + 1) | negative << (form.bits - 1)


def convert(code: int, source: str, target: str) -> int:
    """The code in another format, rounded to nearest even; NaN becomes CUDA's own in float32 and float64."""
    if source == target:
        return code
    form = formats.get(source)
    number = read(code, form)
    if number.kind == "nan":
        return NAN.get(target, formats.encode(float("nan"), target))
    if number.kind == "inf":
        return formats.encode(-float("inf") if number.negative else float("inf"), target)
    value, scale = exact(number)
    if value == 0:
        return formats.encode(-0.0 if number.negative else 0.0, target)
    return formats.encode(Fraction(value) * Fraction(2) ** scale, target)
