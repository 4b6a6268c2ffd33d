"""A network's summary for programs: of one step, finite, and what the report says."""

import json
import math

import msgspec
import pytest

from gemmlab.report.workload_story import Story
from gemmlab.report.workload_summary import Summary, summary_json, summary_of
from report.answers import ALL, PAD, gpt2, traced


def finite(value):
    if isinstance(value, dict | list):
        return all(map(finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize("name", ALL)
def test_every_answer_has_one(name):
    text = summary_json(ALL[name]())
    assert finite(json.loads(text))
    assert msgspec.json.decode(text, type=Summary) == summary_of(ALL[name]())
    assert "\n" not in text


def test_figures_are_of_one_step():
    made, told = traced(), summary_of(traced())
    assert told.steps == 3
    for name in ("time_s", "multiplying_s", "rest_s", "idle_s", "unread_s"):
        assert getattr(told, name) == pytest.approx(getattr(made, name) / 3)
    assert told.flop == made.workload.flop / 3
    assert (told.others[0].count, told.others[0].time_s) == (10, pytest.approx(2e-3))
    assert (told.unread[0].count, told.unread[0].time_s) == (1, pytest.approx(0.7e-3))
    assert told.changes[0].gain_s == pytest.approx(made.changes[0].gain_s / 3)


def test_gains_are_those_of_the_report():
    made = msgspec.structs.replace(gpt2(), advised=(PAD.line,))
    told, said = summary_of(made), Story(made)
    assert told.together_s == pytest.approx(said.step_s * (1 - made.advised_gain))
    assert [change.rows for change in told.changes] == [change.rows for change in said.changes()]
    assert [change.together for change in told.changes] == [change.line == PAD.line for change in told.changes]
    endless = msgspec.structs.replace(made.changes[0], predicted_speedup=float("inf"))
    assert summary_of(msgspec.structs.replace(made, changes=(endless,))).changes[0].predicted_speedup is None


def test_items_are_what_the_inputs_tell():
    def items(inputs):
        settings = (("inputs", inputs),) if inputs else ()
        work = msgspec.structs.replace(gpt2().workload, settings=settings)
        told = summary_of(msgspec.structs.replace(gpt2(), workload=work))
        return told.items, told.item, told.items_per_s

    rate = 8192 / gpt2().time_s
    assert items("8x1024:int64") == (8192, "tokens", pytest.approx(rate))
    assert items("256x3x224x224:float32")[:2] == (256, "images")
    assert items("") == items("64:int64") == (None, "", None)


def test_what_nobody_predicts_is_null():
    told = summary_of(msgspec.structs.replace(traced(), chip=""))
    assert (told.limit_s, told.perfect_gain, told.together_s, told.advised_gain) == (None,) * 4
    assert told.time_s > 0
