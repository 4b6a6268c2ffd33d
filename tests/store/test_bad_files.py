"""Files and places that cannot be used: the path, what is wrong, and a remedy; no file is changed."""

import os
import shutil
import sqlite3
import sys

import msgspec
import pytest

from gemmlab.record import GemmlabError
from gemmlab.store import open_store
from gemmlab.store.schema import APPLICATION, VERSION
from store.apart import open_folder, unprivileged
from store.made import item, timed

PERMISSIONS = pytest.mark.skipif(sys.platform == "win32", reason="folders' permissions are those of POSIX")


def filled(path, count=3):
    with open_store(path) as store:
        run = store.begin("squares")
        for index in range(count):
            each = item(m=index + 1)
            store.add(run, each, timed(each))
    return path


def statements(*lines):
    def write(path):
        connection = sqlite3.connect(path)
        connection.executescript(";".join(lines))
        connection.close()

    return write


def text(content):
    return lambda path: path.write_bytes(content)


def damaged(path):
    """A store whose pages behind the first are noise."""
    filled(path, 200)
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(137 * i % 256 for i in range(len(content) - 4096))
    path.write_bytes(content)


def shortened(path):
    filled(path, 200)
    path.write_bytes(path.read_bytes()[:6000])


FILES = {
    "text": (text(b"m,n,k\n8,8,8\n" * 200), "is no store, or is damaged", "--store FILE"),
    "short text": (text(b"hello"), "is no store, or is damaged", "--store FILE"),
    "another program's": (statements("CREATE TABLE mine (x)"), "a database of another program", "--store FILE"),
    "another program's mark": (statements("PRAGMA application_id = 7"), "another program", "--store FILE"),
    "another program's version": (statements("PRAGMA user_version = 1"), "another program", "--store FILE"),
    "newer": (
        statements(f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION + 1}"),
        f"has version {VERSION + 1} of the store; this gemmlab knows versions up to {VERSION}",
        "pip install --upgrade gemmlab",
    ),
    "damaged": (damaged, "is no store, or is damaged", ".recover"),
    "cut short": (shortened, "is no store, or is damaged", ".recover"),
}  # fmt: skip


@pytest.mark.parametrize("write", [True, False], ids=["to write", "to read"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_store(tmp_path, name, write):
    make, said, hint = FILES[name]
    path = tmp_path / "runs.sqlite"
    make(path)
    before = path.read_bytes()
    told, remedy = opened(path, write)
    assert said in told
    assert str(path) in told
    assert hint in remedy
    assert path.read_bytes() == before


def test_an_empty_file_is_a_new_store(tmp_path):
    (tmp_path / "runs.sqlite").touch()
    assert len(list(open_store(filled(tmp_path / "runs.sqlite")).records())) == 3


@pytest.mark.parametrize("write", [True, False], ids=["to write", "to read"])
@pytest.mark.parametrize("name", ["", "-", "a\0b"])
def test_a_name_that_no_file_has(name, write):
    with pytest.raises(GemmlabError, match="names no file") as caught:
        open_store(name, write=write)
    assert "--store" in caught.value.hint


@pytest.mark.parametrize("write", [True, False], ids=["to write", "to read"])
def test_a_folder_is_no_file(tmp_path, write):
    with pytest.raises(GemmlabError, match="is a folder") as caught:
        open_store(tmp_path, write=write)
    assert "runs.sqlite" in caught.value.hint


def test_a_folder_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(GemmlabError, match="cannot open the store") as caught:
        open_store(tmp_path / "file" / "folder" / "runs.sqlite")
    assert "--store" in caught.value.hint


def test_nothing_is_made_by_reading(tmp_path):
    with pytest.raises(GemmlabError, match="there is no store") as caught:
        open_store(tmp_path / "folder" / "runs.sqlite", write=False)
    assert "gemmlab run" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def opened(path, write):
    """What an error says, or how many Records there are."""
    try:
        with open_store(path, write=write) as store:
            return len(list(store.records()))
    except GemmlabError as error:
        return error.text, error.hint


@PERMISSIONS
def test_a_write_protected_folder_takes_no_new_store():
    with open_folder() as folder:
        folder.chmod(0o555)
        for path in (folder / "runs.sqlite", folder / "deep" / "runs.sqlite"):
            told, hint = unprivileged(opened, path, True)
            assert "cannot be written" in told or "Permission denied" in told
            assert str(path) in told
            assert "--store" in hint
        folder.chmod(0o755)
        assert list(folder.iterdir()) == []


@PERMISSIONS
def test_a_write_protected_store_can_be_read_and_not_written():
    with open_folder() as folder:
        path = filled(folder / "runs.sqlite")
        path.chmod(0o444)
        folder.chmod(0o555)
        assert unprivileged(opened, path, False) == 3
        told, hint = unprivileged(opened, path, True)
        assert "cannot be written" in told
        assert "--store" in hint
        folder.chmod(0o755)


@PERMISSIONS
def test_a_write_protected_copy_of_a_store_in_use_is_refused_not_read_short():
    """Its newest Records are in the log alone, which cannot be read there."""
    with open_folder() as folder, open_store(folder / "used.sqlite") as store:
        run = store.begin("squares")
        store.add(run, item(), timed(item()))
        copies = folder / "copies"
        copies.mkdir()
        for end in ("", "-wal"):
            shutil.copy(f"{store.path}{end}", copies / f"runs.sqlite{end}")
            os.chmod(copies / f"runs.sqlite{end}", 0o444)
        assert (copies / "runs.sqlite-wal").stat().st_size
        copies.chmod(0o555)
        told = unprivileged(opened, copies / "runs.sqlite", False)
        copies.chmod(0o755)
        assert told != 0
        assert told == 1 or "--store" in told[1]


def test_a_store_that_another_holds_is_waited_for_then_named(tmp_path, monkeypatch):
    monkeypatch.setattr("gemmlab.store.place.PATIENCE", 0.2)
    path = filled(tmp_path / "runs.sqlite")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with open_store(path) as store:
        with pytest.raises(GemmlabError, match="by another process") as caught:
            store.begin("squares")
        assert "wait" in caught.value.hint
        assert len(list(store.records())) == 3
        holder.execute("ROLLBACK")
        assert store.begin("squares").records == 0


def test_a_record_that_json_cannot_hold_is_refused_when_it_is_kept(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as store:
        run = store.begin("squares")
        broken = msgspec.structs.replace(timed(item()).problem, alpha=float("nan"))
        with pytest.raises(GemmlabError, match="packed cannot be kept"):
            store.keep(
                run, [(item(m=1), timed(item())), (item(), msgspec.structs.replace(timed(item()), problem=broken))]
            )
        assert store.keys(run) == set()


def test_a_record_that_cannot_be_read_is_named(tmp_path):
    with open_store(filled(tmp_path / "runs.sqlite")) as store:
        store.connection.execute("""UPDATE records SET record = '{"problem": 3}' WHERE id = 2""")
        with pytest.raises(GemmlabError, match="packed at 2x64x64 float32: its Record cannot be read") as caught:
            list(store.records())
        assert "the version that wrote it" in caught.value.hint


NAMES = [
    ("", "unknown run ``", ""),
    ("nonsense", "unknown run `nonsense`", "known: 2"),
    ("2", "`2` is 2 runs", "one of 2"),
    ("1999-01-01", "has no run of 1999-01-01", "there are runs of 2"),
]


@pytest.mark.parametrize(("name", "said", "hint"), NAMES, ids=[name or "empty" for name, *_ in NAMES])
def test_a_run_that_is_none_or_several(tmp_path, name, said, hint):
    with open_store(filled(filled(tmp_path / "runs.sqlite"))) as store, pytest.raises(GemmlabError) as caught:
        store.run(name)
    assert said in caught.value.text
    assert hint in caught.value.hint


def test_an_empty_store_says_how_to_fill_it(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as store:
        for ask in (store.latest, lambda: store.run("2026-11-30")):
            with pytest.raises(GemmlabError) as caught:
                ask()
            assert "gemmlab run SUITE" in caught.value.hint
        with pytest.raises(GemmlabError, match="of suite waves on epyc-7b13"):
            store.latest(suite="waves", chip="epyc-7b13")


def test_a_column_that_there_is_not_names_those_that_there_are(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as store, pytest.raises(GemmlabError, match="`kernal`") as caught:
        list(store.records(kernal="packed"))
    assert "kernel" in caught.value.hint
