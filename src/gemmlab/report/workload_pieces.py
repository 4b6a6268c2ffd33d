"""What a step is made of, by work, by time and by time to gain: the pieces of a treemap, in parts of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gemmlab.report.words import clean, percent
from gemmlab.report.workload_rows import Placed, own_name, part_of, shown_place
from gemmlab.report.workload_story import Other, Story

NOTHING, OTHER, IDLE, UNREAD, MORE = (
    "no change known",
    "not multiplication",
    "no kernel runs",
    "not read",
    "other causes",
)
COLOURS = ("brick", "ochre", "plum", "sky")  #: of causes, the one with most to gain first
PLAIN = {NOTHING: "teal", OTHER: "quiet", IDLE: "quiet", UNREAD: "ink", MORE: "quiet"}


MOST_PARTS = 16


class Look(NamedTuple):
    """How pieces of a kind are drawn: never by colour alone."""

    name: str  #: what the legend says
    colour: str  #: a role of the palette
    pattern: int  #: number of the hatching, 0 for none


class Piece(NamedTuple):
    """One rectangle to be."""

    value: float
    name: str
    lines: tuple[str, ...]  #: below the name where there is room
    tip: str  #: everything, in a line
    look: str
    number: int = 0  #: of the table's row; 0 for none
    shorter: tuple[str, ...] = ()  #: the name, ever shorter, for where there is little room


class Part(NamedTuple):
    """Pieces of one part of the program."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def value(self) -> float:
        """All of them together."""
        return sum(piece.value for piece in self.pieces)


class View(NamedTuple):
    """One of the things that areas may be."""

    name: str
    about: str
    value: Callable[[Placed], float]
    whole: bool  #: what is no multiplication has a share in it


VIEWS = {
    "time": View("time", "areas are time", lambda placed: placed.section.time_s, True),
    "work": View(
        "work", "areas are FLOP of multiplications, counted", lambda placed: float(placed.row.call.flop), False
    ),
    "gain": View("gain", "areas are time to gain, predicted", lambda placed: max(0.0, placed.section.gain_s), False),
}


def looks_of(stories: Sequence[Story]) -> dict[str, Look]:
    """How each kind of piece is drawn, the same for all of these answers."""
    gains: dict[str, float] = {}
    for told in stories:
        for placed in told.known():
            if placed.section.gain_s > 0:
                cause = clean(placed.section.cause) or "unnamed"
                gains[cause] = gains.get(cause, 0.0) + placed.section.gain_s
    ordered = sorted(gains, key=lambda cause: (-gains[cause], cause))
    looks = {
        cause: Look(cause, colour, number)
        for number, (cause, colour) in enumerate(zip(ordered, COLOURS, strict=False), 1)
    }
    looks |= {cause: Look(MORE, PLAIN[MORE], 5) for cause in ordered[len(COLOURS) :]}
    extra = {NOTHING: 0, OTHER: 0, IDLE: 6, UNREAD: 7}
    said = {IDLE: stories[0].idle} if stories else {}
    return looks | {name: Look(said.get(name, name), PLAIN[name], hatching) for name, hatching in extra.items()}


def parts_of(told: Story, view: str) -> list[Part]:
    """The parts of a step with their pieces, all with a value above 0; the largest first."""
    chosen = VIEWS[view]
    placed = [each for each in told.known() if chosen.value(each) > 0]
    names = coarse([clean(part_of(each.row.call)) for each in placed])
    found: dict[str, list[Piece]] = {}
    for name, each in zip(names, placed, strict=True):
        found.setdefault(name, []).append(piece_of(each, chosen.value(each), told))
    parts = [Part(name, tuple(pieces)) for name, pieces in found.items()]
    if chosen.whole:
        parts += rest_of(told)
    return sorted(parts, key=lambda part: -part.value)


def coarse(names: Sequence[str]) -> list[str]:
    """The parts' names, cut at their last dot again and again while there are more than can be told apart."""
    found = list(names)
    while len(set(found)) > MOST_PARTS and any("." in name for name in found):
        deepest = max(name.count(".") for name in found)
        found = [name.rpartition(".")[0] if name.count(".") == deepest else name for name in found]
    return found


def piece_of(placed: Placed, value: float, told: Story) -> Piece:
    """One multiplication."""
    section, row = placed.section, told.told(placed, ())
    look = clean(section.cause) or "unnamed" if section.gain_s > 0 else NOTHING
    gain = f"{row.gain} to gain" if section.gain_s > 0 else told.cut_off
    facts = f"{row.flop} of the FLOP, counted; {row.time}, {row.share} of the time, {row.known}; {gain}, predicted"
    where = shown_place(placed.row.call)
    tip = ". ".join(filter(None, (f"{placed.number}: {told.often(section.count)} {row.name}", where, facts, row.cause)))
    name = own_name(placed.row.call) or row.name
    backward = placed.row.call.phase == "backward"
    shorter = tuple(dict.fromkeys((f"{name} back", name))) if backward else ()
    name += ", backward" if backward else ""
    times = f"{row.times} times " if row.times != "1" else ""
    return Piece(
        value, name, (f"{times}{row.name}", f"{row.time}, {row.share}", gain), tip, look, placed.number, shorter
    )


def rest_of(told: Story) -> list[Part]:
    """What is no multiplication, when no kernel ran, and what could not be read."""
    answer = told.answer
    others = tuple(other_piece(each, told) for each in told.rest() if each.time_s > 0)
    found = [Part(OTHER, others)] if others else []
    for look, name, time_s, known in (
        (IDLE, told.idle, answer.idle_s, answer.known),
        (UNREAD, UNREAD, answer.unread_s, "measured"),
    ):
        if time_s > 0:
            text = f"{told.seconds(time_s)}, {told.share(time_s)}"
            found.append(Part(name, (Piece(time_s, name, (text,), f"{name}. {text} of the time, {known}", look),)))
    return found


def other_piece(other: Other, told: Story) -> Piece:
    """One operator that multiplies nothing."""
    text = f"{told.seconds(other.time_s)}, {told.share(other.time_s)}"
    tip = f"{other.name}, {told.often(other.number)}. {text} of the time, {other.known}"
    return Piece(other.time_s, short_name(other.name), (text,), tip, OTHER)


def short_name(name: str) -> str:
    """An operator or kernel without its namespaces, template arguments and parameters."""
    bare = clean(name).removeprefix("void ").partition("<")[0].partition("(")[0]
    return bare.rpartition("::")[2] or clean(name)


def merged(parts: Sequence[Part], least: float) -> list[Part]:
    """The same with pieces below a value as one in each part, and parts below it as one: they could not be seen."""
    large = [part for part in parts if part.value >= least]
    small = [piece for part in parts if part.value < least for piece in part.pieces]
    found = [Part(part.name, tuple(gathered(part.pieces, least))) for part in large]
    if small:
        found.append(Part("smaller parts", tuple(gathered(small, least))))
    return found


def gathered(pieces: Sequence[Piece], least: float) -> list[Piece]:
    """Pieces of at least a value, and the others as one of the look that most of them has."""
    large = [piece for piece in pieces if piece.value >= least]
    small = [piece for piece in pieces if piece.value < least]
    if len(small) < 2:
        return list(pieces)
    value = sum(piece.value for piece in small)
    weights: dict[str, float] = {}
    for piece in small:
        weights[piece.look] = weights.get(piece.look, 0.0) + piece.value
    look = max(weights, key=lambda name: weights[name])
    share = f", {percent(weights[look] / value)} of it {look}" if len(weights) > 1 else ""
    return [*large, Piece(value, f"{len(small)} more", (), f"{len(small)} smaller ones together{share}", look)]
