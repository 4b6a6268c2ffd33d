"""A small writer of SVG that knows where its text lies, and looks right on light and dark screens."""

import math
from html import escape
from typing import NamedTuple

from gemmlab.report.words import clean

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"

#: colour by role: on light paper, on dark paper
PALETTE = {
    "paper": ("#fdfcf9", "#171b21"),
    "ink": ("#1e2430", "#e8e6e1"),
    "quiet": ("#59616e", "#a3abb8"),
    "grid": ("#e5e2d9", "#2d343f"),
    "teal": ("#0b6e6e", "#53bcb6"),
    "mist": ("#c3e0e0", "#1f4c4e"),
    "ochre": ("#9a5b00", "#e8ad55"),
    "sand": ("#f0cf8e", "#63491a"),
    "plum": ("#5b3fa8", "#b8a4f2"),
    "sky": ("#2f5d9b", "#8ab4f0"),
    "brick": ("#b3261e", "#f0857c"),
}

#: advance of a character in hundredths of the font size, of the widest font in FONT (DejaVu Sans), by width
ADVANCES = {
    32: "ijlIJ',. ",
    36: "/:;\\|f-",
    41: "()[]t!r",
    52: '"*_`sz',
    60: "?cLFkvxyPTYa",
    64: "oebdghnpquES$0123456789{}",
    72: "KAVBRXZC",
    80: "UHNDG&OQ",
    86: "w#+<=>^~M",
    100: "%mW@",
}
ADVANCE = {character: width for width, characters in ADVANCES.items() for character in characters}
BOLDER = 1.12
ABOVE, BELOW = 0.8, 0.24  # of the font size: what letters reach over and under their line


class Box(NamedTuple):
    """Where a text lies, and which."""

    left: float
    top: float
    right: float
    bottom: float
    text: str

    def overlaps(self, other: "Box") -> bool:
        """Some area is common to both."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Drawing:
    """Shapes and texts on a sheet of `width` x `height` pixels, y downwards."""

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self.width, self.height = width, height
        self.title, self.description = clean(title), clean(description)
        self.parts: list[str] = []
        self.boxes: list[Box] = []  #: of every text, by the widest font
        self.role = "img"  #: for those who do not see it: `group` where parts of it lead somewhere

    def line(self, ends: tuple[float, float, float, float], color: str, width: float = 1, dash: str = "") -> None:
        """A straight line from (x, y) to (x, y)."""
        x1, y1, x2, y2 = (number(v) for v in ends)
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"{stroke(color, width, dash)}/>')

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        fill: str,
        *,
        edge: str = "",
        rounded: float = 0,
        crisp: bool = False,
    ) -> None:
        """A rectangle; without an edge unless a colour is given. `crisp` ones that touch show no line between them."""
        corner = f' rx="{number(rounded)}"' if rounded else ""
        outline = stroke(edge, 1, "") if edge else ""
        size = f'width="{number(w)}" height="{number(h)}"'
        sharp = ' shape-rendering="crispEdges"' if crisp else ""
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" {size}{corner}{filled(fill)}{outline}{sharp}/>')

    def path(self, points: list[tuple[float, float]], color: str, width: float = 1.5, dash: str = "") -> None:
        """A line through points."""
        data = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.parts.append(f'<path d="{data}" fill="none" stroke-linejoin="round"{stroke(color, width, dash)}/>')

    def marker(self, shape: str, x: float, y: float, color: str, *, hollow: bool = False, size: float = 5) -> None:
        """A circle, square, diamond or triangle centred on (x, y)."""
        look = filled("paper" if hollow else color) + stroke(color if hollow else "paper", 1.5, "")
        if shape == "circle":
            self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(size)}"{look}/>')
            return
        corners = {
            "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
            "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
            "triangle": ((0, -1.2), (1.2, 0.9), (-1.2, 0.9)),
        }[shape]
        points = " ".join(f"{number(x + dx * size)},{number(y + dy * size)}" for dx, dy in corners)
        self.parts.append(f'<polygon points="{points}"{look}/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 12,
        color: str = "ink",
        *,
        anchor: str = "start",
        bold: bool = False,
        after: str = "",
        rim: bool = True,
    ) -> None:
        """A line of text on the baseline y, with a rim of paper so that lines beneath do not disturb it.

        `after` follows it, smaller and quieter. Text on a filled shape has no rim.
        """
        text, after = clean(text), clean(after)
        wide = text_width(text, size, bold) + (text_width(f" {after}", size - 1) if after else 0)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        self.boxes.append(Box(left, y - ABOVE * size, left + wide, y + BELOW * size, text))
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        weight = ' font-weight="600"' if bold else ""
        edge = ' paint-order="stroke" stroke-linejoin="round"' + stroke("paper", 3, "") if rim else ""
        at = f'x="{number(x)}" y="{number(y)}" font-size="{number(size)}"'
        tail = f' <tspan font-size="{number(size - 1)}"{filled("quiet")}>{escape(after)}</tspan>' if after else ""
        self.parts.append(f"<text {at}{place}{weight}{edge}{filled(color)}>{escape(text)}{tail}</text>")

    def paragraph(self, x: float, y: float, text: str, width: float, *, size: float = 12, color: str = "ink") -> float:
        """Text in as many lines as it takes; returns the baseline after the last."""
        for line in text_lines(clean(text), size, width):
            self.text(x, y, line, size, color)
            y += round(size * 1.35)
        return y

    def embed(self, other: "Drawing", x: float, y: float) -> None:
        """Another drawing with its corner at (x, y)."""
        self.parts.append(f'<g transform="translate({number(x)} {number(y)})">')
        self.parts += [*other.parts, "</g>"]
        self.boxes += [Box(b.left + x, b.top + y, b.right + x, b.bottom + y, b.text) for b in other.boxes]

    def svg(self, ident: str = "figure", inline: bool = False) -> str:
        """The SVG document; `ident` starts its ids, and `inline` leaves colours to the page's own style sheet."""
        w, h = number(self.width), number(self.height)
        size = "" if inline else f' width="{w}" height="{h}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}"{size} role="{self.role}"'
        label = f' aria-labelledby="{ident}-title {ident}-desc" font-family="{FONT}">'
        words = f'<title id="{ident}-title">{escape(self.title)}</title>'
        words += f'<desc id="{ident}-desc">{escape(self.description)}</desc>'
        style = "" if inline else f"<style>{dark_style()}</style>"
        paper = f'<rect width="{w}" height="{h}" rx="8"{filled("paper")}/>'
        return "\n".join([head + label, words, style + paper, *self.parts, "</svg>"]) + "\n"


def dark_style() -> str:
    """The style sheet that turns every colour of the light palette to its dark one, on screens that ask for it."""
    rules = "".join(
        f'[{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in PALETTE.values()
        for attribute in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def filled(role: str) -> str:
    """The attribute of a fill, in its colour on light paper; `dark_style` finds it by that colour."""
    return f' fill="{PALETTE[role][0]}"'


def stroke(role: str, width: float, dash: str) -> str:
    """Attributes of a stroke."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f' stroke="{PALETTE[role][0]}" stroke-width="{number(width)}"{dashed}'


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Pixels that a text takes at most in the fonts that may be used; characters outside ASCII count a full em."""
    return sum(ADVANCE.get(c, 100) for c in text) / 100 * size * (BOLDER if bold else 1)


def text_lines(text: str, size: float, width: float) -> list[str]:
    """Lines of the text, none wider than `width` pixels; words longer than a line are cut."""
    lines, line = [], ""
    for word in text.split():
        joined = f"{line} {word}".strip()
        if text_width(joined, size) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        line = word
        while text_width(line, size) > width and len(line) > 1:
            keep = max(1, math.floor(len(line) * width / text_width(line, size)))
            while keep > 1 and text_width(line[:keep], size) > width:
                keep -= 1
            lines.append(line[:keep])
            line = line[keep:]
    return [*lines, line] if line else lines


def fit(text: str, size: float, width: float, bold: bool = False) -> str:
    """The text, or as much of it as `width` pixels hold with `...` after it."""
    text = clean(text)
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(text + "...", size, bold) > width:
        text = text[:-1]
    return text.rstrip() + "..."
