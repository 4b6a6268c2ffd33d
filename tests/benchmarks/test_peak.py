"""The benchmark of `gemmlab.matmul` without a GPU: its groups are whole, its arithmetic and its checks are right."""

import ctypes
import importlib
import json
import math
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULT = BENCHMARKS / "results" / "peak.json"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name == "peak" or name.startswith("peak_"):
            del sys.modules[name]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="pip install torch")


def script(name):
    return importlib.import_module(name)


def results(group, ratio=10.0, **more):
    """Results of a group's rows, all good."""
    good = {"ratio": ratio, "right": True, "as_accurate": True, "copy_share": 1.0}
    names = ("m", "n", "k", "format", "layout")
    rows = script("peak_groups").GROUPS[group][2]
    return [dict(zip(names, row, strict=True)) | good | more for row in rows]


def test_groups_are_data_that_the_rows_can_be_made_of():
    groups, lying = script("peak_groups"), script("peak_row").lying
    for name, (bar, least, rows) in groups.GROUPS.items():
        assert (bar is None) == (least is None) == (name not in groups.AIMS)
        assert bar is None or least < bar < groups.AIMS[name]
        assert len(rows) == len(set(rows)) > 1
        for m, n, k, form, layout in rows:
            told = lying(layout)
            name_, _, accuracy = form.partition(" ")
            assert min(m, n, k) >= 1
            assert name_ in ("float32", "bfloat16", "float16", "float8_e4m3fn")
            assert accuracy in ("", "fast")
            assert not told.ld or told.ld >= k


def test_few_rows_are_multiplied_in_float8_too():
    groups = script("peak_groups").GROUPS
    for name, few in (("m = 1", {1}), ("m = 8..64", {8, 16, 32, 64})):
        rows = [row for row in groups[name][2] if row[3] == "float8_e4m3fn"]
        assert {row[0] for row in rows} == few
        assert len(rows) == 8 * len(few)


def test_groups_are_chosen_by_what_their_names_begin_with():
    chosen = script("peak_groups").chosen
    assert chosen(["m = 1", "float8 f"]) == ["m = 1", "m = 128", "float8 fast"]
    assert len(chosen([])) == len(script("peak_groups").GROUPS)
    with pytest.raises(SystemExit, match="no group begins with 'int8'"):
        chosen(["aligned", "int8"])


def test_a_group_holds_by_its_geometric_mean_and_its_slowest_row():
    held = script("peak_groups").held
    found = results("unaligned, about 1000")
    found[0]["ratio"], found[1]["ratio"] = 2.0, 8.0
    assert held("unaligned, about 1000", found) == (pytest.approx(4.0), 2.0, True)
    found[0]["ratio"] = 1.49  # above the mean's bar, below the row's
    assert not held("unaligned, about 1000", found).holds
    found[0]["ratio"], found[1]["ratio"] = 1.6, 1.6
    assert not held("unaligned, about 1000", found).holds


@pytest.mark.parametrize("fault", [{"right": False}, {"as_accurate": False}])
def test_a_group_with_a_result_that_is_wrong_or_less_accurate_does_not_hold(fault):
    held, found = script("peak_groups").held, results("aligned")
    assert held("aligned", found).holds
    found[3] |= fault
    assert not held("aligned", found).holds


def test_a_group_that_is_not_whole_does_not_hold():
    held, found = script("peak_groups").held, results("aligned")
    assert not held("aligned", found[:-1]).holds
    del found[0]["ratio"]  # as a row with a fault
    assert not held("aligned", found).holds
    assert held("aligned", []) == (None, None, False)


def test_one_row_is_held_to_a_copys_rate_where_its_weights_are_large():
    groups = script("peak_groups")
    bars = {(row["n"], row["k"], row["format"]): groups.share_bar(row) for row in results("m = 1")}
    assert bars[8192, 8192, "bfloat16"] == 0.95
    assert bars[2112, 7168, "bfloat16"] == bars[8192, 8192, "float8_e4m3fn"] == 0.80
    assert bars[576, 7168, "bfloat16"] == 0
    found = results("m = 1", copy_share=0.94)
    assert not groups.held("m = 1", found).holds
    assert groups.held("m = 1", results("m = 1", copy_share=0.95)).holds
    assert groups.held("m = 8..64", results("m = 8..64", copy_share=0.1)).holds


def test_what_has_no_bar_neither_holds_nor_fails():
    found = script("peak_groups").held("tfloat32", results("tfloat32", ratio=0.5, as_accurate=False))
    assert found == (pytest.approx(0.5), 0.5, None)


def test_layouts_say_where_operands_lie(torch):
    row = script("peak_row").Row(torch, 6, 8, 10, "bfloat16", "nt+1/13", sets=1, device="cpu")
    (a, b), *_ = row.operands
    assert (a.shape, a.stride(), a.storage_offset()) == ((6, 10), (13, 1), 1)
    assert (b.shape, b.stride(), b.storage_offset()) == ((10, 8), (1, 13), 1)
    (a, b), *_ = script("peak_row").Row(torch, 6, 8, 10, "float16", "tn", sets=1, device="cpu").operands
    assert (a.stride(), b.stride()) == ((1, 6), (8, 1))
    row = script("peak_row").Row(torch, 6, 8, 10, "bfloat16", "5*nn+1", sets=2, device="cpu")
    (a, b), _ = row.operands
    assert (a.shape, a.stride(), a.storage_offset()) == ((5, 6, 10), (60, 10, 1), 1)
    assert (b.shape, b.stride(), b.storage_offset()) == ((5, 10, 8), (80, 8, 1), 1)
    assert (row.bytes, row.results["ours"][0].shape) == (5 * (60 + 80 + 48) * 2, (5, 6, 8))
    for wrong in ("xy", "*nt", "5nt"):
        with pytest.raises(ValueError, match="is no layout"):
            script("peak_row").lying(wrong)


def test_every_matrix_of_a_batch_is_checked(torch):
    row = script("peak_row").Row(torch, 300, 8, 10, "bfloat16", "5*nt", sets=1, device="cpu")
    (a, b), d = row.operands[0], row.results["ours"][0]
    row.calls("torch")[0]()
    assert torch.equal(row.results["torch"][0], torch.bmm(a, b))
    d.copy_(row.results["torch"][0])
    found, right = row.errors()
    assert right
    assert found["ours"] == found["torch"]
    assert found["ours"].norm < 4e-3
    d[3, 77, 5] += 8
    assert not row.errors()[1]


def test_operands_rotate_over_more_than_three_times_the_cache(torch, monkeypatch):
    module = script("peak_row")
    monkeypatch.setattr(module, "L2_BYTES", 10_000)
    row = module.Row(torch, 16, 16, 16, "bfloat16", device="cpu")
    assert row.bytes == 3 * 16 * 16 * 2
    assert len(row.operands) * row.bytes > 30_000 >= (len(row.operands) - 1) * row.bytes


def multiplied(torch, m=600, form="float32"):
    row = script("peak_row").Row(torch, m, 40, 64, form, sets=2, device="cpu")
    row.poison()
    for results_ in row.results.values():
        for (a, b), d in zip(row.operands, results_, strict=True):
            d.copy_((a.float() @ b.float()).to(d.dtype))
    return row


@pytest.mark.parametrize("form", ["float32", "bfloat16", "float8_e4m3fn"])
def test_what_is_right_is_called_so(torch, form):
    errors, right = multiplied(torch, form=form).errors()
    assert right
    assert errors["ours"] == errors["torch"]
    assert errors["ours"].norm < (1e-6 if form == "float32" else 3e-3)


@pytest.mark.parametrize("value", [math.nan, 1e3])
@pytest.mark.parametrize("at", [0, 1])
def test_one_wrong_element_anywhere_is_seen(torch, value, at):
    """In rows that are compared with float64 or not, in the last set of operands or another."""
    for row_at in (0, 7, 301, 599):
        row = multiplied(torch)
        row.results["ours"][at][row_at, 39] = value
        assert not row.errors()[1]


def test_a_sample_has_a_row_of_every_stretch(torch):
    rows = script("peak_row").Row(torch, 1000, 8, 8, "float32", sets=1, device="cpu").sample()
    assert len(rows) == 256
    assert ((rows.double() - torch.arange(256) * (1000 / 256)).abs() <= 1000 / 256).all()
    assert script("peak_row").Row(torch, 5, 8, 8, "float32", sets=1, device="cpu").sample().tolist() == [0, 1, 2, 3, 4]


def test_as_accurate_is_by_element_too_in_float32():
    as_accurate, errors = script("peak").as_accurate, script("peak_row").Errors
    assert as_accurate("bfloat16", errors(1.04e-3, 9.0), errors(1e-3, 1e-3))
    assert not as_accurate("bfloat16", errors(1.06e-3, 0.0), errors(1e-3, 1e-3))
    assert not as_accurate("float32", errors(1e-7, 4e-3), errors(1e-6, 1e-6))
    assert as_accurate("float32", errors(9e-8, 9e-8), errors(1e-9, 1e-9))


def test_medians_rounds_and_pauses():
    timing = script("peak_timing")
    assert timing.timed([3.0, 1.0, 2.0]) == (2.0, 0.5)
    assert timing.timed([2.0]) == (2.0, 0.0)
    short, long = timing.Replay(None, 10, 1.5e-3), timing.Replay(None, 1, 0.02)
    assert timing.pause_after(short.seconds) == 0.01
    assert timing.pause_after(long.seconds) == 0.06
    assert timing.rounds_for([short, short], 0.01) == 15
    assert timing.rounds_for([long, long], 0.01) == 5


def test_runs_of_some_groups_are_one_file(tmp_path):
    peak, path = script("peak"), tmp_path / "peak.json"
    peak.written(path, {"tfloat32": results("tfloat32")}, {"chip": "one"})
    before = json.loads(path.read_text())["rows"]
    peak.written(path, before | {"m = 128": results("m = 128")}, {"chip": "one"})
    found = json.loads(path.read_text())
    assert list(found["rows"]) == ["m = 128", "tfloat32"]
    assert [each["holds"] for each in found["groups"]] == [True, None]
    assert found["groups"][0]["rows"] == "5 of 5"


@pytest.mark.parametrize(
    ("shape", "stride", "told"),
    [
        ((6, 10), (10, 1), (10, 6, 10, False)),
        ((6, 10), (13, 1), (10, 6, 13, False)),
        ((6, 10), (1, 6), (6, 10, 6, True)),
        ((1, 10), (99, 1), (10, 1, 10, False)),
        ((10, 1), (1, 99), (1, 10, 1, False)),
    ],
)
def test_cublaslt_is_told_how_operands_lie(torch, shape, stride, told):
    view = torch.empty(300).as_strided(shape, stride)
    found = script("peak_cublaslt").read_as(view)
    assert found == told
    rows, columns, ld, turned = found
    memory = view.as_strided((rows, columns), (1, ld))  # column after column
    assert (memory if turned else memory.t()).shape == view.shape


def test_alignment_is_of_the_least_aligned(torch):
    memory = torch.empty(4096, dtype=torch.float16)
    start = -memory.data_ptr() % 256 // 2
    alignment = script("peak_cublaslt").alignment
    assert alignment([memory[start:]]) == 256
    assert alignment([memory[start:], memory[start + 8 :]]) == 16
    assert alignment([memory[start + 1 :]]) == 2


def test_a_heuristic_is_as_large_as_the_librarys():
    assert ctypes.sizeof(script("peak_cublaslt").Heuristic) == 96  # cublasLtMatmulHeuristicResult_t of CUDA 13


def test_a_path_is_told_in_words():
    from gemmlab.peak.choosing import plan_for
    from gemmlab.peak.request import Request

    path_of = script("peak_accuracy").path_of

    def told(form, out, **more):
        return path_of(plan_for(Request(m=512, n=512, k=512, a_format=form, b_format=form, d_format=out, **more)))

    fixed = {"deterministic": True}  # k is not shared
    assert told("float8_e4m3fn", "bfloat16", **fixed) == "wgmma float8_e4m3fn, promoted every 128 of k"
    assert told("float8_e4m3fn", "bfloat16", accuracy="fast", **fixed) == "wgmma float8_e4m3fn"


def test_an_error_above_torchs_is_shown():
    line = script("peak_accuracy").line
    row = {"norm": 2e-7, "component": 1e-7, "torch_norm": 1e-7, "torch_component": 1e-7, "path": "way", "right": True}
    assert line(row) == "2.00e-07 1.0e-07, torch 1.00e-07 1.0e-07, way"
    assert line(row | {"holds": False}).endswith("way, ABOVE TORCH")
    assert line(row | {"torch_norm": None, "right": False}) == "2.00e-07 1.0e-07, torch refuses, way, WRONG"


def test_what_is_sustained_leaves_the_first_second_out():
    sustained = script("peak_sustained")
    assert sustained.hot([0.125] * 4 + [0.25] * 5, 2, 1.0) == [0.25] * 5
    assert sustained.hot([5.0, 6.0], 1, 1.0) == [6.0]
    readings = [sustained.Reading(at, 1400 + at, 690, 60, 0x4 | (0x1 if at else 0)) for at in range(3)]
    assert sustained.said(readings)["held_back_by"] == {"idle": 2, "power cap": 3}
    assert sustained.said(readings)["clock_mhz"] == 1401
    turns = [
        {"contender": name, "sustained_s": s}
        for name, s in (("ours", 1.0), ("torch", 1.0), ("ours", 1.0), ("torch", 1.21))
    ]
    found = sustained.compared(turns)
    assert found["ratio"] == {"torch": pytest.approx(1.1)}
    assert found["holds"]


def test_a_sanitizers_last_line_is_read():
    summary = script("peak_sanitizer").summary
    assert summary("x\n========= ERROR SUMMARY: 0 errors\n") == {"errors": 0}
    assert summary("========= ERROR SUMMARY: 12 errors") == {"errors": 12}
    assert summary("========= RACECHECK SUMMARY: 3 hazards displayed (2 errors, 1 warning)") == {
        "errors": 2,
        "warnings": 1,
    }
    assert summary("killed") == {}


def test_every_file_of_kernels_is_asked_for():
    """The work's cases name a plan of each: which files really ran is told by the GPU's run."""
    work = script("peak_sanitizer_work")
    assert {"gemm.cu", "gemv.cu", "repack.cu", "split.cu"} <= set(work.all_files())
    assert len({case.name for case in work.CASES}) == len(work.CASES)


def test_every_case_of_the_sanitizer_has_a_plan(torch, monkeypatch):
    from gemmlab.peak import asking
    from gemmlab.peak.choosing import plans

    work, lying = script("peak_sanitizer_work"), script("peak_row").lying
    monkeypatch.setattr(asking, "sm_count", lambda *device: 132)
    monkeypatch.setattr(torch.Tensor, "cuda", lambda self: self)
    for case in work.CASES:
        told, (m, n, k), (form, _, accuracy) = lying(case.layout), case.sides, case.form.partition(" ")
        a, b = work.drawn(torch, m, k, told.a_turned, case), work.drawn(torch, k, n, told.b_turned, case)
        d = torch.empty((*a.shape[:-1], n), dtype=torch.bfloat16 if form.startswith("float8") else a.dtype)
        request = asking.request_of(torch, a, b, d, accuracy or "vendor", False)
        assert request.batch == told.batch
        found = sorted(filter(case.wanted, plans(request)), key=lambda plan: plan.predicted_s)
        assert found, case.name
        assert replace(found[0].kernel, **case.tuned or {}), "a kernel that holds what is tuned"


@pytest.mark.skipif(not RESULT.exists(), reason="benchmarks/peak.py was not run on an H200 yet")
def test_recorded_sums_are_those_of_the_rows():
    found, groups = json.loads(RESULT.read_text()), script("peak_groups")
    for each in found["groups"]:
        rows = found["rows"][each["group"]]
        mean, worst, holds = groups.held(each["group"], rows)
        assert (each["mean"], each["worst"], each["holds"]) == (pytest.approx(mean), worst, holds)
        for row in rows:
            assert row["ratio"] == pytest.approx(row["torch_s"] / row["ours_s"])
            assert row["right"], row


def test_kernels_are_known_before_operands_are_made(torch, monkeypatch):
    from gemmlab.peak import asking, store

    ahead, device = script("peak_ahead"), store.Device(name="A chip", capability="9.0", sm_count=132)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(store, "device_of", lambda torch, index: device)
    monkeypatch.setattr(asking, "sm_count", lambda torch, index: 132)
    rows = [
        {"m": 4096, "n": 50257, "k": 768, "form": "bfloat16", "layout": "nt"},
        {"m": 4096, "n": 4096, "k": 4096, "form": "bfloat16", "layout": "nt+1/4104"},
        {"m": 1, "n": 4096, "k": 4096, "form": "float8_e4m3fn fast"},
    ]
    kinds = {type(kernel).__name__ for kernel in ahead.kernels_of(torch, rows)}
    assert kinds == {"Engine", "Vector"}
    several = ahead.kernels_of(torch, [{"m": 64, "n": 64, "k": 64, "form": "bfloat16", "layout": "90*nt"}])
    assert [kernel.batched for kernel in several] == [True]
    assert not ahead.kernels_of(torch, [{"m": 4, "n": 4, "k": 4, "form": "int8"}])


def test_results_have_a_row_on_a_line(tmp_path):
    files = script("peak_files")
    content = {
        "what": "x",
        "versions": {"torch": "2"},
        "groups": [{"a": 1}, {"a": 2}],
        "rows": {"one": [{"b": [1, 2]}, {"b": {}}], "none": []},
        "names": ["x", "y"],
    }
    text = files.text_of(content)
    assert json.loads(text) == content
    assert ' "groups": [\n  {"a": 1},\n  {"a": 2}\n ],' in text
    assert '  "one": [\n   {"b": [1, 2]},\n' in text
    files.kept(tmp_path / "new" / "peak.json", content)
    assert json.loads((tmp_path / "new" / "peak.json").read_text()) == content
