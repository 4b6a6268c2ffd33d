"""Lanes of a warp that exchange values or votes, in generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.expressions import held

if TYPE_CHECKING:
    from gemmlab.emulator.lockstep.emit import Emitter

SHUFFLES = {"shfl": 0, "shfl_up": 1, "shfl_down": 2, "shfl_xor": 3}


def exchange(e: Emitter, op: p.WarpOp) -> None:
    """Write one exchange."""
    number = e.number()
    lanes = e.row(f"W{number}", "int64")
    if op.mask is not None:
        e.text.put(f"for t in range(NT): {lanes}[t] = np.int64(np.uint32(np.int64({e.writer.text(op.mask)})))")
        here = f"{e.pointer(lanes)}, {e.pointer(e.mask())}, NT"
        e.text.put(f"members({here}, {op.site}, E_address, F_address)")
    if op.kind == "syncwarp":
        e.text.put(f"meet({e.pointer(lanes)}, {e.pointer(e.mask())}, NT, S_address, E_address)")
    elif op.kind.startswith("shfl"):
        shuffle(e, op, number, lanes)
    else:
        vote(e, op, number, lanes)


def give(e: Emitter, name: str, value: str) -> None:
    """Let the active threads' variable take a value."""
    e.text.put("for t in range(NT):", f"    if {e.mask()}[t]: {e.writer.variable(name)} = {value}")


def shuffle(e: Emitter, op: p.WarpOp, number: int, lanes: str) -> None:
    """Each lane gets another's value."""
    assert op.value is not None
    assert op.lane is not None
    assert op.name is not None
    values = e.row(f"H{number}", held(op.value.type))
    with e.text.under("for t in range(NT):"):
        e.text.put(f"{values}[t] = {e.writer.text(op.value)}", f"{lanes}[t] = {e.writer.text(op.lane)}")
    e.text.put(f"sources({SHUFFLES[op.kind]}, {e.pointer(lanes)}, NT)")
    give(e, op.name, f"{values}[{lanes}[t]]")


def vote(e: Emitter, op: p.WarpOp, number: int, lanes: str) -> None:
    """Each lane learns how its warp voted."""
    assert op.name is not None
    value = e.writer.text(op.value) if op.value is not None else "True"
    yes, here = e.row(f"V{number}", "int64"), e.row(f"B{number}", "int64")
    behind = f"{e.pointer(e.mask())}, NT, {e.pointer(yes)}, {e.pointer(here)})"
    if op.kind == "eq":
        assert op.value is not None
        bits = f"np.float64({value}).view(np.int64)" if "float" in op.value.type else f"np.int64({value})"
        e.text.put(f"for t in range(NT): {lanes}[t] = {bits}", f"votes_equal({e.pointer(lanes)}, {behind}")
    else:
        ballots = e.row(f"O{number}", "uint8")
        e.text.put(f"for t in range(NT): {ballots}[t] = {value} != 0", f"votes({e.pointer(ballots)}, {behind}")
    given = {
        "ballot": f"{yes}[t >> 5]",
        "activemask": f"{here}[t >> 5]",
        "any": f"{yes}[t >> 5] != 0",
        "all": f"{yes}[t >> 5] == {here}[t >> 5]",
        "eq": f"{yes}[t >> 5] != 0",
    }[op.kind]
    kind = e.program.variables[op.name]
    give(e, op.name, f"({given})" if kind == "bool" else f"np.{kind}(np.uint32({given}))")
