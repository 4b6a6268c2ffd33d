"""Vectors for the page's rooflines and waves: kernels, counts, peaks and programs resident, as the package has them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from gemmlab import chips, kernels
from gemmlab.chips import Chip
from gemmlab.count import count
from gemmlab.formats import bits_of
from gemmlab.kernels import Kernel
from gemmlab.lab.data import name_lists
from gemmlab.model.machine import l2_partitions, machine_for
from gemmlab.model.occupancy import occupancy
from gemmlab.model.outlook import Outlook
from gemmlab.model.predict import carried_bytes
from gemmlab.model.schedule import Grid, tile_order
from gemmlab.model.simulation import grid_of
from gemmlab.model.traffic import DramTraffic
from gemmlab.model.wave_traffic import launch_of, wave_reads
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

CASES, GRIDS = 400, 60
SIDES = (1, 7, 16, 33, 64, 100, 127, 128, 129, 200, 250, 256, 512, 1000, 1024, 2048, 4096, 5000, 8192, 50257, 131072)
BLOCKS = (0, 0, 0, 8, 16, 24, 32, 48, 64, 96, 100, 128, 160, 192, 256, 512)
DEPTHS = (0, 0, 0, 1, 4, 8, 16, 32, 48, 64, 128, 256)
LIMITS = {"shared memory": "shared", "one program a core": "core"}
#: the published case: 17.2 GB asked for, and no tile of its size past the knee
KNOWN = {"m": 8192, "n": 8192, "k": 8192, "format": "float16", "kernel": "tensor", "t": 16, "bm": 0, "bn": 0, "bk": 0}
NOTHING = DramTraffic(0.0, 0.0, 0.0, 0.0)


def limits() -> Any:
    """Random problems, tiles and chips, the same each time; what cannot be is null."""
    cases = [{**KNOWN, "raster": "n", "group": 1, "chip": "a100-pcie-80gb"}, *drawn(random.Random(1))]
    return {"cases": [case | found(case) for case in cases], "orders": list(orders(random.Random(2)))}


def drawn(draw: random.Random) -> Iterator[dict[str, Any]]:
    """What addresses may ask for."""
    lists = name_lists()
    for _ in range(CASES):
        case = {side: draw.choice(SIDES) for side in "mnk"} | {"kernel": draw.choice(lists["kernels"])}
        case |= {"format": draw.choice(lists["formats"]), "chip": draw.choice(lists["chips"])}
        case |= {"t": draw.choice((1, 2, 4, 8, 13, 16, 24, 32, 33)), "bk": draw.choice(DEPTHS)}
        case |= {"bm": draw.choice(BLOCKS), "bn": draw.choice(BLOCKS)}
        yield case | {"raster": draw.choice("nm"), "group": draw.choice((1, 1, 2, 4, 8, 100))}


def found(case: dict[str, Any]) -> dict[str, Any]:
    """The kernel, what it moves on chip, the peak it can reach, programs on an SM, and DRAM reads in lock-step."""
    problem = Gemm(case["m"], case["n"], case["k"], case["format"])
    chip = chips.get(case["chip"])
    try:
        kernel = asked(problem, case)
    except GemmlabError:
        return {"kernel_found": None}
    told: dict[str, Any] = {
        "kernel_found": {
            name: getattr(kernel, name)
            for name in ("block_m", "block_n", "block_k", "thread_m", "thread_n", "warp_m", "warp_n", "warps", "mma")
        },
        "counted": counted(problem, kernel, chip),
    }
    try:
        machine = machine_for(chip, problem, kernel)
        told |= {"peak": machine.peak_flop_per_s, "sms": machine.sms}
    except GemmlabError:
        told |= {"peak": None}
    try:
        held = occupancy(problem, chip, kernel)
    except GemmlabError:
        return told | {"programs": None}
    told |= {"programs": held.programs, "limit": LIMITS.get(held.limit, held.limit)}
    l2 = chip.level("l2")
    if told["peak"] and l2:
        launch = launch_of(grid_of(problem, kernel), told["sms"] * held.programs, kernel.raster)
        told["reads"] = float(wave_reads(launch, float(l2.capacity_bytes), l2_partitions(chip))[0])
    return told


def asked(problem: Gemm, case: dict[str, Any]) -> Kernel:
    """The kernel that the page's parameters name; raises GemmlabError where its tile cannot be."""
    name = case["kernel"]
    own = kernels.get(name)
    side = case["t"]
    tile = {"naive": (side, side, 1), "tiled": (side, side, side)}.get(
        name, (case["bm"] or own.block_m, case["bn"] or own.block_n, case["bk"])
    )
    return kernels.get(name, problem=problem, tile=tile, raster=case["raster"], group_m=case["group"])


def counted(problem: Gemm, kernel: Kernel, chip: Chip) -> dict[str, Any]:
    """The count, and the bytes of each level inside DRAM; those of L2 only where the chip computes in the format."""
    whole = count(problem, kernel)
    try:
        carried = carried_bytes(Outlook(problem, chip, kernel, traffic=NOTHING), whole)
    except GemmlabError:
        carried = {}
    return {
        "elements": whole.global_load_elements,
        "load": whole.global_load_bytes,
        "store": whole.global_store_bytes,
        "compulsory": whole.compulsory_bytes,
        "l2": carried.get("l2"),
        "shared": whole.shared_load_bytes + whole.shared_store_bytes,
        "register": whole.register_load_elements * bits_of(problem.a_format) / 8,
        "padded": whole.padded_flop,
        "programs": whole.programs,
    }


def orders(draw: random.Random) -> Iterator[dict[str, Any]]:
    """Launch orders: the tiles of the first programs, and the distinct rows and columns of each wave's."""
    for _ in range(GRIDS):
        down, across, slots = draw.randint(1, 20), draw.randint(1, 20), draw.randint(1, 40)
        raster, group = draw.choice("nm"), draw.choice((1, 2, 3, 4, 8, 30))
        rows, columns, _ = tile_order(Grid(down, across, 1, 1, 1, 1, group, raster, 4, 4, 4), down * across)
        spans = [slice(first, first + slots) for first in range(0, down * across, slots)]
        yield {
            "m": down,
            "n": across,
            "raster": raster,
            "group": group,
            "slots": slots,
            "tiles": [[int(row), int(column)] for row, column in zip(rows, columns, strict=True)],
            "waves": [[len(np.unique(rows[span])), len(np.unique(columns[span]))] for span in spans],
        }
