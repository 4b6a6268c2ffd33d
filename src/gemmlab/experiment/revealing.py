"""A matrix unit found out from its answers alone: the Record of it, and the unit, which can be computed."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmlab.experiment.unit_backends import Settings, backend, compiled_by, unread
from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.probing import Revealed, reveal
from gemmlab.numerics.probing.evidence import fields, shown
from gemmlab.numerics.trace import hexadecimal, text_of, trace_dot
from gemmlab.numerics.units import unit as named
from gemmlab.numerics.units import units
from gemmlab.record import (
    NumericsAmbiguity,
    NumericsEvidence,
    NumericsMismatch,
    NumericsSection,
    Record,
)

WIDE_OPEN = ("zero_exponent",)  #: where it is left open, more values than the few that are told are possible
UNNAMED = ("name", "about", "source", "silicon", "assumed", "sass")


def revealed(
    unit: str | None,
    backend_name: str | None,
    settings: Settings,
    *,
    k: int | None = None,
    seed: int = 0,
    confirm: int = 100_000,
) -> tuple[Record, Unit]:
    """The Record of what a unit's answers say, and the unit; of an emulated unit, or of a backend by name.

    Raises GemmlabError.
    """
    if unit is not None:
        chosen = named(unit)
        found = reveal(chosen, settings.a_format or None, settings.b_format or None, k=k, seed=seed, confirm=confirm)
        return record(found, chosen.name, "emulated", None), found.unit
    assert backend_name is not None
    asked = backend(backend_name, settings)
    found = reveal(
        asked.call, settings.a_format, settings.b_format, accumulate=asked.accumulate, k=k, seed=seed, confirm=confirm
    )
    told = record(found, backend_name, "measured", compiled_by(asked.call), unread(asked.call))
    return told, found.unit


def record(found: Revealed, asked: str, kind: str, compiled: Any, notes: tuple[str, ...] = ()) -> Record:
    """The Record of what was found; `compiled` tells a GPU's machine code."""
    unit = found.unit
    ran = machine(compiled)
    section = NumericsSection(
        unit=unit.name,
        kind=kind,
        backend=asked,
        width_bits=unit.width_bits,
        fraction_bits=None if unit.sum == "integer" else unit.width,
        mismatches=found.mismatches,
        total=found.confirmed,
        first_mismatch=difference(found),
        confirmed=found.explained,
        evidence=tuple(
            NumericsEvidence(probe=each.probe, asked=each.given, answer=each.seen, says=each.means)
            for each in found.evidence
        ),
        fields={name: value for name, value in plain(unit).items() if name not in UNNAMED},
        ambiguous=tuple(
            NumericsAmbiguity(field=name, values=tuple(map(shown, each.values)), reason=each.reason)
            for name, each in found.ambiguous.items()
        ),
        order=found.tree,
        same_as=tuple(known.name for known in units().values() if alike(found, known)),
        experiments=found.experiments,
        notes=(*ran.pop("notes", ()), *notes),
        **ran,
    )
    return Record(numerics=section)


def plain(unit: Unit) -> dict[str, Any]:
    """A unit's fields as JSON has them."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in msgspec.structs.asdict(unit).items()
    }


def machine(compiled: Any) -> dict[str, Any]:
    """The instruction that ran, where there is machine code to tell of it."""
    if compiled is None:
        return {}
    return {
        "instruction": compiled.instruction,
        "architecture": compiled.architecture,
        "sass": compiled.opcodes,
        "notes": compiled.notes,
    }


def alike(found: Revealed, known: Unit) -> bool:
    """Whether a known unit of these formats behaves as the one found, but for what its answers leave open."""
    if found.a_format not in known.a_formats or found.b_format not in known.b_formats or known.scaled:
        return False
    ours, theirs = fields(found.unit), fields(known)
    different = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    if {found.unit.c, known.c} == {"early"} and {found.unit.order, known.order} == {"ascending"}:
        different.discard(
            "instruction_k"
        )  # sums follow each other all the same: where an instruction ends leaves no trace
    return all(
        name in found.ambiguous and (name in WIDE_OPEN or theirs.get(name) in found.ambiguous[name].values)
        for name in different
    )


def difference(found: Revealed) -> NumericsMismatch | None:
    """The first vector on which the unit that was found differs from what was asked."""
    told = found.difference
    if told is None:
        return None
    name = found.unit.accumulate
    return NumericsMismatch(
        output="random vector",
        index=(0,),
        expected=hexadecimal(told.seen, name),
        got=hexadecimal(told.computed, name),
        expected_value=text_of(told.seen, name),
        got_value=text_of(told.computed, name),
        trace=trace_dot(found.unit, told.a, told.b, told.c, found.a_format, found.b_format),
    )
