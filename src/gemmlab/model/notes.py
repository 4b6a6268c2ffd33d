"""What has to be said beside a prediction so that nobody takes it for more than it is."""

from __future__ import annotations

from gemmlab.chips import Chip
from gemmlab.kernels import Kernel
from gemmlab.model.machine import Machine
from gemmlab.model.matrix_units import MatrixUnits
from gemmlab.model.occupancy import Occupancy
from gemmlab.problem import Gemm

PARTITIONED = (
    "L2 has two partitions and what both read lies in both: shared data have about half of its capacity",
    "row-major order already fits if programs run in lock-step; drift makes it cost more, grouping buys robustness",
)


def notes_on(problem: Gemm, chip: Chip, kernel: Kernel, machine: Machine, held: Occupancy) -> tuple[str, ...]:
    """Notes that apply to this prediction, most specific first."""
    notes = []
    if machine.format_name != problem.a_format:
        notes.append(f"{chip.name} has no unit for {problem.a_format}: the peak is that of {machine.format_name}")
    if held.spilled:
        notes.append(
            f"a thread needs {held.registers + held.spilled} registers and gets {held.registers}: "
            f"{held.spilled} spill to local memory"
        )
    if machine.systolic is not None:
        notes.extend(notes_on_units(chip, kernel, machine.systolic))
    elif chip.calibration is None:
        notes.append(f"constants are generic: {chip.name} is known by its data sheet only")
    if problem.structure == "sparse_2_4":
        notes.append(
            "half the products of a 2:4 sparse A are done at the dense peak; a sparse peak doubles the knee wrongly"
        )
    elif chip.sparse_factor is not None:
        notes.append("peaks are dense: the doubled 2:4 figure would double the knee wrongly")
    if "l2_partitions" in chip.features and kernel.group_m == 1:
        notes.extend(PARTITIONED)
    if chip.name == "tpu-v1":
        notes.append(
            "A and D pass DRAM here as on every chip; those of a TPU v1 stay in its Unified Buffer between layers, and "
            "`gemmlab systolic` leaves them there"
        )
        notes.append(
            "the TPU v1 multiplied 8-bit integers, for inference only; against a GPU the question is who moves less"
        )
    if problem.a_format == "tfloat32":
        notes.append(
            "PyTorch: tf32 is on for cuDNN convolutions and off for matmul until float32_matmul_precision says so"
        )
    return tuple(notes)


def notes_on_units(chip: Chip, kernel: Kernel, units: MatrixUnits) -> tuple[str, ...]:
    """What a prediction of matrix units rests on."""
    cores = f"{units.cores} cores with " if units.cores > 1 else ""
    several = "units" if units.units > 1 else "unit"
    return (
        f"not validated: {chip.name} is known by its data sheet only, and nothing is taken off its peak",
        f"{cores}{units.units} matrix {several} of {units.rows}x{units.cols}{' each' if units.cores > 1 else ''}: "
        f"{kernel.block_m}x{kernel.block_n} sums stay on the chip, slabs of A and B, {kernel.block_k} of k, come out "
        "of DRAM, the next while one is in use",
        "sides are padded by the compiler (XLA), not by you; the host's dispatch is not in the time",
    )
