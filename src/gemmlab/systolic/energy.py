"""Energy of a run: counts times a table with its source and node; what a table lacks is said, not guessed."""

from __future__ import annotations

import math
import os
import tomllib
from functools import lru_cache
from typing import NamedTuple

import msgspec

from gemmlab.record import GemmlabError, SystolicEnergy, SystolicEnergyTerm, unknown_name

DEFAULT = "horowitz-45nm"
PICO = 1e-12
SHIPPED = os.path.join(os.path.dirname(__file__), "energy_tables.toml")
LARGEST_FILE = 1 << 16  # characters: a table takes a fiftieth of it

#: of every table: what moves along the array itself is in none of them
ALWAYS_LEFT_OUT = ("registers and wires between neighbours, control, clock and leakage",)


class EnergyTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Energies of one process, as somebody published them."""

    name: str = ""  #: what reports call it
    source: str  #: author, title, year
    node: str  #: process and voltage
    multiply_pj: dict[str, float]  #: one multiplication, by number format
    add_pj: dict[str, float]  #: one addition, by number format
    access_bits: int  #: width of one memory access
    sram_pj: tuple[tuple[int, float], ...]  #: bytes of a memory and the energy of one access, smallest first
    dram_pj: tuple[float, float]  #: one access, lower and upper end
    stand_in: dict[str, str] = {}  #: formats that the table lacks, and the one whose figure is taken for them

    def sram_j(self, capacity_bytes: float) -> float:
        """Joules a byte in the smallest memory of the table that holds so much; in its largest where none does."""
        fits = [energy for size, energy in self.sram_pj if size >= capacity_bytes]
        return PICO * (fits[0] if fits else self.sram_pj[-1][1]) / (self.access_bits / 8)

    def dram_j(self) -> tuple[float, float]:
        """Joules a byte, lower and upper end."""
        low, high = (PICO * energy / (self.access_bits / 8) for energy in self.dram_pj)
        return low, high


class Use(NamedTuple):
    """Bytes that one memory reads and writes."""

    what: str
    bytes: int
    capacity_bytes: float | None  #: of one bank; None is DRAM


class Work(NamedTuple):
    """What a run does that takes energy."""

    macs: int  #: useful multiply-adds
    operands: str  #: format of what is multiplied
    sums: str  #: format of what is added
    from_sram: tuple[Use, ...]  #: both operands, as the array reads them
    others: tuple[Use, ...]  #: results, partial sums, DRAM
    bytes_per_mac: float  #: of both operands of one multiply-add


def names() -> tuple[str, ...]:
    """Names of the shipped tables."""
    return tuple(shipped())


@lru_cache
def shipped() -> dict[str, EnergyTable]:
    """The shipped tables by name."""
    with open(SHIPPED, "rb") as file:
        tables = tomllib.load(file)
    return {name: msgspec.convert({"name": name, **fields}, EnergyTable) for name, fields in tables.items()}


def table(name_or_path: str) -> EnergyTable:
    """A shipped table by name, or one's own from a TOML file; raises GemmlabError for both where there is none."""
    if not name_or_path.lower().endswith(".toml"):
        if name_or_path not in shipped():
            raise unknown_name("table of energies", name_or_path, names())
        return shipped()[name_or_path]
    try:
        with open(name_or_path, encoding="utf-8") as file:
            text = file.read(LARGEST_FILE)
        return checked(msgspec.convert({"name": name_or_path, **tomllib.loads(text)}, EnergyTable))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise GemmlabError(
            f"table of energies `{name_or_path}`: {said}",
            f"its fields are {', '.join(EnergyTable.__struct_fields__)}, as in {DEFAULT}",
        ) from None


def checked(given: EnergyTable) -> EnergyTable:
    """The same table; raises msgspec.ValidationError where a figure cannot be one."""
    figures = [*given.multiply_pj.values(), *given.add_pj.values(), *(energy for _, energy in given.sram_pj)]
    if not all(0 <= figure < float("inf") for figure in [*figures, *given.dram_pj]):
        raise msgspec.ValidationError("an energy is a number of picojoules, 0 or more")
    if given.access_bits < 1 or not given.sram_pj:
        raise msgspec.ValidationError("`access_bits` is at least 1, and `sram_pj` has a memory")
    if [size for size, _ in given.sram_pj] != sorted({size for size, _ in given.sram_pj}):
        raise msgspec.ValidationError("`sram_pj` lists memories by size, smallest first")
    if given.dram_pj[0] > given.dram_pj[1]:
        raise msgspec.ValidationError("`dram_pj` is the lower end, then the upper one")
    return given


def charge(taken: EnergyTable, work: Work) -> SystolicEnergy:
    """Joules of a run by a table's figures.

    A format that the table does not have takes its stand-in's figure; one without either is left out, and said to be.
    """
    arithmetic, left_out = arithmetic_terms(taken, work)
    operands = [use_term(taken, use) for use in work.from_sram]
    others = [use_term(taken, use) for use in work.others]
    everything = (*arithmetic, *operands, *others)
    each = [taken.sram_j(use.capacity_bytes or 0) for use in work.from_sram]
    return SystolicEnergy(
        table=taken.name,
        source=taken.source,
        node=taken.node,
        energy_j=math.fsum(term.energy_j for term in everything),
        energy_high_j=math.fsum(term.energy_high_j for term in everything),
        no_reuse_j=math.fsum(term.energy_j for term in (*arithmetic, *others))
        + work.macs * work.bytes_per_mac * max(each, default=0.0),
        terms=everything,
        left_out=(*left_out, *ALWAYS_LEFT_OUT),
    )


def arithmetic_terms(taken: EnergyTable, work: Work) -> tuple[list[SystolicEnergyTerm], list[str]]:
    """The multiplications and the additions, and what the table has no figure for."""
    terms, left_out = [], []
    for kind, name, verb in (("multiply_pj", work.operands, "multiplying"), ("add_pj", work.sums, "adding")):
        found = figure(taken, kind, name)
        if found is None:
            left_out.append(f"{verb} in {name}, which the table does not have")
            continue
        energy, used = found
        stands = f" as {used}" if used != name else ""
        terms.append(term(f"{verb} {name}{stands}", work.macs, "MAC", (PICO * energy, PICO * energy)))
    return terms, left_out


def use_term(taken: EnergyTable, use: Use) -> SystolicEnergyTerm:
    """What one memory takes."""
    if use.capacity_bytes is None:
        return term(use.what, use.bytes, "B", taken.dram_j())
    each = taken.sram_j(use.capacity_bytes)
    return term(use.what, use.bytes, "B", (each, each))


def figure(taken: EnergyTable, kind: str, name: str) -> tuple[float, str] | None:
    """Picojoules of one operation in a format, and the format whose figure that is; None where there is none."""
    figures: dict[str, float] = getattr(taken, kind)
    used = name if name in figures else taken.stand_in.get(name, "")
    return (figures[used], used) if used in figures else None


def term(what: str, count: int, unit: str, each_j: tuple[float, float]) -> SystolicEnergyTerm:
    """A count times its energy."""
    return SystolicEnergyTerm(
        what=what, count=count, unit=unit, energy_j=count * each_j[0], energy_high_j=count * each_j[1]
    )
