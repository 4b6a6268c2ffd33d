"""Batches by one launch: when they are, what its arguments say, and what stays one by one."""

import random

import pytest
from msgspec.structs import replace
from tests.peak.driver_in_words import in_words

from gemmlab.peak import asking, batches, multiply
from gemmlab.peak import warm as module
from gemmlab.peak.batches import at_once, whole_plan
from gemmlab.peak.chain import Ledger
from gemmlab.peak.choosing import plan_for, plans
from gemmlab.peak.engine import Engine
from gemmlab.peak.ready import launches_of, ready, row_major
from gemmlab.peak.request import Request
from gemmlab.peak.stored import Stored, stored
from gemmlab.record import GemmlabError

BF16 = {"a_format": "bfloat16", "b_format": "bfloat16", "d_format": "bfloat16"}
F32 = {"a_format": "float32", "b_format": "float32", "d_format": "float32"}


@pytest.fixture
def torch(monkeypatch):
    with in_words(monkeypatch) as found:
        monkeypatch.setattr(module, "chosen", lambda request, device: plan_for(request))
        yield found


def asked_at_once(torch, a, b, d, **how):
    """What one launch multiplies, by the model alone."""
    return at_once(torch, (a, b, d), how.get("accuracy", "vendor"), how.get("deterministic", False), plan_for)


def matrices(torch, *sides, kind="bfloat16"):
    return torch.zeros(sides, dtype=getattr(torch, kind))


@pytest.mark.parametrize("formats", [BF16, F32])
def test_a_batch_is_one_launch_unless_launches_for_each_are_faster(formats, monkeypatch):
    small = Request(m=64, n=64, k=64, batch=100, **formats)
    found = whole_plan(small, plan_for)
    assert found.batched
    assert found.predicted_s < 10 * plan_for(Request(m=64, n=64, k=64, **formats)).predicted_s
    assert whole_plan(Request(m=64, n=64, k=64, **formats), plan_for) is None, "it is none"
    tuned = replace(found, group_m=3, predicted_s=1.0)  # which was measured to be faster, whatever the model says of it
    assert whole_plan(small, lambda request: tuned) is tuned
    monkeypatch.setattr(
        batches, "plan_for", lambda of: replace(plan_for(of), predicted_s=1.0 if of.batch > 1 else 1e-3)
    )
    assert whole_plan(small, lambda request: tuned) is None


def test_float32_in_its_fixed_order_goes_one_by_one():
    """Pieces have scales for each row, which a batch's launch does not carry."""
    request = Request(m=512, n=512, k=512, batch=8, deterministic=True, **F32)
    assert not list(plans(request))
    with pytest.raises(GemmlabError):
        plan_for(request)
    assert whole_plan(request, plan_for) is None


def test_every_plan_of_a_batch_is_of_a_batch_and_of_one_of_none():
    for formats in (BF16, F32, BF16 | {"a_format": "float8_e4m3fn", "b_format": "float8_e5m2"}):
        for m, n, k in ((1, 100, 4096), (64, 64, 4096), (300, 200, 100)):
            assert all(plan.batched for plan in plans(Request(m=m, n=n, k=k, batch=5, **formats)))
            assert not any(plan.batched for plan in plans(Request(m=m, n=n, k=k, **formats)))


def test_more_matrices_than_a_grid_is_high_go_one_by_one():
    assert not list(plans(Request(m=8, n=8, k=8, batch=70_000, **F32)))
    assert plan_for(Request(m=8, n=8, k=8, batch=70_000, **BF16)).batched, "wgmma's programs walk over all"
    assert not list(plans(Request(m=1, n=1, k=1, batch=3_000_000_000, **BF16))), "and count them in 32 bits"


def test_a_fixed_order_is_that_of_one_by_itself():
    for batch in (1, 2, 50):
        plan = plan_for(Request(m=64, n=64, k=8192, batch=batch, deterministic=True, **BF16))
        assert (plan.schedule.split_k, plan.schedule.promote, plan.unit) == (1, 0, "hopper.wgmma.bfloat16")
        assert plan.kernel.shares == 1


def test_shares_of_k_are_fewer_where_a_batch_fills_the_chip():
    """Programs of a launch that share k run at once, those of all its multiplications."""
    for plan in plans(Request(m=64, n=64, k=8192, batch=30, **BF16)):
        if isinstance(plan.kernel, Engine) and plan.kernel.later:
            assert plan.kernel.programs(64, 64, 132, 30) <= 132
    (_, few), (_, many) = ((batch, plan_for(Request(m=64, n=64, k=65536, batch=batch, **BF16))) for batch in (2, 500))
    assert few.kernel.shares > 8
    assert many.kernel.shares == 1


def test_what_one_launch_multiplies(torch):
    a, b, d = matrices(torch, 6, 40, 48), matrices(torch, 6, 48, 56), matrices(torch, 6, 40, 56)
    (left, _, _), request, plan = asked_at_once(torch, a, b, d)
    assert left is a
    assert (request.batch, plan.batched) == (6, True)
    (left, right, to), request, plan = asked_at_once(torch, a, b[:1].expand(6, 48, 56), d)
    assert (left.shape, right.shape, to.shape) == ((240, 48), (48, 56), (240, 56)), "it folds"
    assert (request.batch, plan.batched) == (1, False)
    apart = matrices(torch, 6, 50, 48)[:, :40]
    _, request, plan = asked_at_once(torch, apart, b[:1].expand(6, 48, 56), d)
    assert (request.batch, plan.batched) == (6, True), "rows of one matrix and of the next are not equally far apart"
    strided = matrices(torch, 6, 40, 96)[:, :, ::2]
    (left, _, _), request, plan = asked_at_once(torch, strided, b, d)
    assert (left.stride(), request.batch, plan.batched) == ((1920, 48, 1), 6, True), "copies are multiplied so"
    single = matrices(torch, 6, 40, 48, kind="float32"), matrices(torch, 6, 48, 56, kind="float32")
    left, request, plan = asked_at_once(torch, *single, matrices(torch, 6, 40, 56, kind="float32"), deterministic=True)
    assert (left[0].dim(), request.batch, plan.batched) == (2, 1, False)


def test_a_batch_is_kept_as_one_chain(torch):
    a, b, d = matrices(torch, 9, 5, 7), matrices(torch, 9, 7, 3), matrices(torch, 9, 5, 3)
    found = module.warm(torch, (a, b, d), (a, b, d), "vendor", False)
    assert (found.count, len(found.chains)) == (1, 1)
    repack, product = found.chains[0].launches  # 70 and 42 bytes apart: off the road, and so D
    assert product.arguments[-1].batch == 9
    assert [copy.rows for copy in repack.arguments] == [9 * 5, 9 * 7], "all in one launch"
    eight = (a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn))  # B's rows run along n
    assert module.warm(torch, (*eight, d), (*eight, d), "vendor", False) is None


def test_one_matrix_for_all_is_copied_once(torch):
    """float8 whose rows run along n: none is multiplied so."""
    eight = matrices(torch, 64, 48, kind="float8_e4m3fn").expand(100, 64, 48)
    found, lies = asking.lying(eight, 0)
    assert (found.shape, found.stride(), lies.own, lies.along_k) == (eight.shape, (0, 1, 64), 1, True)
    assert found.untyped_storage().nbytes() == 64 * 48


def test_a_batch_whose_map_is_refused_goes_one_by_one(torch, monkeypatch):
    a, b, d = matrices(torch, 6, 40, 48), matrices(torch, 6, 48, 56), matrices(torch, 6, 40, 56)
    plain = module.Chain

    def refused(torch, plan, *of):
        if plan.batched:
            raise GemmlabError("CUDA's driver: CUDA_ERROR_INVALID_VALUE")
        return plain(torch, plan, *of)

    monkeypatch.setattr(module, "Chain", refused)
    found = module.warm(torch, (a, b, d), (a, b, d), "vendor", False)
    assert (found.count, len(found.chains)) == (6, 1)


@pytest.mark.parametrize("sides", [(1, 3, 5), (6, 8, 16), (2, 64, 64)])
def test_how_a_batch_lies(torch, sides):
    found = matrices(torch, *sides)
    several = sides[0] > 1
    assert stored(found, 1) == Stored(
        found.data_ptr(), *sides[1:], sides[2], 2, True, sides[0], sides[1] * sides[2] if several else 0
    )
    turned = found.mT
    assert (stored(turned, 0).along_k, stored(turned, 0).step) == (True, sides[1] * sides[2] if several else 0)
    same = found[:1].expand(sides)
    assert (stored(same, 1).own, stored(same, 1).step) == (1, 0)
    assert stored(found, 1).own == sides[0]


def test_matrices_off_the_road_where_only_they_lie_so(torch):
    """Each matrix's rows are on the road from its own beginning; the next begins 8 bytes past a multiple of 16."""
    memory = matrices(torch, 1000)
    found = memory.as_strided((3, 4, 8), (36, 8, 1))
    assert stored(found[0], 1).on_road == (memory.data_ptr() % 16 == 0)
    assert not stored(found, 1).on_road


class Torch:
    """Where buffers are asked for."""

    uint8 = type("uint8", (), {"itemsize": 1})

    def __init__(self):
        self.asked = []

    def empty(self, count, dtype, device):
        self.asked.append(count)
        return type("Memory", (), {"data_ptr": staticmethod(lambda: 1 << 20)})()


def row_of(copy, row):
    """`row_of` of repack.cu, where it is compiled for matrices that do not follow one another."""
    return copy.source + row // copy.each * copy.matrix_step + row % copy.each * copy.source_step


@pytest.mark.parametrize("step", [0, 5 * 7, 5 * 7 + 3, 7])
def test_rows_of_a_batch_are_repacked_one_behind_another(monkeypatch, step):
    compiled = []
    monkeypatch.setattr(multiply, "repack_kernel", lambda device, batched: compiled.append(batched) or Kernel())

    class Kernel:
        def prepare(self, grid, threads, copies, early):
            return copies

    ld = 4 * 7 if step == 7 else 7  # the batch inside: rows of all matrices side by side
    torch, source = Torch(), Stored(4096, 5, 7, ld, 2, True, 4, step)
    _, (there,), copies = multiply.repacked([source], torch, 0)
    copy, none = copies
    own = 4 if step else 1
    assert (copy.rows, none.rows) == (own * 5, 0)
    assert torch.asked == [own * 5 * 128]
    assert (there.ld, there.step, there.own, there.on_road) == (64, 5 * 64 if step else 0, own, True)
    assert compiled == [step not in (0, 5 * 7)]
    wanted = [4096 + 2 * (matrix * step + row * ld) for matrix in range(own) for row in range(5)]
    plain = [copy.source + row * copy.source_step for row in range(copy.rows)]
    assert (([row_of(copy, row) for row in range(copy.rows)]) if compiled[0] else plain) == wanted


def test_a_plan_of_one_is_none_of_a_batch(torch):
    """It would multiply the first matrices and leave the others."""
    a, b, d = matrices(torch, 6, 40, 48), matrices(torch, 6, 48, 56), matrices(torch, 6, 40, 56)
    one = plan_for(asking.request_of(torch, a[0], b[0], d[0], "vendor", False))
    with pytest.raises(ValueError, match="for 6"):
        ready(torch, a, b, d, one)
    assert ready(torch, a, b, d, plan_for(asking.request_of(torch, a, b, d, "vendor", False))).launches


@pytest.mark.parametrize("seed", range(10))
def test_arguments_of_a_launch_say_where_each_matrix_is(torch, seed):
    source = random.Random(seed)
    batch, m, n, k = source.choice([2, 7]), source.choice([16, 100]), source.choice([8, 130]), source.choice([64, 4096])
    gap = source.choice([0, 8, 16])
    a, d = matrices(torch, batch, m + gap, k)[:, :m], matrices(torch, batch, m, n + gap)[:, :, :n]
    b = matrices(torch, 1, n, k).expand(batch, n, k).mT if seed % 2 else matrices(torch, batch, n, k).mT
    request = asking.request_of(torch, a, b, d, "vendor", False)
    plan = plan_for(request)
    ledger = Ledger(torch, 1 << 45, 1 << 46)
    launches, _ = launches_of(ledger, plan, stored(a, 1), stored(b, 0), row_major(d), (m, n, k), 0)
    product = next(launch for launch in launches if len(launch.arguments) == 4)
    problem = product.arguments[-1]
    assert (problem.batch, problem.d_step) == (batch, m * (n + gap) * 2)
    own = {False: (1, 0), True: (0, 1)}[plan.kernel.swapped] if seed % 2 else (1, 1)
    assert (problem.a_several, problem.b_several) == own
    left = bytes(product.arguments[0])
    assert f"[{k}, {m if not plan.kernel.swapped else n}, {batch if own[0] else 1}]".encode() in left


def test_plans_of_tuned_batches_are_kept_apart(torch):
    """A batch's plan is another request's: one of the same sides alone is not answered by it, nor one with one B."""
    a, b, d = matrices(torch, 6, 40, 48), matrices(torch, 6, 48, 56), matrices(torch, 6, 40, 56)
    whole = asking.request_of(torch, a, b, d, "vendor", False)
    assert whole != asking.request_of(torch, a[0], b[0], d[0], "vendor", False)
    assert (whole.batch, whole.rows, whole.columns) == (6, 240, 336)
    same = asking.request_of(torch, a, b[:1].expand(6, 48, 56), d, "vendor", False)
    assert same == replace(whole, b_shared=True)
    assert (same.rows, same.columns) == (240, 56)


def test_what_all_of_a_batch_share_is_read_once():
    large = Request(m=64, n=4096, k=4096, batch=16, **BF16)
    of = {"a_on_road": False, "b_on_road": False}
    for request in (large, replace(large, **of)):
        shared = replace(request, b_shared=True)
        assert plan_for(shared).predicted_s < 0.7 * plan_for(request).predicted_s
