"""`gemmlab emulate`: run a GPU kernel on the CPU, count every access, name every fault."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.cli.emulate_options import EMULATE, GEMM, OPTIONS
from gemmlab.cli.output import emit
from gemmlab.cli.parse import parse
from gemmlab.record import GemmlabError, Record, unknown_name

if TYPE_CHECKING:
    from gemmlab.emulator import Emulation
    from gemmlab.experiment import Asked

HELP = "gemmlab emulate --help"
SOURCE = (
    "KERNEL",
    "FILE.py:KERNEL, a function under numba's @cuda.jit; the file is imported. Or a rung of the ladder, naive, tiled, "
    "..., or one of its broken twins, such as tiled_without_first_barrier.",
)
BLOCK = (16, 16)  #: of one's own kernel at a --shape, as `gemmlab run` launches it
FILLS = ("zero", "nan")
FILES = ("html", "witness", "trace")
LARGEST_SEED = 2**32 - 2  #: of numpy's generator, whose next seed fills arguments beside the operands


def help_text(about: str) -> str:
    """What `gemmlab emulate --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab emulate FILE.py:KERNEL --shape M N K --block 16x16 | --arg VALUE ... --grid 4 --block 256 [FLAGS]"
    example = "gemmlab emulate tiled_without_first_barrier --shape 64 64 64 --schedule worst"
    return of_verb(usage, about, SOURCE, EMULATE, example)


def run(words: Sequence[str]) -> int:
    """Emulate what the words say; 1 where a fault or a wrong result was found; raises GemmlabError."""
    source, given = parse(words, EMULATE, HELP)
    if len(source) != 1:
        said = f"{len(source)} kernels are named" if source else "no kernel is named"
        raise GemmlabError(said, "gemmlab emulate FILE.py:KERNEL --shape 64 64 64 --block 16x16")
    check(given)
    record, emulation = emulated(source[0], given)
    deliver(record, emulation, given)
    return 0 if emulation.ok else 1


def check(given: dict[str, Any]) -> None:
    """Raise GemmlabError for flags that contradict each other, and files that cannot be written."""
    if "shape" not in given:
        for name in GEMM.of(given):
            raise GemmlabError(
                f"--{name.replace('_', '-')} is about a multiplication, and there is no --shape", "--shape M N K"
            )
    if given.get("fill", "zero") not in FILLS:
        raise unknown_name("content of shared memory", given["fill"], FILLS)
    if not 0 <= given.get("seed", 0) <= LARGEST_SEED:
        raise GemmlabError(f"--seed: {given['seed']} is no seed", f"a whole number from 0 to {LARGEST_SEED}")
    if "no_proof" in given and "all_shapes" in given:
        raise GemmlabError("--all-shapes asks for a proof, and --no-proof for none", "leave one of them out")
    if "no_values" in given:
        for name in ("schedule", "witness", "trace", "outputs"):
            if name in given:
                raise GemmlabError(f"--{name} needs values, and --no-values computes none", "leave one of them out")
    if "witness" in given and "schedule" not in given:
        raise GemmlabError("--witness writes what a search found, and there is none", "--schedule worst")
    check_files({f"--{name}": given[name] for name in FILES if name in given})


def check_files(files: dict[str, str]) -> None:
    """Raise GemmlabError where a flag's file cannot be written, or two are the same."""
    if not files:
        return
    from gemmlab.report import destination

    for flag, path in files.items():
        if path in ("", "-"):
            raise GemmlabError(f"{flag} `{path}` is not a file", "name one")
        destination(path)
    if len({os.path.realpath(path) for path in files.values()}) < len(files):
        raise GemmlabError(f"{' and '.join(files)} would write the same file", "give each its own")


def emulated(kernel: str, given: dict[str, Any]) -> tuple[Record, Emulation]:
    """The Record of the run, and the run itself; raises GemmlabError."""
    from gemmlab import experiment

    problem = problem_of(given) if "shape" in given else None
    asked = asked_of(kernel, given)
    return experiment.emulate_kernel(asked) if problem is None else experiment.emulate_gemm(problem, asked)


def problem_of(given: dict[str, Any]) -> Any:
    """The multiplication that the flags describe; raises GemmlabError."""
    from gemmlab.problem import Gemm
    from gemmlab.problem.columns import gemm_fields

    fields = GEMM.of(given)
    m, n, k = fields.pop("shape")
    return Gemm(m, n, k, **gemm_fields(fields))


def asked_of(kernel: str, given: dict[str, Any]) -> Asked:
    """The kernel and its launch as the flags describe them; raises GemmlabError."""
    from gemmlab import experiment

    options = {name: given[flag] for flag, name in OPTIONS.items() if flag in given}
    named = experiment.named_kernel(kernel)
    block = given.get("block")
    if block is None and "shape" in given and named.rung is None:
        block = BLOCK
    return experiment.Asked(
        kernel=named,
        block=block,
        grid=given.get("grid"),
        given=tuple(experiment.Given.read(word) for word in given.get("arg", ())),
        outputs=outputs_of(given["outputs"]) if "outputs" in given else (),
        seed=given.get("seed", 0),
        chip=given.get("chip"),
        values="no_values" not in given,
        options=options | {"prove": "no_proof" not in given} | ({"trace": (0, 0, 0)} if "trace" in given else {}),
    )


def outputs_of(text: str) -> tuple[str, ...]:
    """The arrays that --outputs names; raises GemmlabError where there is none between two commas."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise GemmlabError(
            f"--outputs `{text}` lacks a name", "names of parameters with commas between, as --outputs c"
        )
    return names


def deliver(record: Record, emulation: Emulation, given: dict[str, Any]) -> None:
    """Write the files that were asked for, then print; raises GemmlabError where a file cannot be written."""
    files: dict[str, str] = {}
    if "html" in given:
        from gemmlab.report import html

        files[given["html"]] = html(record)
    if "witness" in given:
        files[given["witness"]] = witness_text(emulation)
    if emulation.trace is not None:
        files[given["trace"]] = emulation.trace.to_json() + "\n"
    if "json" in given:
        text = record.to_json() + "\n"
    else:
        from gemmlab.report import terminal

        text = terminal(record, width=given.get("width")) + "\n"
    if files:
        from gemmlab.report import write_file

        for path, content in files.items():
            write_file(path, content)
            print(f"wrote {path}", file=sys.stderr)
    emit(text, for_programs="json" in given)


def witness_text(emulation: Emulation) -> str:
    """The order of threads that did most harm, as --schedule witness:FILE reads it; raises GemmlabError."""
    if emulation.witness is None:
        raise GemmlabError(
            "there is no witness: no order of threads that was tried gives a wrong element", "no --witness"
        )
    return json.dumps(emulation.witness.to_json()) + "\n"
