"""Where the answer goes: all of it is rendered, and every file found writable, before anything is written.

Lines for programs, of several shapes, are the exception: each is printed as soon as it is known.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gemmlab.problem import Shape
from gemmlab.record import GemmlabError, Record

STDOUT = "-"
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")


def prepared(output: dict[str, Any]) -> dict[str, Any]:
    """The same flags, if all of them can be followed; raises GemmlabError before any work is done."""
    if output.get("csv") == STDOUT and "json" in output:
        raise GemmlabError("--json and --csv - would both print on standard output", "--csv FILE")
    files = targets(output)
    for name, path in files.items():
        check_target(f"--{name}", path)
    real = [os.path.realpath(path) for path in files.values()]
    if len(set(real)) < len(real):
        both = " and ".join(f"--{name}" for name in files)
        raise GemmlabError(f"{both} would write the same file", "give each its own")
    return output


def targets(output: dict[str, Any]) -> dict[str, str]:
    """The files to be written, by flag."""
    return {name: output[name] for name in RENDERERS if name in output and (name, output[name]) != ("csv", STDOUT)}


def check_target(flag: str, path: str) -> None:
    """Raise GemmlabError where a flag's file cannot be written."""
    if path in ("", STDOUT):
        raise GemmlabError(f"{flag} `{path}` is not a file", "name one; only --csv takes - for standard output")
    if flag == "--plot" and path.lower().endswith(PICTURES):
        raise GemmlabError(f"--plot `{path}`: the pictures are SVG", f"--plot {os.path.splitext(path)[0]}.svg")
    from gemmlab.report import destination

    destination(path)


def deliver(records: Sequence[Record], shapes: Sequence[Shape], output: dict[str, Any]) -> None:
    """Render everything, write the files, then print; raises GemmlabError where a file cannot be written.

    `shapes` are what the records are of, in the same order.
    """
    files = {path: RENDERERS[name](records, shapes) for name, path in targets(output).items()}
    printed = shown(records, shapes, output)
    if files:
        from gemmlab.report import write_file

        for path, text in files.items():
            write_file(path, text)
            print(f"wrote {path}", file=sys.stderr)
    emit(printed, for_programs="json" in output or output.get("csv") == STDOUT)


def is_stream(output: dict[str, Any]) -> bool:
    """Whether lines for programs on standard output are all that is asked for: each can be had at once."""
    return not targets(output) and ("json" in output or output.get("csv") == STDOUT)


def stream(records: Iterable[Record], shapes: Sequence[Shape], output: dict[str, Any]) -> None:
    """Print each Record's line as soon as it is known: whoever reads thousands need not wait for the last."""
    if "json" in output:
        for record in records:
            emit(record.to_json() + "\n", for_programs=True)
        return
    from gemmlab.report import csv_rows

    for line in csv_rows(records, shapes):
        emit(line + "\n", for_programs=True)


def shown(records: Sequence[Record], shapes: Sequence[Shape], output: dict[str, Any]) -> str:
    """What standard output gets."""
    if "json" in output:
        return "".join(record.to_json() + "\n" for record in records)
    if output.get("csv") == STDOUT:
        return csv_text(records, shapes)
    if len(records) == 1:
        from gemmlab.report import terminal

        return terminal(records[0], width=output.get("width")) + "\n"
    from gemmlab.report import sweep_table

    return sweep_table(records, shapes, width=output.get("width")) + "\n"


def csv_text(records: Sequence[Record], shapes: Sequence[Shape]) -> str:
    """A table, a line for each Record."""
    from gemmlab.report import csv_rows

    return "".join(line + "\n" for line in csv_rows(records, shapes))


def plot_text(records: Sequence[Record], shapes: Sequence[Shape]) -> str:
    """The pictures of the one Record there is."""
    from gemmlab.report import plot_svg

    return plot_svg(records[0])


def html_text(records: Sequence[Record], shapes: Sequence[Shape]) -> str:
    """A page about all Records."""
    from gemmlab.report import html

    return html(records, shapes)


RENDERERS: dict[str, Callable[[Sequence[Record], Sequence[Shape]], str]] = {
    "csv": csv_text,
    "plot": plot_text,
    "html": html_text,
}


def emit(text: str, *, for_programs: bool = False) -> None:
    """Print on standard output; JSON and CSV are UTF-8 in any locale."""
    stream = getattr(sys.stdout, "buffer", None) if for_programs else None
    if stream is None:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        stream.write(text.encode())
        stream.flush()
