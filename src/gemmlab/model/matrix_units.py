"""A TPU's matrix units as the time model uses them: their sides, and the memory (VMEM) that feeds them."""

from __future__ import annotations

from math import isqrt
from typing import NamedTuple

from gemmlab.chips import Chip

SUBLANES, LANES = 8, 128  # of a vector register: XLA stores and moves arrays in tiles of so many rows and columns
FLOP_PER_MAC = 2

#: TensorCores of a chip where they are several, each with an equal part of the units and of VMEM: the notes of the
#: chips' files, from Norrie et al. 2021 (v2, v3) and Google's documentation (v4, v5p)
CORES = {"tpu-v2": 2, "tpu-v3": 2, "tpu-v4": 2, "tpu-v5p": 2}


class MatrixUnits(NamedTuple):
    """The matrix units of a TPU."""

    rows: int  #: of PEs of one unit, along k
    cols: int  #: along n
    step_m: int  #: rows of A that enter together
    cores: int
    units: int  #: of one core
    vmem_bytes: float  #: of one core


def matrix_units(chip: Chip, format_name: str) -> MatrixUnits | None:
    """The units as they multiply in that format, which the chip has; None on other kinds of chip.

    Sides are those of the format's matrix instruction; a file without one is taken to have square units.
    """
    if chip.kind != "tpu":
        return None
    peak = chip.peaks[format_name]
    count, cores = int(chip.sm_count), CORES.get(chip.name, 1)
    if count % cores:
        cores = 1
    side = max(1, isqrt(int(float(peak.flop_per_clock_per_sm) / FLOP_PER_MAC)))
    step, cols, rows = peak.instruction or (SUBLANES, side, side)
    vmem = chip.level("shared")
    return MatrixUnits(
        rows=rows,
        cols=cols,
        step_m=step,
        cores=cores,
        units=count // cores,
        vmem_bytes=float(vmem.capacity_bytes) / cores if vmem else float("inf"),
    )
