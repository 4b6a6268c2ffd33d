"""Every counted property against sets of indices, walked one by one."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.problem import BlockScale, Gemm

WIDTHS = {"float32": 32, "float64": 64, "float16": 16, "float8_e4m3fn": 8, "float6_e2m3fn": 6, "float4_e2m1fn": 4}
STEP_FLOP = {"bias": 1, "residual": 1, "relu": 1, "gelu": 8, "silu": 4}
MAYBE_FORMAT = st.sampled_from(["", *WIDTHS])


def size(name, elements):
    return math.ceil(len(elements) * WIDTHS[name] / 8)


def occupied(problem):
    """Indices of A that may be nonzero."""
    inside = {
        "general": lambda i, j: True,
        "symmetric": lambda i, j: True,
        "triangular": lambda i, j: i >= j,
        "banded": lambda i, j: -problem.upper_band <= i - j <= problem.lower_band,
        "sparse_2_4": lambda i, j: j % 4 in ((0, 3) if (i + j // 4) % 2 else (1, 2)),  # some two of every four
    }[problem.structure]
    return {(i, j) for i in range(problem.m) for j in range(problem.k) if inside(i, j)}


def walk(problem):
    """What one entry of a plain problem multiplies, reads and writes, as sets."""
    m, n, k = problem.m, problem.n, problem.k
    a = occupied(problem)
    kept = {(max(i, j), min(i, j)) for i, j in a} if problem.structure == "symmetric" else a
    outputs = set(itertools.product(range(m), range(n)))
    metadata_bits = 2 * len(a) if problem.structure == "sparse_2_4" else 0
    scale = problem.scale
    scales = set()
    if scale:
        scales |= {("a", i // scale.block_m, x // scale.block_k) for i in range(m) for x in range(k)}
        scales |= {("b", j // scale.block_n, x // scale.block_k) for j in range(n) for x in range(k)}
    return {
        "products": sum(1 for i, x in a for j in range(n)),
        "a": size(problem.a_format, kept) + math.ceil(metadata_bits / 8),
        "b": size(problem.b_format, set(itertools.product(range(k), range(n)))),
        "c": size(problem.c_format, outputs) if problem.beta else 0,
        "d": size(problem.d_format, outputs),
        "scales": math.ceil(len(scales) * WIDTHS[scale.format] / 8) if scale else 0,
        "residuals": sum(size(problem.c_format, outputs) for step in problem.epilogue_steps if step == "residual"),
        "rows": sum(size(problem.c_format, set(range(n))) for step in problem.epilogue_steps if step == "bias"),
        "outputs": len(outputs),
    }


def expected(problem):
    entries = [walk(problem)] if not problem.groups else [walk(Gemm(*g, *formats(problem), beta=problem.beta,
        epilogue=problem.epilogue, scale=problem.scale)) for g in problem.groups]  # fmt: skip
    total = {key: problem.batch * sum(entry[key] for entry in entries) for key in entries[0]}
    total["rows"] = sum(entry["rows"] for entry in entries)  # the entries of a batch share the bias
    each = sum(STEP_FLOP[step] for step in problem.epilogue_steps) + (problem.alpha != 1) + 2 * (problem.beta != 0)
    read = total["a"] + total["b"] + total["c"] + total["scales"] + total["residuals"] + total["rows"]
    return {
        "multiply_adds": total["products"],
        "flop": 2 * total["products"],
        "epilogue_flop": each * total["outputs"],
        "a_bytes": total["a"],
        "b_bytes": total["b"],
        "c_read_bytes": total["c"],
        "d_bytes": total["d"],
        "d_elements": total["outputs"],
        "scale_bytes": total["scales"],
        "epilogue_read_bytes": total["residuals"] + total["rows"],
        "compulsory_read_bytes": read,
        "compulsory_bytes": read + total["d"],
    }


def formats(problem):
    return problem.a_format, problem.b_format, problem.c_format, problem.d_format


@st.composite
def problems(draw):
    side = st.integers(1, 9)
    grouped = draw(st.booleans())
    structure = (
        "general" if grouped else draw(st.sampled_from(["general", "triangular", "symmetric", "banded", "sparse_2_4"]))
    )
    m, n, k = draw(side), draw(side), draw(side)
    if structure == "sparse_2_4":
        k = 4 * draw(st.integers(1, 3))
    elif structure != "general":
        k = m
    band = st.integers(0, 12) if structure == "banded" else st.just(0)
    scaled = structure in ("general", "sparse_2_4") and draw(st.booleans())
    blocks = [draw(st.integers(1, 5)) for _ in range(3)] if scaled else []
    fields = {
        "b_format": draw(MAYBE_FORMAT),
        "c_format": draw(st.sampled_from(list(WIDTHS))),
        "d_format": draw(MAYBE_FORMAT),
        "alpha": draw(st.sampled_from([1.0, 0.5, 0.0])),
        "beta": draw(st.sampled_from([0.0, 1.0, -2.0])),
        "epilogue": "+".join(draw(st.lists(st.sampled_from(list(STEP_FLOP)), max_size=3))),
        "scale": BlockScale(draw(st.sampled_from(["float32", "float8_e4m3fn"])), *blocks) if scaled else None,
    }
    a_format = draw(st.sampled_from(list(WIDTHS)))
    if grouped:
        return Gemm.grouped(draw(st.lists(st.tuples(side, side, side), min_size=1, max_size=4)), a_format, **fields)
    layout = draw(st.sampled_from(["nn", "nt", "tn", "tt"]))
    gap = {name: least + draw(st.integers(0, 3)) for name, least in (
        ("lda", m if layout[0] == "t" else k), ("ldb", k if layout[1] == "t" else n), ("ldc", n))}  # fmt: skip
    return Gemm(
        m, n, k, a_format, layout=layout, structure=structure, lower_band=draw(band), upper_band=draw(band),
        batch=draw(st.integers(1, 3)), **fields, **(gap if draw(st.booleans()) else {}),
    )  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(problems())
def test_equals_walking_the_indices(problem):
    for name, value in expected(problem).items():
        assert getattr(problem, name) == value, name


@given(problems())
def test_elements_of_one_entry_of_a(problem):
    if not problem.groups:
        a = occupied(problem)
        assert problem.a_worked_elements == len(a)
        triangle = {(i, j) for i, j in a if i >= j}
        assert problem.a_elements == len(triangle if problem.structure == "symmetric" else a)


@given(problems())
def test_a_plain_problem_is_its_only_member_and_groups_add_up(problem):
    if not problem.groups:
        assert problem.members == (problem,)
    for name in ("flop", "a_bytes", "b_bytes", "d_bytes", "epilogue_flop", "compulsory_bytes"):
        assert getattr(problem, name) == sum(getattr(member, name) for member in problem.members)


def test_the_published_facts():
    assert Gemm(1024, 1024, 1024).flop == 2_147_483_648
    floor = Gemm(8192, 8192, 8192, "float16")
    assert floor.compulsory_bytes == 402_653_184
    assert floor.a_bytes == floor.b_bytes == 128 << 20


@pytest.mark.parametrize("side", [1, 2, 64, 1000])
def test_structured_operands(side):
    general = Gemm(side, 64, side)
    triangular = general.replace(structure="triangular")
    symmetric = general.replace(structure="symmetric")
    assert triangular.flop * 2 * side == general.flop * (side + 1)  # half the work, and half the diagonal
    assert symmetric.flop == general.flop
    assert symmetric.a_bytes * 2 * side == general.a_bytes * (side + 1)  # half the reads
    whole = general.replace(structure="banded", lower_band=side, upper_band=side)
    assert (whole.flop, whole.a_bytes) == (general.flop, general.a_bytes)
    diagonal = general.replace(structure="banded")
    assert diagonal.multiply_adds == side * 64


def test_sparsity_halves_work_and_adds_an_eighth_of_metadata_in_float16():
    sparse = Gemm(128, 64, 256, "float16", structure="sparse_2_4")
    dense = Gemm(128, 64, 256, "float16")
    assert sparse.flop * 2 == dense.flop
    assert sparse.a_bytes == dense.a_bytes * 9 // 16


def test_block_scales_of_the_published_recipes():
    mx = Gemm(128, 64, 256, "float8_e4m3fn", scale=BlockScale())
    assert mx.scale_bytes == (128 + 64) * 256 // 32
    deepseek = Gemm(128, 256, 256, "float8_e4m3fn", scale=BlockScale.parse("float32/1x128x128"))
    assert deepseek.scale_bytes == 4 * (128 * 2 + 2 * 2)


def test_largest_sides_stay_exact():
    assert Gemm(1 << 40, 1 << 40, 1 << 40).flop == 1 << 121
