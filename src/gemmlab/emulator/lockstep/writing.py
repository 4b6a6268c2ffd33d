"""Generated text as it grows: lines, places kept open before loops, and who is active at each point."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gemmlab.emulator import program as p

Tree = list["str | Tree"]

#: arrays by thread with the threads' own parts of an index, axis by axis, until `prepare` has read them; every other
#: such array has one letter and a number
PARTS = ("own0", "own1", "own2")


class Text:
    """Lines of Python at a depth; a place that is kept open takes lines later."""

    def __init__(self) -> None:
        self.tree: Tree = []
        self.depth = 0

    def put(self, *lines: str) -> None:
        """Add lines at the present depth."""
        self.tree.extend("    " * self.depth + line for line in lines)

    @contextmanager
    def under(self, header: str) -> Iterator[None]:
        """Lines within a header such as `if x:`."""
        self.put(header)
        self.depth += 1
        length = len(self.tree)
        yield
        if not any(flattened(self.tree[length:])):
            self.put("pass")
        self.depth -= 1

    def open_place(self) -> Place:
        """Keep a place open here."""
        lines: Tree = []
        self.tree.append(lines)
        return Place(lines, self.depth)

    def text(self) -> str:
        """Everything, as one text."""
        return "\n".join(flattened(self.tree)) + "\n"


@dataclass
class Place:
    """Lines that are inserted where the place was opened."""

    lines: Tree
    depth: int

    def put(self, *lines: str) -> None:
        """Add lines at the depth of the place."""
        self.lines.extend("    " * self.depth + line for line in lines)


def flattened(tree: Tree) -> Iterator[str]:
    """All lines in order."""
    for item in tree:
        if isinstance(item, str):
            yield item
        else:
            yield from flattened(item)


@dataclass
class Active:
    """Who executes the statements at hand: a mask array, and how many threads and warps that is.

    Without a mask every thread of the block does, always.
    """

    mask: str = ""
    threads: str = "NT"
    size: str = "sizes"  #: where its numbers of threads and warps stand
    full: str = "True"  #: an expression: all threads of the block are active


@dataclass
class Region:
    """A mask that exits may clear, from the root inwards."""

    kind: str  #: root, if, loop, round or scope
    active: Active
    label: int = -1  #: of a scope


@dataclass
class Loop:
    """A loop of the generated code, with the place before it."""

    place: Place
    assigned: set[str]  #: variables set within it
    plain: bool  #: a Python loop that all threads walk together, so that break is break
    blocks: bool = False  #: it is the loop over blocks


@dataclass
class Surroundings:
    """Where the statement at hand stands."""

    regions: list[Region] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    known: dict[str, p.Expr] = field(default_factory=dict)  #: definitions that hold here


@dataclass(frozen=True)
class Row:
    """An array of one number a thread, of a numpy type, and what it holds at first."""

    kind: str
    filled: int = 0


class Rows:
    """What generated code works with beside the program's own arrays, and how it is named."""

    def __init__(self) -> None:
        self.fresh = 0
        self.rows: dict[str, Row] = {}  # arrays by thread
        self.allocated: list[str] = []  # lines ahead of the loop over blocks
        self.pointed: set[str] = set()  # arrays by thread whose address is wanted
        self.begun: set[str] = set()  # those whose place among all of their type is

    def number(self) -> int:
        """A number that no other name has."""
        self.fresh += 1
        return self.fresh

    def allocate(self, line: str) -> None:
        """Add a line ahead of the loop over blocks, once."""
        if line not in self.allocated:
            self.allocated.append(line)

    def row(self, name: str, kind: str, *, filled: int = 0) -> str:
        """An array of one number a thread, all of them `filled` at first."""
        self.rows.setdefault(name, Row(kind, filled))
        return name

    def pointer(self, name: str) -> str:
        """The address of an array by thread."""
        self.pointed.add(name)
        return f"{name}_at"

    def start(self, name: str) -> str:
        """Where an array of int64 by thread begins in the one that holds them all."""
        self.begun.add(name)
        return f"{name}_from"
