"""`gemmlab explain`: count, limits, prediction and advice of one multiplication, or of many."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gemmlab.cli.options import KernelFlags, OutputFlags, ProblemFlags, SuiteFlags
from gemmlab.cli.output import deliver, prepared
from gemmlab.cli.quantities import Seconds
from gemmlab.cli.shapes import shapes_of
from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError, Record

if TYPE_CHECKING:
    from gemmlab.kernels import Kernel


def explain(
    *source: str,
    problem: ProblemFlags | None = None,
    suite: SuiteFlags | None = None,
    chip: Annotated[str, Parameter(metavar="NAME|FILE.toml")] = "h100-sxm",
    kernel: KernelFlags | None = None,
    measured: Seconds = None,
    output: OutputFlags | None = None,
) -> int:
    """Say what a multiplication moves, what bounds it, how long it will take and what to change; no hardware needed.

    Parameters
    ----------
    source
        M N K: A is (M, K), B is (K, N). Or a CSV file with columns m, n, k and any flag of the multiplication, or the
        name of a suite.
    chip
        The chip, a name that `gemmlab chips` lists or one's own file; default h100-sxm.
    measured
        A time that you measured, 208us or 1.3ms, to be told beside the prediction.
    """
    output = prepared(output or OutputFlags())
    shapes = shapes_of(source, problem or ProblemFlags(), suite or SuiteFlags())
    if len(shapes) > 1 and measured is not None:
        raise GemmlabError(f"--measured is one time, but there are {len(shapes)} shapes", "explain the one it is of")
    if len(shapes) > 1 and output.plot:
        raise GemmlabError(
            f"--plot draws one multiplication, but there are {len(shapes)} shapes", "--html draws each of them"
        )
    told = records(shapes, chip, kernel or KernelFlags(), measured, not output.no_advice)
    deliver(list(told), output)
    return 0


def records(
    shapes: list[Shape], chip_name: str, flags: KernelFlags, measured: float | None, advice: bool
) -> Iterator[Record]:
    """A Record of each shape; raises GemmlabError that says which shape it is about where there are several."""
    from gemmlab import chips, experiment

    chip = chips.load(chip_name)
    for index, shape in enumerate(shapes):
        progress(index, len(shapes))
        try:
            kernel = kernel_of(shape.problem, flags)
            yield experiment.explain(shape.problem, chip, kernel, measured_time_s=measured, advice=advice)
        except GemmlabError as error:
            progress(len(shapes), len(shapes))
            raise placed(error, index, shapes) from None
    progress(len(shapes), len(shapes))


def kernel_of(problem: Gemm, flags: KernelFlags) -> Kernel | None:
    """The kernel that the flags describe for a problem; None where they leave the choice to the model."""
    from gemmlab import kernels

    settings = flags.given("kernel", "tile", "cluster")
    name = flags.kernel
    if name is not None and ".py" in name:
        raise GemmlabError(
            f"kernel `{name}`: kernels of one's own cannot be read yet", f"one of {', '.join(kernels.names())}"
        )
    if flags.cluster:
        settings["cluster_m"], settings["cluster_n"] = flags.cluster
    if name is None and flags.tile is None and not settings:
        return None
    return kernels.get(name or kernels.default_for(problem).name, problem=problem, tile=flags.tile, **settings)


def placed(error: GemmlabError, index: int, shapes: list[Shape]) -> GemmlabError:
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
