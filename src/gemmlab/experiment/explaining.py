"""The main job: what one multiplication moves, what bounds it, how long it takes, what to change."""

from __future__ import annotations

import msgspec

from gemmlab.chips import Chip, load
from gemmlab.chips import section as chip_section
from gemmlab.count import count
from gemmlab.kernels import Kernel, default_for, get
from gemmlab.kernels import section as kernel_section
from gemmlab.model.machine import machine_for, machine_of
from gemmlab.model.occupancy import occupancy
from gemmlab.model.outlook import Outlook
from gemmlab.model.predict import predict
from gemmlab.model.suited import on_chip, suited
from gemmlab.model.vmem import NAME, STAGES, runs_on
from gemmlab.problem import Gemm
from gemmlab.record import Count, GemmlabError, Measurement, Prediction, Record, require_type
from gemmlab.record.sections import KernelSection

SHORTEST_S, LONGEST_S = 1e-12, 1e12  # a cycle takes longer, and a chip does not last as long


def explain(
    problem: Gemm,
    chip: Chip | str = "h100-sxm",
    kernel: Kernel | str | None = None,
    *,
    measured_time_s: float | None = None,
    advice: bool = True,
) -> Record:
    """Count, limits, predicted time and advice of one multiplication; no hardware is used.

    `chip` is a chip or its name or file. `kernel` is a kernel, or a name of the catalogue; left out, the family that
    suits the format with the tiling predicted to be fastest, as a vendor's library would choose. `measured_time_s` is
    a time that the user saw: the advice then says whether shape, kernel or library is to blame. Raises GemmlabError
    for what cannot be used: unknown names, a tile that does not fit, a format that the chip cannot compute in.
    """
    require_type("problem", problem, Gemm, "gemmlab.Gemm(300, 200, 500)")
    chip = load(chip) if isinstance(chip, str) else chip
    require_type("chip", chip, Chip, 'a name such as "h100-sxm", a file, or a Chip')
    if not isinstance(kernel, str | None):
        require_type("kernel", kernel, Kernel, 'a name such as "tensor", or a Kernel')
    if measured_time_s is not None:
        check_time(measured_time_s)
    chosen = kernel is not None
    if kernel is None:
        kernel = suited(problem, chip, default_for(problem))
    elif isinstance(kernel, str):
        kernel = on_chip(get(kernel, problem=problem), problem, chip)
    if chosen:
        runs_on(chip, kernel)
    counted = count(problem, kernel)
    outlook = Outlook(problem, chip, kernel)
    prediction = predict(outlook, counted)
    given = None
    if advice:
        from gemmlab.model.advice import advise  # not loaded where nobody asks for it

        given = advise(outlook, chosen=chosen, measured_time_s=measured_time_s)
    return Record(
        problem=problem.section(),
        chip=chip_section(chip),
        kernel=kernel_shown(kernel, problem, chip),
        count=counted,
        prediction=prediction,
        measurement=reported(chip, counted, prediction, measured_time_s) if measured_time_s is not None else None,
        advice=given,
    )


def kernel_shown(kernel: Kernel, problem: Gemm, chip: Chip) -> KernelSection:
    """The kernel as a Record tells it: a TPU has no warps or registers, whatever the catalogue's kernel is made of."""
    section = kernel_section(kernel, problem)
    if chip.kind != "tpu":
        return section
    if kernel.family != "tensor":  # of a product that no matrix unit takes
        return msgspec.structs.replace(section, warps=0)
    plain = {"stages": STAGES, "split_k": 1, "group_m": 1, "cluster_m": 1, "cluster_n": 1}
    return msgspec.structs.replace(section, name=NAME, warps=0, registers=0, **plain)


def require(problem: Gemm, chip: Chip, kernel: Kernel | None = None) -> None:
    """Raise GemmlabError where `explain` would, without its work; a `kernel` left out is the model's to choose."""
    if kernel is None:
        machine_of(chip, problem.a_format)
    else:
        runs_on(chip, kernel)
        machine_for(chip, problem, kernel)
        occupancy(problem, chip, kernel)


def check_time(measured_time_s: float) -> None:
    """Raise GemmlabError for seconds that nothing takes."""
    if not SHORTEST_S <= measured_time_s <= LONGEST_S:
        raise GemmlabError(
            f"measured_time_s={measured_time_s!r} is not a time that anything takes", "seconds: 208e-6 for 208 us"
        )


def reported(chip: Chip, counted: Count, prediction: Prediction, measured_time_s: float) -> Measurement:
    """The Record's `measurement` of a time, in seconds, that the user saw elsewhere."""
    return Measurement(
        backend="reported",
        time_s=measured_time_s,
        flop_per_s=counted.flop / measured_time_s,
        fraction_of_limit=limit_s(chip, counted, prediction) / measured_time_s,
    )


def limit_s(chip: Chip, counted: Count, prediction: Prediction) -> float:
    """The roofline's seconds: arithmetic at the peak, or each matrix once through DRAM, whichever is longer."""
    dram = chip.level("dram")
    return max(prediction.compute_time_s, counted.compulsory_bytes / dram.bandwidth_bytes_per_s if dram else 0.0)
