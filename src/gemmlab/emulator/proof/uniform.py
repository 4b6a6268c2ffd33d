"""Variables that all threads of a block hold alike, round by round."""

from __future__ import annotations

from gemmlab.emulator.program import (
    Assign,
    Atomic,
    Barrier,
    Break,
    Continue,
    Expr,
    For,
    If,
    Leave,
    Load,
    Program,
    Return,
    Scope,
    Special,
    Stmt,
    Var,
    WarpOp,
    While,
    expressions,
    parts,
    subexpressions,
    walk,
)


def assigned(body: tuple[Stmt, ...]) -> set[str]:
    """Variables that statements give values to."""
    return {name for s in walk(body) if isinstance(name := getattr(s, "name", None), str)}


def varies(expression: Expr, names: frozenset[str]) -> bool:
    """Whether threads of a block may see different values of it."""
    for part in subexpressions(expression):
        if isinstance(part, Var) and part.name in names:
            return True
        if isinstance(part, Special) and (part.name == "laneid" or part.name.startswith("threadIdx")):
            return True
    return False


def uniform_names(program: Program) -> frozenset[str]:
    """Variables that never differ between threads of a block in the same rounds of all loops."""
    varying: frozenset[str] = frozenset()
    while True:
        found = varying | varying_in(program.body, varying, False)
        if found == varying:
            return frozenset(program.variables) - varying
        varying = found


def varying_in(body: tuple[Stmt, ...], names: frozenset[str], parted: bool) -> frozenset[str]:
    """Variables found to vary, given those that do; `parted` where threads may be here without others."""
    found: set[str] = set()
    for s in body:
        name = getattr(s, "name", None)
        differs = any(varies(x, names) for x in expressions(s))
        match s:
            case Load() | Atomic() | WarpOp() if name is not None:
                found.add(name)
            case Assign() | For() | Barrier() if name is not None and (parted or differs):
                found.add(name)
        if isinstance(s, For | While | Scope) and leaves_apart(s, names):
            found |= assigned((s,))
        apart = parted or (differs and isinstance(s, If | For | While))
        for part in parts(s):
            found |= varying_in(part, names, apart)
    return frozenset(found)


def leaves_apart(loop: Stmt, names: frozenset[str]) -> bool:
    """Whether threads may leave a loop, a round of it, or an inlined function one by one."""
    return any(
        isinstance(inner, Break | Continue | Return | Leave)
        for s in walk((loop,))
        if isinstance(s, If | While | For) and s is not loop and any(varies(x, names) for x in expressions(s))
        for inner in walk((s,))
    )
