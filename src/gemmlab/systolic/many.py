"""The closed form of many multiplications at once, as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.systolic.arithmetic import arithmetic
from gemmlab.systolic.array import Array
from gemmlab.systolic.dataflow import Sides
from gemmlab.systolic.formula import formula, pieces

LARGEST_SIDE = 1 << 20  #: so that every count fits int64
Counts = npt.NDArray[Any]


def closed_forms(m: Any, n: Any, k: Any, array: Array, a_format: str = "int8", b_format: str = "") -> dict[str, Counts]:
    """Cycles, utilisation, accesses and stalls of each (m[i], n[i], k[i]), were neither DRAM nor SRAM in the way.

    Sizes are whole numbers or arrays of one shape, which the results have too. Names are those of `SystolicSection`,
    with `a_reads`, `b_reads`, `c_reads`, `c_writes`, `weight_shift`, `skew` and `drain` out of its parts. Raises
    GemmlabError for formats without a unit, and sizes outside 1 to 2^20.
    """
    told = arithmetic(Gemm(1, 1, 1, a_format, b_format), array)
    size = {}
    for name, given in (("m", m), ("n", n), ("k", k)):
        values = np.asarray(given)
        if values.dtype.kind not in "iu" or (values.size and not 1 <= values.min() <= values.max() <= LARGEST_SIDE):
            raise GemmlabError(f"{name} has sizes that are none", f"whole numbers from 1 to {LARGEST_SIDE}")
        size[name] = values.astype(np.int64)
    flow = array.flow
    placed: Any = (size[flow.rows], size[flow.cols], size[flow.stream])
    sides = Sides(*placed)
    strips: Any = 1
    if array.moves_sums and array.accumulators is not None:
        strips = np.where(sides.rows > array.rows, pieces(sides.stream, array.accumulators), 1)
    form = formula(sides, array, told, strips, largest=np.maximum)
    macs = size["m"] * size["n"] * size["k"]
    right_is_a = flow.right == "a"
    counts = {
        "tiles": form.tiles,
        "strips": strips + 0 * form.tiles,
        "cycles": form.cycles,
        "active_cycles": form.active,
        "weight_shift": form.shift,
        "skew": form.skew,
        "drain": form.drain,
        "useful_macs": macs,
        "unused_macs": form.slots - macs,
        "utilisation": macs * told.passes / (array.pes * form.cycles),
        "mapping": macs / form.slots,
        "a_reads": form.right_reads if right_is_a else form.other_reads,
        "b_reads": form.other_reads if right_is_a else form.right_reads,
        "c_reads": form.partial,
        "c_writes": form.results,
    }
    return {name: each + np.zeros_like(form.tiles) for name, each in counts.items()}
