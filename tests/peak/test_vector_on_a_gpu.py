"""A few vectors times a matrix on a Hopper GPU against float64: any strides, offsets, formats, layouts, sizes."""

import random

import pytest
from msgspec.structs import replace

from gemmlab.peak.asking import request_of
from gemmlab.peak.stored import stored
from gemmlab.peak.vector import vector_launch, vector_workspace
from gemmlab.peak.vector_choosing import vector_plans
from gemmlab.record import GemmlabError

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("no Hopper GPU is here", allow_module_level=True)
pytestmark = pytest.mark.gpu

EIGHT = [torch.float8_e4m3fn, torch.float8_e5m2]
TYPES = [torch.float32, torch.float16, torch.bfloat16, *EIGHT]
SIDES = [1, 2, 7, 33, 64, 100, 257, 1000, 3001]
LENGTHS = [1, 2, 3, 5, 8, 17, 31, 64, 100, 129, 256, 500, 1000, 1025, 4099, 9001]
BOUND = {2: 4e-3, 4: 3e-6}  # of a result of so many bytes


def drawn(source, rows, columns, kind):
    """Random numbers among NaN, with random strides and offset, of any layout."""
    turned, gap, offset = source.random() < 0.5, source.choice([0, 0, 1, 3, 8, 16]), source.choice([0, 0, 1, 2, 8, 16])
    tall, wide = (columns, rows) if turned else (rows, columns)
    memory = torch.full((offset + tall * (wide + gap),), float("nan"), device="cuda").to(kind)
    found = memory[offset:].as_strided((tall, wide), (wide + gap, 1))
    found.copy_(torch.randn(tall, wide, device="cuda").to(kind))
    return found.t() if turned else found


def given(seed):
    """Operands and a result between other columns, all by a seed."""
    source = random.Random(seed)
    torch.manual_seed(seed)
    few, many, k = source.choice([1, 1, 2, 3, 4]), source.choice(SIDES), source.choice(LENGTHS)
    m, n = (many, few) if source.random() < 0.4 else (few, many)
    first = source.choice(TYPES)
    second = source.choice(EIGHT) if first in EIGHT else first
    narrow = torch.bfloat16 if first in EIGHT else first
    d = torch.empty((m, n + 3), device="cuda", dtype=source.choice([narrow, torch.float32]))[:, 1 : 1 + n]
    return source, drawn(source, m, k, first), drawn(source, k, n, second), d


def launched(form, a, b, d):
    """Put a form on the current stream."""
    left, right = stored(a, 1), stored(b, 0)
    _held, workspace = vector_workspace(form, left, right, torch, 0)
    vector_launch(form, left, right, stored(d, 1), 0, workspace)(torch.cuda.current_stream().cuda_stream)


def product(form, a, b, d):
    """D by a form, from NaN."""
    d.fill_(float("nan"))
    launched(form, a, b, d)
    return d


def plans(a, b, d):
    """Plans by threads of up to four vectors; float8 as it lies, which `request_of` would copy."""
    request = replace(
        request_of(torch, a, b, d, "vendor", False),
        a_along_k=stored(a, 1).along_k,
        b_along_k=stored(b, 0).along_k,
        a_on_road=stored(a, 1).on_road,
        b_on_road=stored(b, 0).on_road,
    )
    return list(vector_plans(request))


@pytest.mark.parametrize("seed", range(80))
def test_near_float64(seed):
    _, a, b, d = given(seed)
    exact = a.double() @ b.double()
    for plan in plans(a, b, d):
        found = product(plan.kernel, a, b, d).double()
        assert (found - exact).norm() <= BOUND[d.element_size()] * exact.norm(), plan.kernel
        assert torch.equal(found, product(plan.kernel, a, b, d).double()), "the order of sums is fixed"


@pytest.mark.parametrize("seed", range(60))
def test_sizes_that_no_rule_chooses(seed):
    source, a, b, d = given(1000 + seed)
    exact = a.double() @ b.double()
    for plan in plans(a, b, d):
        sizes = {"warps": [1, 2, 4, 8], "deep": [1, 2, 4], "lanes": [8, 16, 32]}
        if plan.kernel.along_k:
            sizes |= {"rows": [1, 2, 4, 8], "parts": [1, 1, 2, 3, 50], "ahead": [0, 512, 4096]}
        else:
            sizes |= {"parts": [1, 2, 4, 8, 16], "ahead": [0, 1, 3]}
        try:
            form = replace(plan.kernel, **{name: source.choice(of) for name, of in sizes.items()})
        except GemmlabError:
            continue
        found = product(form, a, b, d).double()
        assert (found - exact).norm() <= BOUND[d.element_size()] * exact.norm(), form


@pytest.mark.parametrize("seed", range(40))
def test_infinities_and_nan_are_where_they_belong(seed):
    source, a, b, d = given(2000 + seed)
    if a.dtype in EIGHT:
        a, b = a.float(), b.float()
    for operand in (a, b):
        at = tuple(source.randrange(side) for side in operand.shape)
        operand[at] = source.choice([float("inf"), float("-inf"), float("nan")])
    exact = a.double() @ b.double()
    for plan in plans(a, b, d):
        found = product(plan.kernel, a, b, d)
        assert torch.equal(found.isnan(), exact.isnan()), plan.kernel
        assert torch.equal(found.isinf(), exact.isinf()), plan.kernel


@pytest.mark.parametrize("kind", EIGHT)
def test_every_float8_number(kind):
    """All 256 codes, NaN and infinities too, times one."""
    codes = torch.arange(256, dtype=torch.uint8, device="cuda").view(kind)
    a, b, d = torch.ones(1, 1, device="cuda").to(kind), codes[None, :], torch.empty(1, 256, device="cuda")
    for plan in plans(a, b, d):
        assert torch.allclose(product(plan.kernel, a, b, d)[0], codes.float(), rtol=0, atol=0, equal_nan=True)


def test_early_kernels_read_what_the_one_in_front_wrote():
    """Two buffers in turn, kernels that stand on an SM together: an old line of a cache would show."""
    for turned in (False, True):
        matrices = [torch.randn(1024, 1024, device="cuda").mul(1 / 32).bfloat16() for _ in range(2)]
        matrices = [each.t() if turned else each for each in matrices]
        vectors = [torch.randn(1, 1024, device="cuda").bfloat16() for _ in range(2)]
        start, ends = vectors[0].clone(), []
        for waits in (False, True):
            vectors[0].copy_(start)
            for turn in range(100):
                a, b, d = vectors[turn % 2], matrices[turn % 2], vectors[1 - turn % 2]
                form = replace(plans(a, b, d)[0].kernel, early=True, ahead=512 if turned else 1)
                launched(form, a, b, d)
                if waits:
                    torch.cuda.synchronize()
            torch.cuda.synchronize()
            ends.append(vectors[0].clone())
        assert torch.equal(*ends)


@pytest.mark.parametrize("seed", range(20))
def test_matmul_takes_the_way_of_threads(seed):
    from gemmlab import matmul, plan
    from gemmlab.peak.vector import Vector

    source = random.Random(seed)
    torch.manual_seed(seed)
    kind, n, k = source.choice(TYPES[:3]), source.randint(2000, 5000), source.randint(2000, 5000)
    a, b = drawn(source, 1, k, kind), drawn(source, k, n, kind)
    if source.random() < 0.5:
        a, b = b.t(), a.t()
    assert isinstance(plan(a, b).kernel, Vector)
    exact = a.double() @ b.double()
    assert (matmul(a, b).double() - exact).norm() <= BOUND[kind.itemsize] * exact.norm()
