"""A step as a treemap: parts of the program, in them multiplications, coloured and hatched by why they lose time."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from html import escape

from gemmlab.experiment.workload.answer import Answer
from gemmlab.report.svg import PALETTE, Drawing, fit, number, text_width
from gemmlab.report.treemap import Area, squarified
from gemmlab.report.words import amount, clean
from gemmlab.report.workload_pieces import VIEWS, Look, Part, Piece, looks_of, merged, parts_of
from gemmlab.report.workload_story import Story

WIDE, PHONE = (1080.0, 600.0), (340.0, 560.0)
LEAST_PIXELS = 45.0  #: a smaller piece cannot be told from its neighbours
MOST_PIECES = 600  #: of a picture, the smaller ones together
LEGEND, CAPTION = 22.0, 20.0
PARTS = re.compile(r"[^ _.]*(?:[ _.]+|$)")  #: of a name, each with what ends it
PART_HEAD = 17.0  #: a part's name
FILL = {"grid": 0.5, "quiet": 0.16, "ink": 0.1}  #: how strong a colour lies on the paper
SHADE = 0.26

#: the lines of a hatching, in a square of eight pixels
HATCHINGS = {
    1: "M-2 2L2 -2M0 8L8 0M6 10L10 6",
    2: "M3 4h2",
    3: "M-2 6L2 10M0 0L8 8M6 -2L10 2",
    4: "M0 4h8",
    5: "M4 0v8M0 4h8",
    6: "M2 0v8M6 0v8",
    7: "M0 0L8 8M0 8L8 0",
}


def workload_svg(answer: Answer, view: str = "time") -> str:
    """The treemap of a workload as SVG text; areas are `time`, `work` or `gain`."""
    told = Story(answer)
    return treemap(told, view, WIDE, looks_of([told]), f"treemap-{view}").svg(f"treemap-{view}")


def treemap(
    told: Story,
    view: str,
    size: tuple[float, float],
    looks: dict[str, Look],
    ident: str,
    *,
    scale: float = 1.0,
    links: int = 0,
    legends: Collection[str] = (),
) -> Drawing:
    """One picture: its legend, a caption, and the areas; `ident` makes its hatchings' names its own.

    `scale` is the share of the height that the areas take and `legends` the pieces' looks that the legend tells at
    least, so that two pictures may be compared; rows up to `links` lead to their line of the table.
    """
    parts = parts_of(told, view)
    width, height = size
    total = sum(part.value for part in parts)
    about = f"{VIEWS[view].about}; {whole_text(told, view, total)}"
    drawing = Drawing(width, height, f"{clean(told.answer.workload.source)}: {view}", about)
    drawing.role = "group" if links else "img"
    drawing.parts.append(hatchings(looks, ident))
    used = {looks[name].name for name in (*legends, *(piece.look for part in parts for piece in part.pieces))}
    shown = [look for look in unique(looks) if look.name in used]
    top = legend(drawing, shown, ident)
    drawing.text(8, top + 13, fit(about, 12, width - 16), 12, "quiet")
    frame = Area(6, top + CAPTION, width - 12, (height - top - CAPTION - 6) * scale)
    if total <= 0:
        drawing.text(8, top + CAPTION + 24, "Nothing of it here", 13)
        return drawing
    values = sorted((piece.value for part in parts for piece in part.pieces), reverse=True)
    visible = LEAST_PIXELS * total / max(frame.size, 1.0)
    shown_parts = merged(parts, max(visible, *values[MOST_PIECES : MOST_PIECES + 1], 0.0))
    for part, area in zip(shown_parts, squarified([part.value for part in shown_parts], frame), strict=True):
        draw_part(drawing, part, area, looks, (ident, links))
    return drawing


def whole_text(told: Story, view: str, total: float) -> str:
    """What all areas together are."""
    step = "a step" if told.steps > 1 else "in all"
    if view == "work":
        return f"{amount(total / told.steps, 'FLOP')} {step}"
    return f"{told.seconds(total)} {step}" + (f", {told.answer.known}" if view == "time" else "")


def unique(looks: dict[str, Look]) -> list[Look]:
    """The looks that the legend tells, each once."""
    return list({look.name: look for look in looks.values()}.values())


def hatchings(looks: dict[str, Look], ident: str) -> str:
    """The hatchings that are used, under names of this picture's own."""
    drawn = {
        look.pattern: f'<pattern id="{ident}-h{look.pattern}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<path d="{HATCHINGS[look.pattern]}" fill="none" stroke="{PALETTE[look.colour][0]}" stroke-opacity=".38" '
        f'stroke-width="{2.2 if look.pattern == 2 else 1.2}" stroke-linecap="round"/></pattern>'
        for look in unique(looks)
        if look.pattern
    }
    return f"<defs>{''.join(drawn.values())}</defs>"


def legend(drawing: Drawing, looks: Sequence[Look], ident: str) -> float:
    """What the looks mean, in as many lines as they take; returns where the next thing begins."""
    x, y = 8.0, 6.0
    for look in looks:
        name = fit(look.name, 12, drawing.width - 50)
        wide = 24 + text_width(name, 12) + 14
        if x > 8 and x + wide > drawing.width - 8:
            x, y = 8.0, y + LEGEND
        drawing.parts.append(filled_area(Area(x, y + 2, 18, 13), look, ident))
        drawing.text(x + 24, y + 13, name, 12)
        x += wide
    return y + LEGEND if looks else 0.0


def draw_part(drawing: Drawing, part: Part, area: Area, looks: dict[str, Look], more: tuple[str, int]) -> None:
    """A part's frame and name, and its pieces in it."""
    alone = len(part.pieces) == 1 and part.pieces[0].name == part.name
    named = not alone and area.height >= 46 and area.width >= 56
    if named:
        drawing.text(area.x + 4, area.y + 12, part_label(part.name, area.width - 8), 11, "quiet", bold=True)
    within = area.inside(1.5, PART_HEAD if named else 1.5, 1.5, 1.5)
    for piece, place in zip(part.pieces, squarified([p.value for p in part.pieces], within), strict=True):
        if place.size > 0:
            draw_piece(drawing, piece, place, looks[piece.look], more)


def part_label(name: str, room: float) -> str:
    """A part's name; where it is too long its last modules, which differ most, else its beginning."""
    parts = name.split(".")
    for start in range(min(len(parts), 6)):
        shorter = ".".join(parts[start:])
        if text_width(shorter, 11, True) <= room and shorter != "*":
            return shorter
    return fit(name, 11, room, True)


def draw_piece(drawing: Drawing, piece: Piece, area: Area, look: Look, more: tuple[str, int]) -> None:
    """One rectangle with its tooltip, and as much of its text as fits."""
    ident, links = more
    link = 0 < piece.number <= links
    drawing.parts.append(f'<a href="#row-{piece.number}">' if link else "<g>")
    drawing.parts.append(f"<title>{escape(clean(piece.tip))}</title>")
    gap = 0.75 if min(area.width, area.height) > 4 else 0.2
    drawing.parts.append(filled_area(area.inside(gap, gap, gap, gap), look, ident))
    size = 12 if area.width >= 110 and area.height >= 44 else 11
    for index, line in enumerate(label(piece, area, size)):
        y = area.y + 5 + size * 0.85 + index * (size + 3)
        drawing.text(area.x + 6, y, line, size, bold=index == 0)
    drawing.parts.append("</a>" if link else "</g>")


def label(piece: Piece, area: Area, size: float) -> list[str]:
    """The lines of a piece's text that its rectangle holds: the number and the name, whole where that may be.

    A name that is too long is said shorter, then broken into lines between its words, then cut; last, the number alone.
    """
    room, lines = area.width - 12, int((area.height - 7) // (size + 3))
    if lines < 1:
        return []
    mark = f"{piece.number} " if piece.number else ""
    for name in (piece.name, *piece.shorter):
        if text_width(mark + clean(name), size, True) <= room:
            said = [line for line in piece.lines if text_width(clean(line), size) <= room]
            return [mark + name, *said[: lines - 1]]
    broken = broken_name(mark + clean((piece.name, *piece.shorter)[-1]), size, room)
    if broken and len(broken) <= lines:
        said = [line for line in piece.lines if text_width(clean(line), size) <= room]
        return [*broken, *said[: lines - len(broken)]]
    first = fit(f"{mark}{piece.name}", size, room, True)
    if len(first.removesuffix("...")) < len(mark) + min(6, len(piece.name)):
        alone = mark.strip()
        return [alone] if alone and text_width(alone, size, True) <= room else []
    return [first]


def broken_name(name: str, size: float, room: float) -> list[str]:
    """A name in lines, broken behind its blanks, underscores and dots; nothing where a part alone is too long."""
    found = [""]
    for part in PARTS.findall(name):
        if text_width(found[-1] + part.rstrip(), size, True) <= room:
            found[-1] += part
        elif text_width(part.rstrip(), size, True) <= room:
            found.append(part)
        else:
            return []
    return [line.rstrip() for line in found]


def filled_area(area: Area, look: Look, ident: str) -> str:
    """A rectangle in its colour, and over it its hatching."""
    at = f'x="{area.x:.2f}" y="{area.y:.2f}" width="{area.width:.2f}" height="{area.height:.2f}"'
    colour, strength = PALETTE[look.colour][0], FILL.get(look.colour, SHADE)
    plain = f'<rect {at} fill="{colour}" fill-opacity="{number(strength * 100)}%"/>'
    return plain + (f'<rect {at} fill="url(#{ident}-h{look.pattern})"/>' if look.pattern else "")
