"""float32 by three tfloat32 products: errors beside multiply-adds, machine code, and when it is chosen."""

from itertools import product

import msgspec
import numpy as np
import pytest
from tests.kernels import machine_code

from gemmlab.numerics import mma
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.engine import SHARED_BYTES, Engine
from gemmlab.peak.request import Request
from gemmlab.peak.tf32x3 import OTHERWISE, Tf32x3
from gemmlab.peak.tf32x3_bits import by_three, split_in_two, unread
from gemmlab.peak.tf32x3_choosing import FORMS, FULL, LEAST_K, shaped, tf32x3_plans
from gemmlab.record import GemmlabError

FLOAT32 = {"a_format": "float32", "b_format": "float32", "d_format": "float32"}
GENERAL = Tf32x3()
SKINNY = Tf32x3(block_m=64, block_n=16, block_k=128, warps_m=1, warps_n=1, warps_k=8, stages=4, swapped=True)
SHARED_K = Tf32x3(block_m=64, block_n=64, block_k=64, warps_m=1, warps_n=2, warps_k=2, stages=3, parts=2, groups=2)
WARPGROUPS = Tf32x3(block_m=128, block_n=128, warps_m=8, warps_n=1, warpgroups=True)
LAWS = {
    "normal": lambda random, sides: random.standard_normal(sides),
    "uniform": lambda random, sides: random.random(sides),
    "lognormal 3": lambda random, sides: np.exp(3 * random.standard_normal(sides)),
    "lognormal 6": lambda random, sides: np.exp(6 * random.standard_normal(sides)),
}


def drawn(law, m, n, k, seed=0):
    random = np.random.default_rng(seed)
    return tuple(LAWS[law](random, sides).astype(np.float32) for sides in ((m, k), (k, n)))


def errors(found, a, b):
    """Norm-wise, and the largest of an element to the sum of its products' magnitudes."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact, off = a @ b, np.abs(found - a @ b)
    return np.linalg.norm(off) / np.linalg.norm(exact), (off / (np.abs(a) @ np.abs(b))).max()


@pytest.mark.parametrize(
    ("form", "k"), [(GENERAL, 64), (GENERAL, 600), (GENERAL, 2048), (WARPGROUPS, 600), (WARPGROUPS, 2048)]
)
@pytest.mark.parametrize("law", LAWS)
def test_errors_are_below_those_of_multiply_adds(law, form, k):
    """Each result; by norm too, but where one product is most of a whole result and all errors are below a rounding."""
    a, b = drawn(law, 48, 40, k)
    ours, theirs = errors(by_three(form, a, b), a, b), errors(mma("cuda.fma.float32", a, b), a, b)
    assert ours[1] <= max(theirs[1], 2.0**-21)
    assert ours[0] <= max(theirs[0], 2.0**-23 if law in ("normal", "uniform") else 2.0**-21)
    if k > 600:
        assert ours[1] < 0.7 * theirs[1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("law", LAWS)
def test_six_products_err_no_more_than_multiply_adds_or_half_a_last_place(law, seed):
    """By norm and by element, also where one product is most of all results."""
    a, b = drawn(law, 40, 48, 600, seed)
    ours, theirs = errors(by_three(OTHERWISE, a, b), a, b), errors(mma("cuda.fma.float32", a, b), a, b)
    assert ours[0] <= max(theirs[0], 2.0**-24)
    assert ours[1] <= theirs[1]


def test_three_products_would_not_do():
    three = msgspec.structs.replace(OTHERWISE, exact=False)
    cut = [
        errors(by_three(three, *of), *of)[0] for of in (drawn("lognormal 6", 40, 48, 600, seed) for seed in range(5))
    ]
    assert max(cut) > 1.5 * 2.0**-24


def test_parts_add_up_to_the_number():
    x = drawn("lognormal 6", 30, 1, 50)[0]
    high, low = split_in_two(x)
    rest = unread(low)
    for part in (high, low - rest, rest):
        assert not (part.view(np.uint32) & 0x1FFF).any()  # as tfloat32 holds it
    assert np.array_equal(high.astype(np.float64) + (low - rest) + rest, x.astype(np.float64))
    assert rest.any()


@pytest.mark.parametrize(
    "form", [GENERAL, WARPGROUPS, SKINNY, SHARED_K, msgspec.structs.replace(SHARED_K, swapped=True)]
)
def test_orders_differ_and_results_do_not(form):
    a, b = drawn("normal", 8, 10, 300, seed=2)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.linalg.norm(by_three(form, a, b) - exact) <= 3e-7 * np.linalg.norm(exact)


def test_two_parts_are_the_number_and_no_more_than_a_last_bit_is_unread():
    random = np.random.default_rng(5)
    x = (random.standard_normal(4000) * 2.0 ** random.integers(-80, 100, 4000)).astype(np.float32)
    high, low = split_in_two(x)
    assert (high.astype(np.float64) + low.astype(np.float64) == x).all()
    for part in (high, low):
        read = (part.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        assert (np.abs(part.astype(np.float64) - read) <= np.spacing(np.abs(x))).all()
    assert ((high.view(np.uint32) & np.uint32(0x1FFF)) == 0).all()


def test_what_is_not_finite_comes_out_as_multiply_adds_give_it():
    a, b = drawn("normal", 8, 12, 40, seed=3)
    a[0, 3], a[1, 4], a[2, 5], a[2, 6], a[3, 7], a[5] = np.inf, np.nan, np.inf, -np.inf, 3.4e38, 0
    a[4], a[5, 0] = 0, np.finfo(np.float32).max
    b[0], b[3, 2], b[:, 11] = 0.5, 0, np.inf
    with np.errstate(all="ignore"):
        found, plain = by_three(GENERAL, a, b), mma("cuda.fma.float32", a, b)
    assert (np.isnan(found) == np.isnan(plain)).all()
    assert np.array_equal(found[np.isinf(found)], plain[np.isinf(plain)])
    finite = np.isfinite(plain)
    assert np.allclose(found[finite], plain[finite], rtol=1e-5, atol=1e-5)
    assert np.isfinite(found[5, :11]).all()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"block_m": 96}, "32 or 64 rows each"),
        ({"block_n": 96}, "8, 16, 32 or 64 columns each"),
        ({"block_k": 48}, "multiple of 32"),
        ({"warps_k": 4}, "16 for each"),
        ({"stages": 1}, "2 or more"),
        ({"stages": 9}, "bytes a program"),
        ({"warpgroups": True}, "four warps each"),
        ({"warpgroups": True, "warps_m": 8, "warps_n": 1, "exact": True}, "mma.sync alone"),
        ({"warpgroups": True, "warps_m": 8, "warps_n": 1, "block_n": 256}, "of all warps"),
        ({"warps_m": 4, "warps_n": 8, "block_m": 128, "block_n": 64, "warps_k": 2, "stages": 2}, "threads"),
    ],
)
def test_sizes_that_do_not_hold_are_refused(fields, said):
    with pytest.raises(GemmlabError) as found:
        Tf32x3(**fields)
    assert said in f"{found.value} {found.value.hint}"


def asked(m, n, k, **more):
    return Request(m=m, n=n, k=k, **FLOAT32, **more)


def lying():
    """How both operands may lie."""
    names = ("a_along_k", "b_along_k", "a_on_road", "b_on_road")
    return [dict(zip(names, each, strict=True)) for each in product((True, False), repeat=4)]


def named(form):
    """A form in a test's name."""
    return f"{form.block_m}x{form.block_n}{'wg' * form.warpgroups}" if isinstance(form, Tf32x3) else None


@pytest.mark.parametrize("base", FORMS, ids=named)
def test_every_form_fits(base):
    for swapped, how in product((False, True), lying()):
        form = shaped(asked(64, 64, 64, **how), base, swapped)
        shared = msgspec.structs.replace(form, parts=8, groups=16)
        assert shared.shared_bytes <= SHARED_BYTES - 1024  # and a number that one thread tells the others
        assert form.stages > base.stages


@pytest.mark.parametrize(("base", "parts", "groups", "how"), [
    *((base, 1, 1, lying()[0]) for base in FORMS),
    *((base, 2, 8, lying()[-1]) for base in FORMS[2::3]),
    (FORMS[1], 8, 1, lying()[3]),
    (FORMS[6], 1, 1, lying()[-1]),
    *((OTHERWISE, 1, 1, how) for how in lying()[::5]),
    *((base, 1, 1, lying()[at] | {"batch": 9}) for at, base in enumerate(FORMS) if base != FULL),
    *((base, 2, 2, lying()[6] | {"batch": 9}) for base in FORMS[3::5]),
], ids=named)  # fmt: skip
def test_machine_code(base, parts, groups, how, tmp_path):
    machine_code.need("cuda.bindings")
    from gemmlab.kernels.nvrtc import compiled

    form = shaped(asked(64, 64, 64, **how), base, swapped=base.block_m != base.block_n and not base.exact)
    form = msgspec.structs.replace(form, parts=parts, groups=groups)
    assert form.batched == ("batch" in how)
    text, headers = form.text()
    opcodes, usage = machine_code.read(compiled(text, headers=headers).code, tmp_path)
    assert not usage.stack
    assert not usage.local
    assert not [opcode for opcode in opcodes if opcode.startswith(("LDL", "STL"))]
    assert usage.registers * form.threads <= machine_code.REGISTERS_OF_SM
    assert form.shared_bytes + usage.shared <= machine_code.SHARED_LIMIT + 1024  # which the system has
    assert bool(machine_code.having(opcodes, "LDGSTS", "128")) == (how["a_on_road"] or how["b_on_road"])
    if form.warpgroups:
        assert sum(opcode.startswith("HGMMA") for opcode in opcodes) == 12
        # waited for once a step: products that ptxas had put one behind another would each be waited for
        assert machine_code.having(opcodes, "WARPGROUP", "DEPBAR") == 1
    else:
        tiles = form.block_m // form.warps_m // 16 * (form.block_n // form.warps_n // 8)
        products = machine_code.having(opcodes, "HMMA", "1688", "TF32")
        assert products % ((12 if form.exact else 6) * tiles) == 0
        assert products


@pytest.mark.parametrize("sides", [(16, 8192, 8192), (8192, 8, 8192), (32, 8192, 8192), (256, 256, 16384)])
def test_few_rows_or_a_long_k_are_not_split_first(sides):
    plan = plan_for(asked(*sides))
    assert isinstance(plan.kernel, Tf32x3)
    assert not plan.split
    assert plan.kernel.swapped == (sides[0] < 64)
    assert isinstance(plan_for(asked(*sides, deterministic=True)).kernel, Engine)


def test_large_sides_are_split_first():
    assert plan_for(asked(4096, 4096, 4096)).split


def test_it_answers_float32_alone_and_no_fixed_order():
    assert not list(tf32x3_plans(asked(64, 64, 64, deterministic=True)))
    assert not list(tf32x3_plans(asked(64, 64, 64, accuracy="fast")))
    assert list(tf32x3_plans(asked(64, 64, 64, accuracy="best")))
    assert not list(tf32x3_plans(Request(m=64, n=64, k=64, a_format="float16", b_format="float16", d_format="float16")))


@pytest.mark.parametrize("how", lying())
def test_forms_read_operands_as_they_lie(how):
    for plan in tf32x3_plans(asked(100, 200, 300, **how)):
        form = plan.kernel
        rows, columns = ("b", "a") if form.swapped else ("a", "b")
        assert (form.a_sides, form.b_sides) == (not how[f"{rows}_along_k"], not how[f"{columns}_along_k"])
        assert (form.a_wide, form.b_wide) == (how[f"{rows}_on_road"], how[f"{columns}_on_road"])
        assert plan.predicted_s > 0
        assert not plan.unit
        assert form.shares <= 300 / 32 + 1


def test_sums_leave_the_tensor_core_sooner_where_k_is_short():
    for k in (LEAST_K - 1, LEAST_K):
        assert any(plan.kernel.warpgroups for plan in tf32x3_plans(asked(64, 64, k))) == (k == LEAST_K)
