"""Units recovered from behaviour alone: known kinds, hypothetical ones, wrapped callables, and what is none."""

import importlib.util
from itertools import product
from pathlib import Path

import ml_dtypes
import msgspec
import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.numerics.probing.evidence import fields
from gemmlab.record import GemmlabError

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "numerics_reveal.py"
spec = importlib.util.spec_from_file_location("numerics_reveal", BENCHMARK)
benchmark = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)

KINDS = [
    "volta.mma.float16",  # no bit below float32's last
    "hopper.mma.float16.float16",  # a float16 accumulator
    "hopper.wgmma.float8_e4m3fn",  # e8m13
    "cdna2.mfma.float16",  # pairs of rounded sums, no subnormals
    "cdna3.mfma.float16",  # cut by floor
    "amx.tdp.bfloat16",  # even and odd k apart
    "cuda.fma.float64",  # one after another
    "hopper.mma.int8",
    "cdna3.mfma.xf32",  # the rules that explain special values in one instruction are not the first in longer sums
    "tpu.mxu.bfloat16",  # subnormal operands and results both flushed, 128 products an instruction
    "blackwell.tcgen05.float6_e3m2fn.float16",  # only what a subnormal cuts tells the alignment
]


@pytest.mark.parametrize("name", KINDS)
def test_recovers_each_kind_of_registered_unit(name):
    row = benchmark.compared(numerics.unit(name), None, 20_000, fresh=5_000)
    assert row["wrong"] == {}
    assert row["fresh_mismatches"] == {}
    assert row["mismatches"] == 0
    assert row["vectors"] >= 20_000


# 125: a width far from the first that sweeps leave; 167: rounding at 34 bits is cutting at 35 and no more
@pytest.mark.parametrize("number", [125, 167, *range(200, 205)])
def test_recovers_hypothetical_units(number):
    row = benchmark.compared(*benchmark.drawn(number), 8_000, fresh=5_000)
    assert row["wrong"] == {}
    assert row["fresh_mismatches"] == {}
    assert row["mismatches"] == 0
    assert all(row["open"].values())


def test_the_benchmark_sees_what_is_not_recovered(monkeypatch):
    unit = numerics.unit("ampere.mma.float16")
    others = {"width": msgspec.structs.replace(unit, width=22), "c": msgspec.structs.replace(unit, c="late")}
    for field, other in others.items():
        found = numerics.reveal(other, confirm=4_096)
        monkeypatch.setattr(numerics, "reveal", lambda *_, found=found, **__: found)
        row = benchmark.compared(unit, None, 4_096, fresh=5_000)
        monkeypatch.undo()
        assert not row["recovered"]
        assert field in row["wrong"]
        assert row["fresh_mismatches"]["the true unit"] > 0


@pytest.mark.parametrize(
    ("a_format", "b_format"), [("float8_e4m3fn", "float8_e5m2"), ("float8_e4m3fn", "float8_e4m3fn")]
)
def test_operands_that_are_converted_first_are_told(a_format, b_format):
    # What Triton makes of float8 where it takes no float8 tensor core: sass.Compiled.unit().
    unit = msgspec.structs.replace(
        numerics.unit("hopper.mma.float16"), name="converted", a_formats=(a_format,), b_formats=(b_format,),
        read_as="float16", instruction_k=32, order="quads",
    )  # fmt: skip
    found = numerics.reveal(unit, a_format, b_format, confirm=20_000)
    assert found.explained
    assert found.unit.read_as == "float16"
    assert (found.unit.order, found.unit.c, found.unit.terms) == ("quads", "early", 16)
    # Of e4m3 alone bfloat16 holds the same numbers in the same way; of e5m2 it does not.
    rivals = found.ambiguous["read_as"].values if "read_as" in found.ambiguous else ("float16",)
    assert set(rivals) == ({"float16"} if b_format == "float8_e5m2" else {"float16", "bfloat16"})


def test_drawn_units_cover_the_ranges():
    units = [benchmark.drawn(number)[0] for number in range(200)]
    assert {unit.width for unit in units} == set(range(8, 31))
    assert {unit.align_bits for unit in units} >= {8, 36}
    assert min(unit.terms for unit in units) == 1
    assert max(unit.terms for unit in units) == 64
    ways = ("rz", "rne", "floor")
    assert {(unit.cut, unit.rounding, unit.c) for unit in units} == set(product(ways, ways, ("early", "late")))


def test_the_revealed_unit_is_executable_and_named_fields_are_its_own():
    found = numerics.reveal("hopper.wgmma.float8_e4m3fn", confirm=4_096)
    rng = np.random.default_rng(3)
    a = rng.normal(size=(8, 96)).astype(ml_dtypes.float8_e4m3fn)
    b = rng.normal(size=(96, 8)).astype(ml_dtypes.float8_e4m3fn)
    c = rng.normal(size=(8, 8)).astype(np.float32)
    same = numerics.mma(found.unit, a, b, c) == numerics.mma("hopper.wgmma.float8_e4m3fn", a, b, c)
    assert same.all()
    assert found.unit.width_bits == 22
    assert set(found.ambiguous) <= set(fields(found.unit))
    assert found.tree == "((c 0..31) 32..63)"
    for field in ("storage", "structure", "alignment", "sums"):
        assert field in {each.probe for each in found.evidence}
    assert "align_bits" in found.table()


def test_a_plain_callable_is_read_from_diagonals():
    def unit(a, b, c):
        assert a.dtype == ml_dtypes.float8_e5m2
        assert c.dtype == np.float32
        return numerics.mma("ada.mma.float8_e5m2", a, b, c)

    found = numerics.reveal(unit, "float8_e5m2", confirm=4_096, k=64)
    assert found.explained
    assert (found.unit.terms, found.unit.align_bits, found.unit.width) == (16, 13, 13)
    assert not found.hidden


def test_a_unit_whose_c_is_hidden_is_loaded_by_its_first_products():
    found = numerics.reveal(lambda a, b: numerics.mma("ampere.mma.float16", a, b), "float16", confirm=4_096)
    assert found.hidden
    assert found.explained
    unit = found.unit
    assert (unit.terms, unit.align_bits, unit.width, unit.rounding) == (8, 24, 23, "rz")


def test_what_is_no_known_unit_shows_the_first_vector_that_differs():
    def crooked(a, b, c):
        d = numerics.mma("ampere.mma.bfloat16", a, b, c)
        large = np.abs(d) > 1e3
        return np.where(large, np.nextafter(d, np.float32(0)), d)

    found = numerics.reveal(crooked, "bfloat16", confirm=10_000, k=32)
    assert not found.explained
    assert 0 < found.mismatches < found.confirmed
    assert found.difference.seen != found.difference.computed
    assert found.difference.trace(found.unit, "bfloat16", "bfloat16")
    assert "first difference" in found.table()
    assert found.table().startswith("Not confirmed: ")


def test_range_too_small_is_told_with_its_reason():
    deep = msgspec.structs.replace(
        numerics.unit("hopper.wgmma.float8_e4m3fn"), name="deep", align_bits=48, width=23, c="late", instruction_k=64
    )
    found = numerics.reveal(deep, confirm=8_000)
    assert found.explained
    assert "sum" in found.ambiguous
    assert "2^-18..2^17.6" in found.ambiguous["sum"].reason


def test_what_is_open_only_together_is_told_so():
    # Cut at 35 bits, or rounded half away at 34: of a term far below another only whether any of it is left counts.
    unit, name = benchmark.drawn(167)
    found = numerics.reveal(unit, name, confirm=4_096)
    open_ = found.ambiguous["align_bits"]
    assert set(open_.values) == {34, 35}
    assert open_.along == ("cut",)
    assert open_.reason == "only together with other cut, which gives the same bits"


def test_reasons_speak_of_the_values_that_are_left():
    found = numerics.reveal("cdna3.mfma.xf32", confirm=4_096)
    assert found.ambiguous["negative_zero"].values == ("ieee", "rounded")
    assert found.ambiguous["negative_zero"].reason == "every -0 that comes out is one by both"
    # -0 is made, and becomes +0: to keep it as IEEE 754 does takes a unit that reads no zero's sign.
    found = numerics.reveal("ampere.mma.float16", confirm=4_096)
    assert found.ambiguous["negative_zero"].reason == (
        "no negative sum of these formats is rounded to zero; "
        "ieee only together with other zero_sign, which gives the same bits"
    )


def test_answers_of_another_kind_are_refused():
    with pytest.raises(GemmlabError, match="returned float64"):
        numerics.reveal(lambda a, b, c: np.zeros(c.shape), "float16")
    with pytest.raises(GemmlabError, match="returned shape"):
        numerics.reveal(lambda a, b, c: np.zeros((1, 1), np.float32), "float16")
    with pytest.raises(GemmlabError, match="block scales"):
        numerics.reveal("blackwell.tcgen05.mxfp8_e4m3fn")
    with pytest.raises(GemmlabError, match="no operand format"):
        numerics.reveal(lambda a, b, c: c)


def test_scales_fixed_to_one_are_a_unit_like_any_other():
    name = "blackwell.tcgen05.mxfp8_e4m3fn"
    block = numerics.unit(name).scale_block

    def unit(a, b, c):
        k = -(-a.shape[1] // block)
        ones = [np.ones(shape, ml_dtypes.float8_e8m0fnu) for shape in ((a.shape[0], k), (k, b.shape[1]))]
        return numerics.mma(name, a, b, c, a_scales=ones[0], b_scales=ones[1])

    found = numerics.reveal(unit, "float8_e4m3fn", confirm=4_096, k=64)
    assert found.explained
    assert (found.unit.terms, found.unit.align_bits, found.unit.c) == (32, 25, "early")
