"""What a backward pass begins from, and what an optimiser's step is."""

from collections import namedtuple
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch import nn  # noqa: E402

from gemmlab.record import GemmlabError  # noqa: E402
from gemmlab.workload.models.optimizers import optimizer_step  # noqa: E402
from gemmlab.workload.models.outcome import outcome_of  # noqa: E402


@dataclass
class Output:
    loss: object = None
    logits: object = None
    cache: object = None


@dataclass(slots=True)
class Slotted:
    logits: object


Named = namedtuple("Named", "first second")


def grown(*shape):
    return torch.randn(shape, requires_grad=True) * 2


@pytest.mark.parametrize(
    ("wrap", "count", "told"),
    [
        (lambda x: x, 1, "the sum of all floating outputs"),
        (lambda x: x.sum(), 1, "the output"),
        (lambda x: Output(loss=x.sum(), logits=x), 1, "the output's `loss`"),
        (lambda x: Output(loss=x, logits=x), 1, "the output's `loss`, summed"),
        (lambda x: {"loss": x.mean(), "other": x}, 1, "the output's `loss`"),
        (lambda x: Output(logits=[x, (x + 1, None)], cache={"k": x}), 2, "the sum of all floating outputs"),
        (Slotted, 1, "the sum of all floating outputs"),
        (lambda x: Named(x, x.argmax(-1)), 1, "the sum of all floating outputs"),
        (lambda x: (x.detach(), x), 1, "the sum of all floating outputs"),
    ],
)
def test_outputs_of_every_kind(wrap, count, told):
    outcome = outcome_of(wrap(grown(3, 4)))
    assert (len(outcome.tensors), outcome.told) == (count, told)


def test_a_function_of_the_output():
    outcome = outcome_of({"loss": grown(2).sum(), "x": grown(3)}, lambda output: output["x"].sum())
    assert (outcome.tensors[0].dim(), outcome.told) == (0, "the given function")


def test_nothing_that_has_a_gradient():
    for output in (torch.randn(3), None, {"x": torch.arange(3)}, [], Output()):
        with pytest.raises(GemmlabError, match="training=False"):
            outcome_of(output)


@pytest.mark.parametrize(("name", "passes"), [("sgd", 3), ("momentum", 5), ("adam", 7), ("adamw", 7)])
def test_an_optimiser_reads_and_writes_each_tensor_once(name, passes):
    step = optimizer_step(name, nn.Linear(8, 8, bias=False).half())
    assert step.bytes == passes * 64 * 2
    assert step.phase == "optimizer"
    assert optimizer_step(name, nn.Linear(8, 8).requires_grad_(False)) is None
