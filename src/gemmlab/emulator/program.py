"""The checked, typed program of one kernel: what every compiled form, every proof and every listing starts from.

Statements are in plain order and each does one thing: memory is read by `Load` into a private variable, never inside an
expression, so expressions are pure. Variables are private scalars of a thread; one that Python code uses for values of
two types is two variables here. Device functions stand inlined. All types are named as numpy names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# --- expressions: pure, one value a thread -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A literal, or a global of the kernel's module, of that type."""

    type: str
    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Var:
    """A private variable of the thread, as it stands."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """`threadIdx.x`, `blockIdx.y`, `blockDim.z`, `gridDim.x` (int32) or `laneid` (int32)."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Param:
    """A scalar argument of the launch."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Extent:
    """Elements of an array along one axis, as `a.shape[axis]` gives them; int64."""

    array: str
    axis: int
    type: str = "int64"


@dataclass(frozen=True, slots=True)
class Unary:
    """`neg`, `invert` or `not`."""

    type: str
    op: str
    x: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """`add sub mul truediv floordiv mod pow lshift rshift and or xor min max`; both operands are of `type`."""

    type: str
    op: str
    x: Expr
    y: Expr


@dataclass(frozen=True, slots=True)
class Compare:
    """`lt le gt ge eq ne`; both operands are of one type."""

    op: str
    x: Expr
    y: Expr
    type: str = "bool"


@dataclass(frozen=True, slots=True)
class Logic:
    """`and` or `or` of two bools; both sides are pure, so that both may be evaluated."""

    op: str
    x: Expr
    y: Expr
    type: str = "bool"


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion between scalar types, as C converts."""

    type: str
    x: Expr


@dataclass(frozen=True, slots=True)
class Select:
    """`x if condition else y`; both are pure and of `type`."""

    type: str
    condition: Expr
    x: Expr
    y: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `math`, or `fma popc clz ffs brev abs`; arguments are of the types the function takes."""

    type: str
    name: str
    args: tuple[Expr, ...]


Expr = Const | Var | Special | Param | Extent | Unary | Binary | Compare | Logic | Cast | Select | Call

# --- statements --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source: the file's number in `Program.files`, then the line in it, from 1."""

    file: int
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """A private variable takes a value."""

    site: int
    name: str
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """`name = array[index]`. A negative index counts once from the end, as in numba; out of range gives zero."""

    site: int
    name: str
    array: str
    index: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """`array[index] = value`, the value already of the array's type; out of range does nothing."""

    site: int
    array: str
    index: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Atomic:
    """`name = atomic op(array, index, value)`: `add sub max min and or xor exch cas`; `name` gets the old value.

    `compare` is cas's expected value, else None.
    """

    site: int
    name: str | None
    op: str
    array: str
    index: tuple[Expr, ...]
    value: Expr
    compare: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """All threads of the block wait for each other: `sync`, or `count and or` of a predicate (int32) into `name`."""

    site: int
    kind: str
    name: str | None = None
    predicate: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WarpOp:
    """Lanes of a warp exchange: `syncwarp`, `shfl shfl_up shfl_down shfl_xor` (`value` from the lane that `lane` and

    the kind name, its own where that lane is out of the warp), `ballot any all eq` (of `value`), `activemask`.
    `mask` is the member mask, None for activemask.
    """

    site: int
    kind: str
    name: str | None
    mask: Expr | None
    value: Expr | None = None
    lane: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Threads whose condition holds take `then`, the others `orelse`; all meet behind it."""

    site: int
    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """`for name in range(start, stop, step)`: int64 bounds taken once at entry; the body may assign `name` freely."""

    site: int
    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """Each round: run `before`, leave where the condition does not hold, run `body`."""

    site: int
    before: tuple[Stmt, ...]
    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """Leave the innermost loop."""

    site: int


@dataclass(frozen=True, slots=True, eq=False)
class Continue:
    """Go on with the innermost loop's next round."""

    site: int


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """The thread ends."""

    site: int


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """An inlined device function's body; `Leave` inside goes to its end."""

    site: int
    label: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Leave:
    """A device function's return: go to the end of the innermost enclosing Scope of that label."""

    site: int
    label: int


Stmt = Assign | Load | Store | Atomic | Barrier | WarpOp | If | For | While | Break | Continue | Return | Scope | Leave

# --- the whole ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of the kernel as it was called: an array of `ndim` axes, or a scalar where ndim is None."""

    name: str
    type: str
    ndim: int | None


@dataclass(frozen=True, slots=True)
class Array:
    """An array as the program names it.

    `space` is global, shared, dynamic (shared, its bytes given at launch), local, or view. A view starts `offset`
    elements into the one-dimensional array `base`, which is no view. `extents` are elements along each axis:
    Extent of itself where they are known at launch only. Row-major, except global arrays, whose strides are theirs.
    """

    name: str
    space: str
    type: str
    extents: tuple[Expr, ...]
    line: Line
    base: str = ""
    offset: Expr = Const("int64", 0)


@dataclass(frozen=True, slots=True)
class Site:
    """A statement as counters know it. `flop` and `fma` are of one thread's execution; an fma is 2 FLOP."""

    line: Line
    kind: str  #: the statement's class, in lower case
    array: str = ""  #: what it reads or writes
    flop: int = 0
    fma: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """One kernel for arguments of certain types; shapes, scalars, grid and block are the launch's."""

    name: str
    files: tuple[str, ...]
    arguments: tuple[Argument, ...]
    arrays: dict[str, Array]
    variables: dict[str, str]  #: type of each private variable
    body: tuple[Stmt, ...]
    sites: tuple[Site, ...]  #: by number
    sources: dict[Line, str] = field(default_factory=dict)  #: text of each line that has a site, stripped


def parts(statement: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The bodies within a statement, in the order they run."""
    if isinstance(statement, If):
        return statement.then, statement.orelse
    if isinstance(statement, While):
        return statement.before, statement.body
    if isinstance(statement, For | Scope):
        return (statement.body,)
    return ()


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of a body, those within others behind them."""
    for statement in body:
        yield statement
        for part in parts(statement):
            yield from walk(part)


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement evaluates itself, not those of statements within it."""
    match statement:
        case Assign():
            return (statement.value,)
        case Load():
            return statement.index
        case Store():
            return (*statement.index, statement.value)
        case Atomic():
            return (*statement.index, statement.value, *((statement.compare,) if statement.compare else ()))
        case Barrier():
            return (statement.predicate,) if statement.predicate else ()
        case WarpOp():
            return tuple(x for x in (statement.mask, statement.value, statement.lane) if x is not None)
        case If() | While():
            return (statement.condition,)
        case For():
            return statement.start, statement.stop, statement.step
        case _:
            return ()


def operands(expression: Expr) -> tuple[Expr, ...]:
    """The expressions directly within one."""
    match expression:
        case Unary() | Cast():
            return (expression.x,)
        case Binary() | Compare() | Logic():
            return expression.x, expression.y
        case Select():
            return expression.condition, expression.x, expression.y
        case Call():
            return expression.args
        case _:
            return ()


def subexpressions(expression: Expr) -> Iterator[Expr]:
    """An expression and all within it."""
    yield expression
    for operand in operands(expression):
        yield from subexpressions(operand)
