"""How long a rung of the CPU's ladder takes and what bounds it: the longest of its core's units, phase by phase."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.chips import Chip
from gemmlab.chips.machine import Machine, cache_bytes, describe
from gemmlab.count.cpu import PACKED, cuts, members
from gemmlab.kernels.ladder.cpu.tiling import SYSTEM, Tiling
from gemmlab.model.bounds import lower_bounds
from gemmlab.model.cpu_core import LEVELS, LOADS_PER_CLOCK, STORES_PER_CLOCK, UNKNOWN, Core, core_of
from gemmlab.model.cpu_work import WORK, Phase, sizes_of
from gemmlab.model.machine import stand_in
from gemmlab.problem import Gemm
from gemmlab.record import Count, LevelPrediction, Prediction, Term, unknown_name

NEARLY = 0.9  #: of a phase: what takes so much by itself is what it waits for
WAKE_S = 30e-6  #: until another thread works: what `threads.WORTH_WAKING` rests on
UNSURE = (
    "unsure: L3's bytes a clock, memory's latency, the neighbour that a miss of L2 fetches, and whether transfers "
    "between caches overlap"
)


class Timed(NamedTuple):
    """One phase in seconds: each unit alone, and all together."""

    phase: Phase
    parts: dict[str, float]  #: by what the clocks are, or by level
    time_s: float

    @property
    def bound(self) -> str:
        """What it waits for: its clocks where they last as long as the phase, else the level that takes longest."""
        if self.parts[self.phase.limit] >= NEARLY * self.time_s:
            return self.phase.limit
        return max(LEVELS, key=lambda level: self.parts[level])


def timed(core: Core, phase: Phase) -> Timed:
    """A phase on a core.

    Arithmetic hides behind all else and all else behind it. L1's loads and stores, and the transfers to it, hide behind
    each other where the design overlaps them; elsewhere they add up (the execution-cache-memory model).
    """
    l1 = max(phase.loads / LOADS_PER_CLOCK, phase.stores / STORES_PER_CLOCK) / core.clock_hz
    parts = {phase.limit: phase.clocks / core.clock_hz + phase.seconds, "l1": l1}
    parts |= {level: core.seconds(level, getattr(phase, level)) for level in LEVELS[1:]}
    memory = [parts[level] for level in LEVELS]
    return Timed(phase, parts, max(parts[phase.limit], max(memory) if core.design.overlaps else sum(memory)))


def phases_of(problem: Gemm, rung: str, core: Core, threads: int, sizes: Tiling | None = None) -> list[Timed]:
    """Every phase of the busiest thread, of all matrices of the problem."""
    found: list[Timed] = []
    for member, times in members(problem):
        parts = cuts(member, rung, threads, sizes) if rung in PACKED else [None]
        alone = [[timed(core, phase) for phase in WORK[rung](core, sizes_of(member), part, threads)] for part in parts]
        busiest = max(alone, key=lambda each: sum(phase.time_s for phase in each))
        if len(parts) > 1:
            busiest.append(timed(core, Phase("waking threads", limit="waking threads", seconds=WAKE_S)))
        found += busiest * times if times < 2 else [scaled(each, times) for each in busiest]
    return found


def scaled(each: Timed, times: int) -> Timed:
    """The same phase of so many matrices, one after another."""
    phase = each.phase
    numbers = {name: times * value for name, value in phase._asdict().items() if not isinstance(value, str)}
    parts = {name: times * value for name, value in each.parts.items()}
    return Timed(phase._replace(**numbers), parts, times * each.time_s)


def predict_cpu(
    problem: Gemm,
    chip: Chip,
    rung: str,
    counted: Count,
    *,
    threads: int = 1,
    machine: Machine | None = None,
    l1_bytes: int = 0,
    sizes: Tiling | None = None,
    library: str = "",
) -> Prediction:
    """The Record's `prediction` of a rung of the CPU's ladder.

    `chip` is the whole processor, whose clock and rates are used; `machine`, `l1_bytes` and `sizes`, left out, are
    those of the machine at hand. `threads` cores work; `library` is what OpenBLAS calls its kernels. Raises
    GemmlabError for an unknown rung.
    """
    if rung not in WORK:
        raise unknown_name("rung of the CPU's ladder", rung, WORK)
    machine = machine or describe()
    core = core_of(chip, machine, l1_bytes or cache_bytes(f"/{SYSTEM}", [0], 1), threads, library)
    phases = phases_of(problem, rung, core, threads, sizes)
    time = sum(each.time_s for each in phases)
    used = stand_in(chip, problem.a_format)
    share = min(1.0, threads / int(chip.sm_count))
    peak = share * (chip.peak_flop_per_s(used) or 0.0) if used else 0.0
    dram = threads * core.dram_bytes_per_s
    written = float(problem.d_bytes)
    moved = carried(phases, "dram", counted.programs, written)
    bounds = lower_bounds(problem, threads * core.l2_bytes)
    return Prediction(
        time_s=time,
        bound=bound_of(phases),
        knee_flop_per_byte=peak / dram,
        compute_time_s=counted.flop / peak if peak else 0.0,
        waves=1.0,
        wave_efficiency=1.0,
        programs_per_sm=1,
        occupancy_limit="",
        dram_read_bytes=moved - written,
        dram_write_bytes=written,
        dram_bytes=moved,
        dram_bytes_low=moved,
        dram_bytes_high=moved,
        levels=levels_of(phases, core, counted, peak, threads, written),
        terms=tuple(term_of(each) for each in together(phases)),
        lower_bound_bytes=max(bounds["compulsory"], bounds["tight"]),
        lower_bounds=bounds,
        energy_j=None,
        notes=notes_on(core, chip),
    )


def together(phases: list[Timed]) -> list[Timed]:
    """Phases of one name as one, of all matrices of a group."""
    found: dict[str, Timed] = {}
    for each in phases:
        before = found.get(each.phase.name)
        if before is not None:
            parts = {name: each.parts.get(name, 0.0) + value for name, value in before.parts.items()}
            each = Timed(before.phase, parts, before.time_s + each.time_s)  # noqa: PLW2901 - the sum so far
        found[each.phase.name] = each
    return list(found.values())


def bound_of(phases: list[Timed]) -> str:
    """What the phase that takes most of the time waits for."""
    return max(together(phases), key=lambda each: each.time_s).bound


def term_of(each: Timed) -> Term:
    """A phase as a share of the predicted time, and its units one by one."""
    parts = {name: time for name, time in each.parts.items() if time > 0}
    words = ", ".join(f"{name} {time / each.time_s:.0%}" for name, time in parts.items()) if each.time_s else ""
    return Term(cause=each.phase.name, time_s=each.time_s, why=f"each alone: {words}")


def carried(phases: list[Timed], level: str, programs: int, written: float) -> float:
    """Bytes that a level carries for all threads, whose rectangles are about alike; fetching C to write it is no read
    that the multiplication needs, but it is traffic.
    """
    sizes: list[float] = [getattr(each.phase, level) for each in phases]
    return max(written, programs * sum(sizes))


def levels_of(
    phases: list[Timed], core: Core, counted: Count, peak: float, threads: int, written: float
) -> tuple[LevelPrediction, ...]:
    """Each level's bytes and time, from memory inwards; L1's are those that the loops ask for."""
    found = []
    for level in reversed(LEVELS):
        time = sum(each.parts[level] for each in phases)
        asked = float(counted.global_load_bytes + counted.global_store_bytes)
        size = asked if level == "l1" else carried(phases, level, counted.programs, 0.0)
        if size <= 0 or time <= 0:
            continue
        speed = size / time
        found.append(
            LevelPrediction(
                name=level,
                bytes=size,
                time_s=time,
                intensity_flop_per_byte=counted.flop / size,
                knee_flop_per_byte=peak / speed,
            )
        )
    return tuple(found)


def notes_on(core: Core, chip: Chip) -> tuple[str, ...]:
    """What has to be said beside such a prediction."""
    said = [f"a core like {core.design.name}: its latencies and ports by the vendor's manual; {UNSURE}"]
    if core.design == UNKNOWN:
        said = [f"no table has this core: latencies and ports are guessed; {UNSURE}"]
    if not chip.clock_hz.sure:
        said.append(f"the clock, {float(chip.clock_hz) / 1e9:.2f} GHz, is not sure: {chip.clock_hz.note}")
    return tuple(said)
