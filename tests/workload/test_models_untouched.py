"""A traced model is left as it was: elements, gradients, buffers, hooks, flags, random numbers."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch import nn  # noqa: E402

from gemmlab.record import GemmlabError  # noqa: E402
from gemmlab.workload.models import trace_model  # noqa: E402
from workload.models.networks import GPT, ResNet  # noqa: E402


def image_of(model):
    """Everything that a trace might change, by value and by identity."""
    values = {name: tensor.clone() for name, tensor in model.state_dict(keep_vars=True).items()}
    objects = {
        name: (id(tensor), tensor.data_ptr(), tensor._version)
        for name, tensor in model.state_dict(keep_vars=True).items()
    }
    gradients = {name: None if p.grad is None else (id(p.grad), p.grad.clone()) for name, p in model.named_parameters()}
    attributes = {name: {key: id(value) for key, value in vars(each).items()} for name, each in model.named_modules()}
    return values, objects, gradients, attributes, [each.training for each in model.modules()]


def same(one, other):
    assert one[0].keys() == other[0].keys()
    assert all(torch.equal(one[0][name], other[0][name]) for name in one[0])
    assert one[1] == other[1]
    for name, before in one[2].items():
        after = other[2][name]
        assert (before is None) == (after is None)
        assert before is None or (before[0] == after[0] and torch.equal(before[1], after[1]))
    assert one[3:] == other[3:]


def random_state():
    return torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()


class Stateful(nn.Module):
    """Writes into buffers and attributes, keeps what it is given, draws random numbers of every kind."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.norm = nn.BatchNorm1d(8)
        self.register_buffer("steps", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(8), persistent=False)
        self.scale = torch.ones(8)
        self.count = torch.zeros(2, dtype=torch.int64)
        self.kept = []
        self.last = None

    def forward(self, x):
        self.steps += 1
        self.count.add_(1)
        self.mean.mul_(0.9).add_(x.detach().mean(0))
        self.scale.mul_(2)
        self.kept.append(x)
        self.last = x
        random.random(), np.random.rand(), torch.rand(3)
        return self.norm(self.layer(x)) * self.scale


@pytest.mark.parametrize("training", [True, False])
def test_everything_is_as_it_was(training):
    model = Stateful().train(training)
    x = torch.randn(4, 8, requires_grad=True)
    model(x).sum().backward()
    kept = list(model.kept)
    given = x.clone()
    before, drawn = image_of(model), random_state()
    workload = trace_model(model, x)
    assert workload.calls
    same(before, image_of(model))
    assert drawn == random_state()
    assert [id(each) for each in model.kept] == [id(each) for each in kept]
    assert torch.equal(x, given)
    gradient = x.grad.clone()
    model(x).sum().backward()  # and it still trains
    assert not torch.equal(gradient, x.grad)


@pytest.mark.parametrize(
    "make", [ResNet, GPT, lambda: nn.LSTM(8, 16), lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))]
)
def test_modules_of_pytorch_are_as_they_were(make):
    model = make()
    inputs = {ResNet: torch.randn(2, 3, 32, 32), GPT: torch.zeros(2, 5, dtype=torch.int64)}.get(
        make, torch.randn(3, 2, 8)
    )
    before = image_of(model)
    trace_model(model, inputs)
    same(before, image_of(model))
    model(inputs)


class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.register_buffer("steps", torch.zeros(1, dtype=torch.int64))

    def forward(self, x):
        self.steps += 1
        self.extra = self.layer(x)
        raise ValueError("no")


def test_a_failing_model_is_as_it_was():
    model, x = Failing().eval(), torch.randn(4, 8)
    before, drawn = image_of(model), random_state()
    with pytest.raises(GemmlabError, match="ValueError: no"):
        trace_model(model, x)
    same(before, image_of(model))
    assert drawn == random_state()
    assert not hasattr(model, "extra")


def test_an_interrupted_model_is_as_it_was():
    class Stopped(Failing):
        def forward(self, x):
            self.layer(x)
            raise KeyboardInterrupt

    model = Stopped()
    before = image_of(model)
    with pytest.raises(KeyboardInterrupt):
        trace_model(model, torch.randn(4, 8))
    same(before, image_of(model))


def test_hooks_of_modules_run_once_and_stay():
    seen = []
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    model[0].register_forward_pre_hook(lambda module, inputs: seen.append("before"))
    model[0].register_forward_hook(lambda module, inputs, output: output * 2)
    model.register_full_backward_hook(lambda module, given, taken: seen.append("backward"))
    before = image_of(model)
    workload = trace_model(model, torch.randn(4, 8))
    assert seen == ["before", "backward"]
    assert "aten::mul" in {other.name for other in workload.others}
    same(before, image_of(model))
    model(torch.randn(4, 8)).sum().backward()
    assert seen == ["before", "backward"] * 2


def test_hooks_of_parameters_do_not_run_and_are_told():
    seen = []
    model = nn.Linear(8, 8)
    model.weight.register_hook(seen.append)
    workload = trace_model(model, torch.randn(4, 8))
    assert not seen
    assert workload.notes == ("hooks of 1 parameters did not run: they may change what they are given",)
    model(torch.randn(4, 8)).sum().backward()
    assert len(seen) == 1


def test_pytorch_itself_is_as_it_was():
    def state():
        return (
            *(torch.is_grad_enabled(), torch.is_autocast_enabled("cuda"), torch.get_default_dtype()),
            *(torch.cuda.is_bf16_supported, torch.clear_autocast_cache, torch.nn.functional.has_torch_function),
            *(torch.cuda.get_device_capability, len(torch.nn.modules.module._global_forward_hooks)),
            len(torch.overrides._get_current_function_mode_stack()),
        )

    before = state()
    trace_model(nn.Linear(8, 8), torch.randn(4, 8), autocast="bfloat16")
    with pytest.raises(GemmlabError):
        trace_model(Failing(), torch.randn(4, 8), autocast="bfloat16")
    assert state() == before


def test_under_no_grad_and_inference_mode_a_training_step_is_traced_all_the_same():
    with torch.no_grad():
        assert len(trace_model(nn.Linear(8, 8), torch.randn(4, 8)).calls) == 2
    with torch.inference_mode():
        assert len(trace_model(nn.Linear(8, 8), torch.randn(4, 8)).calls) == 2
        assert torch.is_inference_mode_enabled()


def test_frozen_normalisation_stays_frozen():
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
    model[1].eval()
    names = {other.name for other in trace_model(model, torch.randn(4, 8)).others}
    before = [module.training for module in model.modules()]
    assert before == [True, True, False]
    assert names
