"""Loading by name and by path, chips derived from others, and what is said of a broken file."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gemmlab.chips import figures, get, load, names, section, standing
from gemmlab.chips.files import DATA, built_in, tree_of
from gemmlab.record import GemmlabError


def built_in_text(name):
    return Path(DATA, f"{name}.toml").read_text(encoding="utf-8")


H100 = built_in_text("h100-sxm")


def write(tmp_path, text, name="mine.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(GemmlabError) as caught:
        load(path)
    assert str(path) in caught.value.text
    assert caught.value.hint
    return caught.value.text.removeprefix(f"{path}, ")


def test_by_name_whatever_its_case():
    assert load("H100-SXM") is get("h100-sxm")


@pytest.mark.parametrize("name", ["h100", "h100_sxm", "a100", "", "nothing at all"])
def test_an_unknown_name_gets_the_nearest(name):
    with pytest.raises(GemmlabError, match="unknown chip") as caught:
        load(name)
    assert "-" in caught.value.hint


@pytest.mark.parametrize("name", names())
def test_a_copy_of_a_built_in_file_is_the_same_chip(tmp_path, name):
    path = write(tmp_path, built_in_text(name))
    assert figures(load(path)) == figures(get(name))


def test_bare_numbers_are_figures(tmp_path):
    chip = load(write(tmp_path, 'base = "t4"\npower_w = 75\n'))
    assert chip.power_w == 75.0
    assert chip.power_w.source == ""


def test_one_built_in_file_loads_fast_and_alone(monkeypatch):
    opened = []
    monkeypatch.setattr(
        "builtins.open", lambda path, *a, _open=open, **k: (opened.append(path), _open(path, *a, **k))[1]
    )
    best = 1.0
    for _ in range(20):
        built_in.cache_clear()
        start = time.perf_counter()
        get("h100-sxm")
        best = min(best, time.perf_counter() - start)
    assert {str(path) for path in opened} == {f"{DATA}/h100-sxm.toml"}
    assert best < 0.005


def test_loading_brings_no_heavy_module():
    code = (
        "import sys; from gemmlab.chips import get, section; section(get('h100-sxm'));"
        "print([m for m in ('numpy', 'ml_dtypes', 'rich', 'torch', 'numba', 'ctypes') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", "line 1, field `name`", "missing"),
        ('name = "x\n', "line 1, field `name`", ""),
        ('name = "x"\n\nsm_count = { value = 3\n', "line 3, field `sm_count`", ""),
        (H100.replace("sm_count = {", "sm_cuont = {"), "field `sm_cuont`", "unknown"),
        (H100.replace("year = 2022", 'year = "2022"'), "line 6, field `year`", "Expected `int`"),
        (H100.replace('kind = "gpu"', 'kind = "dsp"'), "line 5, field `kind`", "dsp"),
        (H100.replace('name = "l2"', 'name = "l3"'), "field `levels[1].name`", "l3"),
        (H100.replace('name = "l2"', 'name = "dram"'), "field `levels[1].name`", "twice"),
        (H100.replace("[peaks.float16]", "[peaks.float17]"), "field `peaks.float17`", "unknown format"),
        ('base = "h100-sxm"\n\n[peaks.float16]\nunit = "tensr"\n', "line 4, field `peaks.float16.unit`", "tensr"),
        ('base = "h100-sxm"\n[limits]\nwarps_per_sm = "64"\n', "line 3, field `limits.warps_per_sm`", "'64'"),
        ('base = "h100-sxm"\nsm_count = -1\n', "line 2, field `sm_count`", "not a positive number"),
        ('base = "h100-sxm"\nsm_count = 1e999\n', "line 2, field `sm_count`", "not a positive number"),
        ('base = "h100-sxm"\nsm_count = true\n', "line 2, field `sm_count`", "True"),
        ('base = "h100-sxm"\nsm_count = { valeu = 3 }\n', "line 2, field `sm_count`", "valeu"),
        ('base = "h100-sxm"\nsm_count = { value = 3, sure = "yes" }\n', "line 2, field `sm_count`", "true or false"),
        ('base = "h100-sxm"\n\npeaks = 3\n', "line 3, field `peaks`", "Expected `object`"),
        ('base = "h100-sxm"\nlevels = [3]\n', "line 2, field `levels[0]`", "Expected `object`"),
        ('base = "h100-sxm"\nenergy = { "flop.int8" = "x" }\n', "line 2, field `energy.flop.int8`", "'x'"),
        ('base = "h100-sxn"\n', "line 1, field `base`", "h100-sxn"),
        ("base = 3\n", "line 1, field `base`", "3"),
    ],
)
def test_a_broken_file_is_named_with_line_and_field(tmp_path, text, place, words):
    told = refusal(tmp_path, text)
    assert place in told
    assert words in told


def test_the_line_is_the_one_of_the_field(tmp_path):
    lines = H100.splitlines()
    number = next(i for i, line in enumerate(lines) if line.startswith("bandwidth") and "8.855154e12" in line)
    lines[number] = 'bandwidth_bytes_per_s = "fast"'
    assert refusal(tmp_path, "\n".join(lines)).startswith(f"line {number + 1}, field `levels[1].bandwidth_bytes_per_s`")


def test_a_level_of_a_derived_file_is_told_by_its_own_place(tmp_path):
    text = 'base = "h100-sxm"\n[[levels]]\nname = "register"\n[[levels]]\nname = "l2"\ncapacity_bytes = 0\n'
    assert refusal(tmp_path, text).startswith("line 6, field `levels[1].capacity_bytes`")


def test_a_missing_field_points_at_its_table(tmp_path):
    line = next(line for line in H100.splitlines() if line.startswith("registers_per_thread"))
    table = H100.splitlines().index("[limits]") + 1
    told = refusal(tmp_path, H100.replace(line + "\n", ""))
    assert told.startswith(f"line {table}, field `limits.registers_per_thread`")


@pytest.mark.parametrize("seed", range(60))
def test_no_damage_ends_in_a_traceback(tmp_path, seed):
    """Lines dropped, doubled, cut or swapped: a chip or one clear message."""
    rng = random.Random(seed)
    lines = built_in_text(rng.choice(names())).splitlines()
    for _ in range(rng.randint(1, 3)):
        spot = rng.randrange(len(lines))
        damage = rng.choice(("drop", "double", "cut", "swap", "digit"))
        if damage == "drop":
            del lines[spot]
        elif damage == "double":
            lines.insert(spot, lines[spot])
        elif damage == "cut":
            lines[spot] = lines[spot][: rng.randint(0, len(lines[spot]))]
        elif damage == "digit":
            lines[spot] = lines[spot].replace("=", rng.choice(("= -", "= x", "==", "= [", "= 1 #")), 1)
        else:
            other = rng.randrange(len(lines))
            lines[spot], lines[other] = lines[other], lines[spot]
    path = write(tmp_path, "\n".join(lines))
    try:
        told = f"line 0: {load(path).level('dram').name}"
    except GemmlabError as error:
        told = error.text
    assert "line " in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sm_count = 132.7\n", "132.7 is not a whole number"),
        ("sm_count = 1e9\n", "1e+09 is past the largest number of SMs"),
        ("clock_hz = 1e300\n", "1e+300 is no figure of a chip"),
        ("power_w = 1e-300\n", "1e-300 is no figure of a chip"),
        ("power_w = nan\n", "nan is not a positive number"),
        ("sm_count = 99999999999999999999\n", "past 64 bits"),
        ("power_w = " + "9" * 5000 + "\n", "too many digits"),
        ("notes = " + "[" * 5000 + "]" * 5000 + "\n", "nested too deeply"),
        ("[" + ".".join("a" * 2000) + "]\n", "nested too deeply"),
        ('[[levels]]\nname = ["dram"]\n', "levels"),
        ('[[levels]]\nname = "l2"\ncapacity_bytes = 1e-300\n', "1e-300 is no figure"),
        ("limits.warp_size = 0\n", "0 is no number of threads of a warp"),
        ("limits.warp_size = -32\n", "-32 is no number of threads of a warp"),
        ("limits.shared_bytes_per_sm = 0.5\n", "0.5 is not a whole number"),
        ("limits.registers_per_sm = 1e300\n", "1e+300"),
    ],
)
def test_figures_that_no_chip_has(tmp_path, text, words):
    assert words in refusal(tmp_path, 'base = "h100-sxm"\n' + text)


def test_a_file_that_never_ends(tmp_path):
    assert "longer than" in refusal(tmp_path, 'base = "h100-sxm"\n# ' + "x" * (1 << 20))


@pytest.mark.parametrize("path", ["nowhere/mine.toml", "./"])
def test_a_file_that_cannot_be_read(path):
    with pytest.raises(GemmlabError, match="cannot read chip file"):
        load(path)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00name")
    with pytest.raises(GemmlabError, match="no UTF-8 text"):
        load(path)


def test_a_derived_chip_changes_what_follows(tmp_path):
    base = get("h100-sxm")
    chip = load(write(tmp_path, 'base = "h100-sxm"\nsm_count = 66\n', "half.toml"))
    assert chip.name == "half"
    assert chip.peaks["float16"].flop_per_s == base.peaks["float16"].flop_per_s / 2
    assert not chip.peaks["float16"].flop_per_s.sure
    assert chip.level("shared").bandwidth_bytes_per_s == base.level("shared").bandwidth_bytes_per_s / 2
    assert chip.level("shared").capacity_bytes == base.level("shared").capacity_bytes / 2
    assert chip.level("dram") == base.level("dram")
    assert figures(get("h100-sxm")) == figures(base)


def test_a_derived_clock_moves_the_tensor_clock_too(tmp_path):
    chip = load(write(tmp_path, 'base = "h100-sxm"\nclock_hz = 0.99e9\n'))
    assert chip.peaks["float16"].clock_hz == pytest.approx(0.915e9)
    assert chip.peaks["float16"].flop_per_s == pytest.approx(989.4e12 / 2)


def test_a_derived_chip_keeps_what_it_states(tmp_path):
    text = (
        'base = "h100-sxm"\n[peaks.float16]\nflop_per_s = 2e15\n[[levels]]\nname = "dram"\nbandwidth_bytes_per_s = 1e13'
    )
    chip = load(write(tmp_path, text))
    assert chip.level("dram").bandwidth_bytes_per_s == 1e13
    assert chip.level("dram").capacity_bytes == get("h100-sxm").level("dram").capacity_bytes
    assert chip.peaks["float16"].flop_per_s == 2e15
    assert chip.peaks["float32"] == get("h100-sxm").peaks["float32"]


CALIBRATION = '\n[calibration]\nconstants = { launch_s = 2e-6 }\nvalidated = true\nsource = "readings"\n'


def test_a_record_says_what_a_chip_rests_on(tmp_path):
    assert standing(get("t4")) == "data sheet only"
    chip = load(write(tmp_path, 'base = "t4"\n' + CALIBRATION))
    assert (section(chip).calibrated, section(chip).validated) == (True, True)
    assert standing(chip) == "calibrated and validated"
    assert standing(section(chip)) == "calibrated and validated"
    unproven = load(write(tmp_path, 'base = "t4"\n' + CALIBRATION.replace("true", "false")))
    assert standing(unproven) == "calibrated, not validated"


def test_a_derived_chip_is_never_validated(monkeypatch, tmp_path):
    known = {**tree_of("t4"), "calibration": {"constants": {}, "validated": True, "source": "readings"}}
    monkeypatch.setattr("gemmlab.chips.files.tree_of", lambda name: known)
    chip = load(write(tmp_path, 'base = "t4"\nsm_count = 20\n'))
    assert standing(chip) == "calibrated, not validated"


def test_a_section_holds_plain_numbers():
    import msgspec

    told = section(get("a100-pcie-80gb"))
    assert type(told.clock_hz) is float
    assert type(told.sm_count) is int
    assert all(type(value) is float for value in told.peak_flop_per_s.values())
    assert msgspec.json.decode(msgspec.json.encode(told))["levels"][0]["name"] == "dram"


def test_figures_walk_every_number_once():
    listed = figures(get("h100-sxm"))
    paths = [entry.path for entry in listed]
    assert len(paths) == len(set(paths))
    assert len(paths) == H100.count("{ value = ")
    assert {"sm_count", "levels.l2.capacity_bytes", "peaks.float16.clock_hz", "limits.warps_per_sm"} <= set(paths)


def test_here_is_the_first_chip_of_this_machine(monkeypatch):
    found = [get("l4"), get("m1")]
    monkeypatch.setattr("gemmlab.chips.local.here", lambda: found)
    assert load("here") is load(" HERE ") is found[0]
