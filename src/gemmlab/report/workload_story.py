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
from gemmlab.report.workload_words import meanings
from gemmlab.units import significant
from gemmlab.workload import Call

LONGEST_PLACE = 120  #: characters of a place
SHOWN = 10  #: rows, and changes, that are told one by one unless --top says otherwise
LEAST = 0.005  #: share of a step below which the gain of all changes together is none
#: what a `-` means: below situation.WORTH a gain is within what two kernels of one library differ by
CUT_OFF = "no change gains 3% of it"


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
    detail: str  #: formats, layout and gaps, what it is part of, how fast it runs
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
    def whole(self) -> str:
        """What the times are of."""
        work = self.answer.workload
        return ("a step" if work.marked else "the recording") if work.kind in STEPPED else "all of it"

    @property
    def idle(self) -> str:
        """What is said of the time in which nothing runs that could be a multiplication."""
        return "no operator runs" if self.answer.workload.chip == PROCESSOR else "no kernel runs"

    @property
    def order(self) -> str:
        """In which order the rows stand."""
        return "most time to gain first" if self.answer.chip else "the longest first"

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
        steps = several(self.steps, "step") if work.marked else "no step marks: the whole recording"
        said = [clean(work.source), f"{work.kind}, {steps}" if work.kind in STEPPED else work.kind]
        said += [clean(f"{name} {value}") for name, value in work.settings if self.used(name)]
        if work.kind not in STEPPED:
            said.append(", ".join(sorted({clean(call.problem.a_format) for call in work.calls})))
        lines = ["; ".join(filter(None, said))]
        if work.chip:
            lines.append(clean(f"recorded on {work.chip}"))
        if not self.answer.chip:
            return [*lines, "nothing is predicted"]
        first = next((row.record for row in self.answer.rows if row.record.chip), None)
        status = f", {story.chip_status(first)}" if first else ""
        lines.append(clean(f"predicted for one {self.answer.chip}{status}"))
        return [*lines[:-1], f"{lines[-1]}; {self.accuracy()}"] if self.accuracy() else lines

    def used(self, setting: str) -> bool:
        """Whether a setting plays a part here: what float32 may be computed in does where something is float32."""
        if setting not in OF_FLOAT32:
            return True
        layers = setting == "float32 convolutions"
        return any(
            (call.convolution is not None) == layers and call.problem.a_format in ("float32", "tfloat32")
            for call in self.answer.workload.calls
        )

    def verdicts(self) -> list[str]:
        """Amdahl's line: what perfect multiplications would gain, then what is advised."""
        answer, step = self.answer, self.whole
        if not answer.rows:
            return ["No multiplication could be read" if self.answer.workload.unread else "It multiplies no matrices"]
        if answer.time_s <= 0:
            return ["Nothing here takes any time"]
        if not answer.chip:
            return [f"Measured alone: what {step} may gain is predicted for a chip, with --chip NAME"]
        perfect, advised = answer.perfect_gain, answer.advised_gain
        alone = ", all else as it is" if answer.rest_s + answer.idle_s > 0 else ""
        first = f"If every multiplication were at its limit{alone}, {step} is predicted to take"
        said = [f"{first} {exact(perfect)} less time: {self.after(perfect)}"]
        if advised < LEAST:
            said.append("No change to them is found that is predicted to gain 0.5%")
        else:
            beside = answer.advised_rest_s / self.steps
            more = f", {amount(beside, 's')} of it beside the multiplications" if beside > LEAST * self.step_s else ""
            said.append(f"{self.taken()} predicted to gain {exact(advised)} together: {self.after(advised)}{more}")
        whole = next((change for change in self.changes() if not change.rows), None)
        if whole and whole.share >= max(LEAST, perfect):
            said.append(
                f"More is lost to another cause, {clean(whole.section.cause)}: up to {exact(whole.share)} of the time"
            )
        return said

    def taken(self) -> str:
        """Which changes go together, by their numbers below."""
        numbers = [n for n, change in enumerate(self.changes(), 1) if change.section.line in self.answer.advised]
        if not numbers:
            return "The changes to them below are"
        return f"Change {numbers[0]} below is" if len(numbers) == 1 else f"Changes {listed(numbers)} below are"

    def unlisted(self) -> str:
        """What is said of changes that are too small for a line; empty where there are none."""
        if not self.answer.unlisted:
            return ""
        count, most = self.answer.unlisted, self.seconds(self.answer.unlisted_s)
        return f"{several(count, 'smaller change')} of at most {most} each: --json has {'it' if count == 1 else 'them'}"

    def accuracy(self) -> str:
        """How far such predictions were from measurement; empty where nothing is predicted of a step."""
        answer, found = self.answer, self.answer.accuracy
        if answer.workload.kind not in STEPPED or not answer.chip:
            return ""
        if found is None:
            return "its error was not measured"
        gains = found.gains_of_traces if answer.known == "measured" else found.gains_of_models
        steps = f"steps {off(found.step)} off, " if answer.known != "measured" else ""
        return f"of {found.networks} networks measured there, {steps}gains {off(gains)} off"

    def after(self, share: float) -> str:
        """A step's time before and after it is shorter by a share."""
        return f"{amount(self.step_s, 's')} to {amount(self.step_s * (1 - share), 's')}"

    def facts(self) -> list[story.Fact]:
        """Where a step's time goes, and how much of its work is in multiplications."""
        answer = self.answer
        multiplied, rest = kinds_of(row.call_known for row in self.known()), kinds_of(r.known for r in answer.rest)
        name = self.whole if answer.workload.kind in STEPPED else "all together"
        found = [story.Fact(name, self.seconds(answer.time_s), answer.known)] if answer.time_s > 0 else []
        parts = [
            ("multiplications", answer.multiplying_s, multiplied or answer.known),
            ("everything else", answer.rest_s, rest or answer.known),
            ("not read, see below", answer.unread_s, "measured"),
            (self.idle, answer.idle_s, answer.known),
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
        return found + self.rates()

    def rates(self) -> list[story.Fact]:
        """Work a second, its share of the peak, and what of the inputs a second takes."""
        answer = self.answer
        if answer.time_s <= 0 or not answer.workload.flop:
            return []
        said = amount(answer.workload.flop / answer.time_s, "FLOP/s")
        if answer.at_peak_s > 0 and answer.chip:
            said += f", {percent(answer.at_peak_s / answer.time_s)} of the peak"
        found = [story.Fact("work a second", said, answer.known)]
        if inputs := fed(dict(answer.workload.settings).get("inputs", "")):
            number, thing = inputs
            found.append(story.Fact(f"{thing} a second", rounded(number / self.step_s), answer.known))
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
            "; ".join(
                filter(None, (shown_format(placed), shown_layout(placed), shown_place(call), shown_rate(placed)))
            ),
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
        more = f"{self.seconds(gain)} to gain" if gain > 0 else "none gains 3%"
        return f"{len(rest)} more: {said}, {more}"

    def changes(self) -> list[Change]:
        """Every change once, with the rows that it is good for; the largest gain first."""
        rows: dict[str, list[int]] = {}
        for placed in self.known():
            for change in placed.section.changes:
                rows.setdefault(change.line, []).append(placed.number)
        return [
            Change(
                change,
                tuple(dict.fromkeys(rows.get(change.line, ()))),
                change.gain_s / self.steps,
                self.share_of(change),
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

    @property
    def cut_off(self) -> str:
        """What a row with nothing to gain is told to have."""
        return CUT_OFF if self.answer.chip else "no gain predicted"

    def meanings(self, top: int | None = None) -> list[tuple[str, str]]:
        """The causes and bounds that the first rows, and the changes, name, with what they mean."""
        rows = self.known()[:top]
        causes = [*(clean(each.section.cause) for each in rows), *(clean(each.cause) for each in self.answer.changes)]
        known = (each.row.record.prediction for each in rows)
        return meanings(causes, [bound_key(each.bound) for each in known if each])

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


#: an input with its shape and format, as a model's settings tell it
FED = re.compile(r"(?:[A-Za-z_]\w*=)?(?P<shape>\d+(?:x\d+)*):(?P<format>\w+)")
INSTANCE = re.compile(r"_\d+$")  #: which of its class a module is, as a trace counts them: `Block_3`
RUNS = 5  #: runs of row numbers that are written out
OF_FLOAT32 = ("float32 multiplications", "float32 convolutions")  #: settings of what float32 is computed in
PROCESSOR = "CPU"  #: the device of a trace that no GPU's kernels are in
STEPPED = ("trace", "model")  #: kinds of a workload that are a program's steps


def off(errors: tuple[float, float]) -> str:
    """The lowest and the highest of errors: `-16% to +6%`."""
    return " to ".join(f"{100 * error:+.0f}%" for error in errors)


def listed(numbers: Sequence[int]) -> str:
    """`1 and 3`, `1, 3 and 4`."""
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def peak_share(placed: Placed) -> float | None:
    """What a multiplication takes at the peak of its format, over its time; None where no peak is known."""
    known, section = placed.row.record.prediction, placed.section
    if known is None or section.time_s <= 0 or not section.predicted_time_s:
        return None
    return known.compute_time_s * section.count / section.time_s


def fed(inputs: str) -> tuple[int, str] | None:
    """How many of what a step takes in: tokens of whole numbers by two axes, images, or samples; None where unknown."""
    words = inputs.split()
    first = next((word for word in words if word.startswith("input_ids=")), words[0] if words else "")
    found = FED.fullmatch(first)
    if not found:
        return None
    sides = [int(side) for side in found["shape"].split("x")]
    if "int" in found["format"]:
        return (sides[0] * sides[1], "tokens") if len(sides) == 2 else None
    return (sides[0], "images" if len(sides) == 4 else "samples") if len(sides) > 1 else None


def rounded(value: float) -> str:
    """A number of things a second: `259,000`, `12.3`."""
    digits = 3
    if value < 10**digits:
        return significant(value, digits)
    unit = 10 ** (len(str(int(value))) - digits)
    return f"{round(value / unit) * unit:,}"


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


def shown_rate(placed: Placed) -> str:
    """Its work a second, and the share of its format's peak."""
    if placed.section.time_s <= 0:
        return ""
    peak = peak_share(placed)
    share = f", {percent(peak)} of peak" if peak is not None else ""
    return amount(placed.row.flop_per_s, "FLOP/s") + share


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
    """What a multiplication is called inside its part: the last of its place that is no number of a layer."""
    place = pattern(call.places)
    if call.fused and "attention" in call.fused:
        return "attention"
    last = next((part for part in reversed(place.split(".")) if part != "*" and not part.isdecimal()), "")
    return clean(place if "(" in place else last.removesuffix("_*")) or clean(call.operator)


def gain_text(change: Change) -> str:
    """What a change gains: of a step, and the multiplication itself."""
    faster = speedup(change.section.predicted_speedup)
    which = "row" if len(change.rows) == 1 else "rows"
    more = f", {which} {faster} as fast" if change.rows and faster not in ("-", "no gain") else ""
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
