"""SOURCE, as commands take it: three numbers, a CSV file of shapes, or the name of a suite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gemmlab.problem.checks import side
from gemmlab.problem.columns import gemm_fields, number
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape
from gemmlab.record import GemmlabError, unknown_name

TABLES = (".csv", ".tsv", ".txt")
HINT = "SOURCE is M N K, a CSV file of shapes, or a suite"


def read_source(words: str | Sequence[str], **fields: Any) -> list[Shape]:
    """The shapes that a command's SOURCE words mean: `4096 50257 768`, `4096x50257x768`, `shapes.csv` or `deepgemm`.

    `fields` are fields of Gemm for what the source leaves open; `format` stands for a_format. A suite says its own
    format and layout, so of `fields` it takes `format` alone. Raises GemmlabError naming the word, or file and line.
    """
    if isinstance(words, str):
        words = [words.strip()] if words.strip().lower().endswith(TABLES) else words.split()
    if len(words) == 1:
        sides = re.fullmatch(r"(\d+)[xX*](\d+)[xX*](\d+)", words[0])
        if not sides:
            return named_source(words[0], fields)
        words = list(sides.groups())
    if len(words) != 3:
        raise GemmlabError(f"SOURCE `{' '.join(words)}` is {len(words)} words, neither one nor three", HINT)
    m, n, k = (side(name, number(word)) for name, word in zip("mnk", words, strict=True))
    return [Shape(Gemm(m, n, k, **gemm_fields(fields)))]


def named_source(word: str, fields: dict[str, Any]) -> list[Shape]:
    """The shapes of a file or a suite; three numbers need neither module, and a command's start is measured."""
    from gemmlab.problem.suites import suite, suite_names
    from gemmlab.problem.table import read_table

    if word in suite_names():
        return suite(word, **{name: value for name, value in fields.items() if name == "format" and value})
    if word.lower().endswith(TABLES) or Path(word).is_file() or Path(word).is_fifo():
        return list(read_table(word, **fields))
    error = unknown_name("source", word, suite_names())
    raise GemmlabError(error.text, f"{HINT}; {error.hint}")
