"""`gemmlab.tune` on a Hopper GPU: what it finds is right, what `matmul` then does, and forgotten with its file."""

import pytest
from tests.peak import gpu

from gemmlab import matmul, plan, tune
from gemmlab.peak import store, tensors, trying
from gemmlab.peak.paired import surely_faster
from gemmlab.record import GemmlabError

torch = gpu.torch
if gpu.DEVICE != "cuda":
    pytest.skip("only a GPU can be measured", allow_module_level=True)
pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def own_files(tmp_path, monkeypatch):
    """Files of this test alone; the folder of compiled kernels stays."""
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(store, "own_file", lambda device: tmp_path / device.file)
    store.forget()
    tensors.forget()
    yield tmp_path
    store.forget()
    tensors.forget()


@pytest.mark.parametrize(
    ("m", "n", "k", "kind", "deterministic"),
    [
        (200, 264, 512, torch.bfloat16, False),
        (129, 257, 1001, torch.float16, True),
        (256, 256, 300, torch.float32, False),
        (1, 576, 1024, torch.bfloat16, False),
        (16, 512, 4096, torch.float8_e4m3fn, False),
    ],
)
def test_what_is_found_is_right_and_used(m, n, k, kind, deterministic, own_files):
    a, b = gpu.pair(m, n, k, kind)
    before = matmul(a, b, deterministic=deterministic)
    found = tune(a, b, deterministic=deterministic)
    assert plan(a, b, deterministic=deterministic) == found.plan
    assert found.measured_s <= found.model_s
    assert len([each for each in found.tried if each.seconds]) >= 3
    winner, own = (
        next(each for each in found.tried if each.plan == of)
        for of in (found.plan, plan(a, b, deterministic=deterministic, tuned=False))
    )
    assert len(winner.seconds) == len(own.seconds) >= trying.LEAST_ROUNDS  # of the same rounds
    assert not found.better or surely_faster(winner, own)
    after = matmul(a, b, deterministic=deterministic)
    bound = gpu.BOUND[gpu.result_type(kind)]
    assert gpu.error(after, a, b) <= bound
    if deterministic:
        assert torch.equal(before, after)
    kept = {entry.request: entry for path in own_files.glob("*.json") for entry in store.read(path, of_this_chip())}
    assert (found.request in kept) == found.better


def of_this_chip():
    return store.device_of(torch, 0)


def test_an_entry_is_used_and_its_absence_too(own_files):
    a, b = gpu.pair(300, 512, 640)
    found = tune(a, b)
    other = next(each.plan for each in found.tried if each.seconds and each.plan.kernel != found.plan.kernel)
    from gemmlab.peak.tuning import entry_of

    store.keep(of_this_chip(), [entry_of(found._replace(plan=other), {})])
    tensors.forget()
    assert plan(a, b) == other
    assert gpu.error(matmul(a, b), a, b) <= gpu.BOUND[torch.bfloat16]
    store.keep(of_this_chip(), [], without=[found.request])
    assert plan(a, b) == plan(a, b, tuned=False)


def test_strides_of_operands_and_result_are_those_of_the_request():
    a = torch.randn(130, 1000, device="cuda").bfloat16()[:, 1:]
    b, out = torch.randn(999, 1003, device="cuda").bfloat16()[:, 3:], torch.empty(130, 1000, device="cuda").bfloat16()
    found = tune(a, b, out=out)
    assert (found.request.a_on_road, found.request.b_on_road, found.request.d_on_road) == (False, False, True)
    assert gpu.error(matmul(a, b, out=out), a, b) <= gpu.BOUND[torch.bfloat16]


def test_refusals():
    a, b = gpu.pair(8, 8, 16)
    with pytest.raises(GemmlabError, match="do not multiply"):
        tune(a, a)
    with pytest.raises(GemmlabError, match="nothing to multiply"):
        tune(a[:0], b)
    a[3, 3] = float("nan")
    with pytest.raises(GemmlabError, match="no plan gives a right result"):
        tune(a, b)
