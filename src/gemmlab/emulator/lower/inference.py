"""Types of all variables of a draft, by going round until nothing changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from gemmlab.emulator.lower import types
from gemmlab.emulator.lower.draft import Draft, line_spot
from gemmlab.emulator.lower.intrinsics import VOTES, shuffled
from gemmlab.emulator.lower.operations import MistypedError, UnknownTypeError, test, typed
from gemmlab.emulator.lower.refusals import refusal
from gemmlab.emulator.lower.webs import Version, Webs
from gemmlab.emulator.program import Assign, Atomic, Barrier, Expr, For, If, Load, Stmt, WarpOp, While
from gemmlab.record import GemmlabError

_VOTES = dict(VOTES.values())


@dataclass(slots=True)
class Types:
    """The type of each version, once it is known."""

    draft: Draft
    webs: Webs
    of: dict[int, str] = field(default_factory=dict)  #: by id of the version

    def seen_by(self, statement: Stmt, name: str) -> str | None:
        """The type of a variable as a statement reads it."""
        return self.of.get(id(self.webs.seen[id(statement), name]))

    def expression(self, statement: Stmt, x: Expr) -> Expr:
        """One of a statement's expressions, with its types."""
        try:
            return typed(x, lambda name: self.seen_by(statement, name))
        except MistypedError as wrong:
            raise mistyped(self.draft, statement, wrong.why, wrong.hint) from None

    def condition(self, statement: If | While) -> Expr:
        """A statement's test, typed."""
        return test(statement.condition, lambda name: self.seen_by(statement, name))

    def value(self, statement: Stmt) -> str:
        """The type of what a statement assigns."""
        match statement:
            case Assign():
                return self.expression(statement, statement.value).type
            case Load() | Atomic():
                return self.draft.arrays[statement.array].type
            case For():
                return self.counter(statement)
            case WarpOp(kind=kind, value=value) if kind.startswith("shfl") and value is not None:
                return shuffled(self.expression(statement, value).type)
            case WarpOp(kind="activemask"):
                return "uint32"
            case WarpOp():
                return _VOTES[statement.kind]
            case Barrier():
                return "int32"
        raise AssertionError(statement)

    def counter(self, statement: For) -> str:
        """The type of a loop's variable, from the bounds that its range was given."""
        given = self.draft.bounds[statement.site]
        bounds = (
            (statement.stop,),
            (statement.start, statement.stop),
            (statement.start, statement.stop, statement.step),
        )
        kinds = [self.expression(statement, bound).type for bound in bounds[given - 1]]
        kind = types.counting(*kinds)
        if kind is None:
            raise mistyped(
                self.draft, statement, f"counts with {', '.join(kinds)}", "give range whole numbers: int(x), x // y"
            )
        return kind


def mistyped(draft: Draft, statement: Stmt, why: str, hint: str) -> GemmlabError:
    """The error for a statement whose types do not fit."""
    return refusal(line_spot(draft, draft.sites[statement.site].line), hint, why)


def infer(draft: Draft, webs: Webs) -> Types:
    """The types of all versions, the least that agree with numba's rules.

    Raises GemmlabError where a variable is used before any assignment, or an operation has no form for its types.
    """
    for statement, name in webs.missing:
        raise mistyped(draft, statement, f"uses `{name.rpartition('.')[2]}` before it has a value", "assign it before")
    found = Types(draft, webs)
    changed = True
    while changed:
        changed = False
        for version in webs.versions:
            kind = _kind(found, version)
            before = found.of.get(id(version))
            if kind is not None and before is not None:
                kind = types.meeting(before, kind)
            if kind is not None and kind != before:
                found.of[id(version)] = kind
                changed = True
    return found


def _kind(found: Types, version: Version) -> str | None:
    """What is known of one version's type so far."""
    if version.statement is not None:
        try:
            return found.value(version.statement)
        except UnknownTypeError:
            return None
    if not version.needed:
        return None
    kinds = [found.of[id(met)] for met in version.meets if id(met) in found.of]
    if not kinds:
        return None
    kind = kinds[0]
    for other in kinds[1:]:
        kind = types.meeting(kind, other)
    return kind
