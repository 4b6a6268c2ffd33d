"""Every number of a Record with its kind and where it comes from."""

from typing import Any, NamedTuple

from gemmlab.record import Record
from gemmlab.report.story import fed_by_software
from gemmlab.report.words import amount, clean, plain

#: kind of all numbers of a section, unless EXCEPTIONS says otherwise
SECTION_KINDS = {
    "problem": "given",
    "kernel": "given",
    "chip": "datasheet",
    "count": "counted",
    "prediction": "predicted",
    "advice": "predicted",
    "emulation": "emulated",
    "measurement": "measured",
    "verdict": "checked",
    "numerics": "emulated",
    "systolic": "counted",
    "call": "predicted",
}
#: too long for a table: told term by term elsewhere
LEFT_OUT = ("numerics.trace.", "numerics.first_mismatch.trace.")
#: what a rung of the CPU's ladder has no figure for
OF_GPUS = (
    *(f"count.{name}" for name in ("sectors_requested", "store_sectors", "load_requests", "store_requests")),
    *(f"count.{name}" for name in ("shared_load_bytes", "shared_store_bytes", "register_load_elements")),
    "count.workspace_bytes",
    *(f"prediction.{name}" for name in ("waves", "wave_efficiency", "programs_per_sm")),
)
#: what a TPU has no figure for: warps, registers, and what threads ask shared memory for
OF_THREADS = (
    *OF_GPUS[:-3],
    *(f"kernel.{name}" for name in ("warps", "registers", "split_k", "group_m", "cluster_m", "cluster_n")),
    *(f"prediction.{name}" for name in ("wave_efficiency", "programs_per_sm")),
)
EXCEPTIONS = {
    "prediction.compute_time_s": "datasheet",
    "prediction.knee_flop_per_byte": "datasheet",
    "prediction.lower_bound_bytes": "counted",
    "prediction.lower_bounds": "counted",
    "numerics.schedule": "given",
    "numerics.prediction": "predicted",
    "numerics.sass": "counted",
    "measurement.limit_s": "datasheet",
    "measurement.threads": "given",
    "numerics.error.time_s": "measured",
    "numerics.error.mac_per_s": "measured",
    **dict.fromkeys((f"systolic.{name}" for name in ("rows", "cols", "accumulators", "sram_bytes", "units")), "given"),
    **dict.fromkeys(("systolic.clock_hz", "systolic.dram_bytes_per_s"), "given"),
    "systolic.time_s": "predicted",
    "systolic.energy": "predicted",
    "systolic.energy_j": "predicted",
    "systolic.compat": "emulated",
    "systolic.overflow": "emulated",
    **dict.fromkeys(("call.count", "call.steps", "call.flop_share"), "counted"),
    **dict.fromkeys(("call.shapes", "call.strides"), "given"),
}
#: of a call, as its `known` says: measured in a trace, or predicted
AS_KNOWN = ("call.time_s", "call.time_share")

#: where a number comes from, by its path; a path without an entry takes that of the path it begins with
SOURCES = {
    "problem": "as asked",
    "kernel": "the kernel as chosen",
    "chip": "the chip's file, which names the source of each figure",
    "count": "closed form over the kernel's tiles, before any cache",
    "count.flop": "2*m*n*k and the structure of A; a multiply and an add each count one",
    "count.epilogue_flop": "scaling and epilogue, for each element of the result",
    "count.global_load_elements": "in-range elements that threads ask for, tile by tile",
    "count.global_load_bytes": "those elements in their formats",
    "count.global_store_bytes": "the result, written once (partial results too where k is split)",
    "count.compulsory_bytes": "each operand read once, the result written once",
    "count.raw_bytes": "the same as global_load_bytes: what would move were there no cache",
    "count.sectors_requested": "32-byte sectors of the loads, by each warp's request and true start alignment",
    "count.store_sectors": "32-byte sectors of the stores",
    "count.intensity_flop_per_byte": "flop over loads and stores",
    "count.padded_flop": "flop that whole tiles execute, out-of-range elements included",
    "count.load_requests": "warps' load requests with at least one lane in range",
    "count.store_requests": "warps' store requests with at least one lane in range",
    "count.workspace_bytes": "partial results where k is split, one way",
    "count.programs": "thread blocks launched",
    "count.arrays": "closed form over the rung's own loops, cut as its tiling says; packing and packed panels included",
    "prediction": "the model of the chip, its kernel and its caches",
    "prediction.time_s": "the sum of prediction.terms",
    "prediction.compute_time_s": "count.flop over the data sheet's dense peak",
    "prediction.knee_flop_per_byte": "the peak over DRAM bandwidth",
    "prediction.dram_bytes": "tiles walked in launch order through the L2 cache",
    "prediction.dram_bytes_low": "the band's lower end",
    "prediction.dram_bytes_high": "the band's upper end",
    "prediction.levels": "each level alone: its bytes over its bandwidth",
    "prediction.terms": "each cause's share of the predicted time",
    "prediction.lower_bounds": "theorems on traffic; they hold for algorithms doing all m*n*k products, not Strassen's",
    "prediction.lower_bounds.hong_kung": "2mnk/sqrt(S/3): what three square tiles in a fast memory of S move; no bound",
    "prediction.lower_bound_bytes": "the larger of the tight bound and each matrix once",
    "advice": "the model run again with one cause removed",
    "emulation": "the kernel run on a CPU, every access of every thread counted",
    "measurement": "read on the chip, or reported by the user",
    "measurement.time_s": "median of the rounds, each many multiplications on operands that no cache holds",
    "measurement.time_s_low": "lower quartile of the rounds",
    "measurement.time_s_high": "upper quartile of the rounds",
    "measurement.sustained_time_s": "median of the steady part of work without a pause",
    "measurement.samples": "one round: its time over its multiplications",
    "measurement.limit_s": "flop at the chip's peak, or each matrix once through DRAM, whichever takes longer",
    "measurement.fraction_of_limit": "limit_s over time_s",
    "measurement.threads": "of the CPU, as asked",
    "measurement.copies": "sets of operands that together exceed the last-level cache three times",
    "verdict": "every element of the result compared with the reference",
    "verdict.wrong_elements": "elements further from the reference than rounding explains",
    "verdict.max_relative_error": "largest error over |alpha| |A||B| + |beta C|",
    "verdict.bound": "gamma_k of the accumulator, the scaling by alpha and beta, the rounding to D's format",
    "verdict.unwritten_elements": "elements that still hold what D was filled with",
    "verdict.range_elements": "elements lost to overflow or underflow",
    "verdict.worst": "the element furthest off",
    "numerics": "the unit's rules, applied bit for bit on a CPU",
    "numerics.schedule": "as asked",
    "numerics.mismatches": "outputs compared bit for bit with what was recorded",
    "numerics.sweep": "outputs with their low bits cleared, compared bit for bit",
    "numerics.sass": "the disassembled machine code",
    "numerics.error": "beside the product of the same operands in float64",
    "numerics.error.time_s": "the clock of this machine",
    "numerics.error.mac_per_s": "products over that time",
    "numerics.prediction": "a formula over the unit's rules and a sample of outputs",
    "systolic": "every tile's wave through the array, by formula or one after the other",
    "systolic.time_s": "systolic.cycles at the clock; see systolic.validated",
    "systolic.utilisation": "useful multiply-adds over what all PEs could do in all cycles",
    "systolic.mapping": "useful multiply-adds over those and the ones of idle PEs in active cycles",
    "systolic.energy": "counts times the table of energies that systolic.energy names, with its source and node",
    "systolic.energy_j": "the sum of systolic.energy.terms",
    "systolic.compat": "that program's own formulas",
    "systolic.overflow": "every addition of the grid, against the range of its format",
    **dict.fromkeys(
        (f"systolic.{name}" for name in ("rows", "cols", "accumulators", "sram_bytes", "units")),
        "as asked, or the chip's file",
    ),
    **dict.fromkeys(("systolic.clock_hz", "systolic.dram_bytes_per_s"), "as asked, or the chip's file"),
    "call": "the program's multiplication, all its occurrences together",
    "call.count": "occurrences in the source",
    "call.steps": "the steps that the source marks, or one",
    "call.shapes": "the operands as the source tells them, in elements",
    "call.strides": "the operands as the source tells them, in elements",
    "call.time_s": "the kernels that a trace joins to it; else prediction.time_s, as often",
    "call.predicted_time_s": "prediction.time_s as often",
    "call.limit_s": "arithmetic at the peak, or each matrix once through DRAM, whichever takes longer, as often",
    "call.flop_share": "count.flop as often, over the work of the whole program",
    "call.time_share": "call.time_s over the program's time",
    "call.gain_s": "the largest of call.changes",
    "call.changes": "the model run again on the changed multiplication",
}

#: the same where it is a rung of the CPU's ladder
RUNG_SOURCES = {
    "count.global_load_elements": "the elements of count.arrays that loads ask for",
    "count.global_store_bytes": "the bytes of count.arrays that stores write",
    "count.padded_flop": "flop that whole tiles in registers execute, zeros beyond the edges included",
    "count.programs": "rectangles of C, a thread each",
    "prediction": "the model of one core, its ports and its caches",
    "prediction.compute_time_s": "count.flop at the peak of the cores that work, their clock and rate measured",
    "prediction.dram_bytes": "A and B fetched, C fetched and written back, and what no cache holds until its next use",
    "prediction.dram_bytes_low": "the same: no band is known",
    "prediction.dram_bytes_high": "the same: no band is known",
    "prediction.levels": "each level alone: what the rung takes from it, at its rate",
    "prediction.terms": "phases one after another, each as long as what it waits for",
}

#: the same where it is of a TPU's matrix units
UNIT_SOURCES = {
    "kernel": "the block that VMEM holds, the fastest of those that fit",
    "count.programs": "blocks of the result",
    "prediction": "the model of the chip, its matrix units and their VMEM",
    "prediction.waves": "blocks of a core, one after another",
    "prediction.dram_bytes": "A once a column of blocks, B once a row, the result once, all in tiles of 8 x 128",
    "prediction.dram_bytes_low": "the same: software fills VMEM",
    "prediction.dram_bytes_high": "the same: software fills VMEM",
}

UNITS = (("flop_per_s", "FLOP/s"), ("bytes_per_s", "B/s"), ("flop_per_byte", "FLOP/B"), ("bytes", "B"), ("_hz", "Hz"))


class Entry(NamedTuple):
    """One number: its path in the Record's JSON, its text, its kind, where it comes from."""

    path: str
    value: str
    kind: str
    source: str


def entries(record: Record) -> list[Entry]:
    """Every number of the Record, in the order of its JSON."""
    found = []
    rung = record.count is not None and bool(record.count.arrays)
    left_out, sources = (LEFT_OUT + OF_GPUS, SOURCES | RUNG_SOURCES) if rung else (LEFT_OUT, SOURCES)
    if fed_by_software(record):
        left_out, sources = LEFT_OUT + OF_THREADS, SOURCES | UNIT_SOURCES
    for section, kind in SECTION_KINDS.items():
        part = getattr(record, section)
        if part is None:
            continue
        if section == "numerics" and part.kind == "measured":
            kind = part.kind  # noqa: PLW2901 - what ran on a chip
        if section == "systolic" and part.engine == "grid":
            kind = "emulated"  # noqa: PLW2901 - every register's every cycle
        for path, value in leaves(section, part):
            if isinstance(value, bool) or not isinstance(value, int | float) or path.startswith(left_out):
                continue
            known = part.known if path in AS_KNOWN else lookup(path, EXCEPTIONS, kind)
            found.append(Entry(clean(path), value_text(path, value), known, lookup(path, sources, "")))
    return found


def leaves(path: str, value: Any) -> list[tuple[str, Any]]:
    """Paths and values below a section; see `members` for those of a list."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(f"{path}.{key}", item)]
    if isinstance(value, tuple):
        return [
            leaf for name, item in zip(members(value), value, strict=True) for leaf in leaves(f"{path}.{name}", item)
        ]
    if hasattr(value, "__struct_fields__"):
        return [leaf for name in value.__struct_fields__ for leaf in leaves(f"{path}.{name}", getattr(value, name))]
    return [(path, value)]


def members(items: tuple[Any, ...]) -> list[str]:
    """How a list's members are called: by name or cause where each has its own, else by place."""
    names = [str(getattr(item, "name", None) or getattr(item, "cause", None) or "") for item in items]
    return names if all(names) and len(set(names)) == len(names) else [str(index) for index in range(len(items))]


def lookup(path: str, table: dict[str, str], otherwise: str) -> str:
    """The table's entry for the longest beginning of the path."""
    while path:
        if path in table:
            return table[path]
        path = path.rpartition(".")[0]
    return otherwise


def value_text(path: str, value: float) -> str:
    """A number with its unit; whole counts in full beside their short form."""
    name = path.rpartition(".")[2]
    unit = unit_of(path, name)
    if isinstance(value, int):
        short = f" ({amount(value, unit)})" if unit and value >= 1000 else f" {unit}" if unit else ""
        return f"{value:,}{short}" if abs(value) < 10**18 else amount(value, unit or "")
    return amount(value, unit) if unit else plain(value, 4)


def unit_of(path: str, name: str) -> str:
    """The unit that a field's name ends with."""
    if ".peak_flop_per_s." in path:
        return "FLOP/s"
    if ".lower_bounds." in path:
        return "B"
    for tail, unit in UNITS:
        if name.endswith(tail):
            return unit
    if name.endswith(("_s", "_s_low", "_s_high")):
        return "s"
    if name.startswith("dram_bytes"):
        return "B"
    return "FLOP" if name.endswith("flop") else "J" if name.endswith("_j") else ""
