"""What to change about a shape or an array: each change is simulated, and told where it gains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gemmlab.experiment.systolic_shares import Engine, shared
from gemmlab.formats import bits_of
from gemmlab.problem import Gemm
from gemmlab.record import Advice, GemmlabError, SystolicSection
from gemmlab.systolic import DATAFLOWS, Array, closed_form
from gemmlab.units import ceil_div, round_up

WORTH = 1.03  #: gains below it are not told
LONGEST = 1 << 22  #: rows that no batch is advised to have


class Situation(NamedTuple):
    """What is simulated now, and by which engine."""

    problem: Gemm
    array: Array
    units: int
    section: SystolicSection
    engine: Engine
    built: bool  #: the array is a chip's: its dataflow and registers are what they are

    def gain(self, problem: Gemm | None = None, units: int = 0, **changes: Any) -> float:
        """Multiply-adds per cycle after a change over those before; 0 where the changed array cannot do it.

        Where it would gain nothing even if memory never made it wait, that is what is returned: the formula takes no
        time, the tiles one by one may.
        """
        with suppress(GemmlabError):
            given = (problem or self.problem, self.array.replace(**changes), units or self.units)
            most = rate(shared(*given, closed_form)) / rate(self.section)
            return most if most < WORTH else rate(shared(*given, self.engine)) / rate(self.section)
        return 0.0


def rate(section: SystolicSection) -> float:
    """Useful multiply-adds in a cycle."""
    return section.useful_macs / section.cycles


def advise(
    problem: Gemm, array: Array, units: int, section: SystolicSection, engine: Engine, *, built: bool = False
) -> list[Advice]:
    """Changes that gain at least 3 %, the largest gain first; a gain is in useful multiply-adds per cycle.

    Of an array that is `built`, a chip's, only the shape and the number and size of arrays are changed.
    """
    now = Situation(problem, array, units, section, engine, built)
    found = [advice for rule in RULES for advice in rule(now) if advice.predicted_speedup >= WORTH]
    return sorted(found, key=lambda advice: -advice.predicted_speedup)


def shadow_weights(now: Situation) -> Iterator[Advice]:
    """A second weight register in each PE."""
    if now.array.weights == "single" and now.array.moves_sums and not now.built:
        yield Advice(
            cause="weight shift",
            change="double-buffered weights: the next tile shifts in behind the one in use",
            predicted_speedup=now.gain(weights="double"),
            cost="a second weight register in each PE",
            confidence="high",
        )


def shadow_sums(now: Situation) -> Iterator[Advice]:
    """A second accumulator in each PE, out of which results drain."""
    if not now.array.moves_sums and now.array.drain != "shadow" and not now.built:
        yield Advice(
            cause="drain",
            change="shadow registers for finished sums: they drain while the next tile is computed",
            predicted_speedup=now.gain(drain="shadow"),
            cost="a second accumulator in each PE",
            confidence="high",
        )


def padded_sides(now: Situation) -> Iterator[Advice]:
    """A side that leaves part of its last tile idle: what the full tile would do in the same time."""
    for side, size in ((now.array.flow.rows, now.array.rows), (now.array.flow.cols, now.array.cols)):
        length = getattr(now.problem, side)
        full, less = round_up(length, size), length // size * size
        if full == length or full > LONGEST:
            continue
        smaller = f", or cut it to {less}" if less else ""
        yield Advice(
            cause="unused PEs",
            change=f"{side}={length} fills {length / size:.3g} of {ceil_div(length, size)} tiles of {size}: make it "
            f"{full}, with values in place of padding{smaller}",
            predicted_speedup=now.gain(now.problem.replace(**{side: full})),
            cost="another shape of what surrounds it; zeros as padding gain nothing",
            confidence="high",
        )


def longer_batch(now: Situation) -> Iterator[Advice]:
    """Enough rows in time that fetching the next tile is hidden behind them."""
    array, side = now.array, now.array.flow.stream
    if not now.section.stalls.weight_stall or not array.moves_sums or not array.dram_bytes_per_s or not array.clock_hz:
        return
    held = getattr(now.problem, f"{array.flow.held}_format")
    tile_bytes = array.pes * bits_of(held) / 8
    knee = -int(-tile_bytes * array.clock_hz // array.dram_bytes_per_s)
    if getattr(now.problem, side) < knee <= LONGEST:
        yield Advice(
            cause="weight stall",
            change=f"{side}={knee} instead of {getattr(now.problem, side)}: so many rows pass while DRAM brings the "
            "next tile",
            predicted_speedup=now.gain(now.problem.replace(**{side: knee})),
            cost="a longer batch: each answer waits for all of it",
            confidence="high",
        )


def smaller_arrays(now: Situation) -> Iterator[Advice]:
    """Four arrays of half the side, as many PEs as now."""
    array = now.array
    if array.rows % 2 or array.cols % 2 or min(array.rows, array.cols) < 16:
        return
    quarter: dict[str, Any] = {
        "rows": array.rows // 2,
        "cols": array.cols // 2,
        "dram_bytes_per_s": array.dram_bytes_per_s / 4 if array.dram_bytes_per_s else None,
        "sram_bytes": max(array.sram_bytes // 4, 1) if array.sram_bytes else None,
    }
    yield Advice(
        cause="array size",
        change=f"four arrays of {array.rows // 2}x{array.cols // 2} in place of one of {array.rows}x{array.cols}",
        predicted_speedup=now.gain(units=4 * now.units, **quarter),
        cost="twice the ports into SRAM, each operand read twice as often",
        confidence="medium",
    )


def other_dataflow(now: Situation) -> Iterator[Advice]:
    """The dataflow that is fastest for this shape."""
    if now.built:
        return
    gains = {name: now.gain(dataflow=name) for name in DATAFLOWS if name != now.array.dataflow}
    best = max(gains, key=lambda name: gains[name])
    yield Advice(
        cause="dataflow",
        change=f"--dataflow {best}: {DATAFLOWS[best].about}",
        predicted_speedup=gains[best],
        cost="another array",
        confidence="high",
    )


RULES = (shadow_weights, shadow_sums, padded_sides, longer_batch, smaller_arrays, other_dataflow)
