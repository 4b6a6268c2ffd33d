"""The tables of a store, version by version: a file of any older version becomes the newest by the steps it lacks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from gemmlab.record import GemmlabError

APPLICATION = 0x67656D6D  # `gemm`, where SQLite keeps whose file it is

#: what each version adds to the one before it; a step that was released never changes
STEPS = (
    """
    CREATE TABLE records (
        id INTEGER PRIMARY KEY,
        run TEXT NOT NULL,
        date TEXT NOT NULL,
        suite TEXT NOT NULL,
        problem TEXT NOT NULL,
        formats TEXT NOT NULL,
        chip TEXT NOT NULL,
        backend TEXT NOT NULL,
        kernel TEXT NOT NULL,
        threads INTEGER NOT NULL,
        record TEXT NOT NULL,
        UNIQUE (run, problem, chip, backend, kernel, threads)
    );
    """,
    """
    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        suite TEXT NOT NULL,
        plan TEXT NOT NULL,
        started TEXT NOT NULL,
        finished TEXT
    );
    INSERT INTO runs SELECT run, min(suite), '', min(date), max(date) FROM records GROUP BY run;
    CREATE INDEX runs_by_plan ON runs (plan, started);
    """,
)
VERSION = len(STEPS)


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The file's version, 0 for one without tables; raises GemmlabError for another program's file, or a newer one."""
    with nullcontext() if connection.in_transaction else transaction(connection, "DEFERRED"):
        # In one transaction, since another process may be making the file's tables meanwhile.
        version, owner, tables = (
            int(connection.execute(query).fetchone()[0])
            for query in ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")
        )
    if owner != APPLICATION and (tables or version or owner):
        raise GemmlabError(
            f"{path} is a database of another program", "--store FILE with a file of gemmlab's, or none yet"
        )
    if version > VERSION:
        raise GemmlabError(
            f"{path} has version {version} of the store; this gemmlab knows versions up to {VERSION}",
            "pip install --upgrade gemmlab, or --store FILE with another file",
        )
    return version


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the file to the newest version in one transaction: whoever is killed in it has changed nothing."""
    if version_of(connection, path) == VERSION:
        return
    with transaction(connection):
        for step in STEPS[version_of(connection, path) :]:  # asked again: another process may have been first
            for statement in filter(str.strip, step.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All of what is written within, or nothing; whoever else would write waits. DEFERRED for reading alone."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
