"""Statements of a kernel, with the conversions numba makes where ways through it meet."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gemmlab.emulator.reference import rules
from gemmlab.emulator.reference.expressions import Expressions, is_product, single_return
from gemmlab.emulator.reference.kinds import ArrayKind, Kind, Names, Static, TupleKind, joined, merged
from gemmlab.emulator.reference.translation import THREAD, Translation
from gemmlab.emulator.source import Source

Body = list[ast.stmt]


@dataclass(slots=True)
class Loop:
    """A loop being translated: kinds of names where a round begins and where the loop is left, as known so far."""

    head: Names
    exit: Names
    again: list[Names] = field(default_factory=list)  #: at each `continue` and at the body's end
    left: list[Names] = field(default_factory=list)  #: at each `break`


def translate(
    program: Translation, source: Source, name: str, kinds: tuple[Kind, ...], given: frozenset[str]
) -> tuple[ast.FunctionDef, Kind]:
    """One function as a generator, and the kind of what it returns; `given` names arguments that are products."""
    result: Kind = None
    while True:
        statements = Statements(program, source, kinds, given, result)
        body = statements.block(source.tree.body)
        if statements.env is not None:
            statements.returned(Static(None))
        if statements.result == result:
            break
        result = statements.result
    parameters = [ast.arg(THREAD), *(ast.arg(a.arg) for a in source.tree.args.args)]
    # a generator even where it never waits
    tail: Body = [ast.Return(), ast.Expr(ast.Yield())]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    return ast.FunctionDef(name, arguments, [*body, *tail], [], None, None, lineno=1), result or Static(None)


class Statements(Expressions):
    """Translates the statements of one function; `env` is None where control does not get to."""

    def __init__(
        self, program: Translation, source: Source, kinds: tuple[Kind, ...], given: frozenset[str], result: Kind
    ) -> None:
        super().__init__(program, source)
        tree = source.tree
        if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs:
            raise self.refused(tree, "takes `*args`, `**kwargs` or keyword-only arguments", "name each argument")
        self.env = dict(zip((a.arg for a in tree.args.args), kinds, strict=True))
        self.given = given
        self.result = result
        self.loops: list[Loop] = []
        named = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        self.loads = Counter(node.id for node in named if isinstance(node.ctx, ast.Load))
        self.stores = Counter(node.id for node in named if isinstance(node.ctx, ast.Store))
        for node in ast.walk(tree):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self.loads[node.target.id] += 1

    def block(self, body: list[ast.stmt]) -> Body:
        """Statements in order, up to one that control does not go on from."""
        made: Body = []
        once = {name for name in self.given if self.loads[name] == 1 and not self.stores[name]}
        self.products = once if body is self.source.tree.body and single_return(self.source.tree) else set()
        for statement in body:
            if self.env is None:
                break
            self.row = ("assign", self.place(statement), None)
            handler = getattr(self, f"_on_{type(statement).__name__.lower()}", None)
            if handler is None:
                raise self.refused(statement, f"`{ast.unparse(statement).splitlines()[0]}` is not in the dialect", "")
            made += handler(statement)
        self.products = set()
        return made

    # names and memory take values

    def _on_pass(self, _: ast.Pass) -> Body:
        return [ast.Pass()]

    def _on_expr(self, node: ast.Expr) -> Body:
        if isinstance(node.value, ast.Constant):
            return []
        return [ast.Expr(self.expression(node.value)[0])]

    def _on_assign(self, node: ast.Assign) -> Body:
        self.target = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        stored = [target for target in node.targets if isinstance(target, ast.Subscript)]
        if stored:
            self.row = ("store", self.place(node), self.array_of(stored[0]))
        value, kind = self.value(node.value)
        made: Body = []
        if len(node.targets) > 1 or isinstance(node.targets[0], ast.Tuple):
            made.append(ast.Assign([ast.Name("@value", ast.Store())], value, lineno=1))
            value = ast.Name("@value", ast.Load())
        for target in node.targets:
            made += self.assign(target, value, kind)
        if len(node.targets) == 1:
            self.held(node.targets[0], node.value)
        return made

    def held(self, target: ast.expr, value: ast.expr) -> None:
        """Remember a name that holds a product which is read once."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for name, part in zip(target.elts, value.elts, strict=True):
                self.held(name, part)
        elif (
            isinstance(target, ast.Name) and is_product(value) and self.stores[target.id] == self.loads[target.id] == 1
        ):
            self.products.add(target.id)

    def _on_annassign(self, node: ast.AnnAssign) -> Body:
        if node.value is None:
            return []
        return self._on_assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def assign(self, target: ast.expr, value: ast.expr, kind: Kind) -> Body:
        """A name, an element or a tuple of them takes a value."""
        assert self.env is not None
        if isinstance(target, ast.Name):
            self.env[target.id] = kind
            return [ast.Assign([ast.Name(target.id, ast.Store())], value, lineno=1)]
        if isinstance(target, ast.Subscript):
            return [ast.Expr(self.store(target, value, kind))]
        if isinstance(target, ast.Tuple) and isinstance(kind, TupleKind) and len(target.elts) == len(kind.items):
            made: Body = []
            for i, (part, of) in enumerate(zip(target.elts, kind.items, strict=True)):
                made += self.assign(part, ast.Subscript(value, ast.Constant(i), ast.Load()), of)
            return made
        raise self.refused(target, f"`{ast.unparse(target)}` cannot take that value", "assign to names and elements")

    def _on_augassign(self, node: ast.AugAssign) -> Body:
        if isinstance(node.target, ast.Name):
            read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            value, kind = self.combined(node, node.op, read, node.value, self.value(read))
            return self.assign(node.target, value, kind)
        if not isinstance(node.target, ast.Subscript):
            raise self.refused(node, f"`{ast.unparse(node)}` is not in the dialect", "assign to names and elements")
        self.row = ("store", self.place(node), self.array_of(node.target))
        array, element, index = self.element(node.target, "load")
        held = ast.Name("@index", ast.Load())
        made: Body = [ast.Assign([ast.Name("@index", ast.Store())], index, lineno=1)]
        old = self.load_call(node.target, array, held), element
        value, kind = self.combined(node, node.op, node.target, node.value, old)
        number = self.number("store", node.target)
        made.append(ast.Expr(self.method("store", number, array, held, self.as_kind(value, kind, element))))
        return made

    # ways part and meet

    def _on_if(self, node: ast.If) -> Body:
        assert self.env is not None
        place = self.place(node)
        fixed = self.decided(node.test)
        if fixed is not None:
            return self.block(node.body if fixed else node.orelse) or [ast.Pass()]
        self.row = ("if", place, None)
        condition = self.truth(node.test)
        test = self.method("test", self.program.node("if", place), condition)
        before = dict(self.env)
        then, after_then = self.block(node.body), self.env
        self.env = before
        orelse, after_else = self.block(node.orelse), self.env
        self.env = merged((after_then, after_else))
        if self.env is not None:
            then += self.conversions(after_then, self.env)
            orelse += self.conversions(after_else, self.env)
        return [ast.If(test, then or [ast.Pass()], orelse)]

    def _on_while(self, node: ast.While) -> Body:
        place = self.place(node)
        loop = self.program.node("while", place)
        begin, again = self.method("begin", loop), self.method("round", loop)

        def pieces() -> tuple[Body, ast.expr]:
            self.row = ("while", place, None)
            condition = self.truth(node.test)
            test = self.method("test", self.program.node("while", place), condition)
            return self.block(node.body), ast.BoolOp(ast.And(), [again, test])

        before, body, test, after = self.loop(node, pieces)
        # `while True` is left by `break` only
        if isinstance(node.test, ast.Constant) and node.test.value:
            after = []
        return [ast.Expr(begin), *before, ast.While(test, body, after)]

    def _on_for(self, node: ast.For) -> Body:
        call = node.iter
        if not (isinstance(call, ast.Call) and self.expression(call.func)[1] == Static(range) and not call.keywords):
            raise self.refused(node, f"`for` goes over `{ast.unparse(call)}`", "write `for name in range(...)`")
        if not isinstance(node.target, ast.Name):
            raise self.refused(node, f"`for` assigns `{ast.unparse(node.target)}`", "write `for name in range(...)`")
        name, place = node.target.id, self.place(node)
        self.row = ("for", place, None)
        bounds = [self.value(argument) for argument in call.args]
        found = rules.signature(range, *(kind for _, kind in bounds))
        if found is None:
            raise self.refused(call, f"`{ast.unparse(call)}` is not a range of whole numbers", "convert with int()")
        kind = found.return_type.dtype
        values = [self.as_kind(value, of, kind) for value, of in bounds]
        loop, test = self.program.node("for", place), self.program.node("for", place)
        start, stop = (ast.Constant(0), values[0]) if len(values) == 1 else (values[0], values[1])
        step = values[2] if len(values) > 2 else ast.Constant(1)
        wrap = self.program.object(rules.dtype(kind).type)
        rounds = self.method("rounds", loop, ast.Constant(test), start, stop, step, wrap)

        def pieces() -> tuple[Body, ast.expr]:
            assert self.env is not None
            self.env[name] = kind
            return self.block(node.body), rounds

        before, body, rounds, after = self.loop(node, pieces, name, kind)
        return [*before, ast.For(ast.Name(name, ast.Store()), rounds, body, after, lineno=1)]

    def loop(self, node: Any, pieces: Any, target: str = "", kind: Kind = None) -> tuple[Body, Body, ast.expr, Body]:
        """Conversions before a loop, its body, its test or range, and conversions behind it.

        The body is translated again until the kinds at its head and at its exit no longer change.
        """
        if node.orelse:
            raise self.refused(
                node, "a loop has an `else`", "set a variable before `break` and test it behind the loop"
            )
        assert self.env is not None
        entry = dict(self.env)
        head, leave = entry, entry
        while True:
            current = Loop(head, leave)
            self.loops.append(current)
            self.env, self.depth = dict(head), self.depth + 1
            body, test = pieces()
            self.depth -= 1
            self.loops.pop()
            if self.env is not None:
                current.again.append(self.env)
                body += self.conversions(self.env, head)
            end = dict(head)
            if target and target not in end:
                end[target] = kind
            endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value
            new_head = merged([head, *current.again]) or {}
            new_exit = merged(current.left if endless else [end, *current.left])
            if new_head == head and (new_exit or leave) == leave:
                break
            head, leave = new_head, new_exit or leave
        self.env = new_exit
        return self.conversions(entry, head), body or [ast.Pass()], test, self.conversions(end, leave)

    def _on_break(self, _: ast.Break) -> Body:
        assert self.env is not None
        loop = self.loops[-1]
        loop.left.append(self.env)
        made = self.conversions(self.env, loop.exit)
        self.env = None
        return [*made, ast.Break()]

    def _on_continue(self, _: ast.Continue) -> Body:
        assert self.env is not None
        loop = self.loops[-1]
        loop.again.append(self.env)
        made = self.conversions(self.env, loop.head)
        self.env = None
        return [*made, ast.Continue()]

    def _on_return(self, node: ast.Return) -> Body:
        value, kind = self.value(node.value) if node.value else (None, Static(None))
        self.returned(kind)
        self.env = None
        return [ast.Return(value if value is None else self.as_kind(value, kind, self.result))]

    def returned(self, kind: Kind) -> None:
        """One more way out of the function, with a value of that kind."""
        self.result = kind if self.result is None else joined(self.result, kind)
        if self.result is None:
            raise self.refused(self.source.tree, "returns values of different kinds", "return one type everywhere")

    def conversions(self, have: Names | None, want: Names) -> Body:
        """Statements that give names the kinds they have where ways meet."""
        made: Body = []
        for name, kind in (have or {}).items():
            wanted = want.get(name, kind)
            if wanted != kind and not isinstance(kind, ArrayKind | Static):
                value = self.as_kind(ast.Name(name, ast.Load()), kind, wanted)
                made.append(ast.Assign([ast.Name(name, ast.Store())], value, lineno=1))
        return made
