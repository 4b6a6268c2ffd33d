"""Files that are no traces, that are cut off, or whose JSON is broken: each told for what it is, or mended."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.record import GemmlabError
from gemmlab.workload.traces import is_trace, read_trace
from workload.kineto import Kineto

MM = ("aten::mm", 10.0, 5.0, [4, 8], [8, 16])


def small() -> Kineto:
    """One multiplication with its kernel, and a copy."""
    trace = Kineto()
    trace.op(*MM)
    trace.run("ampere_sgemm_32x32_nn", 12.0, 20.0, 3.0)
    trace.op("aten::copy_", 30.0, 5.0, [4, 8], [4, 8], "False")
    trace.run("Memcpy DtoD (Device -> Device)", 31.0, 40.0, 1.0)
    return trace


@pytest.fixture
def text():
    return json.dumps(small().document, indent=1).encode()


def refused(path, *words):
    """The error that a file is refused with names all of the words, and how to go on."""
    with pytest.raises(GemmlabError) as caught:
        read_trace(path)
    assert caught.value.hint, caught.value.text
    for word in words:
        assert word in str(caught.value)
    return caught.value


def kept(path):
    """The one multiplication of `small` was found, with its time."""
    workload = read_trace(path)
    (call,) = workload.calls
    assert (call.problem.m, call.problem.n, call.problem.k) == (4, 16, 8)
    assert call.time_s == pytest.approx(3e-6)
    return workload


def test_as_it_should_be(tmp_path, text):
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    assert not any("mended" in note for note in kept(path).notes)


@pytest.mark.parametrize("name", ["trace.json.gz", "trace.json", "trace.pt.trace.json.gz"])
def test_packed_whatever_its_name(tmp_path, text, name):
    (tmp_path / name).write_bytes(gzip.compress(text))
    kept(tmp_path / name)


def test_a_bare_array(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text("\n\n  " + json.dumps(small().events))
    kept(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_with_a_byte_order_mark(tmp_path, text, encoding):
    path = tmp_path / "trace.json"
    path.write_bytes(text.decode().encode(encoding))
    kept(path)


def test_the_newest_of_a_folder(tmp_path, text):
    for age, name in enumerate(["host_1.123.pt.trace.json", "host_1.456.pt.trace.json.gz", "settings.json"]):
        place = tmp_path / name
        place.write_bytes(gzip.compress(text) if name.endswith(".gz") else text if "pt" in name else b"{}")
        os.utime(place, (1000 + age, 1000 + age))
    assert is_trace(tmp_path)
    assert any("host_1.456.pt.trace.json.gz" in note for note in kept(tmp_path).notes)
    os.utime(tmp_path / "host_1.123.pt.trace.json", (2000, 2000))
    (tmp_path / "host_1.123.pt.trace.json").write_bytes(b"")
    refused(tmp_path, "host_1.123.pt.trace.json", "empty")


def test_a_folder_without_any(tmp_path):
    assert not is_trace(tmp_path)
    refused(tmp_path, "folder")


def test_what_is_taken_for_a_trace(tmp_path):
    assert is_trace("trace.json")
    assert is_trace("runs/a.PT.TRACE.JSON.GZ")
    assert not is_trace("shapes.csv")
    for number, (content, known) in enumerate(
        [
            (json.dumps(small().document).encode(), True),
            (gzip.compress(json.dumps(small().document).encode()), True),
            (json.dumps(small().events).encode(), True),
            (b"m,n,k\n1,2,3\n", False),
            (b'{"name": "page"}', False),
            (b"", False),
            (b"\x1f\x8bjunk", False),
        ]
    ):
        place = tmp_path / f"run.{number}"
        place.write_bytes(content)
        assert is_trace(place) == known
    assert not is_trace("model.py:Net")
    refused(tmp_path / "missing.json", "missing.json", "No such file")


@pytest.mark.parametrize("share", [0.02, 0.1, 0.35, 0.6, 0.9, 0.97])
def test_cut_off(tmp_path, text, share):
    path = tmp_path / "trace.json"
    cut = text[: int(len(text) * share)]
    path.write_bytes(cut)
    refused(path, "cut off", f"{len(cut):,} bytes")


def test_cut_off_says_in_which_event(tmp_path, text):
    path = tmp_path / "trace.json"
    path.write_bytes(text[: text.index(b"aten::copy_") + 40])
    refused(path, "aten::copy_", "in event 5")


def test_no_cut_is_half_a_table(tmp_path, text):
    path = tmp_path / "trace.json"
    for end in range(0, len(text.rstrip()), 7):
        path.write_bytes(text[:end])
        with pytest.raises(GemmlabError):
            read_trace(path)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.95])
def test_a_packed_file_cut_off(tmp_path, share):
    body = json.dumps([{"ph": "M", "name": str(number * 7919)} for number in range(3000)]).encode()
    packed = gzip.compress(body)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed[: int(len(packed) * share) + 2])
    text = refused(path, "cut off").text
    assert 0 <= int(text.split("after ")[1].split(" bytes")[0].replace(",", "")) <= share * len(body) + 50_000


def test_a_packed_file_damaged(tmp_path, text):
    packed = bytearray(gzip.compress(text))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed)
    refused(path, "damaged")


def test_packed_in_parts_and_padded(tmp_path, text):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(text[:700]) + gzip.compress(text[700:]) + bytes(512))
    kept(path)


@pytest.mark.parametrize("content", [b"", b"   \n\t ", b"\0" * 5000])
def test_empty(tmp_path, content):
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    refused(path, "empty")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\x80\x05\x95\x10\x00\x00", "pickle"),
        (b"SQLite format 3\0" + bytes(100), "SQLite"),
        (b"PK\x03\x04" + bytes(100), "zip"),
        (b"\x0a\x10\x08\x01" + bytes(100), "protocol buffer"),
        (b"\x7fELF" + bytes(100), "program"),
        (b"<!DOCTYPE html><html></html>", "HTML"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        (b'{"Type":80,"NvtxEvent":{}}\n{"Type":81}\n', "Nsight Systems"),
        (b'{"id": 1, "name": "a"}\r\n{"id": 2}\r\n', "one JSON object a line"),
        (b"aten::mm 3 us\naten::mm 4 us\n", "begins with"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
        (b'{"problem": {"m": 1}, "chip": null}', "Record of gemmlab"),
        (b'{"log": {"version": "1.2", "entries": []}}', "HAR"),
        (b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}', "Chakra"),
        (b'{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {}}', "speedscope"),
        (b'{"segments": [], "device_traces": []}', "memory"),
        (b'{"name": "page", "version": "1.0"}', "name, version"),
        (b"{}", "none"),
        (b"[]", "no operators of PyTorch"),
        (b'{"traceEvents": []}', "no operators of PyTorch"),
        (b'{"traceEvents": {"a": 1}}', "no list"),
        (b'{"traceEvents": null}', "traceEvents"),
        (b'[1, 2, "x", null, [3]]', "no operators of PyTorch"),
        (b"{not json at all}", "no JSON"),
        (b'{"traceEvents": [{"ph": "X", "cat": "devtools.timeline", "name": "Run", "ts": 1, "dur": 2}]}', "Chrome's"),
        (b'[{"cat": "Session", "pid": 1, "ph": "X", "name": "model_loading", "ts": 1, "dur": 2}]', "ONNX Runtime"),
        (b'{"traceEvents": [{"ph": "M", "args": {"name": "/device:GPU:0"}}], "displayTimeUnit": "ns"}', "TensorFlow"),
        (b'[{"name": "add", "ph": "X", "ts": 1, "dur": 2, "tid": 1, "pid": "CPU functions"}, '
         b'{"name": "add", "ph": "s", "ts": 1, "tid": 1, "pid": "CPU", "cat": "cpu_to_cuda"}]', "before Kineto"),
    ],
)  # fmt: skip
def test_foreign_files(tmp_path, content, word):
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    refused(path, word)


def replaced(text: bytes, old: bytes, new: bytes) -> bytes:
    assert old in text
    return text.replace(old, new)


FRAME = (
    b'{"ph": "X", "cat": "python_function", "name": "%s", "pid": 100, "tid": 1, "ts": 1.0, "dur": 99.0, "args": {}},'
)


@pytest.mark.parametrize(
    "name",
    [
        rb"torch\cuda\__init__.py(219): _lazy_init",
        rb"C:\users\me\model.py(3): forward",
        b"torch/_inductor/config.py(0): \x01\x02",
        b"torch/_inductor/config.py(0): \xff\xfe\x80",
        b'{"device": "cpu", "dtype": "float32"}(12): run',
        b'a module of "docstrings"(1): <module>',
        b"two\nlines(1): f",
        b"}\n{",
        rb"bad \u12 escape(1): f",
        b"a }, {\"ph\" of no event(1): f",
    ],
)  # fmt: skip
def test_broken_names_are_mended(tmp_path, text, name):
    path = tmp_path / "trace.json"
    path.write_bytes(replaced(text, b'"traceEvents": [', b'"traceEvents": [' + FRAME % name.replace(b"%", b"%%")))
    kept(path)


@pytest.mark.parametrize("number", [b"inf", b"-inf", b"nan", b"NaN", b"Infinity", b"-Infinity", b"N/A"])
def test_numbers_that_are_none(tmp_path, text, number):
    path = tmp_path / "trace.json"
    path.write_bytes(replaced(text, b'"context": 1', b'"blocks per SM": ' + number + b', "context": 1'))
    assert any("mended" in note for note in kept(path).notes)


def test_a_trailing_comma(tmp_path, text):
    path = tmp_path / "trace.json"
    end = text.rindex(b"}\n ],")
    path.write_bytes(text[: end + 1] + b",\n ],\n" + text[end + 5 :])
    kept(path)


def test_keys_given_twice(tmp_path, text):
    path = tmp_path / "trace.json"
    path.write_bytes(replaced(text, b'"stream": 7', b'"stream": 7, "stream": 7'))
    kept(path)


def test_odd_fields_are_left_out(tmp_path):
    trace = small()
    trace.events += [
        {"ph": "X", "cat": "cpu_op", "name": "aten::view", "pid": "a", "tid": "b", "ts": "50.5", "dur": "2"},
        {"ph": "X", "cat": "cpu_op", "name": "aten::t", "pid": 1, "tid": 1, "ts": 60, "dur": 1,
         "args": {"External id": "N/A", "Sequence number": None, "Input Dims": "none", "Call stack": 3}},
        {"ph": "X", "cat": None, "name": 5, "pid": None, "tid": [1], "ts": 1, "dur": 1},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 70, "dur": 1, "args": {"correlation": "x"}},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 70, "dur": 1, "args": {"device": 1 << 70}},
    ]  # fmt: skip
    kept(trace.write(tmp_path / "trace.json"))


def test_what_nothing_mends(tmp_path, text):
    path = tmp_path / "trace.json"
    path.write_bytes(replaced(text, b'"ph": "M"', b'"ph" "M" : :'))
    refused(path, "event 1", "no JSON")


@pytest.mark.parametrize("category", ["cpu_op", "kernel"])
@pytest.mark.parametrize("dur", [None, -3.5, "-1", "long", float("nan")])
def test_times_that_are_none(tmp_path, category, dur):
    trace = small()
    event = next(each for each in trace.events if each.get("cat") == category)
    event.pop("dur") if dur is None else event.update(dur=dur)
    refused(trace.write(tmp_path / "trace.json"), event["name"])


@pytest.mark.parametrize("start", ["noon", None, True, [1], 1e300, -1e19, 10**400])
def test_starts_that_are_none(tmp_path, start):
    trace = small()
    trace.events[1]["ts"] = start
    refused(trace.write(tmp_path / "trace.json"), "aten::mm", "no times can be joined")


def test_the_unit_to_display_is_not_that_of_times(tmp_path):
    document = small().document | {"displayTimeUnit": "ns"}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    kept(path)


def test_without_shapes_it_tells_what_kernels_do(tmp_path):
    trace = Kineto()
    trace.op("aten::mm", 10.0, 5.0)
    trace.run("ampere_sgemm_32x32_nn", 12.0, 20.0, 3.0)
    trace.op("aten::copy_", 30.0, 5.0)
    trace.run("void at::native::copy_kernel", 31.0, 40.0, 1.0)
    refused(trace.write(tmp_path / "trace.json"), "record_shapes=True", "4.00 us", "3.00 us", "75%")


def test_kernels_without_operators(tmp_path):
    trace = Kineto()
    trace.run("ampere_sgemm_32x32_nn", 12.0, 20.0, 3.0)
    refused(trace.write(tmp_path / "trace.json"), "no operators", "ProfilerActivity.CPU")


@pytest.mark.parametrize("seed", range(60))
def test_damage_anywhere_is_told_or_harmless(tmp_path, text, seed):
    """Bytes changed, dropped or doubled: a GemmlabError or a Workload, never another error."""
    draw = np.random.default_rng(seed)
    damaged = bytearray(text)
    for _ in range(draw.integers(1, 5)):
        place = int(draw.integers(len(damaged)))
        match draw.integers(3):
            case 0:
                damaged[place] = int(draw.integers(256))
            case 1:
                del damaged[place : place + int(draw.integers(1, 30))]
            case _:
                damaged[place:place] = damaged[place : place + int(draw.integers(1, 60))]
    path = tmp_path / "trace.json"
    path.write_bytes(damaged)
    assert outcome(path)


def outcome(path):
    """The hint of an error, or the kind of what was read."""
    try:
        return read_trace(path).kind
    except GemmlabError as error:
        return error.hint


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from([b"\\", b'"', b"\n", b"\x00", b"\xff", b"\xc3\xa9", b"}", b"{", b",", b":", b"u12", b"a "])
    )
)
def test_any_name_is_mended(tmp_path_factory, parts):
    """A name written as it is, as exporters wrote them, takes nothing else of the trace with it."""
    path = tmp_path_factory.mktemp("names") / "trace.json"
    text = json.dumps(small().document, indent=1).encode()
    frame = FRAME.replace(b"%s", b"".join(parts))
    path.write_bytes(replaced(text, b'"traceEvents": [', b'"traceEvents": [' + frame))
    kept(path)


def test_asking_loads_nothing_heavy():
    text = "import sys; from gemmlab.workload.traces import is_trace; is_trace('a'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("broken", [b"", b"\x01"])
def test_lists_in_lists_without_end(tmp_path, text, broken):
    deep = b'"args": {"q": ' + b"[" * 5000 + b"]" * 5000 + b", "
    path = tmp_path / "trace.json"
    path.write_bytes(text.replace(b"aten::copy_", b"aten::copy_" + broken).replace(b'"args": {', deep, 1))
    refused(path, "trace.json", "nests lists deeper than any profiler does")
    path.write_bytes(b"[" * 100_000 + b"]" * 100_000)
    refused(path, "trace.json")


def test_what_is_no_trace_in_a_folder_is_passed_over(tmp_path, text):
    for age, (name, content) in enumerate([("run.json", text), ("other.json", b"{}"), ("list.json", b"[1]")]):
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    assert any("run.json" in note for note in kept(tmp_path).notes)
    (tmp_path / "run.json").unlink()
    refused(tmp_path, "list.json")


def test_a_recording_without_marks_says_so(tmp_path, text):
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    assert not kept(path).marked
    marked = small()
    marked.annotation("ProfilerStep#1", 0.0, 100.0)
    path.write_text(json.dumps(marked.document))
    assert kept(path).marked
