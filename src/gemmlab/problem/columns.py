"""How the cells of a table of shapes become fields of a multiplication."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gemmlab.formats import bits_of
from gemmlab.problem.block_scale import BlockScale
from gemmlab.problem.checks import LARGEST_SIDE
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape
from gemmlab.record import GemmlabError, unknown_name


def number(text: str) -> int:
    """A whole number; raises GemmlabError."""
    try:
        return int(text)
    except ValueError:
        raise GemmlabError(f"`{text}` is not a whole number", "write 4096, not 4096.0 or 4k") from None


def real(text: str) -> float:
    """A number; raises GemmlabError."""
    try:
        return float(text)
    except ValueError:
        raise GemmlabError(f"`{text}` is not a number") from None


def format_name(text: str) -> str:
    """The name of a format; raises GemmlabError with the nearest names."""
    bits_of(text)
    return text


#: how each column is read; `format` is A's, and through the defaults B's, C's and D's
READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("m", "n", "k", "batch", "count", "lda", "ldb", "ldc", "lower_band", "upper_band"), number),
    **dict.fromkeys(("a_offset_bytes", "b_offset_bytes", "c_offset_bytes"), number),
    **dict.fromkeys(("format", "a_format", "b_format", "c_format", "d_format", "accumulate"), format_name),
    **dict.fromkeys(("alpha", "beta"), real),
    **dict.fromkeys(("name", "layout", "epilogue", "structure"), str),
    "scale": BlockScale.parse,
}
SIDES = ("m", "n", "k")


def column(title: str) -> str:
    """The field that a column's title means, in any case: `M`, `A-Format`; raises GemmlabError for others."""
    name = title.strip().lower().replace("-", "_").replace(" ", "_")
    if not name:
        raise GemmlabError("a column without a title", f"one of {', '.join(READERS)}")
    if name not in READERS:
        raise unknown_name("column", title.strip(), READERS)
    return name


def gemm_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields as Gemm names them: `format` is A's, or B's alone where A has one of its own."""
    found = {name: value for name, value in fields.items() if name != "format"}
    if "format" in fields:
        found.setdefault("b_format" if "a_format" in found else "a_format", fields["format"])
    return found


def shape(cells: Mapping[str, str], defaults: Mapping[str, Any]) -> Shape:
    """The shape of one row; an empty cell takes the default. Raises GemmlabError, with the column at fault."""
    given = {}
    for name, text in cells.items():
        if text:
            try:
                given[name] = READERS[name](text)
            except GemmlabError as error:
                raise GemmlabError(f"column `{name}`: {error.text}", error.hint) from None
    fields = {**defaults, **gemm_fields(given)}
    missing = [name for name in SIDES if name not in fields]
    if missing:
        raise GemmlabError(f"column `{missing[0]}` is empty", "m, n and k are needed in every row")
    count, name = fields.pop("count", 1), fields.pop("name", "")
    if not 1 <= count <= LARGEST_SIDE:
        raise GemmlabError(f"column `count`: {count} is not a number of times", "at least 1, at most 2^40")
    try:
        return Shape(Gemm(**fields), count, name)
    except GemmlabError as error:
        field = error.text.partition("=")[0]
        raise GemmlabError(f"column `{field}`: {error.text}" if field in cells else error.text, error.hint) from None
