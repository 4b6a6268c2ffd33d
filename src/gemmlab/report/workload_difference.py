"""Two networks beside each other: what came, went and changed, as text, as a page and for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from gemmlab.experiment.workload.differing import Changed, Difference
from gemmlab.report import story
from gemmlab.report.canvas import Canvas, cells
from gemmlab.report.text import headline, joined
from gemmlab.report.words import amount, clean, several
from gemmlab.report.workload_rows import Placed, exact, grouped, shown_format, shown_place
from gemmlab.report.workload_story import SHOWN, STEPPED, Story

SIZES = (11, 11, 11)  #: columns of both times and their difference
READINGS = 0.05  #: of a measured time, by which two steps of one program differ anyway
LITTLE = 0.001  #: of a step: a measured difference below is no difference
NOTABLE = 0.01  #: of a step: an operator that multiplies nothing is told where its time changes by more


class Line(NamedTuple):
    """One figure of both, and its difference."""

    name: str
    a: str
    b: str
    change: str
    kind: str


class Sides(NamedTuple):
    """A difference, and how it is said."""

    found: Difference
    a: Story
    b: Story

    @classmethod
    def of(cls, found: Difference) -> Sides:
        """The stories of both."""
        return cls(found, Story(found.before), Story(found.after))

    @property
    def kind(self) -> str:
        """How both times are known: in one word where it is the same."""
        kinds = (self.found.before.known, self.found.after.known)
        return kinds[0] if kinds[0] == kinds[1] else f"A {kinds[0]}, B {kinds[1]}"

    def verdicts(self) -> list[str]:
        """Which is faster, by how much, and how much of it is multiplication."""
        a, b = self.a.step_s, self.b.step_s
        if min(a, b) <= 0:
            return ["One of them takes no time: they cannot be compared"]
        if (self.a.whole == "all of it") != (self.b.whole == "all of it"):
            whole = (f"{self.a.whole} of {amount(a, 's')}", f"{self.b.whole}, {amount(b, 's')}")
            kinds = (self.found.before.workload.kind, self.found.after.workload.kind)
            return [f"A is a {kinds[0]} and B a {kinds[1]}: their times, {whole[0]} and {whole[1]}, are of two things"]
        if abs(self.found.time_s) < 0.005 * max(a, b):
            said = [f"Both take the same time: {amount(a, 's')} and {amount(b, 's')}"]
        else:
            word = "less" if b < a else "more"
            times = f"{amount(a, 's')} to {amount(b, 's')}"
            said = [f"B takes {exact(abs(b - a) / a)} {word} time than A: {times}, {max(a, b) / min(a, b):.2f}x"]
        if self.found.before.chip != self.found.after.chip:
            said.append(f"They are of two chips, {clean(self.found.before.chip)} and {clean(self.found.after.chip)}")
        return said

    def lines(self) -> list[Line]:
        """Where the time of a step goes in each."""
        a, b = self.found.before, self.found.after
        parts = [
            ("a step" if {a.workload.kind, b.workload.kind} & {*STEPPED} else "all together", a.time_s, b.time_s),
            ("  multiplications", a.multiplying_s, b.multiplying_s),
            ("  everything else", a.rest_s, b.rest_s),
            ("  not read", a.unread_s, b.unread_s),
            (f"  {self.a.idle}", a.idle_s, b.idle_s),
        ]
        told = [
            Line(name, self.a.seconds(first), self.b.seconds(second), self.change(first, second), self.kind)
            for name, first, second in parts
            if first > 0 or second > 0
        ]
        flop = (a.workload.flop / self.a.steps, b.workload.flop / self.b.steps)
        more = f"{100 * (flop[1] / flop[0] - 1):+.2f}%" if flop[0] and flop[0] != flop[1] else "-"
        return [*told, Line("multiplications' work", amount(flop[0], "FLOP"), amount(flop[1], "FLOP"), more, "counted")]

    def change(self, a_s: float, b_s: float) -> str:
        """The difference of two times of all steps, of one step."""
        return signed(b_s / self.b.steps - a_s / self.a.steps)

    def rows(self) -> list[tuple[Line, str]]:
        """The multiplications that differ, and in what."""
        return [(self.row(changed), self.detail(changed)) for changed in self.notable()]

    def notable(self) -> list[Changed]:
        """Those that differ by more than two readings of one kernel do."""
        return [changed for changed in self.found.rows if not self.noise(changed)]

    def noise(self, changed: Changed) -> bool:
        """Whether all that differs are two measured times, and those by little of their own or of a step's."""
        if changed.what != ("time",) or changed.before is None or changed.after is None:
            return False
        calls = [row.record.call for row in (changed.before, changed.after)]
        if any(call is None or call.known != "measured" for call in calls):
            return False
        steps = (self.a.steps, self.b.steps)
        longer = max(call.time_s / step for call, step in zip(calls, steps, strict=True) if call)
        return abs(changed.time_s) < max(READINGS * longer, LITTLE * max(self.a.step_s, self.b.step_s))

    def row(self, changed: Changed) -> Line:
        """One of them."""
        names = [name_of(row.record) if row else "" for row in (changed.before, changed.after)]
        name = names[0] if names[0] == names[1] else " -> ".join(name or "nothing" for name in names)
        a, b = (
            told.seconds(row.record.call.time_s) if row and row.record.call else "-"
            for told, row in ((self.a, changed.before), (self.b, changed.after))
        )
        return Line(name, a, b, signed(changed.time_s), "")

    def detail(self, changed: Changed) -> str:
        """In what it differs, and where it stands."""
        said = [", ".join(changed.what)]
        both = [
            (told, Placed(0, row, row.record.call))
            for told, row in ((self.a, changed.before), (self.b, changed.after))
            if row and row.record.call
        ]
        for test in ("count", "format"):
            if test in changed.what:
                words = [
                    told.often(each.section.count) if test == "count" else shown_format(each) for told, each in both
                ]
                said.append(", ".join(f"{name} {word}" for name, word in zip("AB", words, strict=False)))
        causes = list(dict.fromkeys(clean(each.section.cause) for _, each in both))
        said += [" -> ".join(cause or "unnamed" for cause in causes), shown_place(both[-1][1].row.call)]
        return "; ".join(filter(None, said))

    def others(self) -> list[Line]:
        """What is not multiplication and takes another time, the largest change first."""
        a, b = ({other.name: other for other in told.rest()} for told in (self.a, self.b))
        least = NOTABLE * max(self.a.step_s, self.b.step_s)
        found = []
        for name in dict.fromkeys((*a, *b)):
            first = a[name].time_s if name in a else 0.0
            second = b[name].time_s if name in b else 0.0
            change = second / self.b.steps - first / self.a.steps
            if abs(change) >= least:
                line = Line(name, self.a.seconds(first), self.b.seconds(second), signed(change), self.kind)
                found.append((abs(change), line))
        return [line for _, line in sorted(found, key=lambda pair: -pair[0])]

    def same(self) -> str:
        """How many differ in nothing."""
        said = [f"{several(self.found.same, 'multiplication')} of both without a difference"] if self.found.same else []
        if near := len(self.found.rows) - len(self.notable()):
            word = "multiplication differs" if near == 1 else "multiplications differ"
            said.append(f"{near} {word} in time alone, by no more than two readings of one kernel do")
        return "; ".join(said)

    def unread(self) -> list[str]:
        """What could not be read in either."""
        return [f"{name}: {row}" for name, told in (("A", self.a), ("B", self.b)) for row in told.unread()]


def name_of(record: object) -> str:
    """A multiplication by its sizes."""
    problem = getattr(record, "problem", None)
    if problem is not None and problem.groups:
        return grouped(problem.groups)
    return story.title(record)  # type: ignore[arg-type]


def signed(seconds: float) -> str:
    """A difference of times with its sign."""
    return "-" if seconds == 0 else f"{'+' if seconds > 0 else '-'}{amount(abs(seconds), 's')}"


def difference_text(
    found: Difference,
    *,
    top: int | None = None,
    width: int | None = None,
    color: bool | None = None,
    unicode: bool | None = None,
) -> str:
    """Two networks as text without a line end; width, colour and characters as `terminal` takes them."""
    canvas, sides = Canvas.of(sys.stdout, width, color, unicode), Sides.of(found)
    shown = SHOWN if top is None else top
    blocks = [heading(sides, canvas)]
    blocks.append([line for said in sides.verdicts() for line in canvas.wrap(said, style="bound", hang=2)])
    blocks.append(figures(sides.lines(), canvas))
    rows = sides.rows()
    table = headline("Multiplications that differ, largest change of time first", sides.kind, canvas) if rows else []
    for line, detail in rows[:shown]:
        table += [*in_columns(line, canvas), *canvas.wrap(detail, 4, "dim", 2)]
    if len(rows) > shown:
        rest = sum(changed.time_s for changed in sides.notable()[shown:])
        table += canvas.wrap(f"{len(rows) - shown} more: {signed(rest)} together; --top {len(rows)} shows all", 2)
    table += canvas.wrap(sides.same(), 2)
    others = sides.others()
    told = headline("What is not multiplication and changes by 1% of a step", sides.kind, canvas) if others else []
    told += [text for line in others[:shown] for text in in_columns(line, canvas)]
    told += canvas.wrap(f"{len(others) - shown} more", 2) if len(others) > shown else []
    unread = sides.unread()
    lost = headline("Multiplications that could not be read: in no row above", "", canvas) if unread else []
    lost += [text for line in unread for text in canvas.wrap(line, 2, hang=2)]
    return joined([block for block in (*blocks, table, told, lost) if block])


def heading(sides: Sides, canvas: Canvas) -> list[str]:
    """Which two, and on what."""
    lines = []
    settings = [told.setting() for told in (sides.a, sides.b)]
    first, shared = settings[0][0].partition("; ")[2], settings[0][1:]
    same = settings[1][0].partition("; ")[2] == first and settings[1][1:] == shared
    for name, (title, *rest) in zip("AB", settings, strict=True):
        lines += canvas.wrap(f"{name}  {title.partition('; ')[0] if same else title}", style="strong", hang=3)
        lines += [] if same else [text for line in rest for text in canvas.wrap(line, 3)]
    return lines + ([text for line in (first, *shared) for text in canvas.wrap(line, 2)] if same else [])


def figures(lines: list[Line], canvas: Canvas) -> list[str]:
    """Where the time goes, both beside each other."""
    heads = "".join(f"{text:>{size}}" for text, size in zip(("A", "B", "B less A"), SIZES, strict=True))
    room = canvas.width - 2 - sum(SIZES) - (0 if canvas.narrow else 11)
    told = [canvas.paint(f"{'':{2 + max(room, 0)}}{heads}", "dim")] if not canvas.narrow else []
    for line in lines:
        kind = "" if canvas.narrow or cells(line.kind) > 9 else f"  {line.kind:>9}"
        told += in_columns(line, canvas, kind)
    return told


def in_columns(line: Line, canvas: Canvas, kind: str = "") -> list[str]:
    """One line of both figures; stacked where narrow, and below its name where that is long."""
    name = canvas.fit(line.name)
    if canvas.narrow:
        return [*canvas.wrap(name, 2, "strong", 2), *canvas.wrap(f"A {line.a}, B {line.b}: {line.change}", 4)]
    texts = zip((line.a, line.b, line.change), SIZES, strict=True)
    tail = "".join(f"{text:>{size}}" for text, size in texts) + kind
    indent = 2 + len(name) - len(name.lstrip())
    room = canvas.width - cells(tail) - indent
    name = name.lstrip()
    if cells(name) > room:
        return [*canvas.wrap(name, indent, "", 2), " " * (canvas.width - cells(tail)) + tail]
    return [f"{' ' * indent}{name}{' ' * (room - cells(name))}{tail}"]


def difference_json(found: Difference) -> Iterator[str]:
    """A line for each multiplication that differs: in what, by how much, and the Records of both."""
    for changed in found.rows:
        both = {
            side: row.record if row else None for side, row in (("before", changed.before), ("after", changed.after))
        }
        told = {"what": changed.what, "time_s": changed.time_s, "gain_s": changed.gain_s, **both}
        yield msgspec.json.encode(told).decode()
