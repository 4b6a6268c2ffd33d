"""What the answer to a workload tells, as rows of words: the same for terminal and page.

An Answer's seconds and counts are of all its steps; what is shown is of one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gemmlab.experiment.workload.answer import Answer, Row
from gemmlab.record.workload import CallSection, ChangeSection
from gemmlab.report import story
from gemmlab.report.canvas import shorten
from gemmlab.report.words import amount, bound_key, clean, percent, several, speedup
from gemmlab.units import significant
from gemmlab.workload import Call

LONGEST_PLACE = 120  #: characters of a place
SHOWN = 10  #: rows, and changes, that are told one by one unless --top says otherwise
LEAST = 0.005  #: share of a step below which a gain is none


class Told(NamedTuple):
    """One multiplication in words."""

    number: int
    name: str  #: its sizes
    times: str  #: how often in a step
    flop: str
    share: str  #: of the step's time
    time: str
    gain: str
    bound: str
    cause: str
    known: str  #: how its time is known
    detail: str  #: formats, layout and gaps, what it is part of
    changes: tuple[int, ...]  #: numbers of the changes that are of it


class Change(NamedTuple):
    """One change of the program, of all rows that it is good for."""

    section: ChangeSection
    rows: tuple[int, ...]  #: their numbers; empty where it is of the whole program
    gain_s: float  #: of a step
    share: float  #: of the step's time


class Other(NamedTuple):
    """One operator that multiplies nothing."""

    name: str
    known: str
    number: int  #: how often in all steps
    time_s: float  #: of all steps


class Story(NamedTuple):
    """An answer, and how it is said."""

    answer: Answer

    @property
    def steps(self) -> int:
        """How often the program's step is in it."""
        return max(1, self.answer.workload.steps)

    @property
    def step_s(self) -> float:
        """What a step takes."""
        return self.answer.time_s / self.steps

    def seconds(self, all_s: float) -> str:
        """A time of all steps as that of one."""
        return amount(all_s / self.steps, "s")

    def share(self, all_s: float) -> str:
        """A time of all steps as a share of them."""
        return percent(all_s / self.answer.time_s) if self.answer.time_s > 0 else "-"

    def times(self, count: int) -> str:
        """How often in a step."""
        return f"{count // self.steps:,}" if count % self.steps == 0 else significant(count / self.steps, 3)

    def often(self, count: int) -> str:
        """The same as words: `once`, `12 times`."""
        return "once" if count == self.steps else f"{self.times(count)} times"

    def setting(self) -> list[str]:
        """What was read, and on what it is predicted."""
        work = self.answer.workload
        said = [
            clean(work.source),
            f"{work.kind}, {several(self.steps, 'step')}" if work.kind in STEPPED else work.kind,
        ]
        said += [clean(f"{name} {value}") for name, value in work.settings]
        lines = ["; ".join(said)]
        if work.chip:
            lines.append(clean(f"recorded on {work.chip}"))
        first = next((row.record for row in self.answer.rows if row.record.chip), None)
        status = f", {story.chip_status(first)}" if first else ""
        return [*lines, clean(f"predicted for {self.answer.chip}{status}")]

    def verdicts(self) -> list[str]:
        """Amdahl's line: what perfect multiplications would gain, then what is advised."""
        answer, step = self.answer, "a step" if self.answer.workload.kind in STEPPED else "all of it"
        if not answer.rows:
            return ["No multiplication could be read" if self.answer.workload.unread else "It multiplies no matrices"]
        if answer.time_s <= 0:
            return ["Nothing here takes any time"]
        perfect, advised = answer.perfect_gain, answer.advised_gain
        first = f"If every multiplication were at its limit, {step} is predicted to take {exact(perfect)} less time"
        said = [f"{first}: {self.after(perfect)}"]
        if advised < LEAST:
            said.append("No change to them is found that is predicted to gain 0.5%")
        else:
            said.append(
                f"The changes to them below are predicted to gain {exact(advised)} together: {self.after(advised)}"
            )
        whole = next((change for change in self.changes() if not change.rows), None)
        if whole and whole.share >= max(LEAST, perfect):
            said.append(
                f"More is lost to another cause, {clean(whole.section.cause)}: up to {exact(whole.share)} of the time"
            )
        return said

    def after(self, share: float) -> str:
        """A step's time before and after it is shorter by a share."""
        return f"{amount(self.step_s, 's')} to {amount(self.step_s * (1 - share), 's')}"

    def facts(self) -> list[story.Fact]:
        """Where a step's time goes, and how much of its work is in multiplications."""
        answer = self.answer
        multiplied, rest = kinds_of(row.call_known for row in self.known()), kinds_of(r.known for r in answer.rest)
        name = "a step" if answer.workload.kind in STEPPED else "all together"
        found = [story.Fact(name, self.seconds(answer.time_s), answer.known)] if answer.time_s > 0 else []
        parts = [
            ("multiplications", answer.multiplying_s, multiplied or answer.known),
            ("everything else", answer.rest_s, rest or answer.known),
            ("not read, see below", answer.unread_s, "measured"),
            ("no kernel runs", answer.idle_s, "measured"),
        ]
        found += [
            story.Fact(f"  {label}", f"{self.seconds(time)}, {self.share(time)}", kind)
            for label, time, kind in parts
            if time > 0
        ]
        flop = answer.workload.flop / self.steps
        if flop:
            share = f", {exact(answer.flop_share)} of all" if answer.workload.others else ""
            found.append(story.Fact("multiplications' work", amount(flop, "FLOP") + share, "counted"))
        return found

    def known(self) -> list[Placed]:
        """The rows with their `call`, numbered from 1."""
        return [
            Placed(number, row, row.record.call)
            for number, row in enumerate(self.answer.rows, 1)
            if row.record.call is not None
        ]

    def rows(self, top: int | None = SHOWN) -> list[Told]:
        """The first multiplications in words; all with None."""
        changes = self.changes()
        return [
            self.told(placed, tuple(n for n, change in enumerate(changes, 1) if placed.number in change.rows))
            for placed in self.known()[:top]
        ]

    def told(self, placed: Placed, changes: tuple[int, ...]) -> Told:
        """One of them."""
        record, section, call = placed.row.record, placed.section, placed.row.call
        return Told(
            placed.number,
            story.title(record) if not (record.problem and record.problem.groups) else grouped(record.problem.groups),
            self.times(section.count),
            percent(section.flop_share),
            percent(section.time_share),
            self.seconds(section.time_s),
            self.seconds(section.gain_s) if section.gain_s > 0 else "-",
            bound_key(record.prediction.bound) if record.prediction else "-",
            clean(section.cause),
            section.known,
            "; ".join(filter(None, (shown_format(placed), shown_layout(placed), shown_place(call)))),
            changes,
        )

    def left(self, top: int | None) -> str:
        """What the rows that are not shown are together; empty where all are."""
        rest = self.known()[top:] if top is not None else []
        if not rest:
            return ""
        flop, time = sum(r.section.flop_share for r in rest), sum(r.section.time_s for r in rest)
        gain = sum(r.section.gain_s for r in rest)
        said = f"{percent(flop)} of the FLOP, {self.seconds(time)}, {self.share(time)} of the time"
        return f"{len(rest)} more: {said}, {self.seconds(gain) if gain > 0 else 'nothing'} to gain"

    def changes(self) -> list[Change]:
        """Every change once, with the rows that it is good for; the largest gain first.

        What the whole program gains by is a share of its time with the waiting that a predicted step leaves out.
        """
        rows: dict[str, list[int]] = {}
        for placed in self.known():
            for change in placed.section.changes:
                rows.setdefault(change.line, []).append(placed.number)
        return [
            Change(
                change,
                tuple(dict.fromkeys(rows.get(change.line, ()))),
                change.gain_s / self.steps,
                self.share_of(change) if change.line in rows else 1 - 1 / change.predicted_speedup,
            )
            for change in self.answer.changes
        ]

    def share_of(self, change: ChangeSection) -> float:
        """What a change gains of all the time."""
        return change.gain_s / self.answer.time_s if self.answer.time_s > 0 else 0.0

    def rest(self) -> list[Other]:
        """What is not multiplication, each operator once whatever it is part of; the longest first."""
        found: dict[tuple[str, str], Other] = {}
        for each in self.answer.rest:
            key = (clean(each.other.name), each.known)
            before = found.get(key, Other(*key, 0, 0.0))
            found[key] = before._replace(number=before.number + each.other.count, time_s=before.time_s + each.time_s)
        return sorted(found.values(), key=lambda other: -other.time_s)

    def unread(self) -> list[str]:
        """What multiplies and could not be read."""
        return [
            clean(f"{each.operator}, {self.often(each.count)}")
            + (f", {self.seconds(each.time_s)}" if each.time_s else "")
            + f": {clean(each.why)}"
            for each in self.answer.workload.unread
        ]

    def notes(self) -> list[str]:
        """What else is to be said."""
        said = [clean(note) for note in dict.fromkeys((*self.answer.workload.notes, *self.answer.notes))]
        if any(len(placed.section.changes) > 1 for placed in self.known()):
            said.append("gains of several changes to one multiplication do not add up")
        return said


class Placed(NamedTuple):
    """A row with its number and its `call`."""

    number: int
    row: Row
    section: CallSection

    @property
    def call_known(self) -> str:
        """How its time is known."""
        return self.section.known


INSTANCE = re.compile(r"_\d+$")  #: which of its class a module is, as a trace counts them: `Block_3`
RUNS = 5  #: runs of row numbers that are written out
STEPPED = ("trace", "model")  #: kinds of a workload that are a program's steps


def exact(share: float) -> str:
    """A share as a percentage with one decimal where that says more: `99.8%`."""
    return percent(share) if share >= 0.9995 or share < 0.0005 else f"{100 * share:.1f}%"


def kinds_of(kinds: object) -> str:
    """The one word where all are known in one way, else both; empty where there are none."""
    found = sorted({str(kind) for kind in kinds}) if hasattr(kinds, "__iter__") else []
    return " and ".join(found)


def grouped(groups: tuple[tuple[int, int, int], ...]) -> str:
    """A grouped multiplication by its sizes, short."""
    ms, ns, ks = (sorted(set(sides)) for sides in zip(*groups, strict=True))
    sides = [str(each[0]) if len(each) == 1 else f"{each[0]}-{each[-1]}" for each in (ms, ns, ks)]
    return f"{len(groups)} of {' x '.join(sides)}"


def shown_format(placed: Placed) -> str:
    """Its formats, and the accumulator where it is not the usual one."""
    p = placed.row.record.problem
    if p is None:
        return ""
    operands = p.a_format if p.a_format == p.b_format else f"{p.a_format} x {p.b_format}"
    head = operands if p.d_format == operands else f"{operands} -> {p.d_format}"
    usual = p.accumulate in ("float32", "int32", p.a_format)
    return clean(head if usual else f"{head}, {p.accumulate} accumulator")


def shown_layout(placed: Placed) -> str:
    """Its layout, the leading dimensions that hold gaps, the bases that are not aligned, its convolution."""
    p, call = placed.row.record.problem, placed.row.call
    if p is None:
        return ""
    said = [p.layout]
    gapless = call.problem.gapless
    said += [f"{name} {getattr(p, name)}" for name in ("lda", "ldb", "ldc") if name not in gapless and not p.groups]
    offsets = {"A": p.a_offset_bytes, "B": p.b_offset_bytes, "C": p.c_offset_bytes}
    said += [f"{name} {offset} B past its line" for name, offset in offsets.items() if offset]
    said += [f"A {p.structure}"] if p.structure != "general" else []
    if layer := call.convolution:
        kernel, stride, image = ("x".join(map(str, sides)) for sides in (layer.kernel, layer.stride, layer.size))
        form = f"{kernel} convolution of {layer.batch}x{layer.channels}x{image}"
        every = f" stride {stride}" if set(layer.stride) != {1} else ""
        parts = f" in {layer.groups} groups" if layer.groups > 1 else ""
        said.append(f"{call.convolution_pass or 'forward'} of a {form}{every}{parts}, {layer.order}")
    said += [f"in {call.fused}"] if call.fused else []
    said += ["half masked"] if call.causal else []
    return clean(", ".join(said))


def shown_place(call: Call) -> str:
    """Where it stands in the program."""
    place = shorten(pattern(call.places), LONGEST_PLACE)
    return clean(" of ".join(filter(None, (call.phase, place or call.operator))))


def pattern(places: Sequence[str]) -> str:
    """Places as one: numbers of repeated layers as `*`, last parts that differ in braces, else the first and how many.

    `h.0.attn.q`, `h.0.attn.k`, `h.1.attn.q`, ... is `h.*.attn.{q,k}`.
    """
    if len(places) <= 1:
        return places[0] if places else ""
    starred = list(dict.fromkeys(starred_place(place) for place in places))
    if len(starred) == 1:
        return starred[0]
    if any("(" in place for place in starred):
        return f"{starred[0]} and {len(starred) - 1} more"
    heads = {place.rpartition(".")[0] for place in starred}
    tails = [place.rpartition(".")[2] for place in starred]
    if len(heads) == 1 and len(tails) <= 4 and all(heads):
        return f"{heads.pop()}.{{{','.join(tails)}}}"
    return f"{starred[0]} and {len(starred) - 1} more"


def starred_place(place: str) -> str:
    """A module's name without the numbers of repeated layers; a line of a stack as it is."""
    if "(" in place or "/" in place:
        return place
    return ".".join("*" if part.isdecimal() else INSTANCE.sub("_*", part) for part in place.split("."))


def part_of(call: Call) -> str:
    """The part of the program that it belongs to: the module around its own, or what all its places share."""
    if not call.places:
        return call.phase or call.operator or "multiplications"
    parts = list(dict.fromkeys(around(place) for place in call.places))
    if len(parts) == 1:
        return parts[0]
    shared: list[str] = []
    for level in zip(*(part.split(".") for part in parts), strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return ".".join(shared) or "several parts"


def around(place: str) -> str:
    """The module that holds a module; the file of a line of a stack; what a layer's name begins with."""
    if found := re.match(r"(.*?)\(\d+\)", place):
        return found[1].rpartition("/")[2] or place
    head = starred_place(place).rpartition(".")[0]
    return head or re.sub(r"[_\-]?\d+\w*$", "", place) or place


def own_name(call: Call) -> str:
    """What a multiplication is called inside its part: the last of its place."""
    place = pattern(call.places)
    return clean(place if "(" in place else place.rpartition(".")[2]) or clean(call.operator)


def gain_text(change: Change) -> str:
    """What a change gains: of a step, and the multiplication itself."""
    faster = speedup(change.section.predicted_speedup)
    more = f", {faster} there" if change.rows and faster not in ("-", "no gain") else ""
    return f"{amount(change.gain_s, 's')}, {percent(change.share)} of the time{more}"


def rows_text(rows: Sequence[int]) -> str:
    """Numbers of rows: `row 3`, `rows 1-4, 7`; the first runs of many, and how many more."""
    runs: list[list[int]] = []
    for number in sorted(rows):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if not rows:
        return "the whole program"
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:RUNS])
    if len(runs) > RUNS:
        shown += f" and {sum(map(len, runs[RUNS:]))} more"
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}"
