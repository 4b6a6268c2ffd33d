"""Lines of text that keep to a width: wrapping, bars, and colour that never stands alone."""

import os
import unicodedata
from typing import NamedTuple, TextIO

NARROWEST, WIDEST = 40, 100

#: ANSI codes: of the kinds of number, and of what a line does
PAINT = {
    "strong": "1",
    "dim": "2",
    "given": "2",
    "datasheet": "2",
    "counted": "36",
    "emulated": "32",
    "predicted": "33",
    "measured": "35",
    "checked": "34",
    "bound": "1;33",
}
EIGHTHS = " ▏▎▍▌▋▊▉█"


class Canvas(NamedTuple):
    """How wide the text may be, and whether it may use colour and characters beyond ASCII."""

    width: int
    color: bool
    unicode: bool

    @classmethod
    def of(
        cls, stream: TextIO, width: int | None, color: bool | None, unicode: bool | None, *, widest: int = WIDEST
    ) -> "Canvas":
        """What the stream can show, where the caller has not said; colour needs a terminal and no NO_COLOR."""
        terminal = bool(getattr(stream, "isatty", lambda: False)())
        if width is None:
            width = terminal_width(stream) if terminal else 80
        if color is None:
            plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
            color = terminal and not plain
        if unicode is None:
            unicode = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").startswith("utf")
        return cls(max(NARROWEST, min(width, widest)), color, unicode)

    @property
    def narrow(self) -> bool:
        """Tables are stacked, not set in columns."""
        return self.width < 68

    def fit(self, text: str) -> str:
        """The text in the characters that can be shown."""
        return text if self.unicode else text.encode("ascii", "replace").decode("ascii")

    def paint(self, text: str, style: str) -> str:
        """The text in a style, where colour is allowed."""
        return f"\x1b[{PAINT[style]}m{text}\x1b[0m" if self.color and text and style in PAINT else text

    def wrap(self, text: str, indent: int = 0, style: str = "", hang: int = 0) -> list[str]:
        """Lines of the text within the width, all indented, those after the first by `hang` more."""
        lines = wrap(self.fit(text), self.width - indent - hang)
        return [" " * (indent + (hang if index else 0)) + self.paint(line, style) for index, line in enumerate(lines)]

    def sides(self, left: str, right: str, style: str = "", left_style: str = "") -> list[str]:
        """A line with text at both ends; on two lines where they do not fit one."""
        left, right = self.fit(left), self.fit(right)
        gap = self.width - cells(left) - cells(right)
        if gap >= 2:
            return [self.paint(left, left_style) + " " * gap + self.paint(right, style)]
        indent = len(left) - len(left.lstrip())
        return [*self.wrap(left.strip(), indent, left_style, 2), *self.wrap(right, indent + 2, style)]

    def bar(self, start: float, share: float, size: int) -> str:
        """A bar of `share` of `size` cells that begins at `start`; the least that is visible when there is anything.

        Characters fill a cell from its left, so what is shorter than a cell keeps its length, not its place in it.
        """
        start, share = min(max(start, 0.0), 1.0), min(max(share, 0.0), 1.0)
        if share == 0:
            return ""
        if not self.unicode:
            first = min(round(start * size), size - 1)
            return " " * first + "#" * max(1, min(round((start + share) * size), size) - first)
        first = min(int(start * size), size - 1)
        own = max(1, round(share * size * 8))
        eighths = own if own < 8 else round((start + share) * size * 8) - first * 8
        eighths = min(eighths, (size - first) * 8)
        return " " * first + EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def terminal_width(stream: TextIO) -> int:
    """Columns of the terminal behind the stream, or of COLUMNS, else 80."""
    if os.environ.get("COLUMNS", "").isdigit():
        return int(os.environ["COLUMNS"])
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def cells(text: str) -> int:
    """Columns that the text takes in a terminal: two for wide East Asian characters, none for combining marks."""
    if text.isascii():
        return len(text)
    wide = {"W": 2, "F": 2}
    return sum(0 if unicodedata.combining(c) else wide.get(unicodedata.east_asian_width(c), 1) for c in text)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells; words longer than a line are cut."""
    lines, line = [], ""
    for word in text.split():
        while cells(word) > width:
            room = width - cells(line) - 1 if line else width
            if room < min(8, width):
                lines.append(line)
                line, room = "", width
            head, word = cut(word, room)  # noqa: PLW2901 - what is left of the word goes on the next line
            lines.append(f"{line} {head}".strip())
            line = ""
        joined = f"{line} {word}".strip()
        if cells(joined) > width:
            lines.append(line)
            line = word
        else:
            line = joined
    return [*lines, line] if line else lines


def cut(text: str, room: int) -> tuple[str, str]:
    """The longest head of the text within `room` cells (one character at least), and the rest."""
    size, index = 0, 0
    while index < len(text) and size + cells(text[index]) <= room:
        size += cells(text[index])
        index += 1
    index = max(index, 1)
    return text[:index], text[index:]


def shorten(text: str, width: int) -> str:
    """The text, or as much of it as fits with `...` after it."""
    return text if cells(text) <= width else cut(text, max(width - 3, 1))[0].rstrip() + "..."
