"""A unit held against recorded dot products: the Record of it."""

from __future__ import annotations

from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.trace import hexadecimal, text_of, trace_dot
from gemmlab.numerics.units import names
from gemmlab.numerics.units import unit as named
from gemmlab.numerics.verifying import OUTPUTS, Verified, opened, outputs, verify
from gemmlab.record import GemmlabError, NumericsMismatch, NumericsOutput, NumericsSection, Record


def verified(
    path: str,
    unit: str,
    *,
    output: str | None = None,
    without_c: bool | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> Record:
    """The Record of every output that both the file and the unit have, or of the one named; arguments as `verify`.

    Raises GemmlabError.
    """
    chosen, recorded = named(unit), opened(path)
    wanted = [output] if output else shared(chosen, outputs(recorded))
    found = [
        verify(recorded, chosen, each, without_c=without_c, a_format=a_format, b_format=b_format) for each in wanted
    ]
    differing = next((each for each in found if each.first is not None), None)
    section = NumericsSection(
        unit=chosen.name,
        kind="emulated",
        backend="emulated",
        width_bits=chosen.width_bits,
        fraction_bits=None if chosen.sum == "integer" else chosen.width,
        mismatches=sum(each.mismatches for each in found),
        total=sum(each.total for each in found),
        first_mismatch=None if differing is None else first(differing, chosen),
        outputs=tuple(
            NumericsOutput(name=each.output, unit=each.unit, mismatches=each.mismatches, total=each.total)
            for each in found
        ),
        notes=tuple(f"{each.output}: {each.note}" for each in found if each.note),
    )
    return Record(numerics=section)


def shared(unit: Unit, recorded: tuple[str, ...]) -> list[str]:
    """The outputs that can be compared: the unit's own, and its sibling's with a float16 accumulator."""
    known = [unit.accumulate]
    if unit.accumulate == "float32" and f"{unit.name}.float16" in names():
        known.append("float16")
    found = [name for name in OUTPUTS if name in recorded and name in known]
    if not found:
        raise GemmlabError(
            f"{unit.name} accumulates {unit.accumulate}, the recording holds outputs of {', '.join(recorded)}",
            "a unit with that accumulator: `gemmlab numerics units`",
        )
    return found


def first(found: Verified, chosen: Unit) -> NumericsMismatch:
    """The first dot product that differs, and how the unit comes to its own answer."""
    told = found.first
    assert told is not None
    unit = chosen if found.unit == chosen.name else named(found.unit)
    name = unit.accumulate
    return NumericsMismatch(
        output=f"d_{found.output}",
        index=(told.index,),
        expected=hexadecimal(told.expected, name),
        got=hexadecimal(told.got, name),
        expected_value=text_of(told.expected, name),
        got_value=text_of(told.got, name),
        trace=trace_dot(unit, told.a, told.b, told.c, told.a_format, told.b_format, place=(told.index, 0)),
    )
