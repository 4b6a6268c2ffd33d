"""Defaults, storage, copies and the Record of one multiplication."""

import subprocess
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.problem import BlockScale, Gemm
from gemmlab.record import ProblemSection
from gemmlab.record.sections import Record


@pytest.mark.parametrize(
    ("a", "b", "rest"),
    [
        ("float32", "", ("float32", "float32", "float32", "float32")),
        ("float64", "", ("float64", "float64", "float64", "float64")),
        ("tfloat32", "", ("tfloat32", "float32", "float32", "float32")),
        ("bfloat16", "", ("bfloat16", "bfloat16", "bfloat16", "float32")),
        ("float16", "", ("float16", "float16", "float16", "float32")),
        ("float8_e4m3fn", "float8_e5m2", ("float8_e5m2", "bfloat16", "bfloat16", "float32")),
        ("float6_e3m2fn", "", ("float6_e3m2fn", "bfloat16", "bfloat16", "float32")),
        ("float4_e2m1fn", "", ("float4_e2m1fn", "bfloat16", "bfloat16", "float32")),
        ("int8", "", ("int8", "int32", "int32", "int32")),
        ("uint8", "int8", ("int8", "int32", "int32", "int32")),
        ("bfloat16", "int4", ("int4", "bfloat16", "bfloat16", "float32")),
        ("int8", "float16", ("float16", "float16", "float16", "float32")),
        ("float32", "float64", ("float64", "float32", "float32", "float64")),
    ],
)
def test_formats_that_are_left_out(a, b, rest):
    problem = Gemm(2, 3, 4, a, b)
    assert (problem.b_format, problem.c_format, problem.d_format, problem.accumulate) == rest


def test_formats_that_are_given_stay():
    problem = Gemm(2, 3, 4, "float16", "bfloat16", "float32", "float64", "float16")
    given_ = (problem.b_format, problem.c_format, problem.d_format, problem.accumulate)
    assert given_ == ("bfloat16", "float32", "float64", "float16")
    assert Gemm(2, 3, 4, "float16", c_format="float32").d_format == "float32"


@pytest.mark.parametrize(
    ("layout", "a", "b"),
    [("nn", (2, 4), (4, 3)), ("nt", (2, 4), (3, 4)), ("tn", (4, 2), (4, 3)), ("tt", (4, 2), (3, 4))],
)
def test_layouts(layout, a, b):
    problem = Gemm(2, 3, 4, layout=layout)
    assert (problem.a_stored, problem.b_stored) == (a, b)
    assert (problem.lda, problem.ldb, problem.ldc) == (a[1], b[1], 3)
    assert problem.gapless == ("lda", "ldb", "ldc")
    wide = Gemm(2, 3, 4, layout=layout, lda=a[1] + 1, ldc=8)
    assert (wide.lda, wide.ldb, wide.ldc) == (a[1] + 1, b[1], 8)
    assert wide.gapless == ("ldb",)
    assert wide.compulsory_bytes == problem.compulsory_bytes


def test_numpy_sizes_become_plain_ints():
    problem = Gemm(np.int64(5), np.int32(6), np.uint8(7), batch=np.int16(2))
    assert problem == Gemm(5, 6, 7, batch=2)
    assert all(type(side) is int for side in (problem.m, problem.n, problem.k, problem.batch))
    assert Gemm.grouped([(np.int64(1), 2, 3)]).groups == ((1, 2, 3),)


def test_a_copy_follows_its_sides_where_rows_had_no_gap():
    padded = Gemm(10, 11, 12, layout="nt", ldb=20).replace(n=16, k=15)
    assert (padded.lda, padded.ldb, padded.ldc) == (15, 20, 16)
    assert Gemm(10, 11, 12).replace(layout="tt").lda == 10
    assert Gemm(10, 11, 12).replace(lda=64).lda == 64
    same = Gemm(10, 11, 12, "float16", lda=13, beta=2.0)
    assert same.replace() == same
    assert hash(same.replace()) == hash(same)


def test_a_copy_in_another_format():
    problem = Gemm(10, 11, 12, "float8_e4m3fn", "float8_e5m2", "float32", lda=16).in_format("float16")
    assert (problem.a_format, problem.b_format, problem.c_format, problem.accumulate) == ("float16",) * 3 + ("float32",)
    assert problem.lda == 16


def test_members_stand_one_after_another():
    problem = Gemm.grouped([(3, 5, 7), (2, 5, 7)], "float16", a_offset_bytes=6)
    first, second = problem.members
    assert (problem.m, problem.n, problem.k) == (5, 5, 7)
    assert (first.m, second.m, first.groups) == (3, 2, ())
    assert (first.a_offset_bytes, first.b_offset_bytes, first.c_offset_bytes) == (6, 0, 0)
    assert (second.a_offset_bytes, second.b_offset_bytes, second.c_offset_bytes) == (6 + 42, 70, 30)


def test_members_share_a_gap_and_offsets_count_from_the_alignment():
    problem = Gemm.grouped([(100, 5, 7), (2, 5, 7)], "float32", lda=8)
    assert [member.lda for member in problem.members] == [8, 8]
    assert problem.members[1].a_offset_bytes == 100 * 8 * 4 % 256


def test_members_of_different_widths_have_their_own_rows():
    problem = Gemm.grouped([(4, 5, 6), (3, 2, 1)], layout="nt")
    assert [(each.lda, each.ldb, each.ldc) for each in problem.members] == [(6, 6, 5), (1, 1, 2)]


@given(st.integers(1, 99), st.integers(1, 99), st.integers(1, 99))
def test_block_scales_read_what_they_write(m, n, k):
    for scale in (BlockScale("float32", k, m, n), BlockScale("float8_e8m0fnu", k)):
        assert BlockScale.parse(str(scale)) == scale
    assert BlockScale.parse("float8_e8m0fnu") == BlockScale()


@pytest.mark.parametrize(
    "problem",
    [
        Gemm(2, 3, 4),
        Gemm(8, 3, 8, "float16", structure="banded", lower_band=2, upper_band=1),
        Gemm(
            8, 3, 8, "float8_e4m3fn", layout="nt", scale=BlockScale("float32", 4, 1, 2), epilogue="bias+gelu", beta=1.0
        ),
        Gemm.grouped([(1, 2, 3), (4, 5, 6)], "bfloat16"),
    ],
)
def test_the_record_says_it_all(problem):
    section = problem.section()
    assert isinstance(section, ProblemSection)
    again = Record.from_json(Record(problem=section).to_json()).problem
    assert Gemm.from_section(again) == problem
    assert msgspec.json.decode(msgspec.json.encode(section))["m"] == problem.m


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        Gemm(2, 3, 4).m = 5


def test_a_problem_loads_nothing_heavy():
    script = (
        "import sys, gemmlab.problem as p; p.Gemm(1, 2, 3).compulsory_bytes; "
        "heavy = {'numpy', 'ml_dtypes', 'rich', 'torch', 'numba', 'csv', 'tomllib', 'hypothesis'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_making_one_is_cheap():
    from timeit import repeat

    best = min(repeat(lambda: Gemm(4096, 50257, 768, "bfloat16", layout="nt"), number=500, repeat=7)) / 500
    assert best < 50e-6  # about 4 microseconds; the margin is for a busy machine
