"""Where a store is, how its file is opened, and what is said where that cannot be."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gemmlab.record import GemmlabError
from gemmlab.store.schema import VERSION, migrate, version_of

PATIENCE = 60.0  # seconds that a writer waits for the others
PAUSE = 0.05  # seconds between two tries to make a new file write-ahead
ELSEWHERE = "--store FILE names another file"


def default_path() -> Path:
    """`gemmlab/runs.sqlite` in the user's data folder: XDG_DATA_HOME, LOCALAPPDATA on Windows, else ~/.local/share.

    Raises GemmlabError where nobody knows the user's home.
    """
    given = os.environ.get("XDG_DATA_HOME", "") or (os.environ.get("LOCALAPPDATA", "") if os.name == "nt" else "")
    # The XDG base directory specification has relative paths ignored.
    try:
        base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "share"
    except RuntimeError:  # a user without HOME whom the system does not know, as in a container
        raise GemmlabError("this user has no home folder to keep runs in", "--store FILE, or set HOME") from None
    return base / "gemmlab" / "runs.sqlite"


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """What SQLite and the system say of a file, as GemmlabError."""
    try:
        yield
    except sqlite3.Error as error:
        raise said(path, error) from error
    except OSError as error:
        raise GemmlabError(f"cannot open the store {path}: {error.strerror or error}", ELSEWHERE) from error


def said(path: Path, error: sqlite3.Error) -> GemmlabError:
    """The error of SQLite with its remedy."""
    kind = getattr(error, "sqlite_errorname", "")
    if kind.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        text = f"{path} is no store, or is damaged: {error}"
        return GemmlabError(text, f"`sqlite3 {path} .recover` saves what is left; {ELSEWHERE}")
    if kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return GemmlabError(f"{path} has been written by another process for {PATIENCE:.0f} s", f"wait, or {ELSEWHERE}")
    if kind.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return GemmlabError(f"{path} cannot be written: {error}", f"allow it, or {ELSEWHERE}")
    if kind.startswith("SQLITE_FULL"):
        return GemmlabError(f"{path} cannot grow: the disk is full", f"what is kept stays; free some, or {ELSEWHERE}")
    return GemmlabError(f"{path}: {error}", ELSEWHERE)


def writable(path: Path) -> sqlite3.Connection:
    """A connection to a file of the newest version, made or migrated where it is not; raises GemmlabError."""
    if path.is_dir():
        raise GemmlabError(f"{path} is a folder", "--store takes the file, such as runs.sqlite in it")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            version_of(connection, str(path))  # before anything is written to what may be another program's
            write_ahead(connection)
            connection.execute("PRAGMA synchronous = FULL")  # what was reported as kept outlives a power cut too
            migrate(connection, str(path))
        except BaseException:
            connection.close()
            raise
    return connection


def write_ahead(connection: sqlite3.Connection) -> None:
    """Readers and a writer at once; while several make the same new file, SQLite refuses without waiting."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                raise
            time.sleep(PAUSE)
        else:
            return


def readable(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing: a file of an older version is migrated in memory; raises GemmlabError."""
    if path.is_dir():
        raise GemmlabError(f"{path} is a folder", "--store takes the file, such as runs.sqlite in it")
    if not path.exists():
        raise GemmlabError(f"there is no store {path}", f"`gemmlab run SUITE` makes one; {ELSEWHERE}")
    with explained(path):
        connection = looking(path)
        try:
            if version_of(connection, str(path)) < VERSION:
                memory = sqlite3.connect(":memory:", isolation_level=None)
                connection.backup(memory)
                connection.close()
                connection = memory
                migrate(connection, str(path))
        except BaseException:
            connection.close()
            raise
    return connection


def looking(path: Path) -> sqlite3.Connection:
    """A read-only connection, also in a folder where SQLite cannot put the index of its write-ahead log."""
    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if os.access(path.parent, os.W_OK) or not os.access(path, os.R_OK) or (log.exists() and log.stat().st_size):
            raise
        # Nobody can be writing there, and no log holds anything that the file lacks.
        connection = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, isolation_level=None)
    return connection
