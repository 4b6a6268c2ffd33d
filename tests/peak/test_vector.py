"""Plans by threads: who the vectors are, rows taken once, what a block holds; and their machine code."""

import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.kernels import machine_code

from gemmlab.formats import bits_of
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.request import Request
from gemmlab.peak.vector import ALIKE, ANYWHERE, APART, CHUNK_BYTES, KINDS, STATIC_BYTES, WARP, Vector
from gemmlab.peak.vector_choosing import MOST_CLUSTER, MOST_PARTS, MOST_VECTORS, by_threads, vector_plans
from gemmlab.record import GemmlabError

BF16 = {"a_format": "bfloat16", "b_format": "bfloat16", "d_format": "bfloat16"}
FORM = {"format": "bfloat16", "x_format": "bfloat16", "d_format": "bfloat16"}
FLAGS = ("a_along_k", "b_along_k", "a_on_road", "b_on_road", "d_on_road")


#: rows, warps and deep within 3.5 % of the fastest, by format, n and k: measured on an H200, 2026-11-30, of up to
#: 63 forms side by side over rotating operands
FASTEST = {
    ("bfloat16", 8192, 8192): {(1, 8, 4), (2, 4, 2), (4, 2, 2), (4, 4, 1), (4, 4, 2), (4, 8, 1)},
    ("bfloat16", 28672, 8192): {(1, 4, 4), (1, 8, 4), (2, 4, 2), (2, 4, 4), (2, 8, 2), (4, 2, 2), (4, 4, 1), (4, 4, 2)},
    ("bfloat16", 8192, 28672): {(1, 2, 8), (1, 4, 4), (2, 4, 4), (2, 8, 2), (4, 4, 2), (4, 8, 1), (4, 8, 2)},
    ("bfloat16", 7168, 16384): {(1, 2, 8), (1, 4, 4), (2, 4, 4), (2, 8, 2), (4, 8, 2)},
    ("bfloat16", 2112, 7168): {(4, 4, 2), (4, 8, 1)},
    ("bfloat16", 576, 7168): {(1, 4, 4), (1, 8, 4)},
    ("bfloat16", 4096, 4096): {(1, 4, 4), (2, 4, 2), (2, 4, 4), (2, 8, 2), (4, 2, 2), (4, 4, 2)},
    ("bfloat16", 7168, 2048): {(2, 2, 4), (2, 4, 2), (4, 2, 2), (4, 4, 1), (4, 4, 2), (4, 8, 1)},
    ("float8_e4m3fn", 8192, 8192): {(2, 2, 2), (4, 1, 2), (4, 2, 2), (4, 4, 1)},
    ("float8_e4m3fn", 28672, 8192): {(2, 2, 2), (4, 2, 2), (4, 4, 1)},
    ("float8_e4m3fn", 8192, 28672): {(2, 4, 2), (4, 4, 2), (4, 8, 1)},
    ("float8_e4m3fn", 7168, 16384): {(1, 2, 4), (2, 4, 2), (4, 4, 2), (4, 8, 1)},
    ("float8_e4m3fn", 2112, 7168): {(4, 8, 1)},
    ("float8_e4m3fn", 576, 7168): {(1, 4, 4), (2, 8, 2)},
    ("float8_e4m3fn", 4096, 4096): {(2, 4, 2), (4, 2, 2), (4, 4, 1), (4, 8, 1)},
    ("float8_e4m3fn", 7168, 2048): {(4, 2, 2), (4, 4, 1)},
}


@st.composite
def requests(draw):
    first = draw(st.sampled_from(list(KINDS)))
    second = draw(st.sampled_from([form for form in KINDS if bits_of(form) == bits_of(first) == 8] or [first]))
    few, many = draw(st.integers(1, MOST_VECTORS)), draw(st.integers(1, 200_000))
    m, n = draw(st.permutations([few, many]))
    return Request(
        m=m,
        n=n,
        k=draw(st.integers(1, 200_000)),
        a_format=first,
        b_format=second,
        d_format=draw(st.sampled_from(["float32", "bfloat16" if bits_of(first) == 8 else first])),
        **{name: draw(st.booleans()) for name in FLAGS},
    )


@given(requests())
@settings(max_examples=200)
def test_a_form_answers_its_request_and_a_block_holds_it(request_):
    plans = list(vector_plans(request_))
    assert plans
    for plan in plans:
        form = plan.kernel
        (w, x), (n, vectors) = (
            ("ba", (request_.n, request_.m)) if not form.swapped else ("ab", (request_.m, request_.n))
        )
        assert (form.format, form.x_format) == (getattr(request_, f"{w}_format"), getattr(request_, f"{x}_format"))
        assert (form.along_k, form.vectors) == (getattr(request_, f"{w}_along_k"), vectors)
        assert form.aligned == getattr(request_, f"{w}_on_road")
        assert form.classes == (1 if form.aligned else CHUNK_BYTES * 8 // bits_of(form.format))
        whole = form.aligned and request_.k % form.chunk == 0
        if form.along_k:
            there = getattr(request_, f"{x}_on_road") and form.aligned
            assert form.edges == (not whole)
            assert form.x == (APART if not getattr(request_, f"{x}_along_k") else ALIKE if there else ANYWHERE)
        else:
            assert form.shares % form.classes == 0
        assert form.shared_bytes <= STATIC_BYTES
        assert WARP * form.warps <= 1024
        assert form.parts <= (MOST_PARTS if form.along_k else MOST_CLUSTER)
        assert form.blocks(n) < 2**31
        assert plan.predicted_s > 0


@given(st.integers(1, 3000), st.sampled_from([1, 4, 8, 16]), st.sampled_from([1, 2, 4]), st.sampled_from([8, 16, 32]))
def test_blocks_take_each_row_once(n, classes, rows, lanes):
    """The kernel's `first_row`: rows of a block lie alike in 16 bytes."""
    form = Vector(**FORM, rows=rows, lanes=lanes, classes=classes, aligned=classes == 1)
    taken = []
    for block in range(form.blocks(n)):
        first = block // classes * (classes * form.tall) + block % classes
        mine = [first + classes * at for at in range(form.tall)]
        assert len({row % classes for row in mine}) == 1
        taken += [row for row in mine if row < n]
    assert sorted(taken) == list(range(n))


def test_a_deterministic_order_and_foreign_formats_have_no_such_plan():
    assert not list(vector_plans(Request(m=1, n=64, k=64, **BF16, deterministic=True)))
    assert not list(vector_plans(Request(m=MOST_VECTORS + 1, n=64, k=64, **BF16)))
    assert not list(vector_plans(Request(m=1, n=64, k=64, a_format="int8", b_format="int8", d_format="int32")))


@given(requests())
@settings(max_examples=60)
def test_what_is_surely_by_threads_is_planned_so(request_):
    sure = by_threads(request_)
    assert all(plan in list(vector_plans(request_)) for plan in sure)
    if sure:
        assert plan_for(request_) in sure
    if 1 in (request_.m, request_.n) and all(getattr(request_, flag) for flag in FLAGS):
        assert sure


@pytest.mark.parametrize("of", FASTEST, ids=lambda of: "-".join(map(str, of)))
def test_sizes_are_among_the_fastest_measured(of):
    form, n, k = of
    kernel = plan_for(Request(m=1, n=n, k=k, a_format=form, b_format=form, d_format="bfloat16")).kernel
    assert (kernel.rows, kernel.warps, kernel.deep) in FASTEST[of]


def test_sizes_that_do_not_go_together_are_refused():
    with pytest.raises(GemmlabError, match="aligned rows"):
        Vector(**FORM, classes=8)
    with pytest.raises(GemmlabError, match="shares of k for rows of 8 classes"):
        Vector(**FORM, along_k=False, warps=4, classes=8, aligned=False)
    with pytest.raises(GemmlabError, match="bytes a block"):
        Vector(**{**FORM, "format": "float8_e4m3fn"}, along_k=False, warps=32, lanes=8)


def planned():
    """Forms that are planned, each kind of operands once, over sizes that take each way through the rules."""
    found = {}
    sizes = ((1, 100_000), (100, 40_000), (576, 7168), (8192, 8192), (4096, 512), (8192, 100))
    for at, (name, form) in enumerate((name, form) for name in KINDS for form in ("b_along_k", "b_on_road", "")):
        flags = {each: each != form for each in FLAGS}
        for turn, vectors in enumerate((1, 1 + at % MOST_VECTORS)):
            n, k = sizes[(at + turn) % len(sizes)]
            d_format = "bfloat16" if bits_of(name) == 8 else name
            base = Request(m=vectors, n=n, k=k, a_format=name, b_format=name, d_format=d_format, **flags)
            for request_ in (base, replace(base, m=n, n=vectors, k=k + 1, a_on_road=False)):
                for plan in vector_plans(request_):
                    found[repr(plan.kernel)] = plan.kernel
    return list(found.values())


def test_no_planned_form_spills():
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled

    for form in planned():
        text, headers = form.text()
        usage = machine_code.told(compiled(text, headers=headers, options=("--ptxas-options=-v",)).log)
        assert not usage.stack, form
        assert not usage.spilled, form
        assert usage.registers * WARP * form.warps <= machine_code.REGISTERS_OF_SM, form
        assert usage.shared <= form.shared_bytes + 16, form


@pytest.mark.parametrize(
    "form",
    [
        Vector(**FORM, rows=1, warps=4, deep=4),
        Vector(**FORM, rows=4, warps=4, deep=2),
        Vector(**{**FORM, "format": "float32", "x_format": "float32"}, rows=2, warps=8, deep=4),
        Vector(**FORM, along_k=False, warps=16, lanes=8, deep=8),
    ],
    ids=["one row", "four rows", "float32", "columns"],
)
def test_all_loads_are_on_their_way_before_the_first_is_used(form, tmp_path):
    """The assembler puts loads off to save registers where launch bounds do not stop it: seen to cost a tenth."""
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled

    text, headers = form.text()
    path = tmp_path / "code.cubin"
    path.write_bytes(compiled(text, headers=headers).code)
    tool = machine_code.tools("cuobjdump")[0]
    sass = subprocess.run([tool, "-sass", str(path)], capture_output=True, text=True, check=True).stdout
    before = sass[: re.search(r"\bFFMA\b", sass).start()]
    assert len(re.findall(r"LDG\S*\.NA\S*\.128|LDG\S*\.128\S*", before)) >= form.rows * form.deep
