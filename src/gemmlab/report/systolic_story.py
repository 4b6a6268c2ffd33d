"""What a systolic array's section tells, as rows of words and numbers: the same for terminal, picture and page."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.record import Record, SystolicSection
from gemmlab.report import story
from gemmlab.report.story import Fact
from gemmlab.report.words import amount, clean, several
from gemmlab.units import capacity_text, si, significant

NOT_VALIDATED = "not validated"
HELD = {"ws": "weight stationary", "is": "input stationary", "os": "output stationary"}
DRAINS = {
    "side": "results leave to the side",
    "bottom": "results leave below",
    "shadow": "shadow registers for results",
}


class Share(NamedTuple):
    """One class of cycles, or part of one."""

    name: str
    cycles: float
    share: float  #: of all cycles
    why: str
    part: bool = False  #: of the class before it


def title(record: Record, section: SystolicSection) -> str:
    """`1024 x 1024 x 1024 on a 128x128 systolic array`."""
    size = f"{section.rows}x{section.cols}"
    many = f"{section.units} systolic arrays of {size}" if section.units > 1 else f"a {size} systolic array"
    return f"{story.title(record)} on {many}"


def setting(record: Record, section: SystolicSection) -> list[str]:
    """Formats, dataflow, memories and chip, a line each."""
    formats = story.formats(record) + (f", {section.passes} passes through each PE" if section.passes > 1 else "")
    how = [HELD.get(section.dataflow, section.dataflow)]
    how.append(DRAINS[section.drain] if section.dataflow == "os" else f"{section.weights} weights")
    how.append("tiles at the edge charged in full" if section.edges == "full" else "exact edges")
    said = [formats, ", ".join(how)]
    memory = [f"{section.accumulators:,} accumulators a column"] if section.accumulators is not None else []
    if section.sram_bytes is not None:
        memory.append(f"{capacity_text(section.sram_bytes)} of SRAM")
    if section.dram_bytes_per_s is not None:
        memory.append(f"DRAM {amount(section.dram_bytes_per_s, 'B/s')}")
    if section.clock_hz is not None:
        memory.append(amount(section.clock_hz, "Hz"))
    if memory:
        said.append(", ".join(memory) + (" each" if section.units > 1 else ""))
    if record.chip:
        said.append(f"on {clean(record.chip.name)}, {standing(section)}")
    return said


def standing(section: SystolicSection) -> str:
    """What the predicted time was compared with, in a few words."""
    return "compared with its counters" if section.validated else NOT_VALIDATED


def time_text(section: SystolicSection) -> str:
    """The predicted time, and whether it was ever compared with the chip's; empty without a clock."""
    if section.time_s is None:
        return ""
    return f"{amount(section.time_s, 's')} predicted" + ("" if section.validated else f", {NOT_VALIDATED}")


def verdict(section: SystolicSection) -> str:
    """The one sentence: cycles, time, utilisation."""
    time = time_text(section)
    took = f"{section.cycles:,} cycles" + (f", {time}" if time else "")
    return f"{took}: {tenths(section.utilisation)} of what the PEs could do is useful"


def shares(section: SystolicSection) -> list[Share]:
    """All cycles by class, as table 3 of the TPU v1's paper has them, with what active and non-matrix are made of."""
    stalls, all_cycles = section.stalls, section.cycles
    useful = section.active_cycles * section.mapping
    hidden = "" if section.dataflow == "os" else "; the rest is hidden"
    rows = [
        ("array active", section.active_cycles, "operands enter the array", False),
        ("useful MACs", useful, "products of the multiplication", True),
        ("unused MACs", section.active_cycles - useful, "PEs that a tile does not fill", True),
        ("weight stall", stalls.weight_stall, "waiting for a tile of what stays, out of DRAM", False),
        ("weight shift", stalls.weight_shift, f"shifting such a tile in{hidden}", False),
        ("non-matrix", stalls.non_matrix, "everything else", False),
        ("skew", stalls.skew, "the wave running in and out", True),
        ("drain", stalls.drain, "results leaving", True),
        ("input", stalls.input, "waiting for what moves, out of DRAM", True),
        ("output", stalls.output, "waiting for results to reach DRAM", True),
    ]
    classes = {"array active", "weight stall", "weight shift", "non-matrix"}
    return [
        Share(name, cycles, cycles / all_cycles, why, part)
        for name, cycles, why, part in rows
        if cycles or name in classes
    ]


def tenths(share: float) -> str:
    """A share with one decimal, as the paper prints it; what is neither nothing nor all never reads so."""
    text = f"{100 * share:.1f}%"
    if text == "0.0%" and share > 0:
        return "<0.1%"
    return ">99.9%" if text == "100.0%" and share < 1 else text


def moves(section: SystolicSection, kind: str) -> list[Fact]:
    """What the array reads and writes, and what DRAM moves."""
    reads, writes, dram = section.reads, section.writes, section.dram
    rows = [
        Fact("A out of SRAM", f"{reads.a:,} elements", kind),
        Fact("B out of SRAM", f"{reads.b:,} elements", kind),
        Fact("partial sums out", f"{writes.partial:,}", kind),
        Fact("partial sums back", f"{reads.c:,}", kind),
        Fact("results out", f"{writes.c:,} elements", kind),
        Fact("DRAM, A", amount(dram.a_bytes, "B"), kind),
        Fact("DRAM, B", amount(dram.b_bytes, "B"), kind),
        Fact("DRAM, results", amount(dram.c_bytes, "B"), kind),
        Fact("each matrix once", amount(section.compulsory_bytes, "B"), "counted"),
        Fact("MACs for each element read", significant(section.useful_macs / (reads.a + reads.b)), "counted"),
    ]
    return [row for row in rows if not row.value.startswith("0 ") and row.value != "0"]


def tiles(section: SystolicSection) -> list[Fact]:
    """How the multiplication is cut."""
    waste = section.unused_macs / (section.useful_macs + section.unused_macs)
    rows = [Fact("tiles", f"{section.tiles:,}", "counted")]
    if section.strips > 1:
        rows.append(Fact("strips", f"{section.strips:,}, so that sums and operands fit", "counted"))
    rows.append(Fact("PEs that tiles leave idle", tenths(waste), "counted"))
    if section.accumulators_used:
        kept = f" of {section.accumulators:,}" if section.accumulators is not None else ""
        rows.append(Fact("accumulators used", f"{section.accumulators_used:,}{kept} a column", "counted"))
    return rows


def energy(section: SystolicSection) -> list[Fact]:
    """Joules by what they go into, then all of them."""
    found = section.energy
    if found is None:
        return []
    rows = [
        Fact(clean(term.what), joules(term.energy_j, term.energy_high_j), "predicted")
        for term in found.terms
        if term.count
    ]
    rows.append(Fact("together", joules(found.energy_j, found.energy_high_j), "predicted"))
    again = f"{joules(found.no_reuse_j, found.no_reuse_j)}, {significant(found.no_reuse_j / found.energy_j, 2)}x"
    return [*rows, Fact("were each MAC to read both from SRAM", again, "predicted")]


def joules(low: float, high: float) -> str:
    """Joules, a range where there is one."""
    return si(low, "J") if high <= low * 1.0001 else f"{si(low, 'J')} to {si(high, 'J')}"


def energy_source(section: SystolicSection) -> list[str]:
    """Table, source and node, and what is not in the figures."""
    found = section.energy
    if found is None:
        return []
    left = [f"left out: {clean('; '.join(found.left_out))}"] if found.left_out else []
    return [f"table {clean(found.table)}: {clean(found.source)}; {clean(found.node)}", *left]


def remark(section: SystolicSection, path: str) -> str:
    """What may never be missing beside a number: whether a time was ever compared, out of which table an energy is."""
    if path == "systolic.time_s":
        return f"compared with {section.validated}" if section.validated else NOT_VALIDATED
    if path.startswith("systolic.energy") and section.energy is not None:
        return f"{section.energy.table}: {section.energy.source}; {section.energy.node}"
    return ""


def compat(section: SystolicSection) -> list[Fact]:
    """What another program reports."""
    found = section.compat
    if found is None:
        return []
    used = "divides by zero" if found.utilisation is None else f"{100 * found.utilisation:.2f}%"
    rows = [
        ("cycles", f"{found.cycles:,}"),
        ("overall utilisation", used),
        ("mapping efficiency", f"{100 * found.mapping:.2f}%"),
        ("compute utilisation", f"{100 * found.compute_utilisation:.2f}%"),
        ("SRAM reads of A, B", f"{found.a_reads:,}, {found.b_reads:,}"),
        ("SRAM writes of C", f"{found.c_writes:,}"),
    ]
    return [Fact(label, value, "emulated") for label, value in rows]


def overflow(section: SystolicSection) -> str:
    """Whether sums left the range of their format."""
    found = section.overflow
    if found is None:
        return ""
    if not found.outputs:
        passing = (
            f"; {several(found.additions, 'addition')} left it on the way and came back" if found.additions else ""
        )
        return f"no element of D leaves the accumulator's range{passing}"
    first = f", the first at {found.first[0]}, {found.first[1]}" if found.first else ""
    return f"{several(found.outputs, 'element')} of D left the accumulator's range{first}: they are wrong"


class Compared(NamedTuple):
    """One figure of the array and of another chip."""

    label: str
    array: str
    other: str


def beside(record: Record, other: Record) -> list[Compared]:
    """The array's figures and another chip's prediction for the same multiplication."""
    section, prediction = record.systolic, other.prediction
    if section is None or prediction is None:
        return []
    joule = "-" if section.energy is None else joules(section.energy.energy_j, section.energy.energy_high_j)
    theirs = "-" if prediction.energy_j is None else si(prediction.energy_j, "J")
    rows = [
        Compared("predicted time", amount(section.time_s, "s"), amount(prediction.time_s, "s")),
        Compared("", standing(section), story.chip_status(other)),
        Compared("DRAM traffic", amount(section.dram.bytes, "B"), amount(prediction.dram_bytes, "B")),
        Compared("of the arithmetic peak", tenths(section.utilisation), tenths(story.share_of_peak(other) or 0.0)),
        Compared("energy", joule, theirs),
    ]
    return rows if section.time_s is not None else rows[2:]


def beside_notes(record: Record, other: Record) -> list[str]:
    """What the comparison may not be taken for."""
    name = record.chip.name if record.chip else ""
    said = ["the question is who moves less: the two were not built in the same year or process"]
    if name == "tpu-v1":
        said.append("the TPU v1 multiplied 8-bit integers, for inference only, and only weights came from its DRAM")
    energy = record.systolic.energy if record.systolic else None
    if energy and other.chip and other.prediction and other.prediction.energy_j is not None:
        tables = f"{clean(energy.table)} here, {clean(other.chip.name)}'s chip file there"
        said.append(f"energies are by different tables, {tables}: only their order of magnitude can be compared")
    if record.systolic is not None and record.systolic.time_s is None:
        said.append("without --clock the array has no time")
    return said
