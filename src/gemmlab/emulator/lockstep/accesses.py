"""How generated code reaches memory: addresses, exact counts, shadows and atomics.

Each access has a record (runtime/places.py) that holds what is fixed for a launch; what is called knows it by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep import linear
from gemmlab.emulator.lockstep.expressions import constant, held
from gemmlab.emulator.lockstep.layout import Placed
from gemmlab.emulator.lockstep.merging import Merge
from gemmlab.emulator.lockstep.runtime.places import EXTENT, FOUND, HOW, LANES, ORIGIN, RECORD, SKIP
from gemmlab.emulator.lockstep.writing import PARTS, Place
from gemmlab.record import GemmlabError

if TYPE_CHECKING:
    from gemmlab.emulator.lockstep.emit import Emitter

Access = p.Load | p.Store | p.Atomic


@dataclass(frozen=True)
class Recorded:
    """An access as the records are made for it at launch."""

    site: int
    kind: type[Access]
    array: str  #: as the program names it, perhaps a view
    own: int  #: a bit for each index that has a part of each thread's own
    lanes: str  #: names of arrays by thread: own parts, the last ones, whole addresses, the memo of patterns and counts
    kept: str
    each: str
    memo: str
    counts: str
    values: str  #: what a store stores
    merge: Merge | None = None  #: the wide load that a compiler makes of it and its neighbours, where that is counted


@dataclass(frozen=True)
class Reached:
    """What the active threads touch: element `Z[start + t] + offset`; its record says how it was reached."""

    number: int
    record: str
    start: str
    offset: str


@dataclass(frozen=True)
class Axis:
    """One index: the whole, and split into what threads share and each thread's own part."""

    whole: p.Expr
    shared: p.Expr | None
    own: p.Expr | None


class Accesses:
    """Writes the accesses of one program."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        self.records: list[Recorded] = []

    def placed(self, access: Access) -> Placed:
        """Where the elements of an access are."""
        return self.e.layout.placed(access.array)

    def full_index(self, access: Access) -> tuple[p.Expr, ...]:
        """Every expression that the address depends on."""
        array = self.e.program.arrays[access.array]
        if array.space == "view":
            return (*access.index, array.offset, *array.extents)
        return access.index

    def axes(self, access: Access) -> list[Axis]:
        """The indices of an access."""
        found = []
        for index in access.index:
            known = linear.substituted(index, self.e.at.known)
            shared, own = linear.split(known, self.e.found.of)
            found.append(Axis(index, shared, own))
        return found

    def record(self, access: Access, axes: list[Axis], values: str = "") -> tuple[str, Recorded]:
        """A new record: the text of its address, and what it is made of."""
        number = len(self.records)
        own = sum(1 << k for k, axis in enumerate(axes) if axis.own is not None)
        e = self.e
        lanes, kept, each, memo, counts = (
            e.row(f"{letter}{number}", "int64", filled=filled) for letter, filled in ROWS
        )
        of = (access.site, type(access), access.array, own)
        merge = e.merges.get(access.site)
        self.records.append(Recorded(*of, lanes, kept, each, memo, counts, values, merge))
        if merge is not None and merge.turn:  # the first of each group counts
            text = e.writer.text(access.index[-1])
            e.text.put(f"REC[{RECORD * number + SKIP}] = {text} % {merge.elements}")
        e.allocate(f"r{number} = records + {8 * RECORD * number}")
        return f"r{number}", self.records[-1]

    def reach(self, access: Access, values: str = "") -> Reached:
        """Write the addresses of an access by all active threads, counted."""
        e, text = self.e, self.e.text
        axes = self.axes(access)
        name, record = self.record(access, axes, values)
        array = e.program.arrays[access.array]
        straight = self.fit_view(array, name, record) if array.space == "view" else True
        number = len(self.records) - 1
        offset, start = f"u{name}", f"z{name}"
        if straight and not isinstance(access, p.Atomic):
            self.prepare(axes, name)
            shared = [e.writer.text(axis.shared) if axis.shared is not None else "0" for axis in axes]
            full = "1" if e.active.full == "True" else e.active.full
            x = ", ".join([*shared, *["0"] * (3 - len(shared))])
            with text.under(f"if reach({name}, {full}, {x}) < 0:"):
                self.one_by_one(axes, name)
            slow = f"REC[{RECORD * number + HOW}]"
            text.put(f"{start} = {e.start(record.each)} if {slow} else {e.start(record.lanes)}")
        else:
            self.one_by_one(axes, name)
            text.put(f"{start} = {e.start(record.each)}")
        text.put(f"{offset} = REC[{RECORD * number + FOUND}]")
        return Reached(number, name, start, offset)

    def fit_view(self, array: p.Array, name: str, record: Recorded) -> bool:
        """Set a view's extent and first element; says whether all threads see the same view."""
        e = self.e
        if not all(e.found.of(x) for x in (array.offset, *array.extents)):
            file, line = e.program.files[array.line.file], array.line.number
            raise GemmlabError(
                f"{file}:{line}: `{array.name}` is a slice whose ends differ between threads",
                "index the whole array, and add the slice's start to the index",
            )
        of = e.layout.arrays[array.base].prefix
        number = len(self.records) - 1
        e.text.put(
            f"REC[{RECORD * number + EXTENT}] = {e.writer.text(array.extents[0])}",
            f"REC[{RECORD * number + ORIGIN}] = {of}_o + ({e.writer.text(array.offset)}) * {of}_s0",
        )
        return True

    def prepare(self, axes: list[Axis], name: str) -> None:
        """Work out the threads' own parts, before the outermost loop in which they stay the same."""
        e = self.e
        place = self.place_for(axes)
        own = [(k, axis.own) for k, axis in enumerate(axes) if axis.own is not None]
        scalars, e.writer.scalars = e.writer.scalars, set()
        if own:
            place.put("for t in range(NT):")
        for k, part in own:
            place.put(f"    {e.row(PARTS[k], 'int64')}[t] = {e.writer.text(part)}")
        place.put(f"prepare({name})")
        e.writer.scalars = scalars

    def place_for(self, axes: list[Axis]) -> Place:
        """The outermost place at which the threads' own parts are what they are here."""
        own = [axis.own for axis in axes if axis.own is not None]
        needed = {name for x in own for name in linear.variables(x)}
        by_block = any(
            isinstance(part, p.Special) and part.name.startswith("blockIdx")
            for x in own
            for part in p.subexpressions(x)
        )
        for loop in self.e.at.loops:
            if loop.blocks:
                if not needed and not by_block:
                    return loop.place
            elif not needed & loop.assigned:
                return loop.place
        return self.e.text.open_place()

    def one_by_one(self, axes: list[Axis], name: str) -> None:
        """Addresses of the active threads, each checked."""
        e, text = self.e, self.e.text
        x = ", ".join([*(e.writer.text(axis.whole) for axis in axes), *["0"] * (3 - len(axes))])
        masked = 1 if e.active.mask else 0
        text.put("for t in range(NT):", f"    {f'if {e.mask()}[t]: ' if masked else ''}touch({name}, t, {x})")
        text.put(f"settle({name}, {e.pointer(e.mask())}, {masked})")

    # --- values and shadows ---

    def value(self, load: p.Load, where: Reached, place: str) -> str:
        """The value at a place."""
        placed = self.placed(load)
        value = f"{placed.prefix}_m[{place} + {where.offset}]"
        return f"half_to_single({value})" if placed.array.type == "float16" else value

    def read(self, load: p.Load, where: Reached, *, careful: bool) -> Iterator[str]:
        """A line that gives one thread the value it reads."""
        target = self.e.writer.variable(load.name)
        place = f"Z[{where.start} + t]"
        value = self.value(load, where, place)
        if careful:
            # places that were reached by a table are relative to thread 0's, and may be negative
            there = f"REC[{RECORD * where.number + HOW}] == 0 or {place} >= 0"
            value = f"{value} if {there} else {constant(self.placed(load).array.type, 0)}"
        yield f"{target} = {value}"

    def shared_value(self, load: p.Load) -> None:
        """A load of one element by all threads into a variable that they share."""
        e = self.e
        where = self.reach(load)
        self.shadow_read(load, where)
        if not e.is_wanted(load):
            return
        target = e.writer.variable(load.name)
        e.text.put(f"k = first_active(Z_at + 8 * {where.start}, {e.pointer(e.mask())}, NT)")
        e.text.put(f"{target} = {constant(self.placed(load).array.type, 0)}")
        e.text.put(f"if k >= 0: {target} = {self.value(load, where, 'k')}")

    def shadow(self, what: str, where: Reached) -> None:
        """Call a shadow function for the active threads."""
        e = self.e
        full = "1" if e.active.full == "True" else e.active.full
        e.text.put(f"{what}({where.record}, {e.pointer(e.mask())}, {full})")

    def own(self, what: str, where: Reached) -> None:
        """Call a function for memory that is a thread's own."""
        self.e.text.put(f"{what}({where.record}, {self.e.pointer(self.e.mask())})")

    def shadow_read(self, load: p.Load, where: Reached) -> None:
        """Find races, and reads of what nobody wrote."""
        placed = self.placed(load)
        if placed.array.space == "local":
            self.own("local_read", where)
        elif placed.shadowed:
            self.shadow("shadow_read", where)

    def store(self, store: p.Store, where: Reached) -> None:
        """Store what threads hold in the record's values."""
        placed, e = self.placed(store), self.e
        if placed.array.space != "local":
            self.shadow("shadow_store", where)
            return
        self.own("local_written", where)
        if e.wanted is not None:
            return
        line = f"{placed.prefix}_m[Z[{where.start} + t] + {where.offset}] = X{store.site}[t]"
        in_range = f"REC[{RECORD * where.number + HOW}] < 2"
        full = in_range if e.active.full == "True" else f"{e.active.full} and {in_range}"
        e.text.put(f"if {full}:", f"    for t in range(NT): {line}", "else:", "    for t in range(NT):")
        e.text.put(f"        if {e.mask()}[t] and Z[{where.start} + t] >= 0: {line}")

    def atomic(self, atomic: p.Atomic) -> None:
        """Change elements one thread after another."""
        e, text = self.e, self.e.text
        placed = self.placed(atomic)
        where = self.reach(atomic)
        if placed.array.space == "local":
            self.own("local_read", where)
        else:
            self.shadow("shadow_atomic", where)
        if e.wanted is not None and atomic.name not in e.wanted:
            return
        place = f"Z[{where.start} + t]"
        memory = f"{placed.prefix}_m[{place}]"
        half = placed.array.type == "float16"
        old, new = f"old{atomic.site}", f"new{atomic.site}"  # a name of generated code has one type throughout
        with text.under("for t in range(NT):"), text.under(f"if {e.mask()}[t]:"):
            text.put(f"{old} = {constant(placed.array.type, 0)}")
            with text.under(f"if {place} >= 0:"):
                text.put(f"{old} = half_to_single({memory})" if half else f"{old} = {memory}")
                text.put(f"{new} = {e.writer.text(atomic.value)}")
                expected = e.writer.text(atomic.compare) if atomic.compare is not None else ""
                changed = CHANGES[atomic.op].format(old=old, new=new, expected=expected)
                kind = held(placed.array.type)
                text.put(f"{memory} = single_to_half({changed})" if half else f"{memory} = np.{kind}({changed})")
            if atomic.name is not None:
                text.put(f"{e.writer.variable(atomic.name)} = {old}")


#: arrays by thread of each record, and what they hold at first
ROWS = (("L", 0), ("K", -1), ("G", 0), ("M", -1), ("N", -1))

CHANGES = {
    "add": "{old} + {new}",
    "sub": "{old} - {new}",
    "max": "larger({old}, {new})",
    "min": "smaller({old}, {new})",
    "and": "{old} & {new}",
    "or": "{old} | {new}",
    "xor": "{old} ^ {new}",
    "exch": "{new}",
    "cas": "({new} if {old} == {expected} else {old})",
}

__all__ = ["CHANGES", "LANES", "Access", "Accesses", "Reached", "Recorded"]
