"""One multiplication on several systolic arrays at once: who takes what, and the sum of what all of them do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from gemmlab.problem import Gemm
from gemmlab.record import SystolicSection
from gemmlab.systolic import Array
from gemmlab.units import ceil_div

Engine = Callable[[Gemm, Array], SystolicSection]

#: of a section: what adds up over the units; the rest is that of the slowest
SUMMED = ("tiles", "useful_macs", "unused_macs", "reads", "writes", "dram")


class Split(NamedTuple):
    """How the work is cut: parts along m times parts along n."""

    m: int
    n: int


def shared(problem: Gemm, array: Array, units: int, engine: Engine) -> SystolicSection:
    """The section of `units` arrays that share a problem, by the split of m and n that takes the fewest cycles.

    Counts are those of all units together; cycles, stalls and utilisation those until the last is done.
    """
    if units == 1:
        return engine(problem, array)
    return best(problem, array, units, engine)[0]


def slowest(problem: Gemm, array: Array, units: int, engine: Engine) -> Gemm:
    """The share of the unit that is done last."""
    return problem if units == 1 else best(problem, array, units, engine)[1]


def best(problem: Gemm, array: Array, units: int, engine: Engine) -> tuple[SystolicSection, Gemm]:
    """All units together under the best split, and the share of the one that is done last."""
    found = (together(problem, array, units, pieces(problem, array, split), engine) for split in splits(units))
    return min(found, key=lambda each: (each[0].cycles, each[0].dram.bytes))


def splits(units: int) -> Iterator[Split]:
    """Every way to cut m and n into `units` parts."""
    return (Split(m, units // m) for m in range(1, units + 1) if units % m == 0)


def pieces(problem: Gemm, array: Array, split: Split) -> Counter[Gemm]:
    """Each different share, and how many units have it; cuts lie at whole tiles where the array has a side there."""
    flow = array.flow
    step = {flow.rows: array.rows, flow.cols: array.cols}
    sides = {"m": (problem.m, split.m), "n": (problem.n, split.n)}
    parts = {side: Counter(cut(size, into, step.get(side, 1))) for side, (size, into) in sides.items()}
    return Counter(
        {problem.replace(m=m, n=n): in_m * in_n for m, in_m in parts["m"].items() for n, in_n in parts["n"].items()}
    )


def cut(size: int, into: int, step: int) -> list[int]:
    """At most `into` parts of a side, each but the last a multiple of `step`, as even as that allows."""
    tiles = ceil_div(size, step)
    each = ceil_div(tiles, into) * step
    return [min(each, size - start) for start in range(0, size, each)]


def together(
    problem: Gemm, array: Array, units: int, shares: Counter[Gemm], engine: Engine
) -> tuple[SystolicSection, Gemm]:
    """All shares done at once, and the one that is done last."""
    done = {share: engine(share, array) for share in shares}
    last = max(done, key=lambda share: done[share].cycles)
    sums = {name: added([(getattr(done[share], name), count) for share, count in shares.items()]) for name in SUMMED}
    section = msgspec.structs.replace(
        done[last],
        **sums,
        units=units,
        utilisation=done[last].utilisation * sums["useful_macs"] / (units * done[last].useful_macs),
        mapping=sums["useful_macs"] / (sums["useful_macs"] + sums["unused_macs"]),
        compulsory_bytes=problem.compulsory_bytes,
    )
    return section, last


def added(parts: list[tuple[Any, int]]) -> Any:
    """Numbers, or sections of numbers, added up, each as often as it occurs."""
    first = parts[0][0]
    if isinstance(first, int):
        return sum(value * count for value, count in parts)
    names = first.__struct_fields__
    return type(first)(**{name: added([(getattr(value, name), count) for value, count in parts]) for name in names})
