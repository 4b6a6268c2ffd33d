"""`gemmlab run --compare A B`, `--runs` and `--show RUN`: what is kept, told again; nothing is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from gemmlab.cli.output import STDOUT, check_target, emit
from gemmlab.record import GemmlabError

if TYPE_CHECKING:
    from gemmlab.store import Run, Store

ASKED = ("compare", "runs", "show")
TAKES = {"compare": ("any_chip", "store", "json", "csv", "width"), "runs": ("store", "json", "width"),
         "show": ("store", "json", "csv", "width")}  # fmt: skip


def kept(asked: str, source: Sequence[str], given: dict[str, Any]) -> int:
    """Tell what is kept, as one of ASKED; raises GemmlabError."""
    if source:
        raise GemmlabError(f"--{asked} runs nothing, but SOURCE `{source[0]}` is given", "leave one of them out")
    for name in given:
        if name not in (asked, *TAKES[asked]):
            typed = name.replace("_", "-")
            takes = ", ".join(f"--{each.replace('_', '-')}" for each in TAKES[asked])
            raise GemmlabError(f"--{asked} takes no --{typed}", f"it takes {takes}")
    if given.get("csv") == STDOUT and "json" in given:
        raise GemmlabError("--json and --csv - would both print on standard output", "--csv FILE")
    if "csv" in given and given["csv"] != STDOUT:
        check_target("--csv", given["csv"])
    return {"compare": comparison, "runs": listing, "show": showing}[asked](given)


def comparison(given: dict[str, Any]) -> int:
    """Two runs beside each other."""
    from gemmlab.report.compared import compared, compared_csv
    from gemmlab.store import compare

    with ExitStack() as files:
        a, b = (run_named(word, given.get("store"), files) for word in given["compare"])
        found = compare(a, b, any_chip="any_chip" in given)
    import msgspec

    lines = "".join(line + "\n" for line in compared_csv(found)) if "csv" in given else ""
    whole = msgspec.json.encode(found).decode() + "\n"
    return say(given, lines, whole, lambda: compared(found, width=given.get("width")))


def run_named(word: str, path: str | None, files: ExitStack) -> tuple[Store, Run]:
    """The run of a word: the last of a store's file, else of the store by id or day; raises GemmlabError."""
    from gemmlab.store import open_store

    if os.path.isfile(word):
        store = files.enter_context(open_store(word, write=False))
        return store, store.latest()
    if word.endswith((".sqlite", ".db")) or os.path.dirname(word):
        raise GemmlabError(f"there is no store {word}", "a file, a run's id, or a day such as 2026-11-30")
    store = files.enter_context(open_store(path, write=False))
    return store, store.run(word)


def listing(given: dict[str, Any]) -> int:
    """The runs of the store."""
    import msgspec

    from gemmlab.report.stored import runs_table
    from gemmlab.store import open_store

    with open_store(given.get("store"), write=False) as store:
        runs = store.runs()
    whole = "".join(msgspec.json.encode(run).decode() + "\n" for run in runs)
    return say(given, "", whole, lambda: runs_table(runs, width=given.get("width")))


def showing(given: dict[str, Any]) -> int:
    """The Records of one run."""
    from gemmlab.report.ran_sweep import swept_table
    from gemmlab.report.stored import to_csv, to_json
    from gemmlab.store import open_store

    with open_store(given.get("store"), write=False) as store:
        run = store.run(given["show"])
        rows = list(store.records(run=run.id))
    if not rows:
        raise GemmlabError(f"run {run.id} has no Records", "another run; --runs lists them")
    lines = "".join(line + "\n" for line in to_csv(rows)) if "csv" in given else ""
    whole = "".join(line + "\n" for line in to_json(rows))
    return say(given, lines, whole, lambda: swept_table([row.record for row in rows], width=given.get("width")))


def say(given: dict[str, Any], lines: str, whole: str, text: Any) -> int:
    """Write CSV where it is asked for, then print JSON or text."""
    if given.get("csv") == STDOUT:
        emit(lines, for_programs=True)
        return 0
    if "csv" in given:
        from gemmlab.report import write_file

        write_file(given["csv"], lines)
        print(f"wrote {given['csv']}", file=sys.stderr)
    if "json" in given:
        emit(whole, for_programs=True)
    else:
        emit(text() + "\n")
    return 0
