"""`gemmlab systolic`: one multiplication on a systolic array, cycle by cycle."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.cli.numerics_output import check_files
from gemmlab.cli.output import emit
from gemmlab.cli.parse import parse
from gemmlab.cli.quantities import size
from gemmlab.cli.systolic_options import FIELDS, PROBLEM, SYSTOLIC
from gemmlab.record import GemmlabError, Record

if TYPE_CHECKING:
    from gemmlab.chips import Chip
    from gemmlab.experiment import Simulated
    from gemmlab.problem import Gemm

HELP = "gemmlab systolic --help"
SOURCE = ("M N K", "A is (M, K), B is (K, N).")
FORMAT = "int8"


def help_text(about: str) -> str:
    """What `gemmlab systolic --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab systolic M N K --array 256x256 | --chip tpu-v1 [FLAGS]"
    example = "gemmlab systolic 200 2048 2048 --chip tpu-v1 --beside h100-sxm"
    return of_verb(usage, about, SOURCE, SYSTOLIC, example)


def run(words: Sequence[str]) -> int:
    """Simulate what the words say; 1 where the grid's result is wrong or overflows; raises GemmlabError."""
    source, given = parse(words, SYSTOLIC, HELP)
    if len(source) != 3:
        said = f"{len(source)} sizes are given" if source else "there are no sizes"
        raise GemmlabError(said, "M N K, for example gemmlab systolic 1024 1024 1024 --array 128x128")
    check(given)
    chip = chip_of(given)
    problem = problem_of(source, given, chip)
    asked = asked_of(problem, given, chip)
    if "state" in given and not {"plot", "html"} & set(given):
        emit(json.dumps(state(asked, given["state"])) + "\n", for_programs=True)
        return 0
    from gemmlab import experiment

    records = [experiment.simulate(asked)]
    if "beside" in given:
        records.append(experiment.explain(problem, given["beside"], advice=False))
    deliver(records, asked, given)
    return 0 if fine(records[0]) else 1


def check(given: dict[str, Any]) -> None:
    """Raise GemmlabError for flags that contradict each other, and files that cannot be written."""
    if "seed" in given and given.get("engine") != "grid" and "state" not in given:
        raise GemmlabError("--seed is of values, and only the grid carries any", "--engine grid")
    if not 0 <= given.get("seed", 0) < 2**32:
        raise GemmlabError(f"--seed: {given['seed']} is no seed", "a whole number from 0 to 4294967295")
    if given.get("state", 0) < 0:
        raise GemmlabError(f"--state: there is no cycle {given['state']}", "cycles are counted from 0")
    if "state" in given and "json" in given and {"plot", "html"} & set(given):
        raise GemmlabError("--state with a picture draws that cycle, and --json prints the Record", "leave one out")
    check_files(given, ("plot", "html"))


def chip_of(given: dict[str, Any]) -> Chip | None:
    """The chip whose array it is; raises GemmlabError for an unknown one."""
    if "chip" not in given:
        return None
    from gemmlab import chips

    return chips.load(given["chip"])


def problem_of(source: Sequence[str], given: dict[str, Any], chip: Chip | None) -> Gemm:
    """The multiplication that the words describe; raises GemmlabError."""
    from gemmlab.problem import Gemm
    from gemmlab.problem.columns import gemm_fields

    m, n, k = (size(word) for word in source)
    fields = {name: value for name, value in PROBLEM.of(given).items() if name != "unit"}
    if "format" not in fields and "a_format" not in fields:
        from gemmlab.experiment import fitting

        fields["a_format"] = FORMAT if chip is None else fitting(chip)
    return Gemm(m, n, k, **gemm_fields(fields))


def asked_of(problem: Gemm, given: dict[str, Any], chip: Chip | None) -> Simulated:
    """The array and what is asked of it, as the flags say; raises GemmlabError."""
    from gemmlab.experiment import Simulated, array_of
    from gemmlab.systolic import Array

    fields = {field: given[flag] for flag, field in FIELDS.items() if flag in given}
    if "array" in given:
        fields["rows"], fields["cols"] = given["array"]
    if "resident" in given:
        fields["resident"] = tuple(part.strip() for part in given["resident"].split(","))
    settings: dict[str, Any] = {
        "engine": given.get("engine", ""),
        "compat": given.get("compat", ""),
        "seed": given.get("seed", 0),
        "advice": "no_advice" not in given,
    }
    if "energy" in given:
        settings["energy"] = given["energy"]
    one = "state" in given or given.get("engine") == "grid"  # values are those of one array
    units = given.get("units", 1 if chip is None or one else int(chip.sm_count))
    fields = share(fields, units)
    if chip is None:
        return Simulated(problem, Array(**fields), units=units, **settings)
    found = array_of(chip, problem.a_format, units, **fields)
    given_by_chip: dict[str, Any] = {"validated": found.validated, "notes": found.notes}
    return Simulated(problem, found.array, units=found.units, chip=chip, **settings, **given_by_chip)


def share(fields: dict[str, Any], units: int) -> dict[str, Any]:
    """The fields of one of several arrays: each has an equal part of the memories."""
    found = dict(fields)
    if "sram_bytes" in found:
        found["sram_bytes"] = max(found["sram_bytes"] // units, 1)
    if "dram_bytes_per_s" in found:
        found["dram_bytes_per_s"] /= units
    return found


def state(asked: Simulated, cycle: int) -> dict[str, Any]:
    """What every register holds in a cycle; raises GemmlabError."""
    from gemmlab.experiment import state_of

    return state_of(asked, cycle)


def fine(record: Record) -> bool:
    """Whether no value was found wrong, where there are values."""
    overflow = record.systolic.overflow if record.systolic else None
    return (record.verdict is None or record.verdict.ok) and (overflow is None or not overflow.outputs)


def deliver(records: Sequence[Record], asked: Simulated, given: dict[str, Any]) -> None:
    """Write the files that were asked for, then print; raises GemmlabError where a file cannot be written."""
    files: dict[str, str] = {}
    if {"plot", "html"} & set(given):
        from gemmlab.experiment import still_of

        still = still_of(asked, given.get("state"))
        if "plot" in given:
            from gemmlab.report import systolic_svg

            files[given["plot"]] = systolic_svg(records[0], still)
        if "html" in given:
            from gemmlab.report.systolic_page import systolic_html

            files[given["html"]] = systolic_html(records, still)
    if "json" in given:
        text = "".join(record.to_json() + "\n" for record in records)
    else:
        from gemmlab.report import systolic_text

        text = systolic_text(records, width=given.get("width")) + "\n"
    if files:
        from gemmlab.report import write_file

        for path, content in files.items():
            write_file(path, content)
            print(f"wrote {path}", file=sys.stderr)
    emit(text, for_programs="json" in given)
