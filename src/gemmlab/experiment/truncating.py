"""The truncation experiment on an emulated unit or on hardware: the Record of it."""

from __future__ import annotations

from typing import Any

from gemmlab.experiment.revealing import machine
from gemmlab.experiment.unit_backends import Settings, backend, compiled_by, unread
from gemmlab.experiment.unit_operands import require_room
from gemmlab.numerics.truncation import Truncation, truncation_sweep
from gemmlab.numerics.units import unit as named
from gemmlab.record import NumericsSection, NumericsSweepStep, Record


def truncated(
    unit: str | None,
    backend_name: str | None,
    settings: Settings,
    *,
    mode: str,
    action: str,
    block_k: int,
    shape: tuple[int, int, int],
    seed: int,
) -> Record:
    """The Record of a sweep over an emulated unit, or a backend by name; arguments as `truncation_sweep` takes them.

    Raises GemmlabError.
    """
    require_room(shape)
    given: dict[str, Any] = {"block_k": block_k, "mode": mode, "action": action, "shape": shape, "seed": seed}
    if unit is not None:
        chosen = named(unit)
        found = truncation_sweep(chosen, settings.a_format or None, settings.b_format or None, **given)
        return record(found, chosen.name, chosen.name, "emulated", None)
    assert backend_name is not None
    asked = backend(backend_name, settings)
    found = truncation_sweep(asked.call, settings.a_format, settings.b_format, **given)
    compiled = compiled_by(asked.call)
    unit_name = compiled.unit_name if compiled else ""
    return record(found, unit_name, backend_name, "measured", compiled, unread(asked.call))


def record(found: Truncation, unit: str, asked: str, kind: str, compiled: Any, ran: tuple[str, ...] = ()) -> Record:
    """The Record of what the sweep gave."""
    told = machine(compiled)
    notes = (
        *told.pop("notes", ()),
        *ran,
        *(each if each.startswith("a lower") else f"not shown: {each}" for each in found.cannot_show),
    )
    section = NumericsSection(
        unit=unit or "an unknown unit",
        kind=kind,
        backend=asked,
        plateau=found.plateau,
        width_bits=found.width_bits,
        fraction_bits=found.fraction_bits,
        contradicted=found.contradicted,
        sweep=tuple(
            NumericsSweepStep(bits=bits, unchanged=share, relative_frobenius=error)
            for bits, share, error in zip(found.bits, found.fractions, found.errors, strict=True)
        ),
        mode=found.mode,
        action=found.action,
        a_format=found.a_format,
        b_format=found.b_format,
        shape=found.shape,
        block_k=found.block_k,
        notes=notes,
        **told,
    )
    return Record(numerics=section)
