"""What a PE does with two words: integers in one or several passes, floats as a unit of numerics adds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gemmlab import formats
from gemmlab.record import GemmlabError
from gemmlab.units import ceil_div

if TYPE_CHECKING:
    from gemmlab.numerics.behaviour import Unit
    from gemmlab.problem import Gemm
    from gemmlab.systolic.array import Array

WIDEST = 16  #: bits of an integer operand: TPU v1 multiplies 16 by 16 in four passes
#: format -> unit of numerics that adds one product after another, as a column of PEs does
UNITS = {"bfloat16": "tpu.mxu.bfloat16", "float32": "cpu.fma.float32", "float64": "cpu.fma.float64"}
#: formats that take the bfloat16 unit's sums: exact products, each added to float32 and rounded once
NARROW = (
    "float16",
    "float8_e5m2",
    "float8_e4m3",
    "float8_e3m4",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "float8_e4m3b11fnuz",
)
INTEGERS = "int32"


class Arithmetic(NamedTuple):
    """How many cycles a product takes, and what the sums are."""

    unit: str  #: name in numerics; int32 where integers are added
    passes: int  #: cycles of a PE on one product, each multiplying one part of A's word by one of B's
    a_parts: int  #: parts of multiplier_bits that a word of A has
    b_parts: int  #: of B


def arithmetic(problem: Gemm, array: Array) -> Arithmetic:
    """How this array multiplies these formats; raises GemmlabError where it cannot.

    Integers of more bits than the multipliers take one pass for each pair of parts: half the rate for 8 by 16 bits, a
    quarter for 16 by 16 (Jouppi et al., In-Datacenter Performance Analysis of a Tensor Processing Unit, ISCA 2017).
    """
    forms = [formats.get(name) for name in (problem.a_format, problem.b_format)]
    kinds = {form.kind for form in forms}
    if kinds == {"int"}:
        if array.unit:
            raise no_unit(problem, f"unit `{name_of(array.unit)}` was asked for, and integers need none")
        if max(form.bits for form in forms) > WIDEST:
            raise no_unit(problem, f"a PE multiplies integers of up to {WIDEST} bits")
        if problem.accumulate != INTEGERS:
            raise no_unit(problem, f"its sums are {INTEGERS}, not {problem.accumulate}")
        parts = [ceil_div(form.bits, array.multiplier_bits) for form in forms]
        return Arithmetic(INTEGERS, parts[0] * parts[1], parts[0], parts[1])
    if len(kinds) > 1:
        raise no_unit(problem, "no PE multiplies an integer by a float")
    if array.unit:
        return Arithmetic(checked(problem, array.unit).name, 1, 1, 1)
    names = {UNITS.get(form.name) or ("narrow" if form.name in NARROW else "") for form in forms}
    if "" in names or len(names) > 1:
        raise no_unit(problem, "no unit of numerics adds their products one by one")
    (chosen,) = names
    if chosen == "narrow":
        chosen = "systolic." + ".".join(dict.fromkeys((problem.a_format, problem.b_format)))
    due = "float64" if chosen == UNITS["float64"] else "float32"
    if problem.accumulate != due:
        raise no_unit(problem, f"its sums are {due}, not {problem.accumulate}")
    return Arithmetic(chosen, 1, 1, 1)


def unit_of(problem: Gemm, array: Array) -> Unit:
    """The unit of numerics in each PE, an instruction a product; raises GemmlabError as `arithmetic` does."""
    import msgspec

    from gemmlab.numerics.units import unit

    told = arithmetic(problem, array)
    if array.unit:
        return checked(problem, array.unit)
    found = unit(UNITS["bfloat16"] if told.unit.startswith("systolic.") else told.unit)
    if told.unit.startswith("systolic."):
        found = msgspec.structs.replace(
            found,
            name=told.unit,
            about="a systolic column: one float32 addition a product, to nearest, subnormal sums flushed",
            subnormal_inputs=True,  # all of them are normal in float32, which the unit adds
            a_formats=(problem.a_format,),
            b_formats=(problem.b_format,),
        )
    return msgspec.structs.replace(found, instruction_k=1)


def checked(problem: Gemm, given: Unit | str) -> Unit:
    """The unit that was asked for, where a PE can be one and it takes these formats; raises GemmlabError."""
    import msgspec

    from gemmlab.numerics.units import unit

    found = unit(given)
    if found.terms != 1 or found.scaled or found.order != "ascending" or found.sum == "integer":
        raise GemmlabError(
            f"unit `{found.name}` adds {found.terms} products at once; a PE of a systolic array adds one",
            "a unit with terms = 1 and no block scales, as tpu.mxu.bfloat16",
        )
    if problem.a_format not in found.a_formats or problem.b_format not in found.b_formats:
        raise no_unit(problem, f"unit `{found.name}` takes {', '.join(found.a_formats)}")
    if problem.accumulate != found.accumulate:
        raise no_unit(problem, f"unit `{found.name}` adds {found.accumulate}, not {problem.accumulate}")
    return msgspec.structs.replace(found, instruction_k=1)


def name_of(unit: Unit | str) -> str:
    """Its name."""
    return unit if isinstance(unit, str) else unit.name


def no_unit(problem: Gemm, why: str) -> GemmlabError:
    """The error for formats that no PE multiplies."""
    pair = " by ".join(dict.fromkeys((problem.a_format, problem.b_format)))
    return GemmlabError(
        f"a systolic array without a unit for {pair}: {why}", f"int8, int16, {', '.join(UNITS)}, float8"
    )
