"""How generated code reaches memory: addresses, exact counts, shadows, atomics and exchanges between lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep import linear
from gemmlab.emulator.lockstep.columns import PIECES, SPLITS
from gemmlab.emulator.lockstep.expressions import constant, held
from gemmlab.emulator.lockstep.layout import Placed
from gemmlab.emulator.lockstep.writing import Place

if TYPE_CHECKING:
    from gemmlab.emulator.lockstep.emit import Emitter

Access = p.Load | p.Store | p.Atomic


@dataclass(frozen=True)
class Address:
    """Element `pointer[t] + offset` of an array is what thread t touches; where `odd` holds, some are out of range."""

    pointer: str
    offset: str
    odd: str


@dataclass(frozen=True)
class Axis:
    """One index: what threads share, each thread's own part, the extent and the distance of neighbours."""

    whole: p.Expr
    shared: p.Expr | None
    own: p.Expr | None
    extent: str
    stride: str


class Accesses:
    """Writes the accesses of one program."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter

    def placed(self, access: Access) -> Placed:
        """Where the elements of an access are."""
        return self.e.layout.placed(access.array)

    def full_index(self, access: Access) -> tuple[p.Expr, ...]:
        """Every expression that the address depends on."""
        array = self.e.program.arrays[access.array]
        if array.space == "view":
            return (*access.index, array.offset, *array.extents)
        return access.index

    def axes(self, access: Access) -> tuple[list[Axis], str]:
        """The axes of an access, and the text of the elements before the array's own first one."""
        array, placed = self.e.program.arrays[access.array], self.placed(access)
        origin = f"{placed.prefix}_o" if placed.in_global else ""
        found = []
        for number, index in enumerate(access.index):
            known = linear.substituted(index, self.e.at.known)
            shared, own = linear.split(known, self.e.found.of)
            stride = "NT" if placed.array.space == "local" else f"{placed.prefix}_s{number}"
            if placed.array.space == "local" and number + 1 < len(access.index):
                stride = f"{placed.prefix}_s{number} * NT"
            extent = f"{placed.prefix}_n{number}"
            if array.space == "view":
                extent = self.e.writer.text(array.extents[0])
            found.append(Axis(index, shared, own, extent, stride))
        return found, origin

    def address(self, access: Access) -> Address:
        """Write the addresses of an access by all active threads, their counts included."""
        array, placed = self.e.program.arrays[access.array], self.placed(access)
        number = self.e.number()
        axes, origin = self.axes(access)
        view_offset = None
        if array.space == "view":
            known = linear.substituted(array.offset, self.e.at.known)
            if not self.e.found.of(known) or not all(self.e.found.of(x) for x in array.extents):
                return self.crooked(access, axes, origin, number)
            view_offset = known
        names = Names(number)
        text = self.e.text
        counted = placed.array.space != "local"
        self.prepare(axes, placed, names, counted)
        for k, axis in enumerate(axes):
            text.put(f"{names.shared(k)} = {self.e.writer.text(axis.shared) if axis.shared is not None else '0'}")
        inside = " and ".join(
            f"{names.shared(k)} + {names.low(k)} >= 0 and {names.shared(k)} + {names.high(k)} < {axis.extent}"
            for k, axis in enumerate(axes)
        )
        full = "" if self.e.active.full == "True" else f"{self.e.active.full} and "
        offset = [f"{names.shared(k)} * ({axis.stride})" for k, axis in enumerate(axes)]
        offset += [origin] if origin else []
        if view_offset is not None:
            scale = " * NT" if placed.array.space == "local" else f" * {placed.prefix}_s0"
            offset.append(f"({self.e.writer.text(view_offset)}){scale}")
        if counted or any(axis.own is not None for axis in axes):
            offset.append(names.base)
        with text.under(f"if {full}{inside}:"):
            text.put(f"{names.offset} = {' + '.join(offset)}", f"{names.pointer} = {names.lanes(axes, placed)}")
            text.put(f"{names.odd} = False")
            if counted:
                self.count_by_table(access, placed, names)
        with text.under("else:"):
            self.one_by_one(access, axes, origin, names)
        return Address(names.pointer, names.offset, names.odd)

    def crooked(self, access: Access, axes: list[Axis], origin: str, number: int) -> Address:
        """Addresses that each thread has to work out for itself, every time."""
        names = Names(number)
        self.one_by_one(access, axes, origin, names)
        return Address(names.pointer, names.offset, names.odd)

    def prepare(self, axes: list[Axis], placed: Placed, names: Names, counted: bool) -> None:
        """Work out the threads' own parts, before the outermost loop in which they stay the same."""
        place = self.place_for(axes)
        e = self.e
        local = placed.array.space == "local"
        own = [(k, axis) for k, axis in enumerate(axes) if axis.own is not None]
        for k, axis in enumerate(axes):
            if axis.own is None:
                e.allocate(f"{names.low(k)} = 0; {names.high(k)} = 0")
        if not own and local:
            return
        shift = placed.itemsize.bit_length() - 1
        e.allocate(f"{names.table_lanes} = np.zeros(NT, np.int64); {names.kept} = np.full(NT, -1, np.int64)")
        e.allocate(f"{names.table} = np.zeros((32, 2), np.int64)")
        scalars, e.writer.scalars = e.writer.scalars, set()
        for k, _ in own:
            place.put(f"{names.low(k)} = np.int64(1 << 62); {names.high(k)} = np.int64(-(1 << 62))")
        place.put("for t in range(NT):")
        terms = ["t"] if local else []
        for k, axis in own:
            assert axis.own is not None
            place.put(f"    x{k} = {e.writer.text(axis.own)}")
            place.put(f"    {names.low(k)} = min({names.low(k)}, x{k}); {names.high(k)} = max({names.high(k)}, x{k})")
            terms.append(f"x{k} * ({axis.stride})")
        place.put(f"    {names.table_lanes}[t] = {' + '.join(terms) or '0'}")
        if counted:
            shared = not placed.in_global
            place.put(
                f"{names.base} = prepare({names.table_lanes}, {names.kept}, NT, {shift}, {shared}, {names.table})"
            )
        else:
            place.put(f"{names.base} = 0")
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

    def count_by_table(self, access: Access, placed: Placed, names: Names) -> None:
        """Count an access of all threads by its phase: the byte of a sector at which thread 0 starts."""
        e = self.e
        shift = placed.itemsize.bit_length() - 1
        byte = f"{placed.prefix}_b + ({names.offset} << {shift})" if placed.in_global else f"{names.offset} << {shift}"
        e.text.put(f"h = (({byte}) & 31) >> {shift}")
        e.count(access.site, PIECES, f"{names.table}[h, 0]")
        if not placed.in_global:
            e.count(access.site, SPLITS, f"{names.table}[h, 1]")

    def one_by_one(self, access: Access, axes: list[Axis], origin: str, names: Names) -> None:
        """Addresses of the active threads, each checked, then counted by the memo of patterns."""
        e = self.e
        array, placed = e.program.arrays[access.array], self.placed(access)
        e.allocate(f"{names.each} = np.zeros(NT, np.int64)")
        text = e.text
        text.put(f"{names.odd} = False")
        with text.under("for t in range(NT):"):
            text.put(f"{names.each}[t] = -1")
            with text.under(f"if {e.mask()}[t]:"):
                for k, axis in enumerate(axes):
                    text.put(f"x{k} = np.int64({e.writer.text(axis.whole)})")
                    text.put(f"if x{k} < 0: x{k} += {axis.extent}")
                outside = " or ".join(f"x{k} < 0 or x{k} >= {axis.extent}" for k, axis in enumerate(axes))
                with text.under(f"if {outside}:"):
                    shown = [f"np.int64({e.writer.text(axis.whole)})" for axis in axes] + ["0"] * (3 - len(axes))
                    text.put(
                        f"{names.odd} = True",
                        f"note(F, {BOUNDS}, {access.site}, -1, 0, t, -1, E[3], block, 0, 0, {', '.join(shown)})",
                    )
                with text.under("else:"):
                    terms = [f"x{k} * ({axis.stride})" for k, axis in enumerate(axes)] + ([origin] if origin else [])
                    if array.space == "view":
                        scale = " * NT" if placed.array.space == "local" else f" * {placed.prefix}_s0"
                        terms.append(f"np.int64({e.writer.text(array.offset)}){scale}")
                    if placed.array.space == "local":
                        terms.append("t")
                    text.put(f"{names.each}[t] = {' + '.join(terms)}")
        text.put(f"{names.pointer} = {names.each}; {names.offset} = 0")
        if placed.array.space == "local":
            return
        shift = placed.itemsize.bit_length() - 1
        e.allocate(f"{names.memo} = np.full(NT + 32, -1, np.int64)")
        e.allocate(f"{names.memo}p = np.full((NW, 32), -1, np.int64)")
        byte = f"{placed.prefix}_b" if placed.in_global else "0"
        masked = "True" if e.active.mask else "False"
        text.put(
            f"k, j = count_requests({names.each}, {e.mask()}, {masked}, NT, {byte}, {shift}, "
            f"{not placed.in_global}, {names.memo}, {names.memo}p)"
        )
        e.count(access.site, PIECES, "k")
        if not placed.in_global:
            e.count(access.site, SPLITS, "j")

    # --- values and shadows ---

    def read(self, load: p.Load, where: Address, *, careful: bool) -> Iterator[str]:
        """Lines that give one thread the value it reads."""
        placed = self.placed(load)
        target = self.e.writer.variable(load.name)
        value = f"{placed.prefix}_m[{where.pointer}[t] + {where.offset}]"
        if placed.array.type == "float16":
            value = f"half_to_single({value})"
        if not careful:
            yield f"{target} = {value}"
            return
        yield f"if {where.pointer}[t] >= 0:"
        yield f"    {target} = {value}"
        yield "else:"
        yield f"    {target} = {constant(placed.array.type, 0)}"

    def shared_value(self, load: p.Load) -> None:
        """A load of one element by all threads into a variable that they share."""
        where = self.address(load)
        self.shadow_read(load, where)
        if not self.e.is_wanted(load):
            return
        placed = self.placed(load)
        target = self.e.writer.variable(load.name)
        value = f"{placed.prefix}_m[k + {where.offset}]"
        if placed.array.type == "float16":
            value = f"half_to_single({value})"
        masked = "True" if self.e.active.mask else "False"
        self.e.text.put(f"k = first_active({where.pointer}, {self.e.mask()}, {masked}, NT)")
        self.e.text.put(f"{target} = {constant(placed.array.type, 0)}")
        with self.e.text.under("if k >= 0:"):
            self.e.text.put(f"{target} = {value}")

    def shadow_arguments(self, placed: Placed, site: int) -> str:
        """What every shadow function takes behind the addresses."""
        shadow = self.e.layout.shadow(placed)
        words = ", ".join(f"{shadow}_{what}" for what in "WRA")
        return f"{words}, S, owner, E, {placed.in_global}, {site}, F"

    def who(self, placed: Placed, where: Address) -> str:
        """The first arguments of every shadow function."""
        # a masked loop also where some are out of range: it skips those
        masked = f"{where.odd} or not {self.e.active.full}" if self.e.active.full != "True" else where.odd
        return f"{where.pointer}, {where.offset}, {self.e.mask()}, {masked}, NT, {self.e.layout.span(placed)}"

    def shadow_read(self, load: p.Load, where: Address) -> None:
        """Find races, and reads of what nobody wrote."""
        placed = self.placed(load)
        if placed.array.space == "local":
            with self.e.text.under(f"if {placed.prefix}_left > 0:"):
                self.e.text.put(
                    f"local_read({where.pointer}, {where.offset}, {self.e.mask()}, NT, {placed.prefix}_I, "
                    f"{load.site}, E, F)"
                )
        elif placed.shadowed:
            self.e.text.put(f"shadow_read({self.who(placed, where)}, {self.shadow_arguments(placed, load.site)})")

    def store(self, store: p.Store, where: Address, values: str) -> None:
        """Store what threads hold in `values`."""
        placed = self.placed(store)
        valued = self.e.wanted is None
        if placed.array.space == "local":
            self.e.text.put(
                f"{placed.prefix}_left -= local_store({where.pointer}, {where.offset}, {self.e.mask()}, NT, "
                f"{placed.prefix}_I, {placed.prefix}_left, {placed.prefix}_m, {values}, {valued})"
            )
            return
        self.e.text.put(
            f"shadow_store({self.who(placed, where)}, {self.shadow_arguments(placed, store.site)}, "
            f"{placed.prefix}_m, {values}, {valued})"
        )

    def atomic(self, atomic: p.Atomic) -> None:
        """Change elements one thread after another."""
        e = self.e
        placed = self.placed(atomic)
        axes, origin = self.axes(atomic)
        names = Names(e.number())
        self.one_by_one(atomic, axes, origin, names)
        span = e.layout.span(placed)
        masked = "True" if e.active.mask else "False"
        if placed.array.space == "local":
            e.text.put(f"local_read({names.each}, 0, {e.mask()}, NT, {placed.prefix}_I, {atomic.site}, E, F)")
        else:
            e.text.put(
                f"shadow_atomic({names.each}, {e.mask()}, {masked}, NT, {span}, "
                f"{self.shadow_arguments(placed, atomic.site)})"
            )
        wanted = atomic.name is not None and (e.wanted is None or atomic.name in e.wanted)
        if e.wanted is not None and not wanted:
            return
        text = e.text
        memory = f"{placed.prefix}_m[{names.each}[t]]"
        half = placed.array.type == "float16"
        with text.under("for t in range(NT):"), text.under(f"if {e.mask()}[t]:"):
            text.put(f"old = {constant(placed.array.type, 0)}")
            with text.under(f"if {names.each}[t] >= 0:"):
                text.put(f"old = half_to_single({memory})" if half else f"old = {memory}")
                text.put(f"new = {e.writer.text(atomic.value)}")
                changed = ATOMICS[atomic.op](placed.array.type, e.writer.text(atomic.compare) if atomic.compare else "")
                text.put(f"{memory} = single_to_half({changed})" if half else f"{memory} = {changed}")
            if atomic.name is not None:
                text.put(f"{e.writer.variable(atomic.name)} = old")

    def warp_op(self, op: p.WarpOp) -> None:
        """Lanes of each warp exchange values or votes."""
        e = self.e
        text, number = e.text, e.number()
        mask = e.writer.text(op.mask) if op.mask is not None else "0"
        e.allocate(f"Y{number} = np.zeros(NT, np.int64)")
        text.put(f"for t in range(NT): Y{number}[t] = np.int64(np.uint32(np.int64({mask})))")
        if op.mask is not None:
            text.put(f"members(Y{number}, {e.mask()}, NT, {op.site}, E, F)")
        if op.kind == "syncwarp":
            text.put(f"meet(Y{number}, {e.mask()}, NT, S, E)")
            return
        assert op.name is not None
        target = e.writer.variable(op.name)
        kind = e.program.variables[op.name]
        if op.kind.startswith("shfl"):
            assert op.value is not None
            assert op.lane is not None
            e.allocate(f"X{number} = np.zeros(NT, np.{held(op.value.type)})")
            with text.under("for t in range(NT):"):
                text.put(f"X{number}[t] = {e.writer.text(op.value)}")
                text.put(f"Y{number}[t] = source_lane({SHUFFLES[op.kind]}, t, np.int64({e.writer.text(op.lane)}), NT)")
            text.put("for t in range(NT):", f"    if {e.mask()}[t]: {target} = X{number}[Y{number}[t]]")
            return
        value = e.writer.text(op.value) if op.value is not None else "True"
        voting = "votes_equal" if op.kind == "eq" else "votes"
        if op.kind == "eq":
            assert op.value is not None
            e.allocate(f"X{number} = np.zeros(NT, np.{held(op.value.type)})")
            text.put(f"for t in range(NT): X{number}[t] = {value}")
        else:
            e.allocate(f"X{number} = np.zeros(NT, np.bool_)")
            text.put(f"for t in range(NT): X{number}[t] = {value} != 0")
        e.allocate(f"V{number} = np.zeros(NW, np.int64); Q{number} = np.zeros(NW, np.int64)")
        text.put(f"{voting}(X{number}, {e.mask()}, NT, V{number}, Q{number})")
        vote = f"V{number}[t >> 5]"
        quorum = f"Q{number}[t >> 5]"
        given = {
            "ballot": vote,
            "activemask": quorum,
            "any": f"{vote} != 0",
            "all": f"{vote} == {quorum}",
            "eq": f"{vote} != 0",
        }[op.kind]
        given = f"({given})" if kind == "bool" else f"np.{kind}(np.uint32({given}))"
        text.put("for t in range(NT):", f"    if {e.mask()}[t]: {target} = {given}")


BOUNDS = 4  # runtime.BOUNDS; importing runtime would load numba before it is needed
SHUFFLES = {"shfl": 0, "shfl_up": 1, "shfl_down": 2, "shfl_xor": 3}


def kept(text: str) -> Callable[[str, str], str]:
    """An atomic's new value, brought to the type of the array."""

    def changed(kind: str, compare: str) -> str:
        whole = text.replace("EXPECTED", compare)
        return whole if kind in ("float16", "bool") else f"np.{kind}({whole})"

    return changed


ATOMICS: dict[str, Callable[[str, str], str]] = {
    "add": kept("old + new"),
    "sub": kept("old - new"),
    "max": kept("larger(old, new)"),
    "min": kept("smaller(old, new)"),
    "and": kept("old & new"),
    "or": kept("old | new"),
    "xor": kept("old ^ new"),
    "exch": kept("new"),
    "cas": kept("(new if old == EXPECTED else old)"),
}


class Names:
    """Names in generated code that belong to one access."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pointer, self.offset, self.odd = f"P{number}", f"u{number}", f"odd{number}"
        self.base, self.each, self.memo = f"b{number}", f"G{number}", f"M{number}"
        self.table, self.table_lanes, self.kept = f"T{number}", f"L{number}", f"K{number}"

    def shared(self, axis: int) -> str:
        """The part of an index that threads share."""
        return f"x{self.number}_{axis}"

    def low(self, axis: int) -> str:
        """The least of the threads' own parts."""
        return f"lo{self.number}_{axis}"

    def high(self, axis: int) -> str:
        """The largest of them."""
        return f"hi{self.number}_{axis}"

    def lanes(self, axes: list[Axis], placed: Placed) -> str:
        """The array of the threads' own parts."""
        if placed.array.space == "local" and all(axis.own is None for axis in axes):
            return "COUNTING"
        return self.table_lanes
