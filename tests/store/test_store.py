"""What is kept comes back, once, in order, from any version of the file."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.experiment.keys import Key, problem_key
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.store import default_path, open_store
from gemmlab.store.schema import STEPS, VERSION
from store.made import item, timed

VERSION_1 = Path(__file__).with_name("version1.sql")


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "deep" / "folder" / "runs.sqlite") as opened:
        yield opened


def old_file(path):
    """A file of version 1."""
    connection = sqlite3.connect(path)
    connection.executescript(VERSION_1.read_text())
    connection.close()
    return path


def dump(path):
    """Everything in a file, its schema too, as the text that sqlite3 makes of it."""
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump()), connection.execute("PRAGMA user_version").fetchone()
    finally:
        connection.close()


def test_what_is_kept_comes_back(store):
    run = store.begin("squares")
    kept = [(each, timed(each, time)) for each, time in ((item(), 1e-3), (item(k=65), 2e-3), (item(layout="nt"), 3e-3))]
    assert all(store.add(run, *pair) for pair in kept)
    with open_store(store.path, write=False) as reader:
        rows = list(reader.records())
    assert [(row.key, row.record, row.suite, row.run) for row in rows] == [
        (each.key, record, "squares", run.id) for each, record in kept
    ]
    assert store.keys(run) == {each.key for each, _ in kept}


def test_a_key_is_kept_once_a_run_and_the_first_stays(store):
    first, second = store.begin("squares"), store.begin("squares")
    assert first.id != second.id
    assert store.add(first, item(), timed(item(), 1e-3))
    assert not store.add(first, item(), timed(item(), 9e-3))
    assert store.add(second, item(), timed(item(), 2e-3))
    assert [row.record.measurement.time_s for row in store.records()] == [1e-3, 2e-3]


@pytest.mark.parametrize(
    "other",
    [
        item(m=65), item(form="bfloat16"), item(layout="nt"), item(batch=2), item(beta=1.0), item(kernel="naive"),
        item(backend="torch"), item(chip="xeon-8481c"), item(threads=2), item(ldc=80), item(d_format="bfloat16"),
    ],
    ids=lambda each: str(each.key),
)  # fmt: skip
def test_whatever_differs_is_another_key(store, other):
    run = store.begin("squares")
    assert store.add(run, item(), timed(item()))
    assert store.add(run, other, timed(other))
    assert len(store.keys(run)) == 2


def test_filters_are_those_of_a_plain_search(store):
    run, other = store.begin("squares"), store.begin("waves")
    for index, each in enumerate((item(), item(kernel="naive"), item(m=65, chip="xeon-8481c"), item(form="bfloat16"))):
        store.add(run if index % 2 else other, each, timed(each))
    rows = list(store.records())
    for name in ("run", "suite", "problem", "formats", "chip", "backend", "kernel", "threads"):
        for value in {getattr(row, name) for row in rows} | {"none such"}:
            assert list(store.records(**{name: value})) == [row for row in rows if getattr(row, name) == value]
    assert list(store.records(kernel="packed", suite="waves")) == [
        row for row in rows if row.kernel == "packed" and row.suite == "waves"
    ]


def test_runs_latest_first(store):
    first = store.begin("squares")
    store.add(first, item(), timed(item()))
    second = store.begin("waves")
    store.add(second, item(chip="xeon, 2 sockets"), timed(item()))
    assert [run.id for run in store.runs()] == [second.id, first.id]
    assert [run.id for run in store.runs(chip="epyc-7b13")] == [first.id]
    assert store.latest().id == second.id
    assert store.latest(suite="squares").id == first.id
    assert store.latest().chips == ("xeon, 2 sockets",)
    assert store.runs(date="1999-01-01") == []


def test_an_unfinished_plan_goes_on_and_a_finished_one_begins_again(store):
    run = store.begin("squares", "plan a")
    assert store.begin("squares", "plan a").id == run.id
    assert store.begin("squares", "plan b").id != run.id
    fresh = store.begin("squares", "plan a", fresh=True)
    assert fresh.id != run.id
    store.finish(fresh)
    assert store.begin("squares", "plan a").id == run.id
    store.finish(run)
    assert store.run(run.id).finished
    assert store.begin("squares", "plan a").id not in (run.id, fresh.id)


def test_without_a_plan_every_run_is_new(store):
    assert store.begin("squares").id != store.begin("squares").id


def test_a_run_by_its_id_its_beginning_or_its_day(store):
    run = store.begin("squares")
    assert store.run(run.id) == run
    assert store.run(run.id[:-1]) == run
    assert store.run(run.started[:10]) == run


def test_version_1_becomes_the_newest_with_all_its_records(tmp_path):
    path = old_file(tmp_path / "old.sqlite")
    before = sqlite3.connect(path).execute("SELECT * FROM records ORDER BY id").fetchall()
    with open_store(path) as store:
        assert store.connection.execute("SELECT * FROM records ORDER BY id").fetchall() == before
        assert store.connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        runs = store.runs()
        rows = list(store.records())
    assert [(run.id, run.suite, run.records, run.chips) for run in runs] == [
        ("20260902-101500-77fe", "waves", 1, ("epyc-7b13",)),
        ("20260901-080000-0a1b", "squares", 3, ("epyc-7b13",)),
    ]
    assert runs[1].started == "2026-09-01T08:00:00.250Z"
    assert runs[1].finished == "2026-09-01T08:00:17.125Z"
    assert [row.record.measurement.time_s for row in rows] == [0.31, 0.0052, 0.041, 1.5e-06]
    assert rows[3].problem == "8x16x24 bfloat16 layout=nt"


def test_a_migrated_file_has_the_tables_of_a_new_one(tmp_path):
    with open_store(tmp_path / "new.sqlite"), open_store(old_file(tmp_path / "old.sqlite")):
        pass
    tables = "SELECT type, name, replace(replace(sql, ' ', ''), char(10), '') FROM sqlite_master ORDER BY name"
    new, old = (sqlite3.connect(tmp_path / f"{name}.sqlite").execute(tables).fetchall() for name in ("new", "old"))
    assert new == old
    assert len(new) > 2


def test_reading_an_old_file_leaves_it_old(tmp_path):
    path = old_file(tmp_path / "old.sqlite")
    before = dump(path)
    with open_store(path, write=False) as store:
        assert len(store.runs()) == 2
        assert len(list(store.records(run="20260901-080000-0a1b"))) == 3
    assert dump(path) == before


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = old_file(tmp_path / "old.sqlite")
    before = dump(path)
    monkeypatch.setattr("gemmlab.store.schema.STEPS", (STEPS[0], STEPS[1] + "INSERT INTO nowhere VALUES (1);"))
    with pytest.raises(GemmlabError, match="nowhere"):
        open_store(path)
    assert dump(path) == before


def test_the_default_place_is_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_path() == tmp_path / "data" / "gemmlab" / "runs.sqlite"
    with open_store() as store:
        assert store.path == default_path()
    assert default_path().is_file()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_DATA_HOME", ignored)
        assert default_path() == tmp_path / "home" / ".local" / "share" / "gemmlab" / "runs.sqlite"


SIDES = st.integers(1, 5)
PROBLEMS = st.builds(
    Gemm, SIDES, SIDES, SIDES, st.sampled_from(["float32", "bfloat16"]), layout=st.sampled_from(["nn", "nt", "tn"]),
    batch=st.integers(1, 2), lda=st.sampled_from([0, 9]), ldb=st.sampled_from([0, 9]), beta=st.sampled_from([0.0, 1.0]),
    accumulate=st.sampled_from(["", "float32"]), epilogue=st.sampled_from(["", "bias", "bias+relu"]),
) | st.builds(Gemm.grouped, st.lists(st.tuples(SIDES, SIDES, SIDES), min_size=1, max_size=3))  # fmt: skip


@given(PROBLEMS, PROBLEMS)
def test_problems_share_a_key_exactly_where_they_are_equal(one, other):
    assert (problem_key(one) == problem_key(other)) == (one.section() == other.section())


def test_a_key_reads_as_it_is_said():
    assert item(1024, 50257, 768, "bfloat16", layout="nt").key == Key(
        "1024x50257x768 bfloat16 layout=nt", "epyc-7b13", "cpu", "packed", 1
    )


def test_a_user_without_a_home_is_told(monkeypatch):
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(GemmlabError, match="no home folder to keep runs in\n\nhint: --store FILE"):
        open_store()
