"""Float operations of each statement, and which of them a multiplier and an adder do as one.

Each float add, sub, mul, truediv, floordiv, mod, pow and function of math counts 1; negation, min, max, abs, casts and
comparisons count 0. An add or sub of which one operand is a product of its own type is an fma: 2 FLOP with its product.
The product stands in the same expression; or it is a variable's only value, assigned before in the same body with no
branch, loop or scope between, and read nowhere else. A name of the source is one variable, whatever types it takes in
turn. Both sides of a choice without memory access are computed, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gemmlab.emulator.lower.types import is_float
from gemmlab.emulator.lower.webs import assigns
from gemmlab.emulator.program import (
    Array,
    Assign,
    Binary,
    Call,
    Expr,
    For,
    If,
    Scope,
    Site,
    Stmt,
    Var,
    While,
    expressions,
    parts,
    subexpressions,
    walk,
)

_COUNTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_FREE = ("abs", "popc", "clz", "ffs", "brev")


@dataclass(frozen=True, slots=True)
class _Uses:
    """How often each name of the source is assigned and read in the whole program."""

    names: Mapping[str, str]  #: of the source, by the program's variable: one for each type that a name takes
    assigned: Counter[str]
    read: Counter[str]

    def once(self, variable: str) -> bool:
        """Whether the variable's name takes one value, and that is read once."""
        name = self.names[variable]
        return self.assigned[name] == self.read[name] == 1


def counted(
    body: tuple[Stmt, ...], arrays: dict[str, Array], sites: list[Site], names: Mapping[str, str]
) -> tuple[Site, ...]:
    """The sites with their flop and fma; `names` are the source's, by the program's variable."""
    assigned = [name for statement in walk(body) if (name := assigns(statement)) is not None]
    read = [name for statement in walk(body) for x in expressions(statement) for name in _variables(x)]
    read += [name for array in arrays.values() for x in (*array.extents, array.offset) for name in _variables(x)]
    done = list(sites)
    _body(body, _Uses(names, *(Counter(names[each] for each in some) for some in (assigned, read))), done)
    return tuple(done)


def _variables(x: Expr) -> list[str]:
    return [part.name for part in subexpressions(x) if isinstance(part, Var)]


def _body(body: tuple[Stmt, ...], uses: _Uses, sites: list[Site]) -> None:
    products: dict[str, str] = {}  #: variables that hold a product and nothing else, and its type
    for statement in body:
        flop = fma = 0
        for x in expressions(statement):
            more_flop, more_fma = _expression(x, products)
            flop, fma = flop + more_flop, fma + more_fma
        sites[statement.site] = replace(sites[statement.site], flop=flop, fma=fma)
        for part in parts(statement):
            _body(part, uses, sites)
        if isinstance(statement, If | For | While | Scope):
            products.clear()
        elif isinstance(statement, Assign):
            name = statement.name
            if _is_product(statement.value, {}, statement.value.type) and uses.once(name):
                products[name] = statement.value.type


def _is_product(x: Expr, products: dict[str, str], kind: str) -> bool:
    if isinstance(x, Var):
        return products.get(x.name) == kind
    return isinstance(x, Binary) and x.op == "mul" and x.type == kind and is_float(kind)


def _expression(x: Expr, products: dict[str, str]) -> tuple[int, int]:
    """FLOP and fma of one evaluation."""
    flop = fma = 0
    for part in subexpressions(x):
        match part:
            case Call(name="fma"):
                flop, fma = flop + 2, fma + 1
            case Call(type=kind, name=name, args=args):
                flop += name not in _FREE and is_float(kind if kind != "bool" else args[0].type) and kind != "bool"
            case Binary(type=kind, op=op) if is_float(kind) and op in _COUNTED:
                flop += 1
                if op in ("add", "sub"):
                    fma += _is_product(part.x, products, kind) or _is_product(part.y, products, kind)
    return flop, fma
