"""The store of tuned plans: what it gives is an answer of its request, and a bad file is as good as none."""

import json
import timeit

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.peak.test_choosing import requests

from gemmlab.peak import store
from gemmlab.peak.candidates import variants
from gemmlab.peak.choosing import plan_for, plans
from gemmlab.peak.engine import Engine
from gemmlab.peak.request import Request
from gemmlab.record import GemmlabError

H200 = store.Device(name="NVIDIA H200", capability="9.0", sm_count=132)
SQUARE = Request(m=4096, n=4096, k=4096, a_format="bfloat16", b_format="bfloat16", d_format="bfloat16")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """The package's folder and the user's, both empty."""
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(store.SWITCH, raising=False)
    store.forget()
    yield tmp_path
    store.forget()


def another(request=SQUARE):
    """The model's second plan."""
    return sorted(plans(request), key=lambda plan: plan.predicted_s)[1]


def entry(request=SQUARE, plan=None, **changed):
    plan = plan or another(request)
    of = {"measured_s": 1e-4, "model_s": 1.1e-4, "spread_s": 1e-6, "date": "2026-11-30", "versions": {"torch": "2.11"}}
    return store.Entry(
        request=request, kernel=store.said_of(plan.kernel), group_m=plan.group_m, **of | changed
    )  # fmt: skip


def test_an_empty_store_leaves_the_model_s_plan():
    assert store.chosen(SQUARE, H200) == plan_for(SQUARE)


def test_a_measured_plan_is_chosen_for_its_request_alone_and_the_user_s_wins(monkeypatch):
    found, own = another(), replace(another(), group_m=2)
    store.keep(H200, [entry(plan=found)], store.SHIPPED / H200.file)
    assert store.chosen(SQUARE, H200) == found
    store.keep(H200, [entry(plan=own)])
    assert store.chosen(SQUARE, H200) == own
    for other in (replace(SQUARE, m=4095), replace(SQUARE, accuracy="best"), replace(SQUARE, a_along_k=False)):
        assert store.chosen(other, H200) == plan_for(other)
    for other in (replace(H200, sm_count=114), replace(H200, name="NVIDIA H20")):
        assert store.chosen(SQUARE, other) == plan_for(SQUARE)
    store.forget()
    monkeypatch.setenv(store.SWITCH, "0")
    assert store.chosen(SQUARE, H200) == plan_for(SQUARE)


def test_entries_are_added_replaced_and_taken_out():
    other = replace(SQUARE, n=512)
    path = store.keep(H200, [entry(), entry(other)])
    store.keep(H200, [entry(measured_s=9e-5)])
    assert {each.request: each.measured_s for each in store.read(path, H200)} == {SQUARE: 9e-5, other: 1e-4}
    store.keep(H200, [], without=[SQUARE])
    assert [each.request for each in store.read(path, H200)] == [other]
    assert json.loads(path.read_text())["what"].startswith("measured")
    assert [each.name for each in path.parent.iterdir()] == ["h200.json"]
    assert path.stat().st_mode & 0o444 == 0o444


def first_entry(**fields):
    return lambda content: content["entries"][0].update(fields)


def kernel(**fields):
    return lambda content: content["entries"][0]["kernel"]["engine"].update(fields)


DAMAGES = {
    "another chip": lambda content: content["device"].update(sm_count=114),
    "no device": lambda content: content.pop("device"),
    "entries of another form": lambda content: content.update(entries={"a": 1}),
    "no kernel": lambda content: content["entries"][0].pop("kernel"),
    "an entry that is a number": lambda content: content.update(entries=[7]),
    "a side of text": lambda content: content["entries"][0]["request"].update(m="4096"),
    "a side of nothing": lambda content: content["entries"][0]["request"].update(m=0),
    "no request": first_entry(request=None),
    "an unknown accuracy": lambda content: content["entries"][0]["request"].update(accuracy="exact"),
    "a field of a later request": lambda content: content["entries"][0]["request"].update(transposed=True),
    "a field that no engine has now": kernel(unroll=2),
    "two kernels": lambda content: content["entries"][0]["kernel"].update(vector={}),
    "an unknown kind": first_entry(kernel={"mystery": {}}),
    "a kernel of text": first_entry(kernel={"engine": "wide"}),
    "a vector for a square": first_entry(kernel={"vector": {"format": "bfloat16", "d_format": "bfloat16"}}),
    "rows of tiles below one": first_entry(group_m=0),
    "no blocks": kernel(blocks=0),
    "more blocks than a tile has": kernel(blocks=8, stages=2),
    "stages below none": kernel(stages=-4),
    "one stage": kernel(stages=1),
    "more stages than fit": kernel(stages=12),
    "an odd width": kernel(block_n=100),
    "a width that nobody plans": kernel(block_n=72),
    "a tile of nothing": kernel(consumers=0),
    "another format of D": kernel(d_format="float16"),
    "another format": kernel(a_format="int4"),
    "promotion that is not asked for": kernel(promote=1),
    "rows that lie otherwise": kernel(a_sides=True),
    "classes of nothing": kernel(b_classes=0),
    "a lag of text": kernel(lag="2"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_bad_entry_is_as_if_it_were_not_there(damage):
    path = store.keep(H200, [entry()])
    assert store.chosen(SQUARE, H200) == another() != plan_for(SQUARE)
    content = json.loads(path.read_text())
    DAMAGES[damage](content)
    path.write_text(json.dumps(content))
    store.forget()
    assert store.chosen(SQUARE, H200) == plan_for(SQUARE)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"entries": []}'])
def test_a_damaged_file_is_none_and_is_written_anew(text):
    path = store.own_file(H200)
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    assert store.chosen(SQUARE, H200) == plan_for(SQUARE)
    store.keep(H200, [entry()])
    assert store.chosen(SQUARE, H200) == another()


def test_one_bad_entry_costs_only_itself():
    other = replace(SQUARE, n=512)
    path = store.keep(H200, [entry(), entry(other)])
    content = json.loads(path.read_text())
    content["entries"][0]["kernel"]["engine"]["unroll"] = 2
    path.write_text(json.dumps(content))
    store.forget()
    assert store.chosen(SQUARE, H200) == plan_for(SQUARE)
    assert store.chosen(other, H200) == another(other)


def test_where_nothing_can_be_written_the_remedy_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert store.chosen(SQUARE, H200) == plan_for(SQUARE)
    with pytest.raises(GemmlabError, match="XDG_CACHE_HOME names another"):
        store.keep(H200, [entry()])


def order(plan):
    """What decides a result's digits, but for sums that threads share in an order of their own."""
    return plan.unit, plan.schedule, plan.split, getattr(plan.kernel, "promote", None)


@given(requests(), st.randoms())
@settings(max_examples=40)
def test_every_plan_of_a_request_survives_its_file(request_, random):
    """Any plan that the model could choose, in any free size, comes back as it was."""
    plan = random.choice(list(plans(request_)))
    for each in [plan, *variants(request_, plan)]:
        raw = msgspec.json.encode(entry(request_, each))
        assert store.plan_of(store.read_entry(msgspec.Raw(raw))) == each


@given(requests(deterministic=True), requests(), st.randoms())
@settings(max_examples=60)
def test_no_entry_changes_a_deterministic_order_or_an_accuracy(request_, other, random):
    """A kernel of any other request under this one's name: it is no answer, or one in the same order."""
    plan = random.choice(list(plans(other)))
    found = store.plan_of(entry(request_, plan))
    assert found is None or order(found) == order(plan_for(request_))
    near = replace(other, deterministic=True) if random.random() < 0.5 else replace(other, accuracy="best")
    found = store.plan_of(entry(near, plan))
    allowed = {order(each) for each in plans(near)}
    assert found is None or order(found) in allowed


def test_shares_of_k_are_no_deterministic_answer():
    long = replace(SQUARE, m=64, n=64, k=65536)
    shared = next(plan for plan in plans(long) if isinstance(plan.kernel, Engine) and plan.kernel.shares > 1)
    assert store.plan_of(entry(long, shared)) == shared
    assert store.plan_of(entry(replace(long, deterministic=True), shared)) is None


def test_a_look_takes_microseconds():
    store.keep(H200, [entry()])
    other = replace(SQUARE, n=512)
    for request_ in (SQUARE, other):
        store.chosen(request_, H200)
        assert min(timeit.repeat(lambda r=request_: store.chosen(r, H200), number=100, repeat=5)) < 100 * 50e-6
