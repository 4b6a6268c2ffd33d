"""The built-in files: complete, sourced, true to themselves, and the facts that others quote."""

import re
import tomllib
from importlib import resources

import msgspec
import pytest

from gemmlab.chips import Figure, figures, get, names, self_check
from gemmlab.formats import bits_of

REQUIRED = (
    "v100-sxm2-16gb", "v100-sxm2-32gb", "v100-pcie", "t4",
    "a100-sxm-40gb", "a100-pcie-80gb", "a100-sxm-80gb", "a10", "rtx-3090",
    "rtx-4000-ada", "rtx-4090", "l4", "l40s", "rtx-5090", "h100-sxm", "h100-pcie", "h200-sxm", "b200-sxm",
    "mi250x", "mi300x", "m1", "m2", "m3", "m4",
    "tpu-v1", "tpu-v2", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "sapphire-rapids-56c",
)  # fmt: skip


def knee(chip, name):
    return chip.peaks[name].flop_per_s / chip.level("dram").bandwidth_bytes_per_s


def test_every_chip_that_is_promised_is_there():
    assert set(REQUIRED) <= set(names())


@pytest.mark.parametrize("name", names())
def test_a_file_agrees_with_itself(name):
    assert [finding for finding in self_check(get(name)) if not finding.ok] == []


@pytest.mark.parametrize("name", names())
def test_a_file_is_named_as_its_chip_and_every_figure_has_a_source(name):
    chip = get(name)
    assert chip.name == name
    for entry in figures(chip):
        assert len(entry.source) > 10, f"{entry.path} has the source `{entry.source}`"
    for peak in chip.peaks:
        assert bits_of(peak) > 0


def test_a_doubtful_figure_says_why():
    silent = [
        f"{name}: {entry.path}"
        for name in names()
        for entry in figures(get(name))
        if not entry.sure and not entry.note and not entry.path.endswith("flop_per_clock_per_sm")
    ]
    assert silent == []


@pytest.mark.parametrize("name", names())
def test_every_source_of_a_file_is_one_that_a_figure_names(name):
    text = resources.files("gemmlab.chips").joinpath("data", f"{name}.toml").read_text()
    named = set(re.findall(r'source = "([^"]+)"', text))
    assert [key for key in tomllib.loads(text)["sources"] if key not in named] == []


@pytest.mark.parametrize(
    ("name", "peak", "expected"),
    [
        ("a100-pcie-80gb", "float32", 10.08),
        ("a100-pcie-80gb", "tfloat32", 80.6),
        ("a100-pcie-80gb", "float16", 161.2),
        ("a100-sxm-40gb", "float16", 200.6),
        ("a100-sxm-80gb", "float16", 153.0),
    ],
)
def test_the_published_knees(name, peak, expected):
    assert knee(get(name), peak) == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize(("name", "expected"), [("v100-sxm2-16gb", 8), ("a100-sxm-80gb", 16), ("h100-sxm", 14.8)])
def test_tensor_cores_against_ordinary_units(name, expected):
    chip = get(name)
    ratio = chip.peaks["float16"].flop_per_s / chip.peaks["float32"].flop_per_s
    assert ratio == pytest.approx(expected, rel=5e-3)


def test_the_h100_is_sixteen_per_clock_because_it_has_two_clocks():
    chip = get("h100-sxm")
    half, single = chip.peaks["float16"], chip.peaks["float32"]
    assert half.flop_per_clock_per_sm / single.flop_per_clock_per_sm == 16
    assert half.clock_hz == 1.83e9
    assert single.clock_hz is None
    assert chip.clock_hz == 1.98e9


def test_shared_memory_and_registers_of_the_a100():
    chip = get("a100-pcie-80gb")
    assert chip.level("shared").bandwidth_bytes_per_s == pytest.approx(19.49e12, rel=1e-3)
    assert chip.peaks["float16"].flop_per_s / chip.level("shared").bandwidth_bytes_per_s == pytest.approx(16, rel=1e-3)
    assert chip.limits.registers_per_sm * 4 == 256 * 1024
    assert chip.limits.registers_per_thread == 255
    assert chip.limits.shared_bytes_per_program == 163 * 1024
    assert chip.level("l2").capacity_bytes == 40 * 1024**2
    assert "float8_e4m3fn" not in chip.peaks


@pytest.mark.parametrize("name", ["a100-sxm-40gb", "h100-sxm"])
def test_peaks_are_dense_and_sparsity_stands_apart(name):
    chip = get(name)
    assert chip.sparse_factor == 2
    assert chip.sparse_factor * chip.peaks["float16"].flop_per_s in (624e12, pytest.approx(1979e12, rel=1e-3))


def test_instructions_per_generation():
    shapes = {name: get(name).peaks["float16"].instruction for name in ("v100-pcie", "a10", "h200-sxm", "b200-sxm")}
    assert shapes == {
        "v100-pcie": (16, 16, 16),
        "a10": (16, 8, 16),
        "h200-sxm": (64, 256, 16),
        "b200-sxm": (128, 256, 16),
    }
    assert get("a100-sxm-40gb").peaks["tfloat32"].instruction == (16, 8, 8)
    assert get("a100-sxm-40gb").peaks["int8"].instruction == (16, 8, 32)


def test_the_first_tpu_multiplied_bytes():
    chip = get("tpu-v1")
    assert list(chip.peaks) == ["int8"]
    assert chip.peaks["int8"].flop_per_clock_per_sm / 2 == 65_536
    assert chip.level("register").capacity_bytes == 4 * 1024**2
    assert any("inference only" in note for note in chip.notes)


@pytest.mark.parametrize(
    ("name", "path", "words"),
    [
        ("rtx-4090", "levels.l2.capacity_bytes", "96 MB"),
        ("rtx-4090", "peaks.float16.flop_per_s", "330.3"),
        ("l4", "sm_count", "60 SMs"),
        ("rtx-4000-ada", "peaks.float16.flop_per_s", "327.6"),
        ("h200-sxm", "levels.l2.capacity_bytes", "50 MB"),
        ("l40s", "peaks.float16.flop_per_s", "362.05"),
        ("tpu-v4", "sm_count", "138"),
        ("tpu-v6e", "sm_count", "3.5 GHz"),
        ("b200-sxm", "peaks.float32.flop_per_s", "80"),
        ("b200-sxm", "levels.dram.bandwidth_bytes_per_s", "64 TB/s"),
        ("rtx-5090", "peaks.float4_e2m1fn.flop_per_s", "838 dense"),
        ("tpu-v5p", "levels.dram.bandwidth_bytes_per_s", "2.46"),
        ("epyc-9654-96c", "levels.shared.bandwidth_bytes_per_s", "Zen 5"),
    ],
)
def test_contradictions_are_said_out_loud(name, path, words):
    said = [
        finding.text for finding in self_check(get(name)) if finding.path == path and finding.kind in ("doubt", "note")
    ]
    assert len(said) == 1
    assert words in said[0]


def doctor(name, **changes):
    return msgspec.structs.replace(get(name), **changes)


def failed(chip):
    return {finding.path for finding in self_check(chip) if not finding.ok}


def test_a_sparse_peak_passed_off_as_dense_fails():
    peaks = dict(get("h100-sxm").peaks)
    peaks["float16"] = msgspec.structs.replace(peaks["float16"], flop_per_s=Figure(1979e12))
    assert failed(doctor("h100-sxm", peaks=peaks)) == {"peaks.float16.flop_per_s"}


def test_a_wrong_clock_fails_every_peak_and_shared_memory():
    chip = get("a100-pcie-80gb")
    expected = {f"peaks.{name}.flop_per_s" for name in chip.peaks} | {"levels.shared.bandwidth_bytes_per_s"}
    assert failed(doctor("a100-pcie-80gb", clock_hz=Figure(1.43e9))) == expected


def test_levels_out_of_order_fail():
    levels = get("t4").levels
    assert "levels" in failed(doctor("t4", levels=(levels[1], levels[0], *levels[2:])))
    slow = msgspec.structs.replace(levels[1], bandwidth_bytes_per_s=Figure(1e9))
    assert failed(doctor("t4", levels=(levels[0], slow, *levels[2:]))) == {"levels.l2.bandwidth_bytes_per_s"}


def test_capacities_follow_the_limits():
    limits = msgspec.structs.replace(get("l4").limits, shared_bytes_per_sm=Figure(64 * 1024))
    assert failed(doctor("l4", limits=limits)) == {"levels.shared.capacity_bytes"}


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_what_is_not_positive_fails(value):
    assert "power_w" in failed(doctor("l4", power_w=Figure(value)))
