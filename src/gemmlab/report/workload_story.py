"""What the answer to a workload tells, as rows of words: the same for terminal and page.

An Answer's seconds and counts are of all its steps; what is shown is of one.
"""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.experiment.workload.answer import Answer
from gemmlab.record.workload import ChangeSection
from gemmlab.report import story
from gemmlab.report.words import amount, bound_key, clean, percent, several, speedup
from gemmlab.report.workload_rows import (
    Placed,
    exact,
    fed,
    grouped,
    kinds_of,
    listed,
    off,
    rounded,
    shown_format,
    shown_layout,
    shown_place,
    shown_rate,
)
from gemmlab.report.workload_words import meanings
from gemmlab.units import significant

SHOWN = 10  #: rows, and changes, that are told one by one unless --top says otherwise
LEAST = 0.005  #: share of a step below which the gain of all changes together is none
#: what a `-` means: below situation.WORTH a gain is within what two kernels of one library differ by
CUT_OFF = "no change gains 3% of it"
OF_FLOAT32 = ("float32 multiplications", "float32 convolutions")  #: settings of what float32 is computed in
PROCESSOR = "CPU"  #: the device of a trace that no GPU's kernels are in
STEPPED = ("trace", "model")  #: kinds of a workload that are a program's steps


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


def gain_text(change: Change) -> str:
    """What a change gains: of a step, and the multiplication itself."""
    faster = speedup(change.section.predicted_speedup)
    which = "row" if len(change.rows) == 1 else "rows"
    more = f", {which} {faster} as fast" if change.rows and faster not in ("-", "no gain") else ""
    return f"{amount(change.gain_s, 's')}, {percent(change.share)} of the time{more}"
