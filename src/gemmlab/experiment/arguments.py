"""Arguments of a launch as a command line spells them: `1024`, `float32:0.5`, `float32[64,64]:iota`, `x.npy`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gemmlab.record import GemmlabError, unknown_name

TYPES = ("bool", "float16", "float32", "float64", *(f"{u}int{8 << k}" for u in ("", "u") for k in range(4)))
ARRAY = re.compile(r"(?P<type>\w+)\[(?P<sides>[^\]]*)\](?::(?P<fill>\w+))?")
TYPED = re.compile(r"(?P<type>[a-z]+\d*):(?P<value>[^\[\]]+)")
EXAMPLES = "for example --arg n=1024 --arg scale=float32:0.5 --arg x=float32[64,64]:iota --arg y=y.npy"
MOST_AXES = 3

Array = npt.NDArray[Any]
Filler = Callable[[np.random.RandomState, tuple[int, ...], np.dtype[Any]], Array]


@dataclass(frozen=True, slots=True)
class Given:
    """One argument as it was given: for a parameter by name, or for the next one in order."""

    name: str  #: empty: in order
    text: str  #: its value

    @classmethod
    def read(cls, word: str) -> Given:
        """`NAME=VALUE`, or `VALUE`."""
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            return cls(name, value)
        return cls("", word)


def assigned(
    kernel: str, wanted: Sequence[str], given: Sequence[Given], every: Sequence[str] | None = None
) -> dict[str, Given]:
    """The argument of each wanted parameter: by name, the rest in order; raises GemmlabError.

    `every` names all parameters of the kernel, where those wanted are not all.
    """
    known = ", ".join(every or wanted) or "none"
    by_name: dict[str, Given] = {}
    for each in given:
        if each.name and each.name not in wanted:
            raise GemmlabError(f"{kernel} has no parameter `{each.name}`", f"its parameters: {known}")
        if each.name in by_name:
            raise GemmlabError(f"argument {each.name} is given twice", "give it once")
        if each.name:
            by_name[each.name] = each
    rest = [each for each in given if not each.name]
    free = [name for name in wanted if name not in by_name]
    if len(rest) != len(free):
        raise GemmlabError(
            f"{kernel} takes {len(wanted)} arguments ({known}), {len(given)} are given",
            f"one --arg for each, {EXAMPLES}",
        )
    return by_name | dict(zip(free, rest, strict=True))


def normal(random: np.random.RandomState, shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Standard normal values; rounded towards zero for types without fractions."""
    return random.standard_normal(shape).astype(kind)


def integers(random: np.random.RandomState, shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Whole numbers from 0 to 9, the same for all types; true and false for bool."""
    return random.randint(0, 2 if kind == np.bool_ else 10, shape).astype(kind)


FILLS: dict[str, Filler] = {
    "normal": normal,
    "integers": integers,
    "iota": lambda random, shape, kind: np.arange(math.prod(shape)).astype(kind).reshape(shape),
    "zeros": lambda random, shape, kind: np.zeros(shape, kind),
    "ones": lambda random, shape, kind: np.ones(shape, kind),
    "nan": lambda random, shape, kind: np.full(shape, np.nan).astype(kind),
}


def value(given: Given, sizes: Mapping[str, int], random: np.random.RandomState, *, blank: bool = False) -> Any:
    """The argument that a text means: a numpy array, or a numpy scalar.

    `sizes` are names that sides may use. `blank` arrays take no memory until they are written, and hold zeros.
    Raises GemmlabError.
    """
    try:
        return parsed(given.text.strip(), sizes, random, blank=blank)
    except GemmlabError as error:
        raise GemmlabError(f"argument `{spelled(given)}`: {error.text}", error.hint) from None


def spelled(given: Given) -> str:
    """As it was typed."""
    return f"{given.name}={given.text}" if given.name else given.text


def parsed(text: str, sizes: Mapping[str, int], random: np.random.RandomState, *, blank: bool) -> Any:
    """A number, a typed number, an array or a file."""
    if text.endswith(".npy"):
        return from_file(text)
    if found := ARRAY.fullmatch(text):
        kind, shape = type_of(found["type"]), shape_of(found["sides"], sizes)
        default = "normal" if kind.kind == "f" else "integers"
        fill = found["fill"] or default
        if fill not in FILLS:
            raise unknown_name("content of an array", fill, FILLS)
        if fill == "nan" and kind.kind != "f":
            raise GemmlabError(f"{kind.name} has no NaN", "a float type, or other contents")
        return blank_array(shape, kind) if blank else filled(shape, kind, FILLS[fill], random)
    if text in sizes:
        return np.int64(sizes[text])
    if (found := TYPED.fullmatch(text)) and not text.startswith(("inf", "nan")):
        return typed(found["type"], found["value"])
    return number(text)


def type_of(name: str) -> np.dtype[Any]:
    """A type that kernels have; raises GemmlabError."""
    if name not in TYPES:
        raise unknown_name("type", name, TYPES)
    return np.dtype(name)


def shape_of(text: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Sides of an array, each a product of whole numbers and known sizes; raises GemmlabError."""
    shape = tuple(side(part.strip(), sizes) for part in text.split(","))
    if len(shape) > MOST_AXES:
        raise GemmlabError(f"[{text}] has {len(shape)} axes", f"arrays have 1 to {MOST_AXES}")
    return shape


def side(text: str, sizes: Mapping[str, int]) -> int:
    """One side; raises GemmlabError."""
    product = 1
    for factor in text.split("*"):
        word = factor.strip()
        if not word.isdecimal() and word not in sizes:
            names = f"a product of whole numbers and {', '.join(sizes)}" if sizes else "whole numbers"
            raise GemmlabError(f"`{text}` is no side of an array", f"{names}: float32[64,64]")
        product *= int(word) if word.isdecimal() else sizes[word]
    if product < 1:
        raise GemmlabError(f"a side of {product}", "at least 1")
    return product


def filled(shape: tuple[int, ...], kind: np.dtype[Any], fill: Filler, random: np.random.RandomState) -> Array:
    """An array with contents; raises GemmlabError where memory is too small."""
    from gemmlab.experiment.memory import require_memory

    require_memory(math.prod(shape) * (kind.itemsize + 8))  # values are drawn as 8 bytes
    return fill(random, shape, kind)


def blank_array(shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """An array that takes addresses alone."""
    from gemmlab.experiment.memory import addresses

    return addresses(math.prod(shape) * kind.itemsize).view(kind).reshape(shape)


def typed(kind: str, text: str) -> Any:
    """A scalar of a type; raises GemmlabError."""
    found = type_of(kind)
    plain = number(text)
    if found.kind in "iu" and (plain.dtype.kind == "f" or not np.iinfo(found).min <= int(plain) <= np.iinfo(found).max):
        raise GemmlabError(f"{text} is no {kind}", f"{np.iinfo(found).min} to {np.iinfo(found).max}")
    with np.errstate(over="ignore"):
        held = found.type(plain)
    if np.isinf(held) and not np.isinf(plain):
        raise GemmlabError(f"{text} is past the largest {kind}, {np.finfo(found).max:g}", "inf, or a wider type")
    return held


def number(text: str) -> Any:
    """An int64, float64 or bool as Python and numba take a literal; raises GemmlabError."""
    if text.lower() in ("true", "false"):
        return np.bool_(text.lower() == "true")
    try:
        whole = int(text, 0)
    except ValueError:
        pass
    else:
        if not -(2**63) <= whole < 2**63:
            raise GemmlabError(f"{text} does not fit in 64 bits", "uint64:... up to 2^64 - 1, or a float")
        return np.int64(whole)
    try:
        return np.float64(text)
    except ValueError:
        raise GemmlabError(f"`{text}` is no number, array or .npy file", EXAMPLES) from None


def from_file(path: str) -> Array:
    """An array out of a .npy file; raises GemmlabError."""
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or "it is no .npy file"
        raise GemmlabError(f"cannot read {os.path.basename(path)}: {why}", "a file that numpy.save wrote") from None
    if not isinstance(found, np.ndarray) or found.dtype.name not in TYPES:
        raise GemmlabError(f"{os.path.basename(path)} holds {getattr(found, 'dtype', type(found))}", ", ".join(TYPES))
    if not 1 <= found.ndim <= MOST_AXES:
        raise GemmlabError(f"{os.path.basename(path)} has {found.ndim} axes", f"arrays have 1 to {MOST_AXES}")
    return found
