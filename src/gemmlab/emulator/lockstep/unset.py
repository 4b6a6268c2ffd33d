"""Variables that some thread may read before it has set them: they hold zero then, in every block alike."""

from __future__ import annotations

from gemmlab.emulator import program as p
from gemmlab.emulator.lockstep.linear import variables

Chain = tuple[int, ...]


def perhaps_unset(body: tuple[p.Stmt, ...]) -> set[str]:
    """Variables whose first setting does not stand before, and around or beside, all that reads them."""
    first: dict[str, Chain] = {}
    unsure: set[str] = set()
    look(body, (), first, unsure)
    return unsure


def look(body: tuple[p.Stmt, ...], chain: Chain, first: dict[str, Chain], unsure: set[str]) -> None:
    """Follow a body in the order of its text; `chain` says in which bodies it stands."""
    for place, statement in enumerate(body):
        for expression in p.expressions(statement):
            for name in variables(expression):
                home = first.get(name)
                if home is None or chain[: len(home)] != home:
                    unsure.add(name)
        given = getattr(statement, "name", None)
        loop = isinstance(statement, p.For)
        if given and not loop:
            first.setdefault(str(given), chain)
        for number, part in enumerate(p.parts(statement)):
            inner = (*chain, place, number)
            if given and loop:
                first.setdefault(str(given), inner)
            look(part, inner, first, unsure)
