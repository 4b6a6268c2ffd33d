"""`gemmlab explain`: count, limits, prediction and advice of one multiplication, or of many."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gemmlab.cli.options import EXPLAIN, KERNEL, OUTPUT, PROBLEM, SUITE
from gemmlab.cli.output import deliver, prepared
from gemmlab.cli.parse import parse
from gemmlab.cli.shapes import shapes_of
from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError, Record

if TYPE_CHECKING:
    from gemmlab.kernels import Kernel

HELP = "gemmlab explain --help"
SOURCE = (
    "SOURCE",
    "M N K: A is (M, K), B is (K, N). Or a CSV file with columns m, n, k and any flag of the multiplication. Or the "
    "name of a suite.",
)


def help_text(about: str) -> str:
    """What `gemmlab explain --help` prints."""
    from gemmlab.cli.help import of_verb

    usage = "gemmlab explain M N K | shapes.csv | --suite NAME [FLAGS]"
    example = "gemmlab explain 4096 50257 768 --format bfloat16 --chip h100-sxm"
    return of_verb(usage, about, SOURCE, EXPLAIN, example)


def run(words: Sequence[str]) -> int:
    """Explain what the words say; raises GemmlabError before anything is printed or written."""
    source, given = parse(words, EXPLAIN, HELP)
    output = prepared(OUTPUT.of(given))
    shapes = shapes_of(source, PROBLEM.of(given), SUITE.of(given))
    measured = given.get("measured")
    if len(shapes) > 1 and measured is not None:
        raise GemmlabError(f"--measured is one time, but there are {len(shapes)} shapes", "explain the one it is of")
    if len(shapes) > 1 and "plot" in output:
        raise GemmlabError(
            f"--plot draws one multiplication, but there are {len(shapes)} shapes", "--html draws each of them"
        )
    chip = given.get("chip", "h100-sxm")
    told = list(records(shapes, chip, KERNEL.of(given), measured, advice="no_advice" not in output))
    deliver(told, shapes, output)
    return 0


def records(
    shapes: Sequence[Shape], chip_name: str, flags: dict[str, Any], measured: float | None, *, advice: bool
) -> Iterator[Record]:
    """A Record of each shape; raises GemmlabError that says which shape it is about where there are several."""
    from gemmlab import chips, experiment  # the model loads numpy, which bad input need not wait for

    chip = chips.load(chip_name)
    for index, shape in enumerate(shapes):
        progress(index, len(shapes))
        try:
            kernel = kernel_of(shape.problem, flags)
            if kernel is not None:
                kernel = experiment.on_chip(kernel, shape.problem, chip)
            yield experiment.explain(shape.problem, chip, kernel, measured_time_s=measured, advice=advice)
        except GemmlabError as error:
            progress(len(shapes), len(shapes))
            raise placed(error, index, shapes) from None
    progress(len(shapes), len(shapes))


def kernel_of(problem: Gemm, flags: dict[str, Any]) -> Kernel | None:
    """The kernel that the flags describe for a problem; None where they leave the choice to the model."""
    if not flags:
        return None
    from gemmlab import kernels

    settings = dict(flags)
    name = settings.pop("kernel", None)
    if name is not None and ".py" in name:
        raise GemmlabError(
            f"kernel `{name}`: kernels of one's own cannot be read yet", f"one of {', '.join(kernels.names())}"
        )
    if "cluster" in settings:
        settings["cluster_m"], settings["cluster_n"] = settings.pop("cluster")
    return kernels.get(kernels.default_for(problem).name if name is None else name, problem=problem, **settings)


def placed(error: GemmlabError, index: int, shapes: Sequence[Shape]) -> GemmlabError:
    """The same error with the shape it is about, where there are several."""
    if len(shapes) == 1:
        return error
    shape = shapes[index]
    p = shape.problem
    name = f" `{shape.name}`" if shape.name else ""
    return GemmlabError(f"shape {index + 1} of {len(shapes)}{name}, {p.m} {p.n} {p.k}: {error.text}", error.hint)


def progress(done: int, total: int) -> None:
    """Say how far a sweep has come, on a terminal alone, and take it back at the end."""
    if total > 1 and sys.stderr.isatty():
        print(f"\r{done} of {total}" if done < total else "\r\x1b[K", end="", file=sys.stderr, flush=True)
