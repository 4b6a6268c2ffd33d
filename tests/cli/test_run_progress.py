"""How far a sweep is: a bar on a terminal that is taken back, plain lines elsewhere."""

import io
import re

import msgspec
import pytest

from gemmlab.cli.run_progress import Progress
from gemmlab.experiment.sweep import Batch, Done
from store.made import item, timed


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def batches():
    return [Batch((item(m=m, kernel="naive"), item(m=m))) for m in (1, 2)]


def walked(stream):
    with Progress(6, 2, stream) as progress:
        for batch in batches():
            progress.begun(batch)
            progress.told("round 1 of 9")
            progress.ended([Done(each, timed(each, 1e-3)) for each in batch.items])
    return stream.getvalue()


def test_lines_where_there_is_no_terminal():
    assert walked(io.StringIO()).splitlines() == [
        "4 of 6: 1x64x64 float32: naive 1.00 ms, packed 1.00 ms",
        "6 of 6: 2x64x64 float32: naive 1.00 ms, packed 1.00 ms",
    ]


def test_a_fault_is_told_in_its_place():
    stream, each = io.StringIO(), item()
    record = timed(each)
    broken = msgspec.structs.replace(record.measurement, time_s=None, fault="never ended")
    Progress(1, 0, stream).ended([Done(each, msgspec.structs.replace(record, measurement=broken))])
    assert stream.getvalue() == "1 of 1: 64x64x64 float32: packed never ended\n"


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_a_bar_of_one_line_that_is_taken_back(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = walked(Terminal())
    assert "\n" not in text
    frames = text.split("\r\x1b[K")
    assert frames[-1] == ""
    assert max(map(len, frames)) < columns
    assert any("round" in frame for frame in frames)
    assert [re.search(r"\d of 6", frame)[0][0] for frame in frames if " of 6" in frame] == list("224446")[:7]
    filled = [frame.count("█") for frame in frames if " of 6" in frame]
    assert filled == sorted(filled)
    assert filled[-1] == (10 if columns < 68 else 20)
