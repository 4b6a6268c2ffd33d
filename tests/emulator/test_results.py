"""Rows of counts add up by memory, array and line, and a Record keeps all of it."""

import json

import pytest

from emulator.hand_made import FILE, SAME, emulation, racy
from gemmlab.record import GemmlabError, GlobalAccess, LocalAccess, Record, SharedAccess


def test_accesses_by_memory():
    r = emulation()
    assert r.global_load == GlobalAccess(elements=512, bytes=1024, requests=16, sectors=128)
    assert r.global_store == GlobalAccess(elements=256, bytes=1024, requests=8, sectors=32)
    assert r.global_atomic == GlobalAccess(elements=256, bytes=1024, requests=8, sectors=40)
    assert r.shared_load == SharedAccess(
        elements=2048, bytes=1024 * 4 + 1024 * 8, requests=64, wavefronts=128, bank_conflicts=64
    )
    assert r.shared_store == SharedAccess(elements=512, bytes=2048, requests=16, wavefronts=16)
    assert r.shared_atomic == SharedAccess()
    assert r.local_load == LocalAccess(elements=50, bytes=50)
    assert r.local_store == LocalAccess(elements=100, bytes=100)


def test_work_branches_and_barriers():
    r = emulation()
    assert (r.flop, r.fma) == (2304, 1024)
    assert (r.branches, r.divergent_branches, r.barrier_waits) == (24, 1, 16)


def test_accesses_by_array():
    arrays = emulation().arrays
    assert (arrays["a"].load.sectors, arrays["a"].load.bytes, arrays["a"].store.elements) == (128, 1024, 0)
    assert (arrays["sA"].load.wavefronts, arrays["sA"].load.bank_conflicts, arrays["sA"].store.requests) == (96, 64, 16)
    assert arrays["c"].atomic.requests == 8
    assert (arrays["sB"].space, arrays["sB"].type) == ("shared", "float64")
    assert arrays["idle"].load.elements == 0


def test_accesses_by_line():
    r = emulation()
    assert [(line.file, line.line) for line in r.lines][-1] == ("helpers.py", 3)
    assert [line.line for line in r.lines if line.file == FILE] == [9, 10, 11, 14, 16, 17, 18]
    assert r.line(14).text == "s += sA[y, i] * sB[i, x]"
    assert (r.line(14).flop, r.line(14).fma) == (2048, 1024)
    assert sum(each.elements for each in r.line(14).accesses) == 2048
    assert r.line(9).divergent_branches == 1
    assert r.line(11).barrier_waits == 16
    assert r.line(3, "helpers.py").accesses[0].array == "mine"


def test_a_line_that_counts_nothing_is_no_line():
    with pytest.raises(GemmlabError, match=r"line 12 of tiled\.py"):
        emulation().line(12)


def test_a_record_keeps_it_all():
    record = racy().to_record()
    assert Record.from_json(record.to_json()) == record
    told = json.loads(record.to_json())["emulation"]
    assert told["global_load"] == {"elements": 512, "bytes": 1024, "requests": 16, "sectors": 128}
    assert told["arrays"]["sA"]["load"]["bank_conflicts"] == 64
    assert told["faults"][0]["threads"][1] == {"block": [0, 0, 0], "thread": [0, 1, 0]}
    assert (told["faults"][0]["line"], told["faults"][0]["other_line"], told["faults"][0]["epoch"]) == (10, 14, 2)
    assert told["schedules"][0]["wrong_elements"] == 63
    assert told["proof"]["holds"] == "refuted"
    assert told["notes"] == ["a note"]


def test_only_what_may_change_a_value_is_not_ok():
    assert emulation().ok
    assert emulation((SAME,)).ok
    assert not racy().ok


def test_its_text_tells_every_memory_and_fault():
    text = str(racy())
    assert text.startswith("tiled: 2x2 blocks of 8x8 threads")
    assert "global_load: 512 elements, 1,024 bytes, 16 requests, 128 sectors" in text
    assert "shared_atomic" not in text
    assert "fault: shared_race of sA at line 10, 512 times" in text
    assert "schedule reverse: 63 wrong elements" in text
    assert all(len(line) <= 100 for line in text.splitlines())
