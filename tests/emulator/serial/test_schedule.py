import json

import pytest

from gemmlab.emulator.serial import NAMED, Schedule, parse
from gemmlab.record import GemmlabError


@pytest.mark.parametrize("name", NAMED)
def test_a_named_schedule_is_spelled_by_its_name(name):
    assert str(NAMED[name]) == name
    assert parse(name) == NAMED[name]


@pytest.mark.parametrize(
    "text",
    [
        "random:seed=7,preemptions=1,horizon=90",
        "serial:blocks=shuffled,together=4,only=4+9,seed=3",
        "delayed-writer:first=3+1,last=0,delay=kernel.py:12+14",
        "reverse:preemptions=2,horizon=10",
        "serial:only=3-993/30",
        "serial:first=4+2+0+1",
    ],
)
def test_text_and_json_give_the_schedule_back(text):
    schedule = parse(text)
    assert parse(str(schedule)) == schedule
    assert Schedule.from_json(json.loads(json.dumps(schedule.to_json()))) == schedule


def test_turns_come_from_a_file(tmp_path):
    schedule = Schedule("turns", order="turns", turns=((0, 3), (2, 1)))
    path = tmp_path / "worst.json"
    path.write_text(json.dumps(schedule.to_json()))
    assert parse(f"witness:{path}") == schedule


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seriell", "seriell"),
        ("random:sead=1", "sead"),
        ("random:seed", "seed"),
        ("random:seed=x", "seed of a schedule cannot be 'x'"),
        ("random:preemptions=-1", "preemptions"),
        ("serial:together=0", "together"),
        ("serial:blocks=sideways", "sideways"),
        ("serial:first=2000", "first"),
        ("serial:only=5-9/0", "only"),
        ("serial:only=5-9", "only"),
        ("delayed-writer:order=lockstep", "no queue"),
        ("delayed-writer:order=turns", "no queue"),
        ("witness:no/such/file.json", "no/such/file.json"),
    ],
)
def test_what_is_no_schedule_is_refused(text, said):
    with pytest.raises(GemmlabError, match=said):
        parse(text)


@pytest.mark.parametrize(
    "given",
    [
        [],
        {},
        {"name": 3},
        {"name": "serial", "turnips": []},
        {"name": "turns", "order": "turns", "turns": [[1]]},
        {"name": "turns", "order": "turns", "turns": [[1, -1]]},
        {"name": "turns", "order": "turns", "turns": [[1, True]]},
        {"name": "turns", "order": "turns", "turns": 5},
        {"name": "serial", "delay": [3]},
        {"name": "serial", "first": 3},
        {"name": "serial", "seed": 1.5},
    ],
)
def test_what_is_no_schedule_in_a_file_is_refused(given, tmp_path):
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(given))
    with pytest.raises(GemmlabError):
        parse(f"witness:{path}")


def test_a_file_that_is_no_json_is_refused(tmp_path):
    path = tmp_path / "witness.json"
    path.write_bytes(b"\xff{")
    with pytest.raises(GemmlabError, match="cannot read"):
        parse(f"witness:{path}")
    path.write_text("{")
    with pytest.raises(GemmlabError, match="no JSON"):
        parse(f"witness:{path}")
