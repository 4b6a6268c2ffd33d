"""A comparison as text and as a table; runs and Records of a store."""

import csv
import itertools
import json

import pytest
from msgspec.structs import replace

from gemmlab.record import Record
from gemmlab.report.canvas import cells
from gemmlab.report.compared import compared, compared_csv
from gemmlab.report.stored import runs_table, to_csv, to_json
from gemmlab.run.environment import busy
from gemmlab.store import compare, open_store
from store.made import item, timed

HOSTILE = "evil\x1b[31m\u202e name " + "long" * 60


@pytest.fixture
def found(tmp_path):
    def rows(factor, *more):
        made = [item(m=m, kernel=kernel) for m in (1, 2) for kernel in ("naive", "packed")]
        return [
            (each, timed(each, factor * each.problem.m * 1e-3, environment={"driver": str(factor)}))
            for each in (*made, *more)
        ]

    with open_store(tmp_path / "runs.sqlite") as store:
        runs = []
        for factor, more in (
            (2.0, [item(kernel=HOSTILE, m=1), item(m=9)]),
            (1.0, [item(kernel=HOSTILE, m=1), item(m=8)]),
        ):
            run = store.begin("squares")
            store.keep(run, rows(factor, *more))
            runs.append((store, store.run(run.id)))
        yield compare(*runs)


def test_the_text_says_every_row_and_what_holds_of_all(found):
    text = compared(found, width=80, color=False, unicode=False)
    assert "squares: run B beside run A" in text
    assert "measured" in text.splitlines()[0]
    for said in (
        found.a.id, found.b.id, "1x64x64 float32", "all with 1 thread", "  cpu naive   ", "2.00 ms", "1.00 ms",
        "2.000x", "1.96 to 2.04", "5 faster, 0 slower, 0 not told apart", "Only in A, 1 row", "9x64x64 float32",
        "8x64x64 float32", "cpu driver: A 2.0, B 1.0",
    ):  # fmt: skip
        assert said in text, said


@pytest.mark.parametrize("width", [40, 60, 68, 80, 100])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_asked_nor_moves_the_cursor(found, width, unicode):
    for line in compared(found, width=width, color=False, unicode=unicode).splitlines():
        assert cells(line) <= width
        assert line.isprintable()
        assert unicode or line.isascii()


def test_the_csv_has_a_line_for_every_key(found):
    lines = list(csv.DictReader(compared_csv(found)))
    assert [each["row"] for each in lines] == ["both"] * 5 + ["only_a", "only_b"]
    assert [float(each["ratio"]) for each in lines[:5]] == [pair.ratio for pair in found.pairs]
    assert all(None not in each and None not in each.values() for each in lines)


def test_a_store_comes_back_out_of_its_json(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as store:
        run = store.begin("=cmd|calc")
        for m in (1, 2, 3):
            store.add(run, item(m=m), timed(item(m=m), m * 1e-3))
        rows = list(store.records())
        lines = [json.loads(line) for line in to_json(rows)]
        assert [Record.from_json(json.dumps(line["record"])) for line in lines] == [row.record for row in rows]
        assert [(line["run"], line["suite"], line["problem"]) for line in lines] == [
            (row.run, row.suite, row.problem) for row in rows
        ]
        table = list(csv.DictReader(to_csv(rows)))
        assert [float(line["measurement.time_s"]) for line in table] == [1e-3, 2e-3, 3e-3]
        assert [line["key.suite"] for line in table] == ["'=cmd|calc"] * 3
        assert [line["problem.m"] for line in table] == ["1", "2", "3"]
        assert "samples" not in "".join(itertools.chain(*table))


def test_runs_are_listed_with_what_they_have(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as store:
        assert runs_table(store.runs(), width=80) == "no runs"
        run = store.begin("squares")
        store.add(run, item(), timed(item()))
        other = store.begin(HOSTILE)
        store.finish(other)
        text = runs_table(store.runs(), width=60, color=False, unicode=False)
    assert all(cells(line) <= 60 and line.isprintable() for line in text.splitlines())
    assert f"{run.id}" in text
    assert "1 Record on epyc-7b13, unfinished" in text
    assert text.endswith("2 runs")


def test_a_run_under_load_says_so_beside_the_verdict(tmp_path):
    with open_store(tmp_path / "runs.sqlite") as store:
        runs = []
        for loads in ((9.5, 4.0), (0.1, 0.1)):
            run = store.begin("squares")
            made = []
            for m, load in enumerate(loads, 1):
                record = timed(item(m=m), load * 1e-3, environment={"load_before": str(load)})
                notes = (note,) if (note := busy(str(load), 2)) else ()
                made.append((item(m=m), replace(record, measurement=replace(record.measurement, notes=notes))))
            store.keep(run, made)
            runs.append((store, store.run(run.id)))
        text = compared(compare(*runs), width=80, color=False, unicode=False)
    assert "A: cores were busy before 2 of 2 rows, load 4 to 9.5: times may be too long" in text
    assert "B: cores" not in text
