"""A trace tells what the reference does: its code, sums that add up, what cuts and roundings take, every schedule."""

import struct
from fractions import Fraction

import numpy as np
import pytest

from gemmlab import formats
from gemmlab.numerics import Schedule, Unit
from gemmlab.numerics.plain import output
from gemmlab.numerics.reference import dot
from gemmlab.numerics.trace import trace_dot, trace_output
from gemmlab.numerics.units import unit, units
from gemmlab.record import NumericsSection, Record
from gemmlab.report import terminal

PLAIN = [name for name, each in units().items() if not each.scaled]
SCALED = [name for name, each in units().items() if each.scaled]


def words(name, count, random, wild=False):
    """Codes of a format: random values, or any code at all."""
    form = formats.get(name)
    if wild or form.kind == "int":
        codes = random.randint(0, 1 << min(form.bits, 31), count)
        return [int(code) << form.pad_bits for code in codes]
    return formats.encode_array(random.standard_normal(count), name).tolist()


def float32(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def check(trace, code):
    """What holds of every trace."""
    assert int(trace.code, 16) == code
    for step in trace.steps:
        if step.rule or not step.total_value:
            continue
        unit_of_step = Fraction(2) ** step.unit_exponent
        kept = [term.kept for term in step.terms]
        if None not in kept:
            assert sum(kept) == step.total
        for term in step.terms:
            if term.kept is None or "^" in term.lost:
                continue
            value = Fraction(term.significand) * Fraction(2) ** term.unit_exponent
            assert float(value - term.kept * unit_of_step) == float(term.lost)
            if term.lost != "0":
                assert term.lost_bits > 0
                assert step.cut
            if term.shift is not None:
                assert term.shift == step.largest_exponent - term.exponent >= 0
        if step.result and step.lost and "^" not in step.lost:
            result = formats.decode(int(step.code, 16), step.format)
            assert float(step.total * unit_of_step - Fraction(result)) == float(step.lost)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("wild", [False, True])
def test_a_dot_product_of_every_unit(name, wild):
    chosen, random = unit(name), np.random.RandomState(len(name))
    for k in (1, 5, 37):
        a_format, b_format = chosen.a_formats[0], chosen.b_formats[-1]
        a, b = (words(each, k, random, wild) for each in (a_format, b_format))
        c = words(chosen.accumulate, 1, random)[0]
        trace = trace_dot(chosen, a, b, c, a_format, b_format)
        check(trace, dot(chosen, a, b, c, a_format, b_format))
        told = [at for step in trace.steps if step.kind in ("fused sum", "products alone") for at in step.ks]
        assert wild or sorted(told) == list(range(k))


@pytest.mark.parametrize("name", SCALED)
def test_a_dot_product_of_scaled_units(name):
    chosen, random = unit(name), np.random.RandomState(3)
    k = chosen.k + 5
    blocks = -(-k // chosen.scale_block)
    scale = chosen.scale_formats[0]
    a, b = (words(each[0], k, random) for each in (chosen.a_formats, chosen.b_formats))
    scales = [formats.encode_array(2.0 ** random.randint(-3, 4, blocks), scale).tolist() for _ in "ab"]
    given = {"a_scales": scales[0], "b_scales": scales[1], "scale_format": scale}
    trace = trace_dot(chosen, a, b, 0, chosen.a_formats[0], chosen.b_formats[0], **given)
    check(trace, dot(chosen, a, b, 0, chosen.a_formats[0], chosen.b_formats[0], *given.values()))
    assert abs(float(trace.error)) <= 1e-5 * abs(float(trace.exact)) + 1e-3


SCHEDULES = {
    "one chain": (Schedule(), {}),
    "promoted": (Schedule(promote=64), {}),
    "split": (Schedule(split_k=3, reduce="float16"), {}),
    "both, reduced in bfloat16": (Schedule(split_k=2, promote=32, reduce="bfloat16", reduce_sum="bfloat16"), {}),
    "scaled and stored": (Schedule(), {"alpha": 1.5, "beta": -0.25, "d_format": "bfloat16"}),
}


@pytest.mark.parametrize("name", ["hopper.wgmma.float8_e4m3fn", "hopper.mma.float8_e4m3fn", "ampere.mma.float16"])
@pytest.mark.parametrize("told", SCHEDULES)
def test_schedules(name, told):
    schedule, more = SCHEDULES[told]
    chosen, random = unit(name), np.random.RandomState(1)
    a_format, b_format = chosen.a_formats[0], chosen.b_formats[0]
    a, b = (words(each, 200, random) for each in (a_format, b_format))
    c = float32(0.7)
    trace = trace_output(chosen, schedule, a, b, c, a_format, b_format, place=(3, 4), **more)
    check(trace, output(chosen, schedule, a, b, c, a_format, b_format, **more))
    assert (trace.row, trace.column, trace.k) == (3, 4, 200)
    assert trace.chains == tuple(each for share in schedule.chains(200, chosen) for each in share)
    kinds = [step.kind for step in trace.steps]
    shares = schedule.chains(200, chosen)
    assert kinds.count("promotion") == (sum(len(chains) - 1 for chains in shares) if schedule.promote else 0)
    assert kinds.count("split-k") == len(shares) - 1
    assert kinds.count("share") == (len(shares) if schedule.reduce != "float32" else 0)
    assert ("alpha and beta" in kinds) == ("alpha" in more)
    assert ("D" in kinds) == ("d_format" in more)


def test_shares_of_integers_are_added_to_the_bit():
    """Two sums of 255 * 255 * 16640, a little more than 2^30, each exact, wrap around int32 when they are added."""
    chosen = unit("turing.mma.int8")
    codes, share = [0xFF] * (4 * 16640), 255 * 255 * 16640
    trace = trace_output(chosen, Schedule(split_k=4), codes, codes, 0, "uint8", "uint8", d_format="int32")
    assert [(step.rounding, step.result, step.lost) for step in trace.steps if step.kind == "split-k"] == [
        ("exact, modulo 2^32", str(2 * share - 2**32), str(2**32)),
        ("exact, modulo 2^32", str(3 * share - 2**32), "0"),
        ("exact, modulo 2^32", str(4 * share - 2**32), "0"),
    ]
    assert (trace.result, trace.steps[-1].code) == (str(4 * share - 2**32), trace.code)
    codes = [0x80] * 4
    scaled = trace_output(chosen, Schedule(), codes, codes, 0, "int8", "int8", alpha=0.5, d_format="float16")
    assert [step.kind for step in scaled.steps] == ["fused sum", "alpha and beta", "D"]
    assert scaled.steps[-1].result == "32768"


def test_float64_over_all_of_its_range_can_be_told():
    chosen = unit("hopper.mma.float64")
    codes = formats.encode_array([1e300, 1e-300, -3e250, 5e-324], "float64").tolist()
    trace = trace_dot(chosen, codes, codes[::-1], formats.encode(-1e-290, "float64"), "float64", "float64")
    section = NumericsSection(unit=chosen.name, kind="emulated", backend="emulated", width_bits=64, trace=trace)
    for width in (40, 100):
        assert "Step by step" in terminal(Record(numerics=section), width=width)


def test_the_input_of_deepgemm_37_shows_nothing():
    chosen = unit("hopper.wgmma.float8_e4m3fn")
    a, b = (formats.encode_array(x, "float8_e4m3fn").tolist() for x in ([448.0, 7.5], [1.0, 1.0]))
    trace = trace_dot(chosen, a, b, 0, "float8_e4m3fn", "float8_e4m3fn")
    assert (trace.result, trace.exact, trace.error) == ("455.5", "455.5", "0")
    assert [term.lost for term in trace.steps[0].terms] == ["0", "0", "0"]


def test_c_alone_loses_its_low_ten_bits():
    chosen = unit("hopper.wgmma.float8_e4m3fn")
    trace = trace_dot(chosen, [0], [0], float32(1 + 2.0**-14), "float8_e4m3fn", "float8_e4m3fn")
    assert (trace.result, trace.steps[0].terms[-1].lost_bits) == ("1", 10)
    assert float(trace.steps[0].terms[-1].lost) == 2.0**-14


def test_special_values_name_their_rule():
    chosen = unit("hopper.mma.float16")
    inf, zero, one = (formats.encode(x, "float16") for x in (float("inf"), 0.0, 1.0))
    for asked, a, b, rule, exact in (
        (chosen, [inf], [zero], "nan", ""),
        (chosen, [inf, one], [one, one], "inf", ""),
        (unit("cdna3.mfma.float16"), [inf, one], [one, one], "inf", ""),
    ):
        trace = trace_dot(asked, a, b, 0, "float16", "float16")
        assert [step.rule for step in trace.steps] == [rule]
        assert (trace.exact, trace.error) == (exact, "")
        assert trace.steps[0].terms[0].a == "inf"


def test_a_unit_of_ones_own_with_rounded_cuts():
    mine = Unit(
        name="mine", a_formats=("float16",), b_formats=("float16",), terms=4, align_bits=10, cut="rne", width=12,
        rounding="rna", zero_exponent=-133,
    )  # fmt: skip
    random = np.random.RandomState(0)
    for _ in range(20):
        a, b = words("float16", 11, random), words("float16", 11, random)
        trace = trace_dot(mine, a, b, float32(0.1), "float16", "float16")
        check(trace, dot(mine, a, b, float32(0.1), "float16", "float16"))
    assert {step.cut for step in trace.steps} == {"rne"}
    assert trace.steps[0].rounding == "rna to 12 fraction bits"
