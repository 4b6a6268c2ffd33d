"""The units as data: all load, are named well, say where they come from, and hold what the architectures hold."""

import tomllib
from importlib import resources

import msgspec
import numpy as np
import pytest

from gemmlab import formats, numerics
from gemmlab.numerics.behaviour import Unit, groups
from gemmlab.record import GemmlabError

UNITS = [numerics.unit(name) for name in numerics.unit_names()]
PLAIN = [unit for unit in UNITS if not unit.scaled]
NVIDIA = ("volta", "turing", "ampere", "ada", "hopper", "blackwell", "rtx-blackwell")
INSTRUCTIONS = {"mma", "wgmma", "tcgen05", "mfma", "tdp", "fma", "mxu"}
MARKETED = {"mxfp8_e4m3fn", "mxfp8_e5m2", "mxfp6_e3m2fn", "mxfp6_e2m3fn", "mxfp4", "nvfp4", "bfloat16_1k", "xf32"}
each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)


@each_unit
def test_names_say_what_a_unit_takes(unit):
    architecture, instruction, operand, *accumulator = unit.name.split(".")
    assert instruction in INSTRUCTIONS
    assert architecture == architecture.lower()
    assert operand in MARKETED or operand == unit.a_formats[0] == unit.b_formats[0]
    assert accumulator == (["float16"] if unit.accumulate == "float16" else [])


@each_unit
def test_every_unit_says_where_it_comes_from(unit):
    assert unit.source
    assert unit.about
    assert unit.sass or unit.assumed
    assert not (unit.assumed and unit.silicon)
    assert set(unit.a_formats) == set(unit.b_formats)


@each_unit
def test_a_float16_accumulator_multiplies_as_its_sibling_does(unit):
    if unit.accumulate != "float16":
        return
    sibling = numerics.unit(unit.name.removesuffix(".float16"))
    for field in ("a_formats", "b_formats", "terms", "instruction_k", "order", "align_bits", "cut", "c", "read_as"):
        assert getattr(unit, field) == getattr(sibling, field), field
    assert (unit.width, unit.rounding, unit.nan_code) == (10, "rne", 0x7FFF)
    assert unit.zero_exponent == sibling.zero_exponent + 112


@each_unit
def test_a_unit_survives_being_written(unit):
    assert msgspec.convert(msgspec.to_builtins(unit), Unit) == unit
    assert sorted(k for ks in groups(unit) for k in ks) == list(range(unit.k))


@each_unit
def test_nan_codes_are_nan(unit):
    if formats.get(unit.accumulate).kind == "float":
        assert formats.decode(unit.nan_code, unit.accumulate) != formats.decode(unit.nan_code, unit.accumulate)


@pytest.mark.parametrize("architecture", NVIDIA)
def test_alignment_grew_with_the_generations(architecture):
    unit = numerics.unit(f"{architecture}.mma.float16")
    generation = {"volta": 0, "turing": 1, "ampere": 1, "ada": 1}.get(architecture, 2)
    assert unit.align_bits == 23 + generation
    assert unit.zero_exponent == -131 - generation
    assert unit.terms == 4 << generation


@pytest.mark.parametrize(
    ("name", "terms", "bits", "width"),
    [
        ("ampere.mma.tfloat32", 4, 24, 23),
        ("hopper.wgmma.tfloat32", 8, 25, 23),
        ("ada.mma.float8_e5m2", 16, 13, 13),
        ("hopper.wgmma.float8_e4m3fn", 32, 13, 13),
        ("hopper.mma.float8_e4m3fn", 16, 25, 23),
        ("blackwell.tcgen05.float4_e2m1fn", 32, 25, 23),
        ("rtx-blackwell.mma.mxfp6_e3m2fn", 32, 25, 23),
        ("blackwell.tcgen05.nvfp4", 64, 35, 23),
    ],
)
def test_published_figures(name, terms, bits, width):
    unit = numerics.unit(name)
    assert (unit.terms, unit.align_bits, unit.width) == (terms, bits, width)


def test_float8_is_two_units_on_hopper():
    assert numerics.unit("hopper.wgmma.float8_e4m3fn").width_bits == 22
    assert numerics.unit("hopper.mma.float8_e4m3fn").width_bits == 32
    assert numerics.unit("hopper.wgmma.float8_e4m3fn").sass != numerics.unit("hopper.mma.float8_e4m3fn").sass


def test_int8_is_wherever_the_architecture_has_it():
    having = {unit.name.rsplit(".", 1)[0] for unit in UNITS if "int8" in unit.a_formats}
    expected = {f"{name}.mma" for name in NVIDIA if name != "volta"} | {f"cdna{n}.mfma" for n in (1, 2, 3)}
    assert having == expected | {"hopper.wgmma", "blackwell.tcgen05", "amx.tdp"}
    assert {unit.name for unit in UNITS if "int4" in unit.a_formats} == {
        f"{name}.mma.int4" for name in ("turing", "ampere", "ada")
    }


def test_only_the_tpu_is_assumed():
    assert [unit.name for unit in UNITS if unit.assumed] == ["tpu.mxu.bfloat16"]


def test_accumulators_come_first_then_the_architecture_then_the_unit():
    text = (resources.files("gemmlab.numerics.units") / "hopper.toml").read_text(encoding="utf-8")
    told = tomllib.loads(text)
    assert told["defaults"]["float32"]["align_bits"] == 25
    assert numerics.unit("hopper.mma.float16").align_bits == 25
    assert numerics.unit("hopper.wgmma.float8_e4m3fn").align_bits == 13
    assert numerics.unit("hopper.wgmma.float8_e4m3fn.float16").align_bits == 13
    assert numerics.unit("hopper.wgmma.float8_e4m3fn.float16").width == 10
    assert numerics.unit("hopper.mma.int8").align_bits == 0
    # What was checked is each unit's own, though its other fields are those of the unit before it.
    assert "without C" in numerics.unit("hopper.wgmma.float8_e4m3fn").silicon
    assert "without C" not in numerics.unit("hopper.wgmma.float8_e4m3fn.float16").silicon


def test_an_unknown_unit_is_told_the_nearest():
    with pytest.raises(GemmlabError) as told:
        numerics.unit("hopper.wgmma.e4m3")
    assert "hopper.wgmma.float8_e4m3fn" in told.value.hint
    with pytest.raises(GemmlabError) as told:
        numerics.unit("zzz")
    assert "numerics units" in told.value.hint
    assert len(told.value.hint) < 200


def test_a_designer_s_own_unit_is_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'a_formats = ["float8_e4m3fn"]\nb_formats = ["float8_e5m2"]\nterms = 24\nalign_bits = 17\nwidth = 17\n'
    )
    unit = numerics.unit(str(path))
    assert (unit.name, unit.terms, unit.width) == ("mine", 24, 17)
    path.write_text('a_formats = ["float16"]\nb_formats = ["float16"]\ndepth = 3\n')
    with pytest.raises(GemmlabError, match="depth"):
        numerics.unit(str(path))
    with pytest.raises(GemmlabError, match=r"cannot read .*other\.toml"):
        numerics.unit(str(tmp_path / "other.toml"))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(GemmlabError, match="cannot read"):
        numerics.unit(str(path))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"terms": 0}, "terms = 0"),
        ({"terms": 0, "instruction_k": 8}, "terms = 0"),
        ({"terms": -4}, "terms = -4"),
        ({"exact_terms": 0}, "exact_terms = 0"),
        ({"scale_formats": ["float8_e8m0fnu"], "scale_block": -1}, "scale_block = -1"),
        ({"terms": 8, "instruction_k": 12}, "instruction_k = 12"),
        ({"align_bits": 0}, "align_bits = 0"),
        ({"width": 24}, "width = 24"),
        ({"width": 11, "accumulate": "float16"}, "width = 11"),
        ({"cut": "up"}, "value of cut"),
        ({"order": "quads", "instruction_k": 2}, "quads"),
        ({"order": "parity", "instruction_k": 4}, "parity"),
        ({"order": "parity", "c": "late", "terms": 4, "instruction_k": 4}, "parity"),
        ({"scale_formats": ["float8_e8m0fnu"]}, "scale_block = 0"),
        ({"exact_terms": 2}, "exact_terms = 2"),
        ({"saturate": True}, "saturate"),
        ({"read_as": "half"}, "unknown format"),
        ({"read_as": "float8_e5m2"}, "read_as = float8_e5m2, which does not hold every float16"),
        ({"read_as": "bfloat16"}, "read_as = bfloat16, which does not hold every float16"),
        ({"read_as": "float16", "b_formats": ["float16", "bfloat16"]}, "does not hold every bfloat16"),
        ({"instruction_k": 1 << 40}, "instruction_k = 1099511627776"),
        ({"zero_exponent": -(10**12)}, "zero_exponent = -1000000000000"),
        ({"c": "floor", "join_bits": 10**9}, "join_bits = 1000000000"),
        ({"scale_formats": ["int8"], "scale_block": 1}, "scales of int8"),
        ({"scale_formats": ["float8_e8m0fnu"], "scale_block": 1, "c": "floor", "join_bits": 20}, "block scales with"),
        ({"scale_formats": ["float8_e8m0fnu"], "scale_block": 1, "product_overflow": True}, "product_overflow with"),
        (
            {"scale_formats": ["float8_e8m0fnu"], "scale_block": 2, "terms": 2, "sum": "pairs", "align_bits": 0},
            "block scales with sum = pairs",
        ),
        (
            {"scale_formats": ["float8_e8m0fnu"], "scale_block": 4, "terms": 4, "exact_terms": 4, "order": "quads"},
            "exact_terms = 4 with order = quads",
        ),
        ({"c": "floor", "join_bits": 3}, "join_bits = 3"),
        ({"accumulate": "int32"}, "integer"),
        ({"a_formats": []}, "no operand format"),
        ({"nan_code": 1 << 32}, "nan_code"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(fields, said):
    held = {"name": "x", "a_formats": ["float16"], "b_formats": ["float16"], "align_bits": 20} | fields
    with pytest.raises(ValueError, match=said):
        msgspec.convert(held, Unit)


@pytest.mark.parametrize("accumulate", ["float32", "float16", "float64"])
def test_a_unit_of_ones_own_that_says_nothing_of_nan_gives_nan(accumulate):
    width = formats.get(accumulate).mantissa_bits
    unit = numerics.Unit(
        name="mine", a_formats=("float16",), b_formats=("float16",), accumulate=accumulate, sum="exact", width=width
    )
    operands = np.array([[np.inf]], np.float16), np.array([[0.0]], np.float16)
    assert np.isnan(numerics.dots(unit, *operands))
    assert np.isnan(numerics.mma(unit, *operands))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("hopper", "`gemmlab numerics units hopper` lists them"),
        ("hopper.wgmma.fp8", "the nearest: hopper.wgmma.float8_e4m3fn"),
        ("volta.mma.bf16", "volta.mma.float16"),
        ("tpu.mxu", "tpu.mxu.bfloat16"),
        ("hopper.wgma.float16", "hopper.wgmma.float16"),
    ],
)
def test_a_name_cut_short_or_spelled_as_people_say_it_leads_to_units(name, hint):
    with pytest.raises(GemmlabError) as caught:
        numerics.unit(name)
    assert hint in caught.value.hint
