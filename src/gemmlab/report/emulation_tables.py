"""Tables of an emulated launch: accesses by memory, by array and by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gemmlab.record import Access, EmulationSection, GlobalAccess, LineCounts, LocalAccess, SharedAccess
from gemmlab.report.canvas import Canvas, cells, shorten
from gemmlab.report.words import amount, clean, several

MOST_LINES = 8
COUNT = 14  #: columns of a count
WIDE = 17  #: the same where columns are few
MEMORY_HEADS = ("elements", "bytes", "requests", "a request")
ARRAY_HEADS = ("elements", "requests", "sectors", "wavefronts", "conflicts")


class Row(NamedTuple):
    """One line of a table: what, then numbers as text."""

    name: str
    cells: tuple[str, ...]


def by_memory(emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """Elements, bytes, warps' requests, and pieces of memory a request, of each memory and kind that is used."""
    return table(MEMORY_HEADS, memory_rows(emulation), canvas)


def memory_rows(emulation: EmulationSection) -> list[Row]:
    """A row of each memory and kind that is used, in MEMORY_HEADS."""
    rows = []
    for memory in ("global", "shared", "local"):
        for kind in ("load", "store", "atomic"):
            counts = getattr(emulation, f"{memory}_{kind}", None)
            if counts is not None and counts.elements:
                rows.append(Row(f"{memory} {kind}", memory_cells(counts)))
    return rows


def memory_cells(counts: GlobalAccess | SharedAccess | LocalAccess) -> tuple[str, ...]:
    """The numbers of one memory and kind."""
    if isinstance(counts, LocalAccess):
        return (number(counts.elements, WIDE), amount(counts.bytes, "B"), "-", "-")
    if isinstance(counts, GlobalAccess):
        each = pieces(counts.requests, counts.sectors, "sector")
    else:
        each = pieces(counts.requests, counts.wavefronts, "wavefront")
    return (number(counts.elements, WIDE), amount(counts.bytes, "B"), number(counts.requests, WIDE), each)


def by_array(emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """Elements, requests, pieces and conflicts of each array and kind that is used."""
    return table(ARRAY_HEADS, array_rows(emulation), canvas)


def array_rows(emulation: EmulationSection) -> list[Row]:
    """A row of each array and kind that is used, in ARRAY_HEADS."""
    found = [
        access
        for counts in emulation.arrays.values()
        for access in (counts.load, counts.store, counts.atomic)
        if access.elements
    ]
    return [Row(f"{clean(each.array)} {each.kind}", access_cells(each)) for each in found]


def access_cells(access: Access) -> tuple[str, ...]:
    """The numbers of one array and kind; `-` for what its memory does not have."""
    of_global, of_shared = access.space == "global", access.space == "shared"
    return (
        number(access.elements),
        number(access.requests) if access.space != "local" else "-",
        number(access.sectors) if of_global else "-",
        number(access.wavefronts) if of_shared else "-",
        number(access.bank_conflicts) if of_shared else "-",
    )


def by_line(emulation: EmulationSection, canvas: Canvas) -> list[str]:
    """The lines with most pieces of memory: their text, and each of their accesses below."""
    busy = busiest(emulation)
    lines: list[str] = []
    for row in busy[:MOST_LINES]:
        where = str(row.line) if row.file == emulation.file else f"{clean(row.file)}:{row.line}"
        text = shorten(canvas.fit(clean(row.text)), canvas.width - 2 - max(5, cells(where) + 2))
        lines.append(canvas.paint(f"  {where:<5}{text}".rstrip(), "strong"))
        for access in row.accesses:
            lines += canvas.wrap(told(access), 7, hang=2)
    if len(busy) > MOST_LINES:
        lines += canvas.wrap(f"and {len(busy) - MOST_LINES} more lines, which --json lists", 2, "dim")
    return lines


def busiest(emulation: EmulationSection) -> list[LineCounts]:
    """The lines that touch memory, those that ask most of it first."""
    return sorted((row for row in emulation.lines if row.accesses), key=weight, reverse=True)


def weight(row: LineCounts) -> tuple[int, int]:
    """How much a line asks of memory: sectors and wavefronts, then elements."""
    return (
        sum(access.sectors + access.wavefronts for access in row.accesses),
        sum(access.elements for access in row.accesses),
    )


def told(access: Access) -> str:
    """One access of a line: `load a: 512 elements, 16 requests of 8 sectors`."""
    head = f"{access.kind} {clean(access.array)}: {access.elements:,} elements"
    if access.space == "local":
        return head
    if access.space == "global":
        each = pieces(access.requests, access.sectors, "sector")
    else:
        each = pieces(access.requests, access.wavefronts, "wavefront")
    head += f", {access.requests:,} requests of {each}"
    return f"{head}, {access.bank_conflicts:,} bank conflicts" if access.bank_conflicts else head


def pieces(requests: int, found: int, unit: str) -> str:
    """Pieces of memory a request, on average: `8 sectors`, `1 wavefront`, `2.25 sectors`."""
    if not requests:
        return "-"
    whole, rest = divmod(found, requests)
    return f"{found / requests:.2f} {unit}s" if rest else several(whole, unit)


def number(count: int, width: int = COUNT) -> str:
    """A count in full up to a column's width, else with an SI prefix."""
    text = f"{count:,}"
    return text if len(text) <= width else amount(count, "").rstrip()


def table(heads: Sequence[str], rows: Sequence[Row], canvas: Canvas) -> list[str]:
    """Rows in columns, numbers to the right; each row stacked where that is too wide."""
    if not rows:
        return []
    label = max(cells(canvas.fit(row.name)) for row in rows)
    widths = [max(cells(head), *(cells(row.cells[i]) for row in rows)) for i, head in enumerate(heads)]
    if 2 + label + sum(widths) + 2 * len(widths) > canvas.width:
        return stacked(heads, rows, canvas)
    titles = "".join(f"  {head:>{width}}" for head, width in zip(heads, widths, strict=True))
    lines = [canvas.paint(f"  {'':<{label}}{titles}", "dim")]
    for row in rows:
        name = canvas.fit(row.name)
        numbers = "".join(f"  {text:>{width}}" for text, width in zip(row.cells, widths, strict=True))
        lines.append(f"  {name}{' ' * (label - cells(name))}{numbers}")
    return lines


def stacked(heads: Sequence[str], rows: Sequence[Row], canvas: Canvas) -> list[str]:
    """Each row as its name, then its numbers with their titles; bytes have their unit already."""
    lines: list[str] = []
    for row in rows:
        pairs = zip(heads, row.cells, strict=True)
        said = [text if head == "bytes" else f"{text} {head}" for head, text in pairs if text != "-"]
        lines += [*canvas.wrap(row.name, 2, "strong"), *canvas.wrap(", ".join(said), 4)]
    return lines
