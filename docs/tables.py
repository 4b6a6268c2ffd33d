"""The tables that docs/update.py puts between markers, each made from what the program itself knows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from gemmlab.cli.parse import Section


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Rows as Markdown."""
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def flags() -> str:
    """Every flag of `explain`, by section, from the table that --help prints."""
    from gemmlab.cli.options import EXPLAIN

    return "\n".join(f"### {section.title}\n\n{flag_table(section)}" for section in EXPLAIN)


def emulate_flags() -> str:
    """Every flag of `emulate`, by section."""
    from gemmlab.cli.emulate_options import EMULATE

    return "\n".join(f"### {section.title}\n\n{flag_table(section)}" for section in EMULATE)


def systolic_flags() -> str:
    """Every flag of `systolic`, by section."""
    from gemmlab.cli.systolic_options import SYSTOLIC

    return "\n".join(f"### {section.title}\n\n{flag_table(section)}" for section in SYSTOLIC)


def report_flags() -> str:
    """Every flag of `report`, by section."""
    from gemmlab.cli.report import REPORT

    return "\n".join(f"### {section.title}\n\n{flag_table(section)}" for section in REPORT)


def run_flags() -> str:
    """Every flag of `run`, by section."""
    from gemmlab.cli.run_options import RUN

    return "\n".join(f"### {section.title}\n\n{flag_table(section)}" for section in RUN)


def numerics_flags() -> str:
    """Every flag of each part of `numerics`, by section."""
    from gemmlab.cli import numerics_options as options

    parts = ("units", "gemm", "truncate", "reveal", "verify", "sass")
    return "\n".join(
        f"### {part}: {section.title[0].lower() + section.title[1:]}\n\n{flag_table(section)}"
        for part in parts
        for section in getattr(options, part.upper())
    )


def unit_fields() -> str:
    """Every field of a unit, from the comments beside them, and what it is where a file leaves it out."""
    from gemmlab.numerics import Unit

    rows = []
    for name, _, meaning in commented(Unit):
        default = next((f.default for f in msgspec.structs.fields(Unit) if f.name == name), None)
        shown = "" if default is msgspec.NODEFAULT else f"`{str(default).lower() if default is not None else 'none'}`"
        rows.append([f"`{name}`", shown if shown not in ("``", "`()`") else "empty", meaning.replace("<", "&lt;")])
    return table(["field", "left out", "meaning"], rows)


def chip_flags() -> str:
    """Every flag of `chips`."""
    from gemmlab.cli.chips import FLAGS

    return flag_table(FLAGS)


def lab_flags() -> str:
    """Every flag of `lab`."""
    from gemmlab.cli.lab import FLAGS

    return flag_table(FLAGS)


def lab_verbs() -> str:
    """What the lab's server answers, and what each answer may take."""
    from gemmlab.lab.answers import VERBS

    rows = [
        [
            f"`POST /api/{name}`",
            ", ".join(f"`{key}`" for key in verb.request.__struct_fields__),
            f"{verb.limit_s:g} s",
            f"{verb.memory_bytes >> 30} GiB" if verb.memory_bytes else "the machine's",
        ]
        for name, verb in VERBS.items()
    ]
    return table(["request", "keys", "time at most", "memory at most"], rows)


def flag_table(section: Section) -> str:
    """The flags of a section."""
    return table(
        ["flag", "meaning"],
        [[f"`{flag.typed} {flag.metavar}`".replace(" `", "`"), flag.about] for flag in section.flags],
    )


def record() -> str:
    """Every field of a Record, from the comments beside them."""
    from gemmlab.record import emulation, numerics, sections, systolic, systolic_energy, workload

    parts = [("The Record itself", sections.Record)]
    named = {
        "problem": sections.ProblemSection,
        "chip": sections.ChipSection,
        "chip.levels[]": sections.LevelFigures,
        "kernel": sections.KernelSection,
        "count": sections.Count,
        "count.arrays[]": sections.ArrayCount,
        "prediction": sections.Prediction,
        "prediction.levels[]": sections.LevelPrediction,
        "prediction.terms[]": sections.Term,
        "advice[]": sections.Advice,
        "emulation": emulation.EmulationSection,
        "emulation.blocks": emulation.BlocksSection,
        "emulation.arguments[]": emulation.ArgumentSection,
        "emulation.global_load, global_store, global_atomic": emulation.GlobalAccess,
        "emulation.shared_load, shared_store, shared_atomic": emulation.SharedAccess,
        "emulation.local_load, local_store": emulation.LocalAccess,
        "emulation.arrays{}": emulation.ArrayCounts,
        "emulation.lines[]": emulation.LineCounts,
        "emulation.lines[].accesses[], emulation.arrays{}.load, store, atomic": emulation.Access,
        "emulation.faults[]": emulation.FaultSection,
        "emulation.faults[].threads[]": emulation.ThreadPlace,
        "emulation.schedules[]": emulation.ScheduleSection,
        "emulation.proof": emulation.ProofSection,
        "measurement": sections.Measurement,
        "verdict": sections.Verdict,
        "verdict.worst": sections.WorstElement,
        "numerics": numerics.NumericsSection,
        "numerics.schedule": numerics.NumericsSchedule,
        "numerics.error": numerics.NumericsError,
        "numerics.prediction": numerics.NumericsPrediction,
        "numerics.sweep[]": numerics.NumericsSweepStep,
        "numerics.evidence[]": numerics.NumericsEvidence,
        "numerics.ambiguous[]": numerics.NumericsAmbiguity,
        "numerics.outputs[]": numerics.NumericsOutput,
        "numerics.first_mismatch": numerics.NumericsMismatch,
        "numerics.trace, numerics.first_mismatch.trace": numerics.TraceSection,
        "numerics.trace.steps[]": numerics.TraceStep,
        "numerics.trace.steps[].terms[]": numerics.TraceTerm,
        "systolic": systolic.SystolicSection,
        "systolic.stalls": systolic.SystolicStalls,
        "systolic.reads": systolic.SystolicReads,
        "systolic.writes": systolic.SystolicWrites,
        "systolic.dram": systolic.SystolicDram,
        "systolic.energy": systolic_energy.SystolicEnergy,
        "systolic.energy.terms[]": systolic_energy.SystolicEnergyTerm,
        "systolic.overflow": systolic.SystolicOverflow,
        "systolic.compat": systolic.SystolicCompat,
        "call": workload.CallSection,
        "call.changes[]": workload.ChangeSection,
    }
    text = []
    for title, kind in [*parts, *((f"`{name}`", kind) for name, kind in named.items())]:
        rows = [[f"`{name}`", shown, unit(name), meaning] for name, shown, meaning in commented(kind)]
        about = inspect.getdoc(kind).split("\n")[0]
        text.append(f"### {title}\n\n{about}\n\n{table(['field', 'type', 'unit', 'meaning'], rows)}")
    return "\n".join(text)


def summary() -> str:
    """Every field of a network's summary."""
    from gemmlab.report import workload_summary as told

    parts = {
        "The summary itself": told.Summary,
        "`changes[]`": told.SummaryChange,
        "`others[]`": told.SummaryOther,
        "`unread[]`": told.SummaryUnread,
    }
    text = []
    for title, kind in parts.items():
        rows = [[f"`{name}`", shown, unit(name), meaning] for name, shown, meaning in commented(kind)]
        about = inspect.getdoc(kind).split("\n")[0]
        text.append(f"### {title}\n\n{about}\n\n{table(['field', 'type', 'unit', 'meaning'], rows)}")
    return "\n".join(text)


def commented(kind: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and comment of each field of a class."""
    for line in inspect.getsource(kind).split("\n"):
        found = re.fullmatch(r"    (\w+): (.+?)(?: = [^#]*?)?\s*(?:#: (.*))?", line)
        if found:
            yield found[1], json_type(found[2]), found[3] or ""


def json_type(annotation: str) -> str:
    """A Python type as JSON has it."""
    words = {"int": "integer", "float": "number", "str": "text", "bool": "true or false", "None": "null"}
    kind, _, other = annotation.partition(" | ")
    if kind.startswith("tuple"):
        kind = "list"
    elif kind.startswith("dict"):
        kind = "object"
    shown = words.get(kind, "object" if kind[0].isupper() else kind)
    return f"{shown} or null" if other and shown != "null" else shown


#: the unit that a field's name ends with
UNITS = (
    ("flop_per_byte", "FLOP/byte"),
    ("bytes_per_s", "bytes/s"),
    ("flop_per_s", "FLOP/s"),
    ("elements", "elements"),
    ("sectors_requested", "32-byte sectors"),
    ("store_sectors", "32-byte sectors"),
    ("_bytes", "bytes"),
    ("bytes_low", "bytes"),
    ("bytes_high", "bytes"),
    ("lower_bounds", "bytes"),
    ("time_s", "s"),
    ("gain_s", "s"),
    ("limit_s", "s"),
    ("multiplying_s", "s"),
    ("rest_s", "s"),
    ("idle_s", "s"),
    ("host_s", "s"),
    ("unread_s", "s"),
    ("together_s", "s"),
    ("time_s_low", "s"),
    ("time_s_high", "s"),
    ("_hz", "Hz"),
    ("_j", "J"),
    ("flop", "FLOP"),
)
ELEMENTS = {"m", "n", "k", "lda", "ldb", "ldc", "block_m", "block_n", "block_k"}


def unit(name: str) -> str:
    """The unit of a field."""
    if name in ELEMENTS:
        return "elements"
    return next((unit for end, unit in UNITS if name.endswith(end) or name == end.strip("_")), "")


def suites() -> str:
    """Every suite, what it holds, what may be chosen, and where it comes from."""
    from gemmlab.problem import suite
    from gemmlab.problem.suites.catalogue import catalogue

    rows = []
    for each in catalogue().values():
        choices = " ".join(f"`--{name}`" for name in each.parameters)
        rows.append([f"`{each.name}`", str(len(suite(each.name))), each.about, choices, each.source])
    return table(["suite", "shapes", "what", "may be chosen", "source"], rows)


def kernels() -> str:
    """The catalogue of kernels."""
    from gemmlab.kernels import KERNELS, Kernel

    about = dict(re.findall(r"^(\w+): (.+)$", inspect.getdoc(Kernel) or "", re.MULTILINE))
    rows = [
        [f"`{each.name}`", f"{each.block_m}x{each.block_n}x{each.block_k}", str(each.stages), about[each.family]]
        for each in KERNELS.values()
    ]
    return table(["kernel", "tile of 16-bit or float32 operands", "stages", "how"], rows)


def formats() -> str:
    """The number formats."""
    from gemmlab.formats import bits_of, names

    return table(["format", "bits in memory"], [[f"`{name}`", str(bits_of(name))] for name in names()])


def causes() -> str:
    """The steps of the waterfall, in their order."""
    from gemmlab.model.waterfall import CAUSES

    return table(["cause", "what it is"], [[cause.name, cause.why] for cause in CAUSES])


def tpu_causes() -> str:
    """The steps of a TPU's waterfall, in their order."""
    from gemmlab.model.waterfall import TPU_CAUSES

    return table(["cause", "what it is"], [[cause.name, cause.why] for cause in TPU_CAUSES])


def constants() -> str:
    """The model's constants: what they mean, their generic value, and the H200's."""
    from gemmlab.chips import load
    from gemmlab.model.constants import GENERIC, Constants, constants_of

    own = constants_of(load("h200-sxm"))
    rows = []
    for name, meaning in spoken(Constants):
        shown = [
            f"{value:.3g}" for value in (getattr(GENERIC, name), getattr(own, name)) if not isinstance(value, dict)
        ]
        if not shown:
            fitted = getattr(own, name)
            shown = ["by `power_slope`", ", ".join(f"{value:.2f} {format_}" for format_, value in fitted.items())]
        rows.append([f"`{name}`", meaning, *shown])
    return table(["constant", "meaning", "generic", "`h200-sxm`"], rows)


def spoken(kind: type) -> Iterator[tuple[str, str]]:
    """Name of each field of a class and its `#:` comment, beside or above it; a field without one shares the last."""
    above = last = ""
    for line in inspect.getsource(kind).split("\n"):
        if comment := re.fullmatch(r"    #: (.*)", line):
            above = f"{above} {comment[1]}".strip()
        elif found := re.fullmatch(r"    (\w+): [^#]+?(?:  #: (.*))?", line):
            last, above = found[2] or above or last, ""
            yield found[1], last


TABLES: dict[str, Callable[[], str]] = {
    "flags of explain": flags,
    "flags of emulate": emulate_flags,
    "flags of run": run_flags,
    "flags of report": report_flags,
    "flags of systolic": systolic_flags,
    "flags of chips": chip_flags,
    "flags of lab": lab_flags,
    "what the lab answers": lab_verbs,
    "flags of numerics": numerics_flags,
    "fields of a unit": unit_fields,
    "fields of the Record": record,
    "fields of a summary": summary,
    "suites": suites,
    "kernels": kernels,
    "formats": formats,
    "causes of the waterfall": causes,
    "causes on a TPU": tpu_causes,
    "constants of the model": constants,
}
