"""The table and the picture of kernels that were run."""

import xml.etree.ElementTree as ET

import pytest

from gemmlab.problem import Gemm
from gemmlab.record import Measurement, Record, Verdict
from gemmlab.report import run_svg, run_table, terminal
from gemmlab.report.ran_picture import picture
from gemmlab.run.environment import busy

PROBLEM = Gemm(512, 384, 256).section()
RIGHT = Verdict(
    ok=True,
    wrong_elements=0,
    max_relative_error=1e-7,
    bound=1e-5,
    reference="float64",
    informative=True,
    elements=4,
    unwritten_elements=0,
    range_elements=0,
)


def ran(name, time_s, reach=0.01, **fields):
    """A kernel with a time, and quartiles a share of it away."""
    given = {"fraction_of_limit": 1e-3 / time_s, "limit_s": 1e-3, "flop_per_s": 1e8 / time_s, "samples": (time_s,) * 9}
    measurement = Measurement(
        backend="cpu",
        kernel=name,
        threads=2,
        time_s=time_s,
        time_s_low=time_s * (1 - reach),
        time_s_high=time_s * (1 + reach),
        **{**given, "environment": {"chip": "A chip"}, **fields},
    )
    return Record(problem=PROBLEM, measurement=measurement, verdict=RIGHT)


def faulty(name, fault, detail):
    """A kernel with a fault."""
    measurement = Measurement(backend="cpu", kernel=name, threads=2, fault=fault, fault_detail=detail)
    return Record(problem=PROBLEM, measurement=measurement)


def row(text, name):
    """The words of one kernel's line."""
    return next(line.split() for line in text.splitlines() if name in line.split()[1:2])


def test_each_kernel_has_its_line():
    text = run_table([ran("slow", 0.02), ran("fast", 0.002, 0.03)])
    assert row(text, "slow") == ["2", "slow", "-", "-", "20.0", "ms", "±1%", "5%", "right"]
    assert row(text, "fast") == ["1", "fast", "-", "-", "2.00", "ms", "±3%", "50%", "right"]
    assert "on A chip, 2 threads" in text
    assert "fastest: fast" in text


def test_ties_are_told():
    text = run_table([ran("one", 0.01, 0.2), ran("other", 0.011, 0.2), ran("last", 0.1)])
    assert row(text, "one")[0] == row(text, "other")[0] == "1="
    assert row(text, "last")[0] == "3"
    assert "fastest, not told apart: one, other" in text


def test_a_fault_stands_where_the_time_would():
    text = run_table([ran("good", 0.01), faulty("bad", "never ended", "not done within 60 s")])
    assert row(text, "bad") == ["-", "bad", "never", "ended:", "not", "done", "within", "60", "s"]
    assert row(text, "good")[0] == "1"


def test_a_library_is_compared_with():
    text = run_table([ran("mine", 0.02), ran("library", 0.01, vendor=True)])
    assert "mine has 0.50 of library's speed, measured\n" in text
    blurred = run_table([ran("mine", 0.02, 0.9), ran("library", 0.01, 0.9, vendor=True)])
    assert "which this run does not tell apart" in blurred.replace("\n  ", " ")


def test_what_else_is_known_is_said_once():
    warm = {"chip": "A chip", "throttled": "software power cap", "sm_clock": "1455 MHz"}
    text = run_table(
        [
            ran("one", 0.01, notes=("few copies",), sustained_time_s=0.012),
            ran("two", 0.01, notes=("few copies",)),
            msgspec_environment(ran("three", 0.01), warm),
        ]
    )
    assert text.count("few copies") == 1
    assert "one, sustained: 12.0 ms, measured" in text
    assert "three was throttled: software power cap, 1455 MHz" in text


def msgspec_environment(record, environment):
    """The same Record with another environment."""
    import msgspec

    replace = msgspec.structs.replace
    return replace(record, measurement=replace(record.measurement, environment=environment))


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("unicode", [True, False])
def test_every_line_fits(width, unicode):
    records = [
        ran("a_rather_long_name_of_a_kernel", 0.01),
        ran("other", 12.3456, vendor=True),
        faulty("bad", "crashed", "RuntimeError: " + "word " * 40),
    ]
    text = run_table(records, width=width, color=False, unicode=unicode)
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii() or unicode


def test_the_picture_is_svg_with_every_kernel():
    text = run_svg([ran("slow", 0.02), ran("fast", 0.002), faulty("bad", "crashed", "SIGSEGV")])
    words = " ".join(ET.fromstring(text).itertext())
    for said in ("slow", "5% of the limit", "fast", "50% of the limit", "bad", "crashed"):
        assert said in words


def test_a_picture_of_faults_alone_is_drawn():
    assert "crashed" in run_svg([faulty("bad", "crashed", "SIGSEGV")])


def test_a_report_of_one_record_says_the_fault_or_the_time():
    said = " ".join(terminal(faulty("bad", "crashed", "SIGSEGV")).split())
    assert "bad, cpu crashed measured" in said
    assert "10.0 ms (9.90 ms to 10.1 ms)" in terminal(ran("good", 0.01))


def test_no_texts_of_the_picture_overlap():
    records = [ran(f"kernel_{i}" * (1 + 8 * (i == 3)), 0.001 * 2**i, vendor=i == 2) for i in range(6)]
    boxes = picture([*records, faulty("bad", "above the limit", "too fast")]).boxes
    assert len(boxes) >= 16
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[place + 1 :]), box
        assert 0 <= box.left <= box.right <= 720


def test_each_kernel_says_its_idea_once():
    text = run_table([ran("one", 0.01, idea="three loops"), ran("other", 0.1)])
    assert "\n    one: three loops\n" in text
    assert "other:" not in text
    assert "<1%" in run_table([ran("still", 0.01, 0.001)])


def test_a_software_adapters_time_has_no_place_beside_a_chips():
    software = ran("tiled", 0.5e-3, software=True)
    text = run_table([software, ran("naive", 4e-3), ran("numpy", 2e-3, vendor=True)], width=80)
    assert [row(text, name)[0] for name in ("tiled", "naive", "numpy")] == ["-", "2", "1"]
    assert "fastest: numpy" in text
    assert "naive has 0.50 of numpy's speed" in text
    fast = run_table([ran("ikj", 1e-4), ran("numpy", 2.2e-3, vendor=True)], width=80)
    assert "ikj has 22.0 times numpy's speed, measured" in fast
    alone = run_table([software, ran("naive", 4e-3, software=True)], width=80)
    assert [row(alone, name)[0] for name in ("tiled", "naive")] == ["1", "2"]
    assert "by a software adapter" in run_svg([software])


def test_a_ratio_of_wall_times_of_a_busy_machine_is_qualified_where_it_stands():
    noted, wall = (busy("9.5", 2),), {"chip": "A chip", "timed": "wall clock"}
    library = ran("numpy", 0.02, vendor=True, notes=noted, environment=wall)
    said = " ".join(run_table([ran("packed", 0.001), library]).split())
    assert "numpy's speed, measured by the wall clock while other work held the cores: no ratio to rely on" in said
    own = {"chip": "A chip", "timed": "CPU time of the one thread"}
    calm = run_table([ran("packed", 0.001), ran("numpy", 0.02, vendor=True, notes=noted, environment=own)])
    assert "no ratio to rely on" not in calm
    assert busy("1", 2) == busy("", 2) == ""


def test_two_places_say_which_kernels_are_theirs():
    said = " ".join(run_table([ran("a", 0.01), ran("b", 0.02, environment={"chip": "Another"})], width=80).split())
    assert "on A chip, 2 threads: a on Another, 2 threads: b" in said


def test_loads_before_several_runs_are_told_once():
    notes = [(busy(load, 2),) for load in ("4.5", "9.5")]
    records = [
        ran(name, 0.01, notes=note, environment={"load_before": note[0].split()[6]})
        for name, note in zip("ab", notes, strict=True)
    ]
    said = " ".join(run_table(records, width=80).split())
    assert said.count("had a load of") == 1
    assert "2 cores had a load of 4.5 to 9.5 before runs" in said
