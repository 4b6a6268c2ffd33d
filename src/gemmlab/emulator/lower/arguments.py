"""The arguments of a launch, checked against the kernel's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.emulator.lower.names import number
from gemmlab.emulator.lower.types import TYPES
from gemmlab.emulator.program import Argument
from gemmlab.emulator.source import Source
from gemmlab.record import GemmlabError

_TYPES_HINT = "bool, int8 to int64, uint8 to uint64, float16, float32 and float64 are emulated"
_INSTEAD = {
    "bfloat16": "convert it with .astype(numpy.float32), or emulate its products with `gemmlab numerics`",
    "object": "give every element one number type: numpy.array(values, dtype=numpy.float32)",
    "complex64": "pass the real and the imaginary part as two arrays",
    "complex128": "pass the real and the imaginary part as two arrays",
}


def parameters(source: Source) -> tuple[str, ...]:
    """The names of a kernel's parameters.

    Raises GemmlabError for parameters that a launch cannot give.
    """
    given = source.tree.args
    if given.kwonlyargs:
        only = ", ".join(parameter.arg for parameter in given.kwonlyargs)
        raise GemmlabError(
            f"{source.file}:{source.tree.lineno}: `{source.name}` takes {only} by name only, behind `*`",
            "leave the `*` out: a launch gives all arguments by their places",
        )
    if given.vararg or given.kwarg:
        raise GemmlabError(
            f"{source.file}:{source.tree.lineno}: `{source.name}` takes any number of arguments",
            "name every parameter of the kernel",
        )
    return tuple(parameter.arg for parameter in (*given.posonlyargs, *given.args))


def arguments_of(source: Source, values: Sequence[object]) -> tuple[Argument, ...]:
    """The type of each argument: arrays by their axes, numbers as numba types them (int64, float64).

    Raises GemmlabError for a wrong number of them, and for types that are not emulated.
    """
    names = parameters(source)
    if len(values) != len(names):
        s = "s" * (len(names) != 1)
        raise GemmlabError(
            f"`{source.name}` takes {len(names)} argument{s}: {', '.join(names) or 'none'}; {len(values)} given",
            "give one value for each parameter",
        )
    return tuple(_argument(name, value) for name, value in zip(names, values, strict=True))


def _argument(name: str, value: object) -> Argument:
    if (constant := number(value)) is not None:
        return Argument(name, constant.type, None)
    dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", None)
    if dtype is None or not isinstance(ndim, int) or not hasattr(value, "ctypes"):
        raise GemmlabError(
            f"argument `{name}` is of type {type(value).__name__}: {_short(value)}",
            "pass a numpy array, an int, a float or a bool",
        )
    kind = str(getattr(dtype, "name", dtype))
    if kind not in TYPES:
        raise GemmlabError(f"argument `{name}` has elements of {kind}", _INSTEAD.get(kind, _TYPES_HINT))
    if not dtype.isnative:
        raise GemmlabError(f"argument `{name}` has its bytes in foreign order", f"convert it: .astype(numpy.{kind})")
    if not 1 <= ndim <= 3:
        remedy = "pass the number itself, value[()]" if ndim == 0 else "reshape it to at most three axes"
        raise GemmlabError(f"argument `{name}` has {ndim} axes; arrays of 1 to 3 are emulated", remedy)
    return Argument(name, kind, ndim)


def _short(value: object, most: int = 40) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 3] + "..."
