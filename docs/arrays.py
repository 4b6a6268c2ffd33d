"""The tables of the page on systolic arrays: TPU v1 counters beside the simulation, peaks, energies, sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import table

COUNTERS = Path(__file__).resolve().parents[1] / "benchmarks" / "tpu_v1_counters.json"
LAYER = 2048  #: rows of the weights: the paper prints how many weights there are, not their layers
CHIPS = ("tpu-v1", "tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e")
SHAPES = ((1024, 1024, 1024, 128), (1024, 1024, 1024, 256), (4096, 4096, 4096, 256), (200, 2048, 2048, 256))


def counters() -> str:
    """Table 3 of the TPU v1's paper beside the simulation, percent of cycles."""
    from gemmlab import Gemm
    from gemmlab.chips import load
    from gemmlab.experiment import array_of
    from gemmlab.systolic import tile_engine

    paper = json.loads(COUNTERS.read_text(encoding="utf-8"))
    array = array_of(load("tpu-v1"), "int8").array
    rows = []
    for name, told in paper["applications"].items():
        if not told["memory_bound"]:
            continue
        columns = round(told["weights"] / LAYER / array.cols) * array.cols
        found = tile_engine(Gemm(told["batch"], columns, LAYER, "int8"), array)
        stalls = found.stalls
        each = (100 - told["non_matrix"]) / (found.active_cycles + stalls.weight_stall + stalls.weight_shift)
        pairs = (
            (found.active_cycles, "active"),
            (stalls.weight_stall, "weight_stall"),
            (stalls.weight_shift, "weight_shift"),
        )
        rows.append([name, str(told["batch"]), *(f"{cycles * each:.1f} / {told[row]:.1f}" for cycles, row in pairs)])
    heads = ["application", "batch", "array active", "weight stall", "weight shift"]
    return f"Percent of cycles, simulated / counted; {paper['source']}.\n\n" + table(heads, rows)


def fragmentation() -> str:
    """A matrix that fills no whole tiles, on the TPU v1's array and on a larger one."""
    from gemmlab import Gemm
    from gemmlab.chips import load
    from gemmlab.experiment import array_of
    from gemmlab.systolic import tile_engine

    paper = json.loads(COUNTERS.read_text(encoding="utf-8"))
    told, batch = paper["fragmentation"], paper["applications"]["LSTM1"]["batch"]
    rows = []
    for side, time_s in told["time_s"].items():
        array = array_of(load("tpu-v1"), "int8", rows=int(side), cols=int(side)).array
        found = tile_engine(Gemm(batch, *told["sides"], "int8"), array)
        simulated = 1e6 * (found.time_s or 0.0)
        rows.append([f"{side}x{side}", str(found.tiles), f"{simulated:.1f} us", f"{1e6 * time_s:.0f} us"])
    sides = " x ".join(str(side) for side in told["sides"])
    return table([f"{sides} weights of LSTM1 on", "tiles", "simulated", "the paper"], rows)


def peaks() -> str:
    """Matrix units times PEs times clock, beside the published peak."""
    from gemmlab.chips import load
    from gemmlab.experiment import array_of, fitting

    rows = []
    for name in CHIPS:
        chip = load(name)
        form = fitting(chip)
        found = array_of(chip, form)
        peak = found.units * found.array.pes * 2 * (found.array.clock_hz or 0.0)
        published = float(chip.peaks[form].flop_per_s)
        doubts = [figure.note for figure in (chip.sm_count, chip.clock_hz) if not figure.sure]
        rows.append(
            [
                f"`{name}`",
                form,
                f"{found.units} x {found.array.rows}x{found.array.cols} x {(found.array.clock_hz or 0) / 1e9:g} GHz",
                f"{peak / 1e12:.1f}",
                f"{published / 1e12:.0f}",
                "; ".join(doubts),
            ]
        )
    return table(
        ["chip", "format", "units, PEs, clock", "makes, TFLOP/s", "published", "public sources disagree"], rows
    )


def sizes() -> str:
    """Single beside double weights."""
    from gemmlab import Gemm
    from gemmlab.systolic import Array, closed_form

    rows = []
    for m, n, k, side in SHAPES:
        found: list[Any] = []
        for weights, edges in (("single", "full"), ("double", "exact")):
            section = closed_form(Gemm(m, n, k, "int8"), Array(rows=side, cols=side, weights=weights, edges=edges))
            found += [f"{section.cycles:,}", f"{section.utilisation:.1%}"]
        rows.append([f"{m} x {n} x {k}", f"{side}x{side}", *found])
    return table(["multiplication", "array", "single weights", "used", "double weights", "used"], rows)


def energies() -> str:
    """Every shipped table of energies."""
    from gemmlab.systolic import energy

    text = []
    for name in energy.names():
        found = energy.table(name)
        rows = [[f"multiply {form}", f"{value:g} pJ"] for form, value in found.multiply_pj.items()]
        rows += [[f"add {form}", f"{value:g} pJ"] for form, value in found.add_pj.items()]
        bits = found.access_bits
        rows += [[f"{bits} bits of {size // 1024} KiB of SRAM", f"{value:g} pJ"] for size, value in found.sram_pj]
        rows.append([f"{bits} bits of DRAM", f"{found.dram_pj[0]:g} to {found.dram_pj[1]:g} pJ"])
        rows += [[form, f"charged as {used}"] for form, used in found.stand_in.items()]
        text.append(f"`{name}`: {found.source}; {found.node}.\n\n{table(['what', 'energy'], rows)}")
    return "\n".join(text)


ARRAYS: dict[str, Callable[[], str]] = {
    "result systolic counters": counters,
    "result systolic fragmentation": fragmentation,
    "systolic peaks": peaks,
    "systolic sizes": sizes,
    "systolic energies": energies,
}
