"""What a Record tells, as rows of words and numbers: the same story for terminal, picture and page."""

import math
from typing import NamedTuple

from gemmlab.chips import standing
from gemmlab.record import Prediction, Record
from gemmlab.report.words import (
    ASSUMPTION,
    LEFT_IN_CACHE,
    LOWER_BOUNDS,
    MATRIX_UNITS,
    SCHEDULE,
    amount,
    bound_key,
    bound_phrase,
    clean,
    percent,
    plain,
    several,
    split_exactly,
)


class Fact(NamedTuple):
    """One number, what it is called, and what kind of number it is."""

    label: str
    value: str
    kind: str  #: a key of words.KINDS


class Limit(NamedTuple):
    """What one limit by itself would take: arithmetic at its peak, or one level of memory."""

    name: str
    bytes: float | None
    time_s: float
    intensity: float | None
    knee: float | None
    bounds: bool  #: the verdict names it


class Step(NamedTuple):
    """One cause's share of the predicted time, where it starts, and the text that adds up."""

    cause: str
    why: str
    start_s: float
    time_s: float
    shown: str
    share: str


class Rung(NamedTuple):
    """One amount of traffic between the floor and what is asked for; a band where it has two ends."""

    label: str
    value: float
    kind: str
    low: float | None = None
    high: float | None = None


def formats(record: Record) -> str:
    """The operand formats, shortest form that says all: `float16`, or `int8 x int8 -> int32, int32 accumulator`."""
    p = record.problem
    if p is None:
        return ""
    wide = f", {p.accumulate} accumulator" if p.accumulate != p.a_format else ""
    same = p.a_format == p.b_format == p.d_format
    head = p.a_format if same else f"{p.a_format} x {p.b_format} -> {p.d_format}"
    return clean(head + wide)


def title(record: Record) -> str:
    """The multiplication by its sizes, and its format where one word says it."""
    p = record.problem
    if p is None:
        return "No multiplication in this record"
    batch = f"{p.batch} times " if p.batch != 1 else ""
    if p.groups:
        return f"{len(p.groups)} grouped multiplications, m = {p.m} in all, n up to {p.n}, k up to {p.k}"
    return f"{batch}{p.m} x {p.n} x {p.k}"


def details(record: Record) -> str:
    """What else the problem says beyond its sizes and formats, empty when all is default."""
    p = record.problem
    if p is None:
        return ""
    said = [f"layout {p.layout}"]
    said += [f"alpha {p.alpha:g}"] * (p.alpha != 1) + [f"beta {p.beta:g}"] * (p.beta != 0)
    said += [f"epilogue {p.epilogue}"] * bool(p.epilogue) + [f"scales {p.scale}"] * bool(p.scale)
    band = f", {p.lower_band} diagonals below, {p.upper_band} above" if p.structure == "banded" else ""
    said += [f"A {p.structure}{band}"] * (p.structure != "general")
    return clean(", ".join(said))


def chip_status(record: Record) -> str:
    """How far the chip's figures can be trusted."""
    return standing(record.chip) if record.chip else ""


def kernel_line(record: Record) -> str:
    """The kernel and its tile: `tensor 128x128x32, 3 stages, 4 warps`."""
    k = record.kernel
    if k is None:
        return ""
    tile = f"{k.block_m}x{k.block_n}x{k.block_k}"
    if fed_by_software(record):
        return f"{clean(k.name)}, blocks of {tile} in VMEM, double-buffered"
    name = clean(k.name)
    lane = "columns" if k.raster == "m" else "rows"
    extra = [f"{k.stages} stages"] * (k.stages > 1) + [several(k.warps, "warp")] * (k.warps > 0)
    extra += [f"cluster {k.cluster_m}x{k.cluster_n}"] * (k.cluster_m * k.cluster_n > 1)
    extra += [f"split-k {k.split_k}"] * (k.split_k > 1) + [f"groups of {k.group_m} {lane}"] * (k.group_m > 1)
    return ", ".join([name if tile in name else f"{name} {tile}", *extra])


def peak(record: Record) -> float | None:
    """FLOP/s of the data sheet that the prediction compares with; None where it cannot be known."""
    if record.count and record.prediction and record.prediction.compute_time_s > 0:
        return record.count.flop / record.prediction.compute_time_s
    if record.chip and record.problem:
        return record.chip.peak_flop_per_s.get(record.problem.a_format)
    return None


def rate(record: Record, time_s: float | None) -> float | None:
    """FLOP/s of a run that takes `time_s`."""
    return record.count.flop / time_s if record.count and time_s else None


def share_of_peak(record: Record) -> float | None:
    """Predicted FLOP/s over the data sheet's peak."""
    prediction = record.prediction
    return prediction.compute_time_s / prediction.time_s if prediction and prediction.time_s > 0 else None


def limit_time(record: Record) -> float | None:
    """Seconds of arithmetic at the peak, or of each matrix once through DRAM, whichever is longer."""
    if record.prediction is None:
        return None
    speed = bandwidth(record, "dram")
    memory = record.count.compulsory_bytes / speed if record.count and speed else 0.0
    return max(record.prediction.compute_time_s, memory)


def share_of_limit(record: Record) -> float | None:
    """The limit over the predicted time: 1 is the roofline itself."""
    limit = limit_time(record)
    return limit / record.prediction.time_s if limit and record.prediction and record.prediction.time_s > 0 else None


def bandwidth(record: Record, level: str) -> float | None:
    """Bytes/s of a level, from the chip; where the chip lacks it, from the level's knee.

    A chip file names a CPU's levels by role; those of a rung's own prediction are its caches.
    """
    own = level != "dram" and walked(record)
    for figures in record.chip.levels if record.chip and not own else ():
        if figures.name == level and figures.bandwidth_bytes_per_s > 0:
            return figures.bandwidth_bytes_per_s
    top = peak(record)
    for row in record.prediction.levels if record.prediction else ():
        if row.name == level and row.knee_flop_per_byte > 0 and top:
            return top / row.knee_flop_per_byte
    return None


def walked(record: Record) -> bool:
    """Whether it is of a rung of the CPU's ladder: its own loops are counted, array by array."""
    return record.count is not None and bool(record.count.arrays)


def fed_by_software(record: Record) -> bool:
    """Whether it is of a TPU's matrix units: blocks in VMEM, and neither programs nor caches."""
    return record.kernel is not None and record.kernel.name == MATRIX_UNITS


def stands_in(record: Record) -> str:
    """The format whose peak is taken, where the chip has no unit for the operands'; else empty."""
    if record.chip is None or record.problem is None or record.prediction is None:
        return ""
    from gemmlab.model.machine import wider

    used = wider(record.chip.peak_flop_per_s, record.problem.a_format)
    return "" if used in (None, record.problem.a_format) else str(used)


def published(record: Record) -> str:
    """The two figures of the data sheet that every verdict rests on."""
    top, speed, other = peak(record), bandwidth(record, "dram"), stands_in(record)
    said = [f"peak {amount(top, 'FLOP/s')}{f' in {other}' if other else ''}"] * (top is not None)
    return ", ".join(said + [f"DRAM {amount(speed, 'B/s')}"] * (speed is not None))


def verdict(record: Record) -> str:
    """The one sentence: what bounds it, how long it takes, what share of the peak that is."""
    prediction = record.prediction
    if prediction is None:
        return "No prediction in this record"
    share = share_of_peak(record)
    whose = f"{other}'s" if (other := stands_in(record)) else "the"
    doubt = ", not validated" if fed_by_software(record) else ""
    of_peak = f", {percent(share)} of {whose} arithmetic peak" if share is not None else ""
    return f"{bound_phrase(prediction.bound)}: {amount(prediction.time_s, 's')} predicted{doubt}{of_peak}"


def moves(record: Record) -> list[Fact]:
    """What is moved: exact counts first, then what the model expects of DRAM."""
    facts = []
    if count := record.count:
        facts += [
            Fact("work", amount(count.flop, "FLOP"), "counted"),
            Fact("raw: loads asked for", amount(count.raw_bytes, "B"), "counted"),
            Fact("floor: each matrix once", amount(count.compulsory_bytes, "B"), "counted"),
            Fact("intensity, loads + stores", f"{plain(count.intensity_flop_per_byte)} FLOP/B", "counted"),
        ]
        if count.padded_flop > count.flop:
            waste = percent(1 - count.flop / count.padded_flop)
            facts.append(Fact("tile padding", f"{waste} of {amount(count.padded_flop, 'FLOP')}", "counted"))
        facts += [
            Fact(
                f"{clean(x.name)}: loads, stores",
                f"{amount(x.load_bytes, 'B')}, {amount(x.store_bytes, 'B')}",
                "counted",
            )
            for x in count.arrays
        ]
    if p := record.prediction:
        low, high = amount(p.dram_bytes_low, "B"), amount(p.dram_bytes_high, "B")
        band = "" if walked(record) else f" ({low} to {high})"  # nobody knows the band of a CPU's rung
        facts.append(Fact("DRAM traffic", amount(p.dram_bytes, "B") + band, "predicted"))
    if turn := turning_point(record):
        facts.append(Fact("memory-bound above", amount(turn, "B"), "datasheet"))
    return facts


def limits(record: Record) -> list[Limit]:
    """Arithmetic and each level of memory, each as if it were alone."""
    p = record.prediction
    if p is None:
        return []
    bound = bound_key(p.bound)
    rows = [Limit("compute", None, p.compute_time_s, None, None, bound == "compute")]
    return rows + [
        Limit(clean(x.name), x.bytes, x.time_s, x.intensity_flop_per_byte, x.knee_flop_per_byte, bound == x.name)
        for x in p.levels
    ]


def launch(record: Record) -> list[Fact]:
    """How the programs fill the chip."""
    p, count = record.prediction, record.count
    if p is None:
        return []
    if count and count.arrays:
        return [Fact("rectangles of C, a thread each", f"{count.programs}", "counted")]
    if fed_by_software(record):
        each = [Fact("blocks of the result", f"{count.programs}", "counted")] if count else []
        return [*each, Fact("blocks, one after another", plain(math.ceil(p.waves)), "predicted")]
    facts = [Fact("programs", f"{count.programs}", "counted")] if count else []
    limit = f", limited by {clean(p.occupancy_limit)}" if p.occupancy_limit else ""
    return [
        *facts,
        Fact("resident on an SM", f"{p.programs_per_sm}{limit}", "predicted"),
        Fact("waves", f"{plain(p.waves)}, {percent(p.wave_efficiency)} of their slots used", "predicted"),
    ]


def time_steps(prediction: Prediction) -> list[Step]:
    """The predicted time as named causes; what the terms leave open stands as its own step.

    Shown digits add up to the shown total, see `total_shown`; a cause whose digits are all 0 is left out.
    """
    named = [(clean(t.cause), clean(t.why), t.time_s) for t in prediction.terms]
    rest = prediction.time_s - math.fsum(time for _, _, time in named)
    if abs(rest) > 1e-3 * abs(prediction.time_s):
        named.append(("not explained", "the terms above do not add up to the predicted time", rest))
    scale, unit, places = time_scale(prediction.time_s)
    shown = split_exactly([time / scale for _, _, time in named], places)
    steps, start = [], 0.0
    for (cause, why, time), text in zip(named, shown, strict=True):
        share = time / prediction.time_s if prediction.time_s > 0 else None
        if text.strip("-0."):
            steps.append(Step(cause, why, start, time, f"{text}{unit}", percent(share)))
        start += time
    return steps


def total_shown(prediction: Prediction) -> str:
    """The predicted time with the digits that the steps add up to."""
    scale, unit, places = time_scale(prediction.time_s)
    return f"{prediction.time_s / scale:.{places}f}{unit}"


def time_scale(time_s: float) -> tuple[float, str, int]:
    """Scale, unit and decimals that show a time with four significant digits."""
    if abs(time_s) >= 1e4:
        power = math.floor(math.log10(abs(time_s)))
        return 10.0**power, f"e{power} s", 3
    units = ((1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns"))
    scale, unit = next(((s, u) for s, u in units if abs(time_s) >= s), units[-1])
    whole = math.floor(math.log10(abs(time_s) / scale)) + 1 if time_s else 1
    return scale, unit, min(max(4 - whole, 0), 3)


def bounds(record: Record) -> list[Fact]:
    """Lower bounds on traffic, smallest first, what follows from them, and what three tiles would move."""
    p = record.prediction
    if p is None:
        return []
    named = sorted(told_bounds(p).items(), key=lambda item: item[1])
    rows = [Fact(bound_label(name), amount(value, "B"), "counted") for name, value in named if name != SCHEDULE]
    rows.append(Fact("so at least", amount(p.lower_bound_bytes, "B"), "counted"))
    return rows + [Fact(bound_label(name), amount(value, "B"), "counted") for name, value in named if name == SCHEDULE]


def told_bounds(p: Prediction) -> dict[str, float]:
    """The bounds that say something: not a tight one of nothing, nor the three tiles where the floor is above them."""
    return {
        name: value
        for name, value in p.lower_bounds.items()
        if (value >= p.lower_bound_bytes if name == SCHEDULE else value > 0)
    }


def bound_remarks(record: Record) -> list[str]:
    """What the lower bounds mean and assume."""
    p = record.prediction
    if p is None:
        return []
    told = told_bounds(p)
    level = (
        "L2"
        if walked(record) or any(x.name == "l2" for x in (record.chip.levels if record.chip else ()))
        else "VMEM"
        if fed_by_software(record)
        else "shared memory"
    )
    meanings = [f"tight: 2mnk/sqrt(S) - 2S elements where {level} holds S of them"] * ("tight" in told)
    meanings += ["three tiles move 2mnk/sqrt(S/3), a schedule and no bound"] * (SCHEDULE in told)
    said = ["; ".join(meanings)] * bool(meanings) + [ASSUMPTION]
    return said + [LEFT_IN_CACHE] * (p.dram_bytes < p.lower_bound_bytes and not fed_by_software(record))


def bound_label(name: str) -> str:
    """The words for a lower bound's key."""
    key = name.removesuffix("_bytes")
    return LOWER_BOUNDS.get(key, clean(key.replace("_", " ")))


def ladder(record: Record) -> list[Rung]:
    """Amounts of traffic from the floor to what the kernel asks for, smallest first, none below a byte."""
    rungs = []
    if count := record.count:
        rungs.append(Rung("floor: each matrix once", count.compulsory_bytes, "counted"))
        rungs.append(Rung("raw: loads asked for", count.raw_bytes, "counted"))
    if p := record.prediction:
        named = [(k, v) for k, v in told_bounds(p).items() if k.removesuffix("_bytes") != "compulsory" or not count]
        rungs += [Rung(bound_label(name), value, "counted") for name, value in named]
        band = (None, None) if walked(record) else (p.dram_bytes_low, p.dram_bytes_high)
        rungs.append(Rung("DRAM traffic", p.dram_bytes, "predicted", *band))
    return sorted((r for r in rungs if 1 <= r.value < math.inf), key=lambda rung: rung.value)


def turning_point(record: Record) -> float | None:
    """DRAM bytes past which memory, not arithmetic, takes longer: bandwidth times the time of the arithmetic;
    None where that is unknown or less than a byte.
    """
    speed = bandwidth(record, "dram")
    size = speed * record.prediction.compute_time_s if speed and record.prediction else 0.0
    return size if size >= 1 else None


def measured(record: Record) -> list[Fact]:
    """What was measured, and how far the prediction was off."""
    m = record.measurement
    if m is None:
        return []
    if m.fault:
        return [Fact(f"{m.kernel}, {clean(m.backend)}".strip(", "), clean(m.fault), "measured")]
    spread = ""
    if m.time_s_low is not None and m.time_s_high is not None:
        spread = f" ({amount(m.time_s_low, 's')} to {amount(m.time_s_high, 's')})"
    facts = [Fact(f"time, {clean(m.backend)}", amount(m.time_s, "s") + spread, "measured")]
    speed = m.flop_per_s if m.flop_per_s is not None else rate(record, m.time_s)
    if speed is not None:
        facts.append(Fact("rate", amount(speed, "FLOP/s"), "measured"))
    if m.fraction_of_limit is not None:
        facts.append(Fact("of the limit", percent(m.fraction_of_limit), "measured"))
    if m.repeats is not None:
        facts.append(Fact("repeats", str(m.repeats), "measured"))
    if record.prediction and m.time_s:
        off = record.prediction.time_s / m.time_s - 1
        facts.append(Fact("prediction is off by", f"{100 * off:+.0f}%", "measured"))
    return facts
