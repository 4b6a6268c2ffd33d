"""One multiplication on a systolic array: cycles, traffic, energy, values and advice as one Record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from gemmlab.chips import Chip, load
from gemmlab.chips import section as chip_section
from gemmlab.experiment.systolic_advice import advise
from gemmlab.experiment.systolic_chips import VALIDATED, array_of
from gemmlab.experiment.systolic_joules import energy_of
from gemmlab.experiment.systolic_shares import Engine, shared
from gemmlab.problem import Gemm
from gemmlab.record import Advice, GemmlabError, Record, SystolicSection, Verdict, require_type, unknown_name
from gemmlab.systolic import Array, closed_form, tile_engine
from gemmlab.systolic.energy import DEFAULT

ENGINES = ("closed-form", "tiles", "grid")
COMPATS = ("scalesim",)
LARGEST_GRID = 1 << 38  #: PE updates that the grid is asked for: some minutes


@dataclass(frozen=True, slots=True)
class Simulated:
    """A multiplication, the array that does it, and what is asked about it."""

    problem: Gemm
    array: Array
    units: int = 1  #: arrays that share the work
    chip: Chip | None = None  #: what the array's figures come from
    engine: str = ""  #: closed-form, tiles, or grid with values; empty: tiles
    energy: str | None = DEFAULT  #: a table of energies by name or file; None leaves energy out
    compat: str = ""  #: a program whose figures are to stand beside
    seed: int = 0  #: of the operands
    advice: bool = True
    validated: str = ""  #: what predicted cycles of this array were compared with
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.engine and self.engine not in ENGINES:
            raise unknown_name("engine", self.engine, ENGINES)
        if self.compat and self.compat not in COMPATS:
            raise unknown_name("program", self.compat, COMPATS)
        if self.engine == "grid" and self.units > 1:
            raise GemmlabError(f"the grid carries the values of one array, not of {self.units}", "--units 1")


def simulate(asked: Simulated) -> Record:
    """The Record of a multiplication on a systolic array; raises GemmlabError for what it cannot do."""
    section = shared(asked.problem, asked.array, asked.units, engine_of(asked))
    verdict = None
    if asked.engine == "grid":
        section, verdict = with_values(asked, section)
    added: dict[str, Any] = {
        "validated": compared(asked),
        "notes": (*section.notes, *asked.notes, *remarks(asked, section)),
    }
    if asked.compat:
        from gemmlab.systolic import scalesim

        added["compat"] = scalesim(asked.problem, asked.array)
    if asked.energy is not None:
        energy = energy_of(asked.problem, asked.array, section, asked.energy)
        added |= {"energy": energy, "energy_j": energy.energy_j}
    return Record(
        problem=asked.problem.section(),
        chip=None if asked.chip is None else chip_section(asked.chip),
        verdict=verdict,
        advice=advice_on(asked, section) if asked.advice else None,
        systolic=msgspec.structs.replace(section, **added),
    )


def simulate_array(problem: Gemm, array: Array | Chip | str | None = None, **asked: Any) -> Record:
    """The Record of a multiplication on a systolic array: an `Array`, a TPU or its name or file, or one of 128x128 PEs.

    `asked` are the fields of `Simulated`: engine, units, energy, compat, seed, advice. Raises GemmlabError for what the
    array cannot do.
    """
    require_type("problem", problem, Gemm, "gemmlab.Gemm(300, 200, 500)")
    if array is None or isinstance(array, Array):
        return simulate(Simulated(problem, array or Array(), **asked))
    chip = load(array) if isinstance(array, str) else array
    require_type("array", chip, Chip, 'an Array, a name such as "tpu-v1", a file, or a Chip')
    found = array_of(chip, problem.a_format, asked.pop("units", None))
    rest: dict[str, Any] = {"units": found.units, "chip": chip, "validated": found.validated, "notes": found.notes}
    return simulate(Simulated(problem, found.array, **rest, **asked))


def engine_of(asked: Simulated) -> Engine:
    """What counts cycles: the formula where it was asked for, else tile after tile."""
    counted: Engine = closed_form if asked.engine == "closed-form" else tile_engine
    return counted


def advice_on(asked: Simulated, section: SystolicSection) -> tuple[Advice, ...]:
    """What to change."""
    given = (asked.problem, asked.array, asked.units, section, engine_of(asked))
    return tuple(advise(*given, built=asked.chip is not None))


def with_values(asked: Simulated, section: SystolicSection) -> tuple[SystolicSection, Verdict | None]:
    """The section with what only values tell, and whether the grid's result is the product."""
    from gemmlab.experiment.systolic_values import multiplied

    updates = asked.array.pes * section.cycles
    if updates > LARGEST_GRID:
        raise GemmlabError(
            f"{asked.array.pes:,} PEs for {section.cycles:,} cycles are more than the grid carries values through",
            "--engine tiles gives the same cycles and counts without values",
        )
    found = multiplied(asked.problem, asked.array, asked.seed)
    carried = found.section
    return msgspec.structs.replace(section, engine=carried.engine, unit=carried.unit, overflow=carried.overflow), (
        found.verdict
    )


def compared(asked: Simulated) -> str:
    """What the cycles were compared with; counters hold what waits for DRAM, so those without it with nothing."""
    return "" if asked.engine == "closed-form" else asked.validated


def remarks(asked: Simulated, section: SystolicSection) -> Iterator[str]:
    """What is to be said of the figures."""
    if asked.engine == "closed-form" and asked.array.dram_bytes_per_s:
        yield "waiting for DRAM is not in the closed form's cycles: --engine tiles has it"
    if compared(asked):
        yield f"compared with {compared(asked)}"
    elif asked.validated:
        yield "not validated: the counters that are public hold what waits for DRAM"
    elif section.time_s is not None:
        what = f"{asked.chip.name} as changed here" if asked.chip else "this array"
        if asked.chip is not None and asked.chip.name not in VALIDATED:
            what = asked.chip.name
        yield f"not validated: there are no public counters of {what} to compare the predicted time with"
    if asked.chip is not None and asked.array.resident == ("a", "c"):
        shared_level = asked.chip.level("shared")
        held = asked.problem.compulsory_bytes - section.dram.b_bytes
        if shared_level is not None and held > shared_level.capacity_bytes:
            yield "A and D together are larger than the Unified Buffer: the host has to cut the batch"
    if section.dram.bytes > section.compulsory_bytes:
        yield fetched_again(asked, section)


def fetched_again(asked: Simulated, section: SystolicSection) -> str:
    """Why DRAM moves more than each matrix once."""
    if asked.units > 1:
        return "operands that several units need come out of DRAM once for each of them"
    if closed_form(asked.problem, asked.array.replace(sram_bytes=None)).dram.bytes > section.compulsory_bytes:
        return "tiles at the edge come out of DRAM whole"
    return "SRAM is too small to keep every operand: some come out of DRAM again"
