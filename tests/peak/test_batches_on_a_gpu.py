"""Batches by one launch on a Hopper GPU: any plan, any layout, whole numbers, so that every order of sums is exact."""

import random

import pytest
from msgspec.structs import replace
from tests.peak.gpu import DEVICE, MOST, TYPES, random_numbers, result_type, torch, whole_numbers
from tests.peak.test_plans_on_a_gpu import TUNED, changed

from gemmlab.peak.engine import Engine
from gemmlab.peak.tf32x3 import Tf32x3

pytestmark = pytest.mark.gpu
SHAPES = (
    (3, 64, 64, 2048),
    (5, 130, 70, 900),
    (2, 257, 255, 1027),
    (40, 16, 24, 96),
    (7, 1, 300, 513),
    (150, 33, 9, 35),
)
#: what is chosen among
KINDS = {
    "any": lambda kernel: True,
    "three tfloat32": lambda kernel: isinstance(kernel, Tf32x3),
    "three tfloat32, shared": lambda kernel: isinstance(kernel, Tf32x3) and kernel.shares > 1,
}
ENGINES = {
    "one program a tile": lambda kernel: kernel.shares == 1 and kernel.together == 1,
    "several on an SM": lambda kernel: kernel.resident > 1,
    "swapped": lambda kernel: kernel.swapped and kernel.store == 0,
    "row by row": lambda kernel: kernel.store == 1,
    "from registers": lambda kernel: kernel.store == 0 and kernel.shares == 1,
    "pairs that fetch B": lambda kernel: kernel.spread == 2 and not kernel.later,
    "parts of a cluster": lambda kernel: kernel.parts > 1,
    "groups": lambda kernel: kernel.groups > 1 and not kernel.later,
    "added later": lambda kernel: kernel.later,
}
KINDS |= {
    name: lambda kernel, holds=holds: isinstance(kernel, Engine) and holds(kernel) for name, holds in ENGINES.items()
}


def lying(source, numbers):
    """A batch on the GPU that lies anyhow; rows stay contiguous, and NaN are what is nobody's."""
    batch, rows, columns = numbers.shape
    past, gap = source.choice([0, 0, 1, 8]), source.choice([0, 0, 1, 8])
    ld, behind = columns + gap, source.choice([0, 0, 3, 16])
    way = source.choice(["one after another", "inside", "apart"])
    if way == "inside":  # rows of all matrices side by side
        ld, step = batch * ld, ld
    else:
        step = rows * ld + (behind if way == "apart" else 0)
    memory = torch.full((past + batch * rows * (columns + 8) + batch * 16 + 64,), torch.nan, device=DEVICE)
    memory = memory.to(numbers.dtype)
    found = memory[past:].as_strided((batch, rows, columns), (step, ld, 1))
    found.copy_(numbers.to(DEVICE))
    return memory, found


def operands(source, kind):
    """A, B, D and D's memory: rows of A and B along k or not, sometimes one B for all."""
    batch, m, n, k = source.choice(SHAPES)
    eight = kind in MOST
    turned = [not eight and source.random() < 0.3 for _ in range(2)]
    a = lying(source, whole_numbers(source, (batch, k, m) if turned[0] else (batch, m, k), kind))[1]
    one = source.random() < 0.25
    b = lying(source, whole_numbers(source, (1 if one else batch, *((k, n) if turned[1] else (n, k))), kind))[1]
    b = b.expand(batch, -1, -1) if one else b
    memory, d = lying(source, torch.zeros(batch, m, n, dtype=result_type(kind)))
    return a.mT if turned[0] else a, b if turned[1] else b.mT, d, memory


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_exact_and_writes_d_alone(kind, seed):
    from gemmlab.peak.asking import lies, request_of
    from gemmlab.peak.chain import Chain
    from gemmlab.peak.choosing import plans
    from gemmlab.peak.ready import row_major

    source = random.Random(f"batch {kind} {seed}")
    for _ in range(200):
        a, b, d, memory = operands(source, source.choice(TYPES))
        request = request_of(torch, a, b, d, source.choice(["vendor", "best"]), False)
        found = [plan for plan in plans(request) if KINDS[kind](plan.kernel)]
        if found:
            break
    else:
        pytest.fail("none of 200 requests has such a plan")
    plan = changed(source.choice(found), kind if kind in TUNED else "")
    sides = (a.shape[-2], b.shape[-1], a.shape[-1])
    chain = Chain(torch, plan, lies(a, 1), lies(b, 0), row_major(d), sides, 0)
    buffer = torch.empty(chain.buffer_bytes, dtype=torch.uint8, device=DEVICE)
    zeros = torch.zeros(chain.zero_bytes, dtype=torch.uint8, device=DEVICE)
    places = (*(each.data_ptr() & -16 for each in (a, b, d)), buffer.data_ptr(), zeros.data_ptr())
    exact = (a.double() @ b.double()).to(d.dtype)
    for _ in range(2):
        memory.fill_(torch.nan)
        chain(places, torch.cuda.current_stream().cuda_stream)
        assert torch.equal(d, exact), plan
        d.fill_(torch.nan)
        assert memory.isnan().all(), "it wrote beside D"
    assert not zeros.any(), "counters are zeros again"


@pytest.mark.parametrize("kind", TYPES)
def test_batches_as_they_are_asked_for(kind):
    """By `matmul` itself, at one launch or one by one: whatever is chosen, and at moved addresses."""
    from gemmlab import matmul, plan

    source = random.Random(str(kind))
    batched = 0
    for _ in range(12):
        a, b, d, memory = operands(source, kind)
        exact = (a.double() @ b.double()).to(d.dtype)
        batched += plan(a, b, out=d).batched
        for _ in range(2):
            memory.fill_(torch.nan)
            assert matmul(a, b, out=d) is d
            assert torch.equal(d, exact)
            assert torch.equal(matmul(a.clone(), b), exact)
            d.fill_(torch.nan)
            assert memory.isnan().all(), "it wrote beside D"
    assert batched >= 4


def test_many_matrices_and_one_vector_each():
    """More tiles than programs, of every matrix one; and of a decoding step's heads."""
    from gemmlab import matmul

    for sides in ((3000, 16, 16, 16), (256, 1, 128, 777), (256, 1, 777, 128), (1000, 65, 8, 8)):
        batch, m, n, k = sides
        for kind in (torch.bfloat16, torch.float32):
            a, b = (random_numbers(batch * rows, k, kind, seed).to(DEVICE) for seed, rows in enumerate((m, n)))
            a, b = a.view(batch, m, k), b.view(batch, n, k).mT
            exact = a.double() @ b.double()
            assert (matmul(a, b).double() - exact).norm() <= (4e-3 if kind == torch.bfloat16 else 5e-7) * exact.norm()


def test_a_neighbour_s_nan_stays_its_own():
    from gemmlab import matmul, plan

    for kind in (torch.bfloat16, torch.float32):
        for k in (20, 100):  # rows that end inside a tile of k: what lies behind them is the next matrix
            a, b = random_numbers(6 * 30, k, kind).to(DEVICE), random_numbers(6 * k, 24, kind, 1).to(DEVICE)
            a, b = a.view(6, 30, k), b.view(6, k, 24)
            fine = matmul(a, b)
            assert plan(a, b).batched
            a[2], b[4] = torch.nan, torch.inf
            found = matmul(a, b)
            assert found[2].isnan().all()
            assert not found[4].isfinite().any()
            assert torch.equal(found[[0, 1, 3, 5]], fine[[0, 1, 3, 5]])


def test_a_batch_is_tuned_as_a_batch(tmp_path, monkeypatch):
    from gemmlab import matmul, plan, tune

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    a, b = (random_numbers(24 * 200, 64, torch.bfloat16, seed).to(DEVICE).view(24, 200, 64) for seed in range(2))
    found = tune(a, b.mT)
    assert found.request.batch == 24
    assert all(each.plan.batched for each in found.tried)
    assert plan(a, b.mT) == found.plan
    shared = tune(a, b[:1].expand(24, 200, 64).mT)
    assert shared.request == replace(found.request, m=24 * 200, batch=1), "one multiplication"
    exact = a.double() @ b.double().mT
    assert (matmul(a, b.mT).double() - exact).norm() <= 4e-3 * exact.norm()
