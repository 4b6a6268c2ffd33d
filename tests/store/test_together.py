"""Several processes and one file: writers wait for each other, readers for nobody, and nothing is lost or doubled."""

import multiprocessing
import sqlite3
import sys
import threading

import pytest

from gemmlab.store import open_store
from gemmlab.store.place import write_ahead
from gemmlab.store.schema import APPLICATION, VERSION, migrate, transaction, version_of
from gemmlab.store.store import INSERT, line_of
from store.made import item, timed

SPAWN = multiprocessing.get_context("spawn")  # nothing of a connection may cross, as between two commands


def write(path, plan, kernels, go):
    go.wait()
    with open_store(path) as store:
        run = store.begin("squares", plan)
        for index in range(60):
            for kernel in kernels:
                each = item(m=index + 1, kernel=kernel)
                store.add(run, each, timed(each))
    sys.exit(0)


def together(path, *writers):
    """Run the writers at the same moment; returns the exit status of each."""
    go = SPAWN.Event()
    processes = [SPAWN.Process(target=write, args=(path, *writer, go)) for writer in writers]
    for process in processes:
        process.start()
    go.set()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def test_two_writers_of_two_runs_lose_nothing(tmp_path):
    path = tmp_path / "runs.sqlite"
    assert together(path, ("one", ["packed"]), ("other", ["packed", "naive"])) == [0, 0]
    with open_store(path) as store:
        assert sorted(run.records for run in store.runs()) == [60, 120]


def test_two_writers_of_one_run_double_nothing(tmp_path):
    path = tmp_path / "runs.sqlite"
    assert together(path, ("same", ["packed", "naive"]), ("same", ["naive", "ikj"])) == [0, 0]
    with open_store(path) as store:
        (run,) = store.runs()
        keys = [row.key for row in store.records(run=run.id)]
    assert len(keys) == len(set(keys)) == run.records == 180


@pytest.mark.parametrize("round_", range(3))
def test_a_new_file_may_be_made_by_many_at_once(tmp_path, round_):
    path = tmp_path / "folder" / "runs.sqlite"
    assert together(path, *((f"plan {index}", []) for index in range(6))) == [0] * 6
    with open_store(path) as store:
        assert len(store.runs()) == 6


def test_a_reader_sees_what_was_kept_while_another_writes(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as writer, open_store(writer.path, write=False) as reader:
        run = writer.begin("squares")
        for index in range(5):
            each = item(m=index + 1)
            with transaction(writer.connection):
                writer.connection.execute(INSERT, line_of(run, each, timed(each)))
                assert len(list(reader.records())) == index
            assert len(list(reader.records())) == index + 1


def test_a_file_whose_tables_are_made_while_it_is_looked_at_is_not_another_programs(tmp_path):
    path = tmp_path / "runs.sqlite"
    looking, making = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    write_ahead(making)
    made = []

    def meanwhile(statement):
        if "sqlite_master" in statement and not made:
            migrate(making, str(path))
            made.append(statement)

    looking.set_trace_callback(meanwhile)
    assert version_of(looking, str(path)) == 0
    assert made
    assert version_of(looking, str(path)) == VERSION


def test_a_file_that_is_not_yet_write_ahead_is_waited_for(tmp_path):
    """SQLite refuses this change of mode at once while another writes, whatever time-out it was given."""
    path = tmp_path / "runs.sqlite"
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute(f"PRAGMA application_id = {APPLICATION}")
    holder.execute("BEGIN IMMEDIATE")
    released = threading.Timer(0.3, lambda: holder.execute("COMMIT"))
    released.start()
    with open_store(path) as store:
        assert store.runs() == []
    released.join()
