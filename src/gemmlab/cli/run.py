"""`gemmlab run`: real kernels on this machine, timed beside their count, each result checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gemmlab.cli.options import PROBLEM
from gemmlab.cli.output import STDOUT, check_target, emit
from gemmlab.cli.parse import parse
from gemmlab.cli.run_options import OUTPUT, RUN, SHAPES, TOLD_AGAIN, listed
from gemmlab.cli.shapes import shapes_of
from gemmlab.record import GemmlabError, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gemmlab.experiment import Options
    from gemmlab.problem import Shape
    from gemmlab.run.contender import Contender

HELP = "gemmlab run --help"
SOURCE = (
    "SOURCE",
    "M N K: A is (M, K), B is (K, N). Or a CSV file with columns m, n, k and any flag of the multiplication, or the "
    "name of a suite: a sweep, which is kept and goes on where it was stopped.",
)
PYTHON = ("cpu", "cuda", "triton")  #: backends that take FILE.py:FUNC
LARGEST_SEED = 2**32 - 1  #: of numpy's generator


def help_text(about: str) -> str:
    """What `gemmlab run --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab run M N K | shapes.csv | SUITE [FLAGS]"
    return of_verb(usage, about, SOURCE, RUN, "gemmlab run 1024 1024 1024 --threads 1")


def run(words: Sequence[str]) -> int:
    """Run what the words say; 1 where a result is wrong or a kernel has a fault; raises GemmlabError."""
    source, given = parse(words, RUN, HELP)
    if asked := next((name for name in TOLD_AGAIN if name in given), None):
        from gemmlab.cli.run_compare import kept

        return kept(asked, source, given)
    output = checked_output(given)
    formats = listed(given["format"]) if "," in given.get("format", "") else ()
    fields = {name: value for name, value in PROBLEM.of(given).items() if name != "format" or not formats}
    shapes = shapes_of(source, fields, SHAPES.of(given))
    if len(shapes) > 1 or formats or "store" in given:
        return sweep(source, shapes, formats, given)
    for flag in ("fresh", "devices"):
        if flag in given:
            raise GemmlabError(f"--{flag} is of a sweep, and there is one multiplication", "a suite, or --store FILE")
    problem = shapes[0].problem
    chosen = contenders_of(given, (problem.a_format, problem.b_format))
    from gemmlab import experiment

    with progress() as told:
        records = experiment.run_together(problem, chosen, options_of(given), told)
    deliver(records, output)
    return status(records, named="kernel" in given)


def checked_output(given: dict[str, Any]) -> dict[str, Any]:
    """The flags of the report, if all of them can be followed; raises GemmlabError."""
    output = OUTPUT.of(given)
    if "plot" in output:
        check_target("--plot", output["plot"])
    if output.get("csv", STDOUT) != STDOUT:
        check_target("--csv", output["csv"])
    elif "csv" in output and "json" in output:
        raise GemmlabError("--json and --csv - would both print on standard output", "--csv FILE")
    return output


def sweep(source: Sequence[str], shapes: Sequence[Shape], formats: Sequence[str], given: dict[str, Any]) -> int:
    """Run many shapes, or one that is to be kept; raises GemmlabError."""
    from gemmlab.cli import run_sweep
    from gemmlab.run.fault import encodable

    if "plot" in given:
        raise GemmlabError("--plot draws one multiplication, and this is a sweep", "one multiplication without --store")
    choices = SHAPES.of(given)
    suite = choices.pop("suite", "") or encodable(os.path.basename("x".join(source))) or "groups"
    suite += "".join(f" {name}={value}" for name, value in choices.items())
    chosen = contenders_of(given, None)
    records, of = run_sweep.run_sweep(shapes, suite, chosen, options_of(given), given, formats)
    run_sweep.deliver(records, of, OUTPUT.of(given))
    return status(records, named="kernel" in given)


def contenders_of(given: dict[str, Any], formats: tuple[str, str] | None) -> list[Contender]:
    """The kernels that the flags choose; raises GemmlabError."""
    from gemmlab.run import registry

    backends = given.get("backend") or default_backends(registry.backends())
    return registry.contenders(launched(given, backends), backends, formats)


def launched(given: dict[str, Any], backends: Sequence[str]) -> list[str]:
    """The kernels named, one's own with the launch that --block and --grid say; raises GemmlabError where none is."""
    names = list(given.get("kernel", ()))
    launch = "".join(f";{flag}={'x'.join(map(str, given[flag]))}" for flag in ("block", "grid") if flag in given)
    if not launch:
        return names
    flag = launch[1:].partition("=")[0]
    if not any(".py:" in name for name in names):
        raise GemmlabError(f"--{flag} is of one's own kernel, and none is named", "--kernel FILE.py:FUNC")
    taking = next((backend for backend in backends if backend in PYTHON), "none")
    if taking != "cuda":
        raise GemmlabError(
            f"--{flag} launches a kernel in numba.cuda, and {', '.join(backends)} runs none", "--backend cuda"
        )
    return [name + launch if ".py:" in name else name for name in names]


def default_backends(known: Sequence[str]) -> tuple[str, ...]:
    """Those of the GPU where there is one, else the processor's."""
    from gemmlab.chips.nvidia import gpus

    on_gpu = tuple(name for name in known if name not in ("cpu", "webgpu"))
    return on_gpu if on_gpu and gpus() else ("cpu",)


def options_of(given: dict[str, Any]) -> Options:
    """How the flags want kernels to be run; raises GemmlabError."""
    from gemmlab import experiment
    from gemmlab.run.timing import Protocol

    if not 0 <= given.get("seed", 0) <= LARGEST_SEED:
        raise GemmlabError(f"--seed: {given['seed']} is no seed", f"a whole number from 0 to {LARGEST_SEED}")
    fields = {"rounds": "rounds", "sustained": "sustained_s", "timeout": "limit_s", "seed": "seed"}
    protocol = Protocol(**{field: given[flag] for flag, field in fields.items() if flag in given})
    return experiment.Options(threads=given.get("threads", 0), device=given.get("device"), protocol=protocol)


def status(records: Sequence[Record], *, named: bool) -> int:
    """1 where a kernel has a fault, or none has a time; one that nobody named may refuse."""
    faults = [record.measurement.fault for record in records if record.measurement and record.measurement.fault]
    counted = [fault for fault in faults if named or fault != "refused"]
    return 1 if counted or len(faults) == len(records) else 0


def deliver(records: Sequence[Record], output: dict[str, Any]) -> None:
    """Write the picture, then print; raises GemmlabError where a file cannot be written."""
    if "plot" in output:
        from gemmlab.report import run_svg, write_file

        write_file(output["plot"], run_svg(records))
        print(f"wrote {output['plot']}", file=sys.stderr)
    if "json" in output:
        emit("".join(record.to_json() + "\n" for record in records), for_programs=True)
        return
    if "csv" in output:
        from gemmlab.cli.run_sweep import write_csv

        write_csv(records, output["csv"])
        if output["csv"] == STDOUT:
            return
    from gemmlab.report import run_table

    emit(run_table(records, width=output.get("width")) + "\n")


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """What tells on a terminal what is being done, and takes it back at the end."""
    shown = sys.stderr.isatty()

    def told(text: str) -> None:
        if shown:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    try:
        yield told
    finally:
        told("")
