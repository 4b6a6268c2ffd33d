"""Every register at one cycle, with the element of A, B or D that lies in it: plain lists, ready to be JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from gemmlab.record import GemmlabError
from gemmlab.systolic.array import Array
from gemmlab.systolic.control import CLOSES, COL, COLS, FIRST, LENGTH, ROW, ROWS, START, TALL
from gemmlab.systolic.words import Load, Words

Place = tuple[int, int]  #: of a PE, or of an element
MOST_WORDS = (1 << 31) - 2  #: of an operand whose elements are numbered


def numbered(load: Load) -> Load:
    """Words that are the numbers of the elements, from 1; 0 is no word. Raises GemmlabError for too many."""
    for words in (load.right, load.other):
        if words[0].size > MOST_WORDS:
            raise GemmlabError(f"{words[0].size} words of one operand are too many to follow", "a smaller problem")
    right, other = (
        np.broadcast_to(np.arange(1, words[0].size + 1, dtype=np.int32).reshape(words[0].shape), words.shape).copy()
        for words in (load.right, load.other)
    )
    return Load(right, other, load.told, None, False, False)


def state(array: Array, load: Load, table: Any, machine: Any, marked: Any) -> dict[str, Any]:
    """The registers after the last cycle that `machine` went through, `marked` being as far with `numbered` words.

    Each of `right`, `held` or `down`, `behind` and `sums` has its operand's name and, as lists of rows, `values` and
    `elements` ([row, column] in that operand), both null where a register holds no element. `leaving` are the words
    that left in this cycle, `final` telling results from partial sums.
    """
    t = machine.cycle - 1
    flow = array.flow
    found: dict[str, Any] = {
        "cycle": t,
        "rows": array.rows,
        "cols": array.cols,
        "dataflow": array.dataflow,
        "right": operand(flow.right, machine.right, marked.right, load.right[0].shape, flipped(array, flow.right)),
    }
    places = dict(sums_at(array, load, table, t))
    if array.moves_sums:
        shape, turned = load.other[0].shape, flipped(array, flow.held)
        found["held"] = operand(flow.held, machine.held, marked.held, shape, turned)
        double = array.weights == "double"
        found["behind"] = operand(flow.held, machine.behind, marked.behind, shape, turned) if double else None
    else:
        down, marks = machine.down[None], marked.down[None]
        found["down"] = operand(flow.down, down, marks, load.other[0].shape, flipped(array, flow.down))
        behind = dict(behind_at(array, load, table, t)) if array.drain == "shadow" else None
        found["behind"] = None if behind is None else sums(array, machine.behind[0], behind)
    found["sums"] = sums(array, machine.sums, places)
    found["leaving"] = list(leaving(array, load, table, machine, t))
    return found


def flipped(array: Array, name: str) -> bool:
    """Whether the array has an operand turned: A by columns where it is held, or moves right past held B."""
    return name == "a" and array.dataflow in ("ws", "is")


def operand(name: str, values: Words, marks: Words, shape: Place, turned: bool) -> dict[str, Any]:
    """Registers of an operand: of several wires or parts, the words add up."""
    most = marks.max(axis=0)
    told: dict[str, Any] = {"operand": name, "values": [], "elements": []}
    words = values[0] if len(values) == 1 else values.sum(axis=0)
    for marks_of_row, words_of_row in zip(most.tolist(), words.tolist(), strict=True):
        elements = [None if mark == 0 else divmod(mark - 1, shape[1]) for mark in marks_of_row]
        pairs = zip(elements, words_of_row, strict=True)
        told["elements"].append([None if each is None else list(each[::-1] if turned else each) for each in elements])
        told["values"].append([None if each is None else number(word) for each, word in pairs])
    return told


def sums(array: Array, values: Words, places: dict[Place, Place]) -> dict[str, Any]:
    """Registers of sums, by the element of D that each is on its way to."""
    pes = [[(i, j) for j in range(array.cols)] for i in range(array.rows)]
    return {
        "operand": "c",
        "values": [[number(values[pe].item()) if pe in places else None for pe in row] for row in pes],
        "elements": [[list(places[pe]) if pe in places else None for pe in row] for row in pes],
    }


def element(array: Array, across: int, along: int) -> Place:
    """The element of D at those places of the array's two sides that D has."""
    return (along, across) if array.dataflow == "ws" else (across, along)


def sums_at(array: Array, load: Load, table: Any, t: int) -> Iterator[tuple[Place, Place]]:
    """(PE, element of D) of every register of sums in use after cycle t."""
    passes = load.told.passes
    for row in near(array, load, table, t):
        end = row[START] + passes * row[LENGTH]
        for i in range(array.rows):
            for j in range(int(row[COLS])):
                wave = t - i - j
                if array.moves_sums and row[START] <= wave < end:
                    word = row[FIRST] + (wave - row[START]) // passes
                    yield (i, j), element(array, int(row[COL] + j), int(word))
                elif not array.moves_sums and array.drain == "bottom" and t - j >= end + row[TALL] - 1:
                    source = i - (t - j - (end + row[TALL] - 1)) - 1
                    if 0 <= source < row[ROWS]:
                        yield (i, j), (int(row[ROW] + source), int(row[COL] + j))
                elif not array.moves_sums and i < row[ROWS] and row[START] <= wave:
                    if array.drain != "bottom" and wave >= end - 1:
                        continue  # it has gone to the bus, or behind
                    yield (i, j), (int(row[ROW] + i), int(row[COL] + j))


def behind_at(array: Array, load: Load, table: Any, t: int) -> Iterator[tuple[Place, Place]]:
    """(PE, element of D) of every shadow register that holds a result after cycle t."""
    for row in near(array, load, table, t):
        end = row[START] + load.told.passes * row[LENGTH]
        for j in range(int(row[COLS])):
            moved = max(0, t - j - (end + row[TALL] - 1) + 1)
            for source in range(int(row[ROWS])):
                if t >= end - 1 + source + j and source + moved < array.rows:
                    yield (source + moved, j), (int(row[ROW] + source), int(row[COL] + j))


def leaving(array: Array, load: Load, table: Any, machine: Any, t: int) -> Iterator[dict[str, Any]]:
    """The words that leave the array in cycle t: partial sums as they come, results as they are then."""
    passes = load.told.passes
    for row in near(array, load, table, t):
        end = row[START] + passes * row[LENGTH]
        for j in range(int(row[COLS])):
            if array.moves_sums:
                step = t - (array.rows - 1) - j - row[START]
                if 0 <= step < passes * row[LENGTH]:
                    place = element(array, int(row[COL] + j), int(row[FIRST] + step // passes))
                    yield left(array.rows - 1, j, place, machine.sums[-1, j], bool(row[CLOSES]))
                continue
            side = array.drain == "side"
            source = int(t - j - (end - 1) if side else array.rows - 1 - (t - j - (end + row[TALL] - 1)))
            if 0 <= source < row[ROWS]:
                place = (int(row[ROW] + source), int(row[COL] + j))
                yield left(source if side else array.rows - 1, j, place, machine.out[place], True)


def left(row: int, col: int, place: Place, value: Any, final: bool) -> dict[str, Any]:
    """A word that leaves the PE at that row and column."""
    return {"row": row, "col": col, "element": list(place), "value": number(value.item()), "final": final}


def near(array: Array, load: Load, table: Any, t: int) -> Any:
    """The tiles of which something is in the array."""
    past = table[:, START] + load.told.passes * table[:, LENGTH] + 2 * array.rows + array.cols
    return table[(table[:, START] <= t) & (t < past)]


def number(value: Any) -> int | float | str:
    """A word as JSON has it; what is not finite as text."""
    if isinstance(value, int):
        return value
    value = float(value)
    return value if math.isfinite(value) else str(value)
