"""Traces made here by torch.profiler: the same FLOP as PyTorch counts while the trace is recorded."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from gemmlab.record import GemmlabError  # noqa: E402
from gemmlab.workload.traces import read_trace  # noqa: E402
from workload.networks import GROUPED, NETWORKS  # noqa: E402

#: what FlopCounterMode has no formula for (recurrent layers), or counts otherwise (a weight's gradient in groups)
ELSEWHERE = ("lstm", *GROUPED)
CPU = {"activities": [ProfilerActivity.CPU], "record_shapes": True}


def step(network, inputs, training):
    with sdpa_kernel(SDPBackend.MATH):  # FlopCounterMode knows no formula for a CPU's fused one
        result = network(*inputs)
    if training:
        result.sum().backward()


def recorded(path, network, inputs, training, **options):
    """Record one step; FLOP as PyTorch counts them meanwhile."""
    step(network, inputs, training)  # what is done once is done
    network.zero_grad()
    with FlopCounterMode(display=False) as counter, profile(**CPU, **options) as profiler:
        step(network, inputs, training)
    profiler.export_chrome_trace(str(path))
    return counter.get_total_flops()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in ELSEWHERE])
def test_flop_are_those_that_pytorch_counts(tmp_path, name, training):
    build, inputs = NETWORKS[name]
    torch.manual_seed(0)
    path = tmp_path / "trace.json.gz"
    expected = recorded(path, build(), inputs, training)
    workload = read_trace(path)
    assert workload.flop == expected
    assert not workload.unread
    assert {call.phase for call in workload.calls} == ({"forward", "backward"} if training else {"forward"})


@pytest.mark.parametrize("name", ["llama", "resnet"])
def test_times_add_up_to_the_operators_own(tmp_path, name):
    build, inputs = NETWORKS[name]
    path = tmp_path / "trace.json"
    recorded(path, build(), inputs, True)
    workload = read_trace(path)
    parts = (*workload.calls, *workload.others, *workload.unread)
    assert sum(part.time_s for part in parts) == pytest.approx(workload.busy_s, rel=1e-6)
    assert workload.busy_s <= workload.span_s


def test_places_are_the_modules_that_called(tmp_path):
    build, inputs = NETWORKS["llama"]
    path = tmp_path / "trace.json"
    recorded(path, build(), inputs, True, with_stack=True)
    workload = read_trace(path)
    named = [place for call in workload.calls for place in call.places]
    assert all(call.places for call in workload.calls)
    assert {place.split(".")[0] for place in named} == {"Transformer_0"}
    assert {place.split(".")[-1].split("_")[0] for place in named} == {"Linear", "Attention"}
    forward, backward = (
        {place for call in workload.calls if call.phase == phase for place in call.places}
        for phase in ("forward", "backward")
    )
    assert forward == backward


def test_steps_of_a_schedule_and_the_optimizer(tmp_path):
    network = torch.nn.Linear(16, 8)
    optimizer = torch.optim.Adam(network.parameters())
    handler = tensorboard_trace_handler(str(tmp_path))
    with profile(**CPU, schedule=schedule(wait=1, warmup=1, active=3, repeat=1), on_trace_ready=handler) as profiler:
        for _ in range(6):
            with record_function("mine"):
                network(torch.ones(4, 16)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    workload = read_trace(tmp_path)
    assert workload.steps == 3
    assert sum(call.count for call in workload.calls if call.operator == "aten::addmm") == 3
    assert {other.phase for other in workload.others} == {"forward", "backward", "optimizer"}
    assert read_trace(tmp_path, step=3).steps == 1
    assert {place for call in workload.calls if call.phase == "forward" for place in call.places} == {"mine"}


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_forward_recomputed_in_the_backward_is_in_its_own_modules(tmp_path, reentrant):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

        def forward(self, x):
            return checkpoint(self.last, checkpoint(self.first, x, use_reentrant=reentrant), use_reentrant=reentrant)

    path = tmp_path / "trace.json"
    network, x = Net(), torch.ones(2, 8, requires_grad=True)
    network(x).sum().backward()
    with profile(**CPU, with_stack=True) as profiler:
        network(x).sum().backward()
    profiler.export_chrome_trace(str(path))
    places = {(call.phase, call.operator, call.problem.k): call.places for call in read_trace(path).calls}
    linear = {"Linear_0", "Linear_1"}
    assert {place.split(".")[-1] for found in places.values() for place in found} == linear
    recomputed = [(places["forward", "aten::addmm", k], places["backward", "aten::addmm", k]) for k in (8, 16)]
    assert all(first[0].endswith(again[0]) for first, again in recomputed)


def test_recorded_without_shapes(tmp_path):
    path = tmp_path / "trace.json"
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.nn.Linear(4, 4)(torch.ones(2, 4))
    profiler.export_chrome_trace(str(path))
    with pytest.raises(GemmlabError, match="no shapes") as caught:
        read_trace(path)
    assert "record_shapes=True" in caught.value.hint
