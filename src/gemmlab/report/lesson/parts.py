"""Pieces of a lesson's page: a paragraph, a figure and a table, none of them without the kind of its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from gemmlab.report.page import tag, text
from gemmlab.report.svg import Drawing

WIDE, PHONE = 780.0, 350.0

Draw = Callable[[float], Drawing | None]


def tags(kinds: str) -> str:
    """The words of one or several kinds, separated by spaces."""
    return " ".join(tag(kind) for kind in kinds.split())


def para(said: str, kinds: str = "") -> str:
    """A paragraph; `kinds` is left out where it has no number."""
    return f"<p>{text(said)}{' ' * bool(kinds)}{tags(kinds)}</p>" if said else ""


def line(said: str, kinds: str) -> str:
    """An answer in a line."""
    return f"{text(said)} {tags(kinds)}"


def figure(ident: str, draw: Draw, kinds: str, caption: str = "", *, scrolls: bool = False) -> str:
    """A picture for wide screens and one for phones; one that `scrolls` is the same for both."""
    widths = [("wide", WIDE)] if scrolls else [("wide", WIDE), ("phone", PHONE)]
    drawn = [(name, made) for name, width in widths if (made := draw(width)) is not None]
    if not drawn:
        return ""
    inner = "".join(
        f'<div class="{"bits scroll" if scrolls else name}">{made.svg(f"{ident}-{name}", inline=True)}</div>'
        for name, made in drawn
    )
    said = f"{text(caption)} " if caption else ""
    return f'<figure id="figure-{ident}">{inner}<figcaption>{said}{tags(kinds)}</figcaption></figure>'


def table(heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], ident: str = "") -> str:
    """Rows of text under heads, each with the kind of its column; the first column names the row.

    On a phone each row becomes a small list.
    """
    if not rows:
        return ""
    titles = "".join(
        f"<th{'' if place == 0 else ' class=n'}>{text(head)}{'<br>' + tags(kind) if kind else ''}</th>"
        for place, (head, kind) in enumerate(heads)
    )
    body = ""
    for row in rows:
        cells = "".join(
            f"<td class=name>{text(cell)}</td>"
            if place == 0
            else f'<td class="n" data-head="{escape(f"{head}, {kind}" if kind else head)}">{text(cell)}</td>'
            for place, ((head, kind), cell) in enumerate(zip(heads, row, strict=True))
        )
        body += f"<tr>{cells}</tr>"
    named = f' id="{ident}"' if ident else ""
    return f'<table class="stack"{named}><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def program(rows: Sequence[tuple[str, str, str]]) -> str:
    """Source with remarks: number, text, remark; a row without number is a line that is missing."""
    body = ""
    for number, code, remark in rows:
        look = "" if not remark else " class=touches" if number else " class=missing"
        bare = code.lstrip()
        indent = code[: len(code) - len(bare)]
        said = f'<span class="remark">{indent}{text(remark)}</span>' if remark else ""
        body += f'<tr{look}><td class="number">{number}</td><td>{indent}<span>{escape(bare)}</span>{said}</td></tr>'
    return f'<div class="scroll"><table class="program"><tbody>{body}</tbody></table></div>'


def listed(said: list[str], kinds: str = "") -> str:
    """Texts as a list, the kinds of their numbers behind the last."""
    if not said:
        return ""
    last = len(said) - 1
    items = "".join(
        f"<li>{text(each)}{f' {tags(kinds)}' if kinds and place == last else ''}</li>"
        for place, each in enumerate(said)
    )
    return f"<ul>{items}</ul>"
