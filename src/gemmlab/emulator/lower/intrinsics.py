"""The functions of the dialect, as data: how each is typed, what it becomes, and what is refused with which remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gemmlab.emulator.lower import types

#: math functions of one number that numba has in float16 too
_HALF = ["ceil", "cos", "exp", "fabs", "floor", "log", "log10", "log2", "sin", "sqrt", "trunc"]
_REAL = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cosh",
    "degrees",
    "erf",
    "erfc",
    "expm1",
    "gamma",
    "lgamma",
    "log1p",
    "radians",
    "sinh",
    "tan",
    "tanh",
]
_TEST = ["isfinite", "isinf", "isnan"]
_PAIR = ["copysign", "fmod", "remainder"]  #: float32 where both fit in it
_PLANE = ["atan2", "hypot"]  #: integers go to float64


@dataclass(frozen=True, slots=True)
class Function:
    """A pure function: how many arguments it takes, and from their types the type they are given and its own."""

    arity: int
    typing: Callable[..., tuple[str, str]]


def _real(x: str) -> tuple[str, str]:
    kind = {"float16": "float32", "float32": "float32"}.get(x, "float64")
    return kind, kind


def _half(x: str) -> tuple[str, str]:
    return (x, x) if x == "float16" else _real(x)


def _test(x: str) -> tuple[str, str]:
    return _real(x)[0], "bool"


def narrowest(*kinds: str) -> str:
    """float32 where all of them fit in it, else float64: how numba picks among functions of float32 and float64."""
    return "float32" if all(types.arithmetic(kind, "float32") == "float32" for kind in kinds) else "float64"


def _pair(x: str, y: str) -> tuple[str, str]:
    kind = narrowest(x, y)
    return kind, kind


def _plane(x: str, y: str) -> tuple[str, str]:
    kind = narrowest(x, y) if types.is_float(x) or types.is_float(y) else "float64"
    return kind, kind


def _three(x: str, y: str, z: str) -> tuple[str, str]:
    kind = narrowest(x, y, z)
    return kind, kind


def _same(x: str) -> tuple[str, str]:
    kind = "int8" if x == "bool" or types.is_float(x) else x
    return kind, kind


def _absolute(x: str) -> tuple[str, str]:
    kind = "int8" if x == "bool" else x
    return kind, kind


def _reverse(x: str) -> tuple[str, str]:
    kind = "uint64" if x == "uint64" else "uint32"
    return kind, kind


def _first(x: str) -> tuple[str, str]:
    return _same(x)[0], "uint32"


#: by the name that a Call of the program carries
FUNCTIONS: dict[str, Function] = {
    **{name: Function(1, _half) for name in _HALF},
    **{name: Function(1, _real) for name in _REAL},
    **{name: Function(1, _test) for name in _TEST},
    **{name: Function(2, _pair) for name in _PAIR},
    **{name: Function(2, _plane) for name in _PLANE},
    "fma": Function(3, _three),
    "abs": Function(1, _absolute),
    "popc": Function(1, _same),
    "clz": Function(1, _same),
    "ffs": Function(1, _first),
    "brev": Function(1, _reverse),
}

BITWISE = ("popc", "clz", "ffs", "brev")  #: of integers only
SELECTED = ("int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")  #: what selp chooses among

#: Python's name of a pure function -> that of the Call
CALLS = {
    **{f"math.{name}": name for name in (*_HALF, *_REAL, *_TEST, *_PAIR, *_PLANE)},
    **{f"cuda.{name}": name for name in ("fma", "popc", "clz", "ffs", "brev")},
    "builtins.abs": "abs",
}

_WORDS = ("int32", "int64", "uint32", "uint64")
_NUMBERS = (*_WORDS, "float32", "float64")
#: cuda.atomic's name -> the operation, and the element types that have it
ATOMICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "add": ("add", _NUMBERS),
    "sub": ("sub", _NUMBERS),
    "max": ("max", _NUMBERS),
    "min": ("min", _NUMBERS),
    "and_": ("and", _WORDS),
    "or_": ("or", _WORDS),
    "xor": ("xor", _WORDS),
    "exch": ("exch", _WORDS),
    "cas": ("cas", _WORDS),
}

#: barriers that also combine a predicate of all threads
BARRIERS = {"cuda.syncthreads_count": "count", "cuda.syncthreads_and": "and", "cuda.syncthreads_or": "or"}
SHUFFLES = {
    "cuda.shfl_sync": "shfl",
    "cuda.shfl_up_sync": "shfl_up",
    "cuda.shfl_down_sync": "shfl_down",
    "cuda.shfl_xor_sync": "shfl_xor",
}
#: votes of a warp, and the type of their result
VOTES = {
    "cuda.ballot_sync": ("ballot", "int32"),
    "cuda.any_sync": ("any", "bool"),
    "cuda.all_sync": ("all", "bool"),
    "cuda.eq_sync": ("eq", "bool"),
}


def shuffled(kind: str) -> str:
    """The type in which a warp exchanges a value; numba sends uint64 as float64."""
    if types.is_float(kind) or kind == "uint64":
        return "float64" if types.width(kind) == 64 else "float32"
    return "int64" if kind in ("int64", "uint32") else "int32"


_FENCE = "use cuda.syncthreads() in a block, or two launches: an order of blocks by fences is not modelled"
#: what to write instead of a function, by its dotted name
INSTEAD = {
    "cuda.threadfence": _FENCE,
    "cuda.threadfence_block": "use cuda.syncthreads(), or cuda.syncwarp() in a warp",
    "cuda.threadfence_system": _FENCE,
    "cuda.cg.this_grid": "split the kernel in two launches: a grid-wide barrier is not modelled",
    "cuda.const.array_like": "pass the table as an argument",
    "cuda.nanosleep": "leave it out: it changes no result",
    "cuda.atomic.inc": "use cuda.atomic.add(array, index, 1) and take the remainder",
    "cuda.atomic.dec": "use cuda.atomic.sub(array, index, 1)",
    "cuda.atomic.nanmax": "use cuda.atomic.max",
    "cuda.atomic.nanmin": "use cuda.atomic.min",
    "cuda.atomic.compare_and_swap": "use cuda.atomic.cas(array, index, old, value)",
    "cuda.match_any_sync": "use cuda.ballot_sync on a test of equality",
    "cuda.match_all_sync": "use cuda.all_sync on a test of equality",
    "cuda.lanemask_lt": "use (1 << cuda.laneid) - 1",
    "cuda.cbrt": "use x ** (1.0 / 3.0)",
    "cuda.fp16.hfma": "write a * b + c",
    "math.modf": "use math.trunc(x) and x - math.trunc(x)",
    "math.frexp": "use math.log2 and math.floor",
    "math.ldexp": "multiply by 2.0 ** n",
    "math.exp2": "use 2.0 ** x",
    "math.cbrt": "use x ** (1.0 / 3.0)",
    "math.isqrt": "use int(math.sqrt(x))",
    "math.gcd": "write Euclid's loop",
    "math.factorial": "write the loop, or math.gamma(x + 1)",
    "builtins.print": "write numbers to an array and print them on the host",
    "builtins.round": "use math.floor(x + 0.5)",
    "builtins.sum": "add in a for loop",
    "builtins.any": "write a for loop with `or`",
    "builtins.all": "write a for loop with `and`",
    "builtins.enumerate": "loop over range(n) and index",
    "builtins.zip": "loop over range(n) and index each array",
    "builtins.map": "write a for loop",
    "builtins.filter": "write a for loop with an if",
    "builtins.reversed": "use range(n - 1, -1, -1)",
    "builtins.sorted": "sort on the host, or write the exchange steps",
    "builtins.divmod": "use // and %",
    "builtins.complex": "keep the real and the imaginary part in two variables",
    "builtins.list": "use cuda.local.array(n, dtype) for a few private values",
    "builtins.dict": "pass an array and index it",
    "builtins.str": "strings are not on the GPU",
    "builtins.isinstance": "write one kernel for each type",
    "builtins.open": "read the file on the host and pass an array",
    "builtins.range": "use it as `for i in range(...)`",
}
