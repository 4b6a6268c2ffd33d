"""Lessons to be shown: each once, since they emulate."""

from functools import cache

from gemmlab import chips
from gemmlab.experiment.lesson import Lesson, Settings, teach
from gemmlab.problem import Gemm
from gemmlab.record import Measurement, Record, Verdict

RIGHT = Verdict(
    ok=True, wrong_elements=0, max_relative_error=1e-7, bound=1e-5, reference="float64", informative=True,
    elements=4, unwritten_elements=0, range_elements=0,
)  # fmt: skip


def ran(problem, name, **fields):
    """A kernel that was timed somewhere."""
    fields.setdefault("environment", {"chip": "A processor <of> ours"})
    measured = Measurement(backend="cpu", kernel=name, idea=f"the idea of {name}", threads=2, **fields)
    return Record(problem=problem.section(), measurement=measured, verdict=None if measured.fault else RIGHT)


@cache
def lesson(m=96, n=80, k=112, form="float32", chip="h100-sxm") -> Lesson:
    """A lesson with times that were made up."""
    from dataclasses import replace

    problem = Gemm(m, n, k, form)
    found = teach(problem, chips.get(chip), Settings(run=False))
    half = problem.replace(m=max(1, m // 2))
    times = (
        ran(half, "slow", time_s=0.2, time_s_low=0.19, time_s_high=0.25, flop_per_s=1e9, limit_s=1e-3,
            fraction_of_limit=0.005),
        ran(problem, "lost", fault="crashed", fault_detail="ended by signal 11 <b>"),
        ran(problem, "library", time_s=0.01, flop_per_s=2e10, limit_s=8e-3, fraction_of_limit=0.8, vendor=True,
            notes=("2 cores had a load of 4 before the run: times may be too long",)),
    )  # fmt: skip
    return replace(found, times=times)


SHAPES = {
    "even": (96, 80, 112),
    "one": (1, 1, 1),
    "ragged": (3, 5, 7),
    "column": (4096, 1, 1),
    "deep": (1000, 37, 100_000),
    "huge": (1 << 40, 3, 5_000_000),
}
