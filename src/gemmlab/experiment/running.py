"""Real kernels on the chip at hand: each one's count and prediction, its time and its verdict become one Record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import msgspec

from gemmlab import chips, kernels
from gemmlab.chips import Chip
from gemmlab.count import count
from gemmlab.experiment.explaining import explain
from gemmlab.experiment.memory import free_bytes
from gemmlab.model.machine import stand_in
from gemmlab.model.suited import on_chip
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, Measurement, Record
from gemmlab.run.backends.webgpu.chip import SOFTWARE
from gemmlab.run.contender import Contender
from gemmlab.run.environment import Gauge, busy, number_of
from gemmlab.run.fault import REFUSED, fault_of
from gemmlab.run.measuring import Outcome, measure
from gemmlab.run.process import Pool, shown
from gemmlab.run.timing import Limits, Protocol

PER_CORE = ("shared", "register")  #: levels that a CPU's cores have for themselves
HANDED_ON = "blocks: loads are of what it hands to NumPy; what NumPy's library loads again is not counted"
NVIDIA = ("cuda", "triton", "torch")  #: backends whose devices the driver numbers

Told = Callable[[str], None]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How kernels are run."""

    chip: Chip | None = None  #: that they run on; None: the one of this machine that their backend uses
    threads: int = 0  #: of the CPU; 0: as many as it has cores
    device: int | None = None  #: which GPU; None: the first
    protocol: Protocol = Protocol()


def run_one(
    problem: Gemm,
    contender: Contender,
    options: Options = Options(),  # noqa: B008 - frozen
    pool: Pool | None = None,
) -> Record:
    """One kernel, timed alone and checked; see `run_together`."""
    return run_together(problem, [contender], options, pool=pool)[0]


def run_together(
    problem: Gemm,
    contenders: Sequence[Contender],
    options: Options = Options(),  # noqa: B008 - frozen
    told: Told = lambda text: None,
    pool: Pool | None = None,
) -> list[Record]:
    """A Record for each contender, in their order; those of one chip are timed in turn, A B C A B C.

    What goes wrong with a contender is in its Record's `measurement.fault`, and its time is null then. `told` hears
    what is being done; a `pool` keeps processes from one problem to the next. Raises GemmlabError for a problem that
    cannot be checked, too little memory, no such chip.
    """
    found: dict[int, Record] = {}
    groups: dict[tuple[bool, str], list[int]] = {}
    on = {each.backend: options.chip or chip_of(each.backend, options.device or 0) for each in contenders}
    for place, each in enumerate(contenders):
        groups.setdefault((each.backend == "cpu", on[each.backend].full_name), []).append(place)
    for places in groups.values():
        group = [contenders[place] for place in places]
        chip = on[group[0].backend]
        found.update(zip(places, on_one_chip(problem, group, chip, options, told, pool), strict=True))
    return [found[place] for place in range(len(contenders))]


def on_one_chip(
    problem: Gemm, contenders: Sequence[Contender], chip: Chip, options: Options, told: Told, pool: Pool | None
) -> list[Record]:
    """The Records of contenders that share a chip."""
    threads = options.threads or cores()
    limits = limits_of(problem, chip if chip.kind != "cpu" else with_cores(chip, threads))
    outcomes = measure(
        problem,
        contenders,
        fitted(options.protocol, chip, options.device),
        threads=threads,
        device=options.device,
        limits=limits if chip.kind != "cpu" else Limits(limits.compute_s),  # copies, which measured it, are no limit
        told=told,
        pool=pool,
    )
    found = []
    for outcome in outcomes:
        device = number_of(options.device) if outcome.contender.backend in NVIDIA else None
        found.append(record_of(problem, chip, outcome, outcome.contender.threads or threads, device))
    return found


@cache
def chip_of(backend: str, device: int = 0) -> Chip:
    """The chip of this machine that a backend runs on; raises GemmlabError where there is none."""
    if backend == "cpu":
        from gemmlab.chips.cpu import cpu

        return cpu()
    if backend == "webgpu":
        from gemmlab.run.backends.webgpu import adapters, chip

        return chip.chip_of(adapters.adapter(device))
    return gpu_of(backend, device)


def gpu_of(backend: str, device: int) -> Chip:
    """The NVIDIA GPU of that number, of those that CUDA_VISIBLE_DEVICES shows; raises GemmlabError."""
    from gemmlab.chips.nvidia import gpus

    found, seen = gpus(), shown()
    if not found:
        raise GemmlabError(f"backend {backend} needs an NVIDIA GPU, and nvidia-smi finds none here", "--backend cpu")
    count = len(found) if seen is None else min(len(seen), len(found))
    if device >= count:
        why = "" if seen is None else f": CUDA_VISIBLE_DEVICES is `{','.join(seen)}`"
        raise GemmlabError(f"there is no GPU {device}{why}", f"0 to {count - 1}" if count else "--backend cpu")
    number = number_of(device)
    if number >= len(found):
        raise GemmlabError(f"CUDA_VISIBLE_DEVICES names GPU {number}, and there are {len(found)}", "nvidia-smi -L")
    return found[number]


def cores() -> int:
    """Physical cores that this process may use."""
    from gemmlab.chips.machine import describe

    return describe().cores


def with_cores(chip: Chip, threads: int) -> Chip:
    """A CPU of which so many cores work: their share of the peaks and of what each core has for itself."""
    share = threads / int(chip.sm_count)
    if share >= 1:
        return chip
    replace = msgspec.structs.replace

    def part(figure: chips.Figure, by: float = share) -> chips.Figure:
        return chips.Figure(float(figure) * by, figure.source, figure.sure, figure.note)

    return replace(
        chip,
        sm_count=part(chip.sm_count),
        peaks={name: replace(peak, flop_per_s=part(peak.flop_per_s)) for name, peak in chip.peaks.items()},
        levels=tuple(
            replace(
                level,
                bandwidth_bytes_per_s=part(level.bandwidth_bytes_per_s),
                capacity_bytes=part(level.capacity_bytes),
            )
            if level.name in PER_CORE
            else level
            for level in chip.levels
        ),
    )


def fitted(protocol: Protocol, chip: Chip, device: int | None = None) -> Protocol:
    """The protocol with the chip's cache and the memory that is free: of a GPU all there is, where nobody says."""
    last, dram = chip.level("l2") or chip.level("shared"), chip.level("dram")
    host = free_bytes()
    if chip.kind == "cpu":
        memory = host
    else:
        told = Gauge(device).free_bytes() if chip.vendor == "NVIDIA" else None
        memory = int(dram.capacity_bytes) if told is None and dram else told
    cache = int(last.capacity_bytes) if last else cpu_cache_bytes() if chip.kind == "cpu" else 0
    return msgspec.structs.replace(
        protocol,
        cache_bytes=protocol.cache_bytes or cache,
        memory_bytes=protocol.memory_bytes if protocol.memory_bytes is not None else memory,
        host_bytes=protocol.host_bytes if protocol.host_bytes is not None else host,
    )


def cpu_cache_bytes() -> int:
    """The last-level cache of the processor, which is a software adapter's too; 0 where the system does not tell it."""
    from gemmlab.chips.machine import describe

    machine = describe()
    return machine.l3_bytes or machine.l2_bytes


def limits_of(problem: Gemm, chip: Chip) -> Limits:
    """The roofline's two times; of a format that the chip lacks, at the peak of the one that stands in for it."""
    used, dram = stand_in(chip, problem.a_format), chip.level("dram")
    peak = chip.peak_flop_per_s(used) if used else None
    return Limits(
        compute_s=problem.flop / peak if peak else 0.0,
        dram_s=problem.compulsory_bytes / float(dram.bandwidth_bytes_per_s) if dram else 0.0,
    )


def record_of(problem: Gemm, chip: Chip, outcome: Outcome, threads: int, device: int | None) -> Record:
    """The Record of what came of one contender; `device` is the number of an NVIDIA GPU."""
    who, timing, fault = outcome.contender, outcome.timing, outcome.fault
    used = with_cores(chip, threads) if chip.kind == "cpu" else chip
    if who.loops:
        counted, why = walked(problem, chip, used, outcome, threads)
    else:
        counted, why = explained(problem, used, who)
    load = outcome.environment.get("load_before", "") if chip.kind == "cpu" and timing else ""
    said = [text for text in (why, busy(load, cores())) if text]
    if chip.name == SOFTWARE:
        said.append("a software adapter: counts are those of any GPU, times this CPU's, not ranked beside a chip's")
    limit = limits_of(problem, used).least_s(from_dram=True)
    base = Measurement(
        backend=who.backend,
        kernel=who.name,
        idea=who.idea,
        vendor=who.vendor,
        threads=threads if chip.kind == "cpu" else None,
        device=device,
        software=chip.name == SOFTWARE,
        environment={"chip": chip.full_name, **outcome.environment},
        limit_s=limit or None,
        fault=fault.kind if fault else "",
        fault_detail=fault.detail if fault else "",
        notes=tuple(said),
    )
    if timing is not None:
        base = msgspec.structs.replace(
            base,
            time_s=timing.median_s,
            time_s_low=timing.low_s,
            time_s_high=timing.high_s,
            repeats=timing.repetitions * len(timing.samples),
            flop_per_s=problem.flop / timing.median_s,
            fraction_of_limit=limit / timing.median_s if limit else None,
            samples=timing.samples,
            copies=timing.copies,
            sustained_time_s=timing.sustained_s,
            notes=(*timing.notes, *base.notes),
        )
    return msgspec.structs.replace(counted, measurement=base, verdict=outcome.verdict)


def explained(problem: Gemm, chip: Chip, who: Contender) -> tuple[Record, str]:
    """Count and prediction of the kernel that counts a contender, and why there are none where there are none."""
    bare = Record(problem=problem.section(), chip=chips.section(chip))
    if not who.counted_by:
        return bare, ""
    try:
        kernel = kernels.get(who.counted_by, problem=problem, **who.settings)
        if not chip.peaks:  # nothing that a prediction could rest on
            return msgspec.structs.replace(
                bare, kernel=kernels.section(kernel, problem), count=count(problem, kernel)
            ), ""
        return explain(problem, chip, on_chip(kernel, problem, chip), advice=False), ""
    except GemmlabError as error:
        return bare, f"not counted: {error.text}"


def walked(problem: Gemm, chip: Chip, used: Chip, outcome: Outcome, threads: int) -> tuple[Record, str]:
    """The same of a rung of the CPU's ladder, whose own loops are counted; of the `chip`, `used` is what works."""
    from gemmlab.chips.machine import usable_threads
    from gemmlab.count.cpu import count_cpu
    from gemmlab.model.cpu import predict_cpu

    bare = Record(problem=problem.section(), chip=chips.section(used))
    if outcome.fault and outcome.fault.kind == REFUSED:  # the problem is none of the rung's, or the CPU lacks its unit
        return bare, ""
    rung, working = outcome.contender.loops, min(threads, usable_threads())
    try:
        counted = count_cpu(problem, rung, working)
        library = outcome.environment.get("blas_kernels", "")
        prediction = predict_cpu(problem, chip, rung, counted, threads=working, library=library)
    except GemmlabError as error:
        return bare, f"not counted: {error.text}"
    return msgspec.structs.replace(bare, count=counted, prediction=prediction), HANDED_ON if rung == "blocks" else ""


def failed(problem: Gemm, contender: Contender, error: BaseException) -> Record:
    """The Record of a contender that could not even be tried."""
    fault = fault_of(error)
    return Record(
        problem=problem.section(),
        measurement=Measurement(
            backend=contender.backend,
            kernel=contender.name,
            idea=contender.idea,
            vendor=contender.vendor,
            fault=fault.kind,
            fault_detail=fault.detail,
        ),
    )
