"""One SQLite file of Records: each transaction is one Record, so a kill loses none that was reported as kept."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from gemmlab.experiment.keys import Item, Key, formats_key
from gemmlab.record import GemmlabError, Record, unknown_name
from gemmlab.store.place import default_path, explained, readable, writable
from gemmlab.store.rows import Row, Run
from gemmlab.store.schema import transaction

KEY = ("problem", "chip", "backend", "kernel", "threads")
COLUMNS = ("run", "date", "suite", "problem", "formats", "chip", "backend", "kernel", "threads", "record")
FILTERS = tuple(name for name in COLUMNS if name not in ("date", "record"))
INSERT = f"INSERT INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT DO NOTHING"
DATE = re.compile(r"\d{4}-\d\d-\d\d")
RUNS = (
    "SELECT runs.id, runs.suite, runs.started, runs.finished, count(records.id), "
    "json_group_array(DISTINCT records.chip) FROM runs LEFT JOIN records ON records.run = runs.id"
)


class Store:
    """Runs kept in a file; a context manager. Made by `open_store`.

    Every method raises GemmlabError where the file is damaged, full, or held by another writer for a minute.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    def begin(self, suite: str, plan: str = "", *, fresh: bool = False) -> Run:
        """The unfinished run with the same plan, or a new one; always a new one where `fresh`, or without a plan."""
        with explained(self.path), transaction(self.connection):  # two who begin a plan at once get the same run
            found = None
            if plan and not fresh:
                found = self.connection.execute(
                    "SELECT id FROM runs WHERE plan = ? AND finished IS NULL ORDER BY started DESC, id", (plan,)
                ).fetchone()
            if found is None:
                started = now()
                found = (f"{re.sub('[-:]', '', started[:19]).replace('T', '-')}-{secrets.token_hex(2)}",)
                self.connection.execute(
                    "INSERT INTO runs (id, suite, plan, started) VALUES (?, ?, ?, ?)", (*found, suite, plan, started)
                )
        return self.run(found[0])

    def add(self, run: Run, item: Item, record: Record) -> bool:
        """Keep a Record: it is on the disk on return. False where the run had one of that key, which then stays."""
        return self.keep(run, [(item, record)]) == 1

    def keep(self, run: Run, done: Iterable[tuple[Item, Record]]) -> int:
        """Keep several Records, all of them or none; returns how many of them the run did not have yet."""
        lines = [line_of(run, item, record) for item, record in done]
        with explained(self.path), transaction(self.connection):
            return sum(self.connection.execute(INSERT, line).rowcount for line in lines)

    def finish(self, run: Run) -> None:
        """Say that nothing of the run is left to do: the same plan then begins another."""
        with explained(self.path):
            self.connection.execute("UPDATE runs SET finished = ? WHERE id = ? AND finished IS NULL", (now(), run.id))

    def keys(self, run: Run) -> set[Key]:
        """What the run has."""
        with explained(self.path):
            found = self.connection.execute(f"SELECT {', '.join(KEY)} FROM records WHERE run = ?", (run.id,))
            return {Key(*values) for values in found}

    def records(self, **filters: Any) -> Iterator[Row]:
        """The rows for which every given column is as given, in the order in which they were kept.

        Columns: run, suite, problem, formats, chip, backend, kernel, threads. Raises GemmlabError for another.
        """
        for name in filters:
            if name not in FILTERS:
                raise unknown_name("column of the store", name, FILTERS)
        where = " AND ".join(f"{name} = ?" for name in filters) or "TRUE"
        query = f"SELECT {', '.join(COLUMNS)} FROM records WHERE {where} ORDER BY id"
        with explained(self.path):
            for values in self.connection.execute(query, tuple(filters.values())):
                yield self.row(values)

    def row(self, values: tuple[Any, ...]) -> Row:
        """A line of the table; raises GemmlabError where its Record cannot be read."""
        said = dict(zip(COLUMNS, values, strict=True))
        try:
            return Row(**{**said, "record": Record.from_json(said["record"])})
        except (msgspec.DecodeError, TypeError) as error:
            place = f"{self.path}, run {said['run']}, {said['kernel']} at {said['problem']}"
            raise GemmlabError(
                f"{place}: its Record cannot be read: {error}", "gemmlab of the version that wrote it"
            ) from None

    def runs(self, *, suite: str = "", chip: str = "", date: str = "") -> list[Run]:
        """Runs, the latest first: of a suite, with Records on a chip, begun on a day (2026-11-30, UTC)."""
        with explained(self.path):
            found = self.connection.execute(f"{RUNS} GROUP BY runs.id ORDER BY runs.started DESC, runs.rowid DESC")
            all_runs = [as_run(values) for values in found]
        return [
            run
            for run in all_runs
            if suite in ("", run.suite) and (not chip or chip in run.chips) and run.started.startswith(date)
        ]

    def run(self, name: str) -> Run:
        """The run of that id or beginning of one, or of that day; raises GemmlabError where it is none or several."""
        day = DATE.fullmatch(name)
        found = self.runs(date=name) if day else [run for run in self.runs() if name and run.id.startswith(name)]
        exact = [run for run in found if run.id == name]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if found:
            raise GemmlabError(
                f"`{name}` is {len(found)} runs of {self.path}", f"one of {', '.join(run.id for run in found[:6])}"
            )
        if day:
            days = sorted({run.started[:10] for run in self.runs()}, reverse=True)
            hint = f"there are runs of {', '.join(days[:6])}" if days else "`gemmlab run SUITE` makes one"
            raise GemmlabError(f"{self.path} has no run of {name}", hint)
        raise unknown_name("run", name, [run.id for run in self.runs()])

    def latest(self, *, suite: str = "", chip: str = "") -> Run:
        """The run that was begun last, of a suite and on a chip where these are given; raises GemmlabError for none."""
        found = self.runs(suite=suite, chip=chip)
        if not found:
            asked = " ".join(filter(None, [suite and f"of suite {suite}", chip and f"on {chip}"]))
            raise GemmlabError(f"{self.path} has no run {asked}".rstrip(), "`gemmlab run SUITE` makes one")
        return found[0]


def open_store(path: str | os.PathLike[str] | None = None, *, write: bool = True) -> Store:
    """The store in a file, by default in the user's data folder; made with its folder where it is not there.

    Without `write` nothing is: no file, no folder, no migration. Raises GemmlabError for a file that is no store, one
    of a newer version, and a place that cannot be written.
    """
    if path is not None and ("\0" in os.fspath(path) or os.fspath(path) in ("", "-")):
        raise GemmlabError(f"`{os.fspath(path)}` names no file", "--store runs.sqlite")
    place = default_path() if path is None else Path(path)
    return Store(place, writable(place) if write else readable(place))


def as_run(values: tuple[Any, ...]) -> Run:
    """A line of the query for runs."""
    name, suite, started, finished, records, chips = values
    return Run(
        id=name,
        suite=suite,
        started=started,
        finished=finished,
        records=records,
        chips=tuple(sorted(filter(None, msgspec.json.decode(chips)))),
    )


def line_of(run: Run, item: Item, record: Record) -> tuple[Any, ...]:
    """A line of the table; raises GemmlabError for a Record that would not come back."""
    text, key = record.to_json(), item.key
    try:
        Record.from_json(text)
    except msgspec.ValidationError as error:  # JSON has no NaN: it would come back as null
        raise GemmlabError(f"the Record of {key.kernel} cannot be kept: {error}") from error
    form = formats_key(item.problem)
    return run.id, now(), run.suite, key.problem, form, key.chip, key.backend, key.kernel, key.threads, text


def now() -> str:
    """The present moment: UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
