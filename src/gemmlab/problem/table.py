"""A CSV file of shapes, read row by row."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gemmlab.problem.columns import SIDES, column, gemm_fields, shape
from gemmlab.problem.shape import Shape
from gemmlab.record import GemmlabError

DELIMITERS = (",", ";", "\t")
COMMENT = re.compile(r"(^|\s)#.*")  # a name like layer#3 is none
HEADERLESS = ("m", "n", "k", "count", "name")  # what the columns mean when the first row already holds numbers


def read_table(path: str | Path, **defaults: Any) -> Iterator[Shape]:
    """The shapes of a CSV file: columns m n k, and any of count name batch format layout lda ... by a header line.

    Without a header the columns are m n k count name. Commas, semicolons, tabs or blanks separate; empty lines are
    skipped, and so is a `#`, that begins a line or follows a blank, with what follows it. `defaults` are fields of Gemm
    for what the file leaves out; `format` stands for a_format. Raises GemmlabError with file, line and column.
    """
    rows = iter(list(numbered_rows(Path(path))))  # whole, so that what it raises already names its own line
    place, header = next(rows, (f"{path}", []))
    if not header:
        raise GemmlabError(f"{path} has no shapes", "a line `m,n,k`, then one line for each shape")
    fields = gemm_fields(defaults)
    with_header = not is_number(header[0])
    try:
        names = [column(title) for title in header] if with_header else list(HEADERLESS[: max(len(header), 3)])
        check_header(names)
        if not with_header:
            yield row_shape(names, header, fields)
        for place, row in rows:  # noqa: B007 - the handler below names it
            yield row_shape(names, row, fields)
    except GemmlabError as error:
        raise GemmlabError(f"{place}: {error.text}", error.hint) from None


def numbered_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """`file, line 3` and the cells of each line that has any; raises GemmlabError for a file that is no text."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise GemmlabError(f"cannot read {path}: {error.strerror}", "give the path of a CSV file of shapes") from None
    except UnicodeDecodeError as error:
        raise GemmlabError(f"{path} is not UTF-8 text: {error.reason}", "save it as UTF-8") from None
    bare = [(number, COMMENT.sub("", line).strip()) for number, line in enumerate(lines, 1)]
    bare = [(number, line) for number, line in bare if line]
    delimiter = next((each for each in DELIMITERS if bare and each in bare[0][1]), None)
    for number, line in bare:
        place = f"{path}, line {number}"
        try:
            cells = line.split() if delimiter is None else next(csv.reader([line], delimiter=delimiter))
        except csv.Error as error:
            raise GemmlabError(f"{place}: {error}", "one line for each shape, its cells separated by commas") from None
        while cells and not cells[-1].strip():
            cells.pop()  # a spreadsheet ends its lines, and its table, with empty cells
        if cells:
            yield place, [cell.strip() for cell in cells]


def check_header(names: list[str]) -> None:
    """Raise GemmlabError for columns that are missing or given twice."""
    for name in names:
        if names.count(name) > 1:
            raise GemmlabError(f"column `{name}` stands twice")
    for name in SIDES:
        if name not in names:
            raise GemmlabError(f"there is no column `{name}`", "m, n and k are needed")


def row_shape(names: list[str], row: list[str], fields: Mapping[str, Any]) -> Shape:
    """The shape of one row; trailing empty cells may be left out. Raises GemmlabError for cells without a column."""
    spare = [cell for cell in row[len(names) :] if cell]
    if spare:
        raise GemmlabError(f"{len(row)} cells, but {len(names)} columns", f"`{spare[0]}` belongs to no column")
    return shape(dict(zip(names, row, strict=False)), fields)


def is_number(text: str) -> bool:
    """Whether a cell holds a number, of any kind: a header does not."""
    try:
        float(text)
    except ValueError:
        return False
    return True
