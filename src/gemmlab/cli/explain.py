"""`gemmlab explain`: count, limits, prediction and advice of one multiplication, of many, or of a whole network."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.cli.options import EXPLAIN, KERNEL, OUTPUT, PROBLEM, SUITE, WORKLOAD
from gemmlab.cli.output import deliver, is_stream, prepared, stream
from gemmlab.cli.parse import parse
from gemmlab.cli.shapes import shapes_of
from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError, Record

if TYPE_CHECKING:
    from gemmlab.chips import Chip
    from gemmlab.kernels import Kernel

HELP = "gemmlab explain --help"
SOURCE = (
    "SOURCE",
    "M N K: A is (M, K), B is (K, N). Or a CSV file with columns m, n, k and any flag of the multiplication, or the "
    "name of a suite. Or a whole network: a PyTorch profiler's trace.json or trace.json.gz, model.py:NAME or "
    "package.module:NAME with --inputs, or a SCALE-Sim topology.csv.",
)
TABLES = (".csv", ".tsv", ".txt")
NETWORKS = "or a whole network: trace.json, model.py:NAME with --inputs, a SCALE-Sim topology.csv"


def help_text(about: str) -> str:
    """What `gemmlab explain --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab explain M N K | shapes.csv | --suite NAME | trace.json | model.py:NAME | --diff A B [FLAGS]"
    example = "gemmlab explain 4096 50257 768 --format bfloat16 --chip h100-sxm"
    return of_verb(usage, about, SOURCE, EXPLAIN, example)


def run(words: Sequence[str]) -> int:
    """Explain what the words say; raises GemmlabError before anything is printed or written."""
    source, given = parse(words, EXPLAIN, HELP)
    output = prepared(OUTPUT.of(given))
    if is_workload(source, given):
        from gemmlab.cli.workload import explain_workload

        return explain_workload(source, given, output)
    shapes = listed(source, given)
    measured = given.get("measured")
    if len(shapes) > 1 and measured is not None:
        raise GemmlabError(f"--measured is one time, but there are {len(shapes)} shapes", "explain the one it is of")
    if len(shapes) > 1 and "plot" in output:
        raise GemmlabError(
            f"--plot draws one multiplication, but there are {len(shapes)} shapes", "--html draws each of them"
        )
    from gemmlab import chips  # the model loads numpy, which bad input need not wait for

    chip, flags = chips.load(given.get("chip", "h100-sxm")), KERNEL.of(given)
    if len(shapes) > 1:
        require_all(shapes, chip, flags)
    told = records(shapes, chip, flags, measured, advice="no_advice" not in output)
    if len(shapes) > 1 and is_stream(output):
        stream(told, shapes, output)
    else:
        deliver(list(shown_progress(told, len(shapes))), shapes, output)
    return 0


def is_workload(source: Sequence[str], given: dict[str, Any]) -> bool:
    """Whether the words mean a whole network; a file is looked into only where its name does not say so."""
    if WORKLOAD.of(given):
        return True
    if len(source) != 1 or source[0].replace("x", "").isdecimal():
        return False
    from gemmlab.cli.workload_source import is_network

    return is_network(source[0])


def listed(source: Sequence[str], given: dict[str, Any]) -> list[Shape]:
    """The shapes that the words mean; raises GemmlabError, which tells of a word that is nothing what it may be."""
    try:
        return shapes_of(source, PROBLEM.of(given), SUITE.of(given))
    except GemmlabError as error:
        if len(source) != 1 or source[0].lower().endswith(TABLES):
            raise
        raise GemmlabError(error.text, f"{error.hint}; {NETWORKS}") from None


def require_all(shapes: Sequence[Shape], chip: Chip, flags: dict[str, Any]) -> None:
    """Raise GemmlabError for the first of several shapes that cannot be explained, before work on any is done."""
    from gemmlab import experiment

    for index, shape in enumerate(shapes):
        try:
            experiment.require(shape.problem, chip, kernel_of(shape.problem, chip, flags))
        except GemmlabError as error:
            raise placed(error, index, shapes) from None


def records(
    shapes: Sequence[Shape], chip: Chip, flags: dict[str, Any], measured: float | None, *, advice: bool
) -> Iterator[Record]:
    """A Record of each shape, as it is worked out; raises GemmlabError."""
    from gemmlab import experiment

    for shape in shapes:
        kernel = kernel_of(shape.problem, chip, flags)
        yield experiment.explain(shape.problem, chip, kernel, measured_time_s=measured, advice=advice)


def kernel_of(problem: Gemm, chip: Chip, flags: dict[str, Any]) -> Kernel | None:
    """The kernel that the flags describe for a problem on a chip; None where they leave the choice to the model."""
    if not flags:
        return None
    from gemmlab import experiment, kernels

    settings = dict(flags)
    name = settings.pop("kernel", None)
    if name is not None and ".py" in name:
        raise GemmlabError(
            f"kernel `{name}`: kernels of one's own cannot be read yet", f"one of {', '.join(kernels.names())}"
        )
    if "cluster" in settings:
        settings["cluster_m"], settings["cluster_n"] = settings.pop("cluster")
    name = kernels.default_for(problem).name if name is None else name
    return experiment.on_chip(kernels.get(name, problem=problem, **settings), problem, chip)


def placed(error: GemmlabError, index: int, shapes: Sequence[Shape]) -> GemmlabError:
    """The same error with the one of several shapes that it is about."""
    shape = shapes[index]
    p = shape.problem
    name = f" `{shape.name}`" if shape.name else ""
    return GemmlabError(f"shape {index + 1} of {len(shapes)}{name}, {p.m} {p.n} {p.k}: {error.text}", error.hint)


def shown_progress(told: Iterator[Record], total: int) -> Iterator[Record]:
    """The same Records, and how many there are so far, on a terminal alone and taken back at the end."""
    said = total > 1 and sys.stderr.isatty()
    try:
        for done, record in enumerate(told, 1):
            if said:
                print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)
            yield record
    finally:
        if said:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
