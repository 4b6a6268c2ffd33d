"""The answer to a workload as text for a terminal: what can be gained, where, how, and what else takes time."""

from __future__ import annotations

import sys
from itertools import chain

from gemmlab.experiment.workload.answer import Answer
from gemmlab.report.canvas import Canvas, cells, shorten, wrap
from gemmlab.report.text import fact_lines, headline, joined
from gemmlab.report.words import amount, clean, several
from gemmlab.report.workload_rows import rows_text
from gemmlab.report.workload_story import SHOWN, Change, Story, Told, gain_text

DIGITS = 2  #: columns of a row's number at least
HEADS = ("times", "FLOP", "of time", "time", "gain")
SIZES = (6, 5, 7, 8, 8)
BOUND = 10
MARGIN = 2  #: columns between the parts of a row
OTHERS = 8  #: operators that multiply nothing, one by one


def workload_text(
    answer: Answer,
    *,
    top: int | None = SHOWN,
    width: int | None = None,
    color: bool | None = None,
    unicode: bool | None = None,
) -> str:
    """The whole answer as text without a line end; width, colour and characters as `terminal` takes them.

    `top` is how many multiplications, changes and other operators are told one by one, all with None; what the rest
    are together is said in a line.
    """
    canvas, told = Canvas.of(sys.stdout, width, color, unicode), Story(answer)
    sections = [
        heading(told, canvas),
        verdict(told, canvas),
        fact_lines(told.facts(), canvas),
        table(told, top, canvas),
        changes(told, top, canvas),
        others(told, top, canvas),
        unread(told, canvas),
        words(told, top, canvas),
        notes(told, canvas),
    ]
    return joined([section for section in sections if section])


def heading(told: Story, canvas: Canvas) -> list[str]:
    """What was read, and the chip."""
    first, *rest = told.setting()
    return [*canvas.wrap(first, style="strong", hang=2), *(line for text in rest for line in canvas.wrap(text, 2))]


def verdict(told: Story, canvas: Canvas) -> list[str]:
    """What can be gained at most, and by what is advised."""
    lines: list[str] = []
    for text in told.verdicts():
        lines += canvas.wrap(text, style="bound", hang=2)
    return lines


def table(told: Story, top: int | None, canvas: Canvas) -> list[str]:
    """The multiplications, those with most time to gain first."""
    rows = told.rows(top)
    if not rows:
        return []
    kinds = sorted({row.known for row in rows})
    lines = headline(f"Multiplications, {told.order}", "", canvas)
    said = f"times and FLOP counted, time {' or '.join(kinds)}{', gain predicted' if told.answer.chip else ''}"
    said += "; of one step" if told.steps > 1 else ""
    said += f"; -: {told.cut_off}" if any(row.gain == "-" for row in rows) else ""
    lines += canvas.wrap(said, 2, "dim")
    if canvas.narrow:
        lines += [line for row in rows for line in stacked(row, told, len(kinds) > 1, canvas)]
    else:
        digits = max(DIGITS, len(str(rows[-1].number)))
        room = canvas.width - digits - 1 - sum(SIZES) - len(SIZES) - MARGIN - BOUND
        heads = "".join(f" {text:>{size}}" for text, size in zip(HEADS, SIZES, strict=True))
        lines.append(canvas.paint(f"{'':{digits + 1 + room}}{heads}{'':{MARGIN}}bound", "dim"))
        lines += [line for row in rows for line in side_by_side(row, told, (digits, room), len(kinds) > 1, canvas)]
    left = told.left(top)
    return [*lines, *canvas.wrap(f"{left}: --top {top_of(told)} shows all", hang=2)] if left else lines


def top_of(told: Story) -> int:
    """How many rows there are to be shown."""
    return len(told.known())


def side_by_side(row: Told, told: Story, columns: tuple[int, int], mixed: bool, canvas: Canvas) -> list[str]:
    """One multiplication: its figures in columns behind those of its number and name, then why and what it is."""
    digits, room = columns
    figures = (row.times, row.flop, row.share, row.time, row.gain)
    tail = "".join(f" {text:>{size}}" for text, size in zip(figures, SIZES, strict=True))
    tail += f"{'':{MARGIN}}{shorten(canvas.fit(row.bound), BOUND)}"
    name, mark = canvas.fit(row.name), f"{row.number:>{digits}} "
    if any(len(text) > size for text, size in zip(figures, SIZES, strict=True)):
        return stacked(row, told, mixed, canvas)
    if cells(name) > room:
        lines = canvas.wrap(f"{mark.strip()} {name}", digits - len(str(row.number)), "strong", 3)
        lines.append(" " * (len(mark) + room) + tail)
    else:
        lines = [mark + canvas.paint(name, "strong") + " " * (room - cells(name)) + tail]
    return lines + canvas.wrap(below(row, mixed), digits + 1, "dim", 2)


def stacked(row: Told, told: Story, mixed: bool, canvas: Canvas) -> list[str]:
    """One multiplication of a narrow terminal."""
    lines = canvas.wrap(
        f"{row.number} {row.name}, {'once' if row.times == '1' else f'{row.times} times'}", style="strong", hang=2
    )
    gain = f"{row.gain} to gain" if row.gain != "-" else told.cut_off
    text = f"{row.time}, {row.share} of the time, {row.flop} of the FLOP; {gain}; bound {row.bound}"
    return [*lines, *canvas.wrap(text, 2, hang=2), *canvas.wrap(below(row, mixed), 2, "dim", 2)]


def below(row: Told, mixed: bool) -> str:
    """Why it is not at its limit, by which change it gains, and what it is."""
    change = f"{'change' if len(row.changes) == 1 else 'changes'} {', '.join(map(str, row.changes[:4]))}"
    why = f"{row.cause} ({change})" if row.changes and row.cause else row.cause or (change if row.changes else "")
    return "; ".join(filter(None, (why, row.detail, f"time {row.known}" if mixed else "")))


def changes(told: Story, top: int | None, canvas: Canvas) -> list[str]:
    """What to change, as lines to paste, numbered as the rows name them; few rows hide no change that is counted."""
    found, top = told.changes(), None if top is None else max(top, SHOWN)
    if not found:
        return []
    lines = headline("What to change", "predicted", canvas)
    for number, change in enumerate(found[:top], 1):
        lines += change_lines(number, change, canvas)
    left = found[top:] if top is not None else []
    if left:
        most = amount(left[0].gain_s, "s")
        lines += canvas.wrap(f"{several(len(left), 'more change')} of at most {most} each: --top {len(found)}", 2)
    return lines + canvas.wrap(told.unlisted(), 2)


def change_lines(number: int, change: Change, canvas: Canvas) -> list[str]:
    """One change: of which rows, what it gains, the lines to paste, what it costs."""
    section, indent = change.section, 5
    head = f"{number:>3}. {clean(section.cause)}, {rows_text(change.rows)}"
    lines = canvas.sides(head, f"gains {gain_text(change)}", "predicted", "strong")
    for line in section.line.split("\n"):
        lines += code_lines(line, indent, canvas)
    said = (("digits", section.digits), ("cost", section.cost), ("confidence", section.confidence))
    return lines + canvas.wrap("; ".join(f"{k}: {clean(v)}" for k, v in said if v), indent, "dim", 2)


def code_lines(line: str, indent: int, canvas: Canvas) -> list[str]:
    """A line of a program with its own blanks, to be pasted; where it is too wide its comment stands above it."""
    blanks = indent + min(len(line) - len(line.lstrip()), 16)
    text = canvas.fit("".join(c if c.isprintable() else "?" for c in line.strip()))
    if blanks + cells(text) <= canvas.width:
        return [" " * blanks + text] if text else []
    program, mark, comment = text.partition("  # ")
    above = [f"{' ' * blanks}# {part.strip()}" for part in wrap(comment, canvas.width - blanks - 2)] if mark else []
    return [*above, *(canvas.wrap(program, blanks, "", 2) if program.strip() else [])]


def others(told: Story, top: int | None, canvas: Canvas) -> list[str]:
    """What is not multiplication, the longest first."""
    rows = told.rest()
    if not rows:
        return []
    shown = rows if top is None else rows[: max(1, min(OTHERS, top))]
    kinds = {row.known for row in rows}
    mixed = 11 * (len(kinds) > 1)
    lines = headline("What is not multiplication", " or ".join(sorted(kinds)), canvas)
    room = canvas.width - 2 - 8 - 10 - 6 - mixed
    for row in shown:
        tail = f"{told.times(row.number):>8}{told.seconds(row.time_s):>10}{told.share(row.time_s):>6}"
        tail += f"  {row.known}" if mixed else ""
        text = canvas.fit(row.name)
        if cells(text) > room:
            lines += [*canvas.wrap(text, 2, hang=2), " " * (2 + room) + tail]
        else:
            lines.append(f"  {text}{' ' * (room - cells(text))}{tail}")
    left = rows[len(shown) :]
    if left:
        spent = sum(row.time_s for row in left)
        lines += canvas.wrap(f"{len(left)} more: {told.seconds(spent)}, {told.share(spent)} of the time", 2)
    return lines


def unread(told: Story, canvas: Canvas) -> list[str]:
    """What multiplies and could not be read: never left out."""
    rows = told.unread()
    if not rows:
        return []
    lines = headline("Multiplications that could not be read: in no row above", "", canvas)
    return lines + list(chain.from_iterable(canvas.wrap(row, 2, hang=2) for row in rows))


def words(told: Story, top: int | None, canvas: Canvas) -> list[str]:
    """What causes and bounds mean."""
    lines = [line for word, means in told.meanings(top) for line in canvas.wrap(f"{word}: {means}", 2, hang=2)]
    return [*headline("Words", "", canvas), *lines] if lines else []


def notes(told: Story, canvas: Canvas) -> list[str]:
    """What else is to be said."""
    lines: list[str] = []
    for note in told.notes():
        body = canvas.wrap(note, 4)
        lines += ["  - " + body[0][4:], *body[1:]] if body else []
    return [*headline("Notes", "", canvas), *lines] if lines else []
