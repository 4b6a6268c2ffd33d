"""Where an answer about a unit goes: files first, all of them or none, then standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from gemmlab.cli.output import check_target, emit
from gemmlab.record import GemmlabError, Record


def check_files(given: Mapping[str, Any], flags: Iterable[str]) -> None:
    """Raise GemmlabError where a flag's file cannot be written, or two are the same."""
    files = {f"--{flag}": given[flag] for flag in flags if flag in given}
    for flag, path in files.items():
        check_target(flag, path)
    if len({os.path.realpath(path) for path in files.values()}) < len(files):
        raise GemmlabError(f"{' and '.join(files)} would write the same file", "give each its own")


def deliver(record: Record, given: Mapping[str, Any], files: Mapping[str, str | bytes] | None = None) -> None:
    """Render everything, write the files that were asked for, then print; raises GemmlabError."""
    written = dict(files or {})
    if "plot" in given:
        from gemmlab.report import numerics_svg

        written[given["plot"]] = numerics_svg(record)
    if "html" in given:
        from gemmlab.report import html

        written[given["html"]] = html(record)
    if "json" in given:
        text = record.to_json() + "\n"
    else:
        from gemmlab.report import terminal

        text = terminal(record, width=given.get("width")) + "\n"
    if written:
        from gemmlab.report import write_file

        for path, content in written.items():
            write_file(path, content)
            print(f"wrote {path}", file=sys.stderr)
    emit(text, for_programs="json" in given)
