"""What a model is called with, as text: `8x128:int64 attention_mask=8x128:bool=1 use_cache=false`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from gemmlab.record import GemmlabError, unknown_name

#: [NAME=]SHAPE[:FORMAT][=VALUE], a format alone being a tensor of no axes
WORD = re.compile(
    r"(?:(?P<name>[A-Za-z_]\w*)=)?(?:(?P<shape>\d+(?:[xX×]\d+)*)(?::(?P<format>\w+))?|(?P<alone>[a-z]+\d\w*|bool))"
    r"(?:=(?P<value>-?[\w.+-]+))?"
)
LITERAL = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>true|false|none)", re.IGNORECASE)
MOST_BYTES = 1 << 63
MOST_TOLD = 4  # inputs that are named
MOST_FILLED = 1 << 22  # elements of an input that keeps them
LITERALS = {"true": True, "false": False, "none": None}
FORMATS = (
    *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)
GRAMMAR = (
    "[NAME=]SHAPE[:FORMAT][=VALUE], several with spaces between: `1x3x224x224`, `8x512:int64`, "
    "`input_ids=8x512:int64`, `attention_mask=8x512:bool=1`, `use_cache=false`; the format is float32 unless said"
)


def parse_inputs(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and the named inputs that a text describes, as tensors without elements.

    A value fills a tensor, which then keeps its elements: what the model decides by them is known; a tensor of more
    than 4 Mi elements has none all the same. Raises GemmlabError.
    """
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for word in text.split():
        name, value = parse_word(word)
        if name in named:
            raise GemmlabError(f"inputs name `{name}` twice", GRAMMAR)
        if name:
            named[name] = value
        elif named:
            raise GemmlabError(f"input `{word}` has no name and stands after named ones", "put it before them")
        else:
            positional.append(value)
    if not positional and not named:
        raise GemmlabError("inputs name no tensor", GRAMMAR)
    return tuple(positional), named


def described(inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """Inputs in the same words, tensors alone: what a step is of."""
    import torch

    said = []
    for name, value in [*(("", value) for value in inputs), *keywords.items()]:
        if isinstance(value, torch.Tensor):
            shape = "x".join(map(str, value.shape))
            form = str(value.dtype).removeprefix("torch.")
            said.append((f"{name}=" if name else "") + (f"{shape}:{form}" if shape else form))
    return " ".join([*said[:MOST_TOLD], *(["..."] if len(said) > MOST_TOLD else [])])


def parse_word(word: str) -> tuple[str, Any]:
    """One input: its name, which may be empty, and a tensor, True, False or None."""
    literal = LITERAL.fullmatch(word)
    if literal:
        return literal["name"], LITERALS[literal["value"].lower()]
    found = WORD.fullmatch(word)
    if not found:
        raise GemmlabError(f"input `{word}` is no shape", GRAMMAR)
    shape = tuple(int(side) for side in re.split("[xX×]", found["shape"])) if found["shape"] else ()
    return found["name"] or "", tensor(word, shape, found["format"] or found["alone"] or "float32", found["value"])


def tensor(word: str, shape: tuple[int, ...], form: str, value: str | None) -> Any:
    """A tensor of that shape and format, filled where a value is given."""
    import torch

    if form not in FORMATS or not hasattr(torch, form):
        raise unknown_name("format of an input", form, FORMATS)
    dtype = getattr(torch, form)
    if max(shape, default=0) >= MOST_BYTES or prod(shape) * dtype.itemsize >= MOST_BYTES:
        raise GemmlabError(f"input `{word}` has more elements than PyTorch can count", GRAMMAR)
    empty = torch.empty(shape, dtype=dtype, device="meta")
    if value is None or empty.numel() > MOST_FILLED:
        return empty
    try:
        number = LITERALS[value.lower()] if value.lower() in ("true", "false") else float(value)
        return torch.full(shape, number if dtype.is_floating_point or number is True else int(number or 0), dtype=dtype)
    except (ValueError, OverflowError, RuntimeError) as error:
        raise GemmlabError(f"input `{word}`: {value} is no number of {form}", GRAMMAR) from error
