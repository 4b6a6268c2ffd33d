"""The order of a sum as a tree: leaves added at once are siblings, `c` is the addend.

The tree is measured as FPRev does (Xie et al., USENIX ATC 2025): of +M at i and -M at j, the small terms that are lost
are those under the lowest node that has both i and j below it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gemmlab import formats
from gemmlab.numerics.behaviour import Unit, groups
from gemmlab.numerics.probing.backend import Backend, Emulated, Row, takes_no_c
from gemmlab.numerics.probing.numbers import Numbers
from gemmlab.numerics.probing.structure import ADDEND, Places, triple
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError

Tree = int | list["Tree"]  #: a leaf's k, -1 for C, or what a node adds

ROOM = 48  # powers of two between M and u from which many u can be asked about at once


def tree(
    mma: Callable[..., Any] | Unit | str,
    a_format: str | None = None,
    b_format: str | None = None,
    *,
    accumulate: str = "float32",
    k: int = 32,
) -> Tree:
    """The order in which `mma` adds k products and C: nested lists of k, C being -1.

    Callables as `reveal` takes them. What is added at once and exactly, so that nothing is ever lost, is one node.
    Raises GemmlabError where the formats' range is too small for anything to be lost.
    """
    if isinstance(mma, Unit | str):
        known = named(mma)
        a_format = a_format or known.a_formats[0]
        b_format = b_format or (a_format if a_format in known.b_formats else known.b_formats[0])
        mma, accumulate = Emulated(known, a_format, b_format), known.accumulate
    if a_format is None:
        raise GemmlabError("no operand format was said", "tree(mma, 'float16')")
    backend = Backend(mma, a_format, b_format or a_format, accumulate, None, takes_no_c(mma))
    numbers = Numbers(a_format, b_format or a_format, accumulate, subnormals=False)
    leaves = list(range(0 if backend.hidden else ADDEND, k))
    lost = np.zeros((k + 1, k + 1), np.int64)
    pairs = [(i, j) for at, i in enumerate(leaves) for j in leaves[at + 1 :]]
    counted = numbers.top - numbers.bottom >= ROOM + k.bit_length()
    gone = (many if counted else single)(backend, numbers, leaves, pairs)
    for (i, j), count in zip(pairs, gone.tolist(), strict=True):
        lost[i, j] = lost[j, i] = count
    if not lost.any():
        raise GemmlabError(f"{numbers.said()}: nothing is lost in a sum of {k}", "a format of wider range")
    return grown(leaves, lost)


def many(backend: Backend, numbers: Numbers, leaves: list[int], pairs: list[tuple[int, int]]) -> Places:
    """How many small terms each pair of large ones loses, all small terms asked about at once."""
    small, high = numbers.product(1.0, numbers.bottom), numbers.product(1.0, numbers.top)
    low = numbers.product(-1.0, numbers.top)
    assert small is not None
    assert high is not None
    assert low is not None
    rows = []
    for i, j in pairs:
        slots = {at: small for at in leaves if at != ADDEND}
        c = 0 if backend.hidden else numbers.addend(1.0, numbers.bottom) or 0
        for place, pair, sign in ((i, high, 1.0), (j, low, -1.0)):
            if place == ADDEND:
                c = numbers.addend(sign, numbers.top) or 0
            else:
                slots[place] = pair
        rows.append(Row(slots, c))
    d = formats.decode_array(backend.pairs(backend.rows(rows, len(leaves))), backend.accumulate)
    return np.asarray(len(leaves) - 2 - np.ldexp(d, -numbers.bottom)).astype(np.int64)


def single(backend: Backend, numbers: Numbers, leaves: list[int], pairs: list[tuple[int, int]]) -> Places:
    """The same, every small term asked about by itself: for formats of little range."""
    unit = numbers.addend(1.0, numbers.bottom)
    found = []
    for i, j in pairs:
        rows = [triple(numbers, i, j, x) for x in leaves if x not in (i, j)]
        d = backend.pairs(backend.rows(rows, max(leaves) + 1))
        found.append(int((d != unit).sum()))
    return np.array(found, np.int64)


def grown(leaves: list[int], lost: Places) -> Tree:
    """The tree of some leaves, from how much each pair of them loses."""
    first = leaves[0]
    made: Tree = first
    levels: dict[int, list[int]] = {}
    for leaf in leaves[1:]:
        levels.setdefault(int(lost[first, leaf]), []).append(leaf)
    for level in sorted(levels):
        rest = levels[level]
        children: list[Tree] = [made]
        while rest:
            one = rest[0]
            below = [leaf for leaf in rest if leaf == one or lost[one, leaf] < level]
            rest = [leaf for leaf in rest if leaf not in below]
            # Terms that lose nothing between them were added at once and exactly, with whatever else is there.
            exact = len(below) > 2 and not lost[np.ix_(below, below)].any()
            children += below if exact else [grown(below, lost)]
        made = children
    return made


def nested(unit: Unit, k: int = 0) -> str:
    """The order of a unit's own sums over k products (two instructions, unless given), as text."""
    made: Tree = ADDEND
    for start in range(0, k or 2 * unit.k, unit.k):
        lanes = [groups(unit)]
        if unit.order == "parity" and unit.c != "floor":
            half = len(lanes[0]) // 2
            lanes = [lanes[0][:half], lanes[0][half:]]
        late = unit.c == "late"
        parts: list[Tree] = []
        for lane in lanes:
            running: Tree | None = None if late else made
            for ks in lane:
                leaves: list[Tree] = [start + at for at in ks]
                if unit.sum == "pairs":
                    while len(leaves) > 1:
                        leaves = [[x, y] for x, y in zip(leaves[::2], leaves[1::2], strict=True)]
                running = [*([] if running is None else [running]), *leaves] if len(leaves) > 1 or running is not None \
                    else leaves[0]  # fmt: skip
            assert running is not None
            parts.append(running)
        whole: Tree = parts[0] if len(parts) == 1 else list(parts)
        made = [made, whole] if late else whole
    return text(made)


def text(node: Tree) -> str:
    """A tree as text: `(x y)` are added at once, `0..7` is eight leaves, `[0 > 2 > 4]` are added one after another."""
    if isinstance(node, int):
        return "c" if node == ADDEND else str(node)
    chain: list[Tree] = []
    inner: Tree = node
    while isinstance(inner, list) and len(inner) == 2 and isinstance(inner[1], int):
        chain.insert(0, inner[1])
        inner = inner[0]
    if len(chain) > 2:
        parts = [text(inner), *map(text, chain)]
        return f"[{' > '.join(parts if len(parts) < 8 else [*parts[:4], '..', parts[-1]])}]"
    parts = []
    run: list[int] = []
    for child in [*node, None]:
        if isinstance(child, int) and child != ADDEND and (not run or child == run[-1] + 1):
            run.append(child)
            continue
        if run:
            parts.append(f"{run[0]}..{run[-1]}" if len(run) > 2 else " ".join(map(str, run)))
            run = []
        if isinstance(child, int) and child != ADDEND:
            run = [child]
        elif child is not None:
            parts.append(text(child))
    return f"({' '.join(parts)})"


__all__ = ["Tree", "nested", "text", "tree"]
