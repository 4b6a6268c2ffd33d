"""What a lesson says, for page and terminal alike: rows of figures, and the sentences around them."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab import formats
from gemmlab.experiment.lesson.kernels import Counted, operand_loads
from gemmlab.experiment.lesson.teaching import Lesson
from gemmlab.record import Measurement, ProblemSection, Record
from gemmlab.report import story
from gemmlab.report.words import amount, bound_phrase, clean, percent, plain
from gemmlab.run.environment import BUSY
from gemmlab.units import ceil_div


class Loads(NamedTuple):
    """One kernel's loads: by its formula, and as the emulator met them."""

    name: str
    label: str
    counted: int
    emulated: int | None  #: None where no program of it was emulated
    agrees: bool
    size: str  #: that was emulated, where it is not the asked one
    fetched: tuple[int, int]  #: how often each element of A and of B is asked for
    intensity: float  #: FLOP a byte of loads and stores
    record: Record  #: count and prediction


def problem_of(lesson: Lesson) -> ProblemSection:
    """The multiplication."""
    found = lesson.explained.problem
    assert found is not None  # explain fills it
    return found


def sides(p: ProblemSection) -> str:
    """`1024 x 1024 x 512`."""
    return f"{p.m} x {p.n} x {p.k}"


def loads(lesson: Lesson) -> list[Loads]:
    """Every kernel, those that were emulated first, then the one that the chip would run."""
    rows = [loads_of(each) for each in lesson.kernels]
    count, kernel = lesson.explained.count, lesson.explained.kernel
    p = problem_of(lesson)
    if count and kernel:
        label = f"{clean(kernel.name)} {kernel.block_m} x {kernel.block_n}"
        fetched = repeats(p, kernel.block_m, kernel.block_n)
        rows.append(
            Loads(
                kernel.name, label, operand_loads(count, p), None, True, "",
                fetched, count.intensity_flop_per_byte, lesson.explained,
            )
        )  # fmt: skip
    return rows


def loads_of(each: Counted) -> Loads:
    """One that was emulated."""
    record, problem = each.formula, each.formula.problem
    count = record.count
    assert problem is not None
    assert count is not None
    size = "" if each.whole or not each.emulated.problem else sides(each.emulated.problem)
    fetched = (problem.n, problem.m) if is_naive(each) else repeats(problem, *each.tile[:2])
    return Loads(
        each.name, label_of(each), each.loads, each.counted_here, each.agrees, size,
        fetched, count.intensity_flop_per_byte, record,
    )  # fmt: skip


def repeats(p: ProblemSection, block_m: int, block_n: int) -> tuple[int, int]:
    """How often tiles of block_m x block_n ask for an element of A, and of B."""
    return ceil_div(p.n, block_n), ceil_div(p.m, block_m)


def is_naive(each: Counted) -> bool:
    """Whether threads read for themselves alone."""
    return each.formula.kernel is not None and each.formula.kernel.name == "naive"


def label_of(each: Counted) -> str:
    """`naive`, or with its tile: `tiled T = 16`."""
    if is_naive(each):
        return each.name
    m, n, _ = each.tile
    name = "tiled" if each.name.startswith("tiled") else each.name
    return f"{name} T = {m}" if m == n else f"{name} {m} x {n}"


def floor_elements(p: ProblemSection) -> int:
    """Elements of A and B, each once."""
    return p.m * p.k + p.k * p.n


def times(count: int) -> str:
    """`once`, `64 times`."""
    return "once" if count == 1 else f"{count:,} times"


def fetched(row: Loads) -> str:
    """How often each number is fetched."""
    a, b = row.fetched
    if a == b:
        return f"each number {times(a)}"
    return f"each number of A {times(a)}, of B {times(b)}"


def fetched_short(row: Loads) -> str:
    """The same for a table."""
    a, b = row.fetched
    return times(a) if a == b else f"A {times(a)}, B {times(b)}"


def whole_percent(part: float, of: float) -> str:
    """A share that is told."""
    return percent(part / of) if of else "-"


def least_tile(lesson: Lesson) -> int | None:
    """The smallest square tile whose intensity passes the chip's knee, were no load found in a cache."""
    prediction, p = lesson.explained.prediction, problem_of(lesson)
    if prediction is None:
        return None
    bytes_each = (formats.get(p.a_format).bits + formats.get(p.b_format).bits) / 16
    return int(-(-prediction.knee_flop_per_byte * bytes_each // 1))


def too_large(tile: int, p: ProblemSection) -> str:
    """What keeps a square tile from these matrices; empty where both have room for it."""
    smaller = [f"{name} = {side:,}" for name, side in (("m", p.m), ("n", p.n)) if side < tile]
    return f"which {' and '.join(smaller)} {'have' if len(smaller) > 1 else 'has'} no room for" if smaller else ""


def emulated_how(lesson: Lesson) -> list[str]:
    """How the emulator came to its counts, and whether results are right; kernels of which the same is so together."""
    from gemmlab.report.correctness import sentence

    found: dict[str, list[str]] = {}
    for each in lesson.kernels:
        emulation, valued = each.emulated.emulation, each.valued
        if emulation is None or each.emulated.problem is None:
            continue
        said = f"{sides(each.emulated.problem)}, {how_in_words(clean(emulation.blocks.how))}"
        if valued and valued.verdict and valued.problem:
            there = "" if valued is each.emulated else f" at {sides(valued.problem)}, where values are computed,"
            said += f"; the result{there} is {sentence(valued.verdict)}"
        found.setdefault(said, []).append(label_of(each))
    return [f"{', '.join(names)}: {said}" for said, names in found.items()]


def how_in_words(how: str) -> str:
    """`every block run`, or that one stands for all of its class, and why."""
    if how == "every block":
        return "every thread of every block run"
    why = how.partition("; ")[0].partition(": ")[2] or how
    return f"one block run for all that provably do the same, as {why}"


def proofs(lesson: Lesson) -> list[str]:
    """What the runs prove beyond themselves."""
    found = (each.emulated.emulation for each in lesson.kernels)
    said = dict.fromkeys(clean(e.proof.text) for e in found if e and e.proof)
    return [text[:1].lower() + text[1:] for text in said]


def timed_rows(lesson: Lesson) -> list[tuple[str, ...]]:
    """Each kernel that has a time: name and size, loads, predicted time, what is to bound it, time, share."""
    found: list[tuple[str, ...]] = []
    for record in lesson.times:
        m, p, expected = record.measurement, record.problem, record.prediction
        if m is None or p is None or not m.time_s:
            continue
        found.append(
            (
                f"{clean(m.kernel)}, {sides(p)}",
                amount(record.count.global_load_bytes, "B") if record.count else "-",
                amount(expected.time_s, "s") if expected else "-",
                bound_phrase(expected.bound) if expected else "-",
                amount(m.time_s, "s"),
                percent(m.fraction_of_limit),
            )
        )
    return found


def notes(lesson: Lesson) -> list[str]:
    """What is to be known of the times, once each; of a load that changed from run to run the first figure."""
    found: dict[str, str] = {}
    for record in lesson.times:
        for note in record.measurement.notes if record.measurement else ():
            found.setdefault(clean(note).partition(BUSY)[0], clean(note))
    return list(found.values())


def reached(record: Record) -> tuple[float, float] | None:
    """FLOP/s: what DRAM would allow were no load found in a cache, and as predicted; None where unknown."""
    count, prediction = record.count, record.prediction
    top, speed = story.peak(record), story.bandwidth(record, "dram")
    if not (count and prediction and top and speed and prediction.time_s > 0):
        return None
    return min(top, count.intensity_flop_per_byte * speed), count.flop / prediction.time_s


def told_time(measured: Measurement) -> str:
    """Median and quartiles."""
    spread = ""
    if measured.time_s_low is not None and measured.time_s_high is not None:
        spread = f" ({amount(measured.time_s_low, 's')} to {amount(measured.time_s_high, 's')})"
    return amount(measured.time_s, "s") + spread


def told_speed(measured: Measurement) -> str:
    """Speed and share of the limit, or the fault."""
    if measured.fault or measured.flop_per_s is None:
        return clean(measured.fault or "not run")
    share = measured.fraction_of_limit
    return amount(measured.flop_per_s, "FLOP/s") + (f", {percent(share)} of the limit" if share is not None else "")


def places(lesson: Lesson) -> list[str]:
    """What kernels were timed on."""
    found = (record.measurement for record in lesson.times)
    return list(dict.fromkeys(clean(m.environment.get("chip", m.backend)) for m in found if m))


def cut_before(lesson: Lesson) -> str:
    """That a unit's operands are taken as tfloat32 already; empty where the multiplication asks for no cut."""
    cut = [row[0] for row in error_rows(lesson) if row[0].endswith(("tfloat32", "xf32"))]
    if problem_of(lesson).a_format != "float32" or not cut:
        return ""
    return (
        f"{', '.join(cut)}: the operands are tfloat32 already; cutting float32 to it, up to 1 part in 1,024 of each "
        "operand, is not in the error"
    )


def error_rows(lesson: Lesson) -> list[tuple[str, str, str, str]]:
    """Of each unit: its name, k, the error, outputs that are the nearest number."""
    rows = []
    for record in lesson.digits.errors if lesson.digits else ():
        numerics, p = record.numerics, record.problem
        if numerics and numerics.error and p:
            error = numerics.error
            rows.append(
                (
                    clean(numerics.unit),
                    f"{p.k:,}",
                    plain(error.relative_frobenius),
                    f"{error.correctly_rounded:,} of {error.total:,}",
                )
            )
    return rows
