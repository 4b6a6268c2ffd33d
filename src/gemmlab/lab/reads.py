"""What the page holds its counts of reads against, and the kernels' texts in WGSL that it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmlab import kernels
from gemmlab.chips import load
from gemmlab.count import count
from gemmlab.emulator import emulate
from gemmlab.experiment import explain
from gemmlab.kernels.ladder import RUNGS, SIZES
from gemmlab.kernels.ladder import load as rung_kernel
from gemmlab.kernels.ladder.webgpu.texts import FOLDER, OPERANDS, TEXTS, TYPES
from gemmlab.problem import Gemm

SHAPES = ((1, 1, 1), (64, 64, 64), (100, 70, 33), (17, 15, 33), (5, 130, 1), (37, 29, 41), (96, 80, 112))
LARGE = ((1024, 1024, 1024), (131072, 3, 70001), (4096, 50257, 768))
WIDTHS = (1, 4, 7, 8, 16, 32)
EMULATED = {("naive", 16): "naive", ("tiled", 8): "tiled_8", ("tiled", 16): "tiled"}  #: rungs whose loads are emulated
CHIPS = ("h100-sxm", "a10", "m1", "mi300x")
FORMATS = ("float32", "float16")


def texts() -> Any:
    """The rungs in WGSL, what stands before each, and WGSL's names of formats."""
    files = {"operands": OPERANDS} | {name: text.file for name, text in TEXTS.items()}
    return {name: (FOLDER / file).read_text(encoding="utf-8") for name, file in files.items()} | {"types": TYPES}


def reads() -> Any:
    """Counts of `naive` and `tiled` by formula at every width and format, the emulator's loads where it ran them."""
    found = []
    for shape in SHAPES + LARGE:
        for name, width in [("naive", 16), *(("tiled", width) for width in WIDTHS)]:
            found += [counted(shape, name, width, each) for each in FORMATS]
    return {"counts": found, "limits": limits()}


def counted(shape: tuple[int, int, int], name: str, width: int, format_name: str) -> dict[str, Any]:
    """One kernel's counts at one shape."""
    problem = Gemm(*shape, format_name)
    tile = (width, width, width if name == "tiled" else 1)
    told = count(problem, kernels.get(name, problem=problem, tile=tile))
    rung = EMULATED.get((name, width))
    small = rung is not None and shape in SHAPES and format_name == FORMATS[0]
    return {
        "kernel": name,
        "shape": list(shape),
        "tile": width,
        "format": format_name,
        "elements": told.global_load_elements,
        "bytes": told.global_load_bytes,
        "stored": told.global_store_bytes,
        "flop": told.flop,
        "programs": told.programs,
        "intensity": told.intensity_flop_per_byte,
        "shared": told.shared_load_bytes + told.shared_store_bytes,
        "emulated": emulated(rung, *shape) if small and rung else None,
    }


def emulated(name: str, m: int, n: int, k: int) -> list[int]:
    """Elements that the emulator sees the rung load of A and of B."""
    a, b, c = np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.zeros((m, n), np.float32)
    rung = (RUNGS | SIZES)[name]
    found = emulate(rung_kernel(rung.source), *rung.launch(m, n), a, b, c, outputs=("c",), prove=False, threads=1)
    return [int(found.arrays[each].load.elements) for each in "ab"]


def limits() -> Any:
    """Seconds that arithmetic, each matrix once through DRAM, and shared memory take at the data sheet's rates."""
    found = []
    for name in CHIPS:
        chip = load(name)
        for format_name in FORMATS:
            if format_name not in chip.peaks:
                continue
            problem = Gemm(96, 80, 112, format_name)
            dram = chip.level("dram")
            for kernel, tile in (("naive", (16, 16, 1)), ("tiled", (16, 16, 16))):
                told = explain(problem, chip, kernels.get(kernel, problem=problem, tile=tile), advice=False)
                assert told.prediction is not None
                shared = [each.time_s for each in told.prediction.levels if each.name == "shared"]
                found.append(
                    {
                        "chip": name,
                        "format": format_name,
                        "kernel": kernel,
                        "compute": told.prediction.compute_time_s,
                        "dram": problem.compulsory_bytes / float(dram.bandwidth_bytes_per_s) if dram else None,
                        "shared": shared[0] if shared else None,
                    }
                )
    return found
