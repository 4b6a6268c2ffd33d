"""What torch.compile is taken to fuse, by hand; and that a compiled model multiplies what it multiplied before."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch import nn  # noqa: E402

from gemmlab.workload.models import trace_model  # noqa: E402
from workload.models.networks import Block  # noqa: E402


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        y = self.first(x)
        return self.second(nn.functional.gelu(y) * y + 1)


def others(workload, phase):
    return {other.name: (other.count, other.bytes) for other in workload.others if other.phase == phase}


ELEMENTS = 4 * 8 * 4  # bytes of one activation
FORMS = {"as it is": lambda model: model, "compiled": torch.compile, "in place": lambda model: model.compile() or model}


def test_a_chain_reads_its_input_and_writes_its_result():
    plain = others(trace_model(Gated(), torch.randn(4, 8)), "forward")
    assert sum(moved for _, moved in plain.values()) == (2 + 3 + 2) * ELEMENTS  # gelu, mul, add
    workload = trace_model(torch.compile(Gated()), torch.randn(4, 8), training=False)
    assert others(workload, "forward") == {"compiled pointwise": (1, 2 * ELEMENTS)}
    # trained, gelu's result is kept for the gradient of the product
    trained = trace_model(torch.compile(Gated()), torch.randn(4, 8))
    assert others(trained, "forward") == {"compiled pointwise": (1, 3 * ELEMENTS)}


def test_the_gradient_of_a_chain_is_one_kernel_too():
    found = others(trace_model(torch.compile(Gated()), torch.randn(4, 8)), "backward")
    # reads the gradient, gelu's result and its input; writes the input's gradient
    assert found["compiled pointwise"] == (1, 4 * ELEMENTS)
    assert set(found) == {"aten::sum", "compiled pointwise"}


@pytest.mark.parametrize("form", FORMS)
def test_multiplications_are_the_same(form):
    def rows(workload):
        return [(call.problem, call.operator, call.count, call.phase, call.places) for call in workload.calls]

    x = torch.randn(2, 7, 32)
    traced = trace_model(FORMS[form](Block(32, 4)), x)
    assert rows(traced) == rows(trace_model(Block(32, 4), x))
    assert bool(dict(traced.settings).get("compiled")) == (form != "as it is")
    assert any("torch.compile" in note for note in traced.notes) == (form != "as it is")


def test_flop_of_fused_operators_stay():
    x = torch.randn(2, 7, 32)
    compiled, plain = trace_model(torch.compile(Block(32, 4)), x), trace_model(Block(32, 4), x)
    assert sum(other.flop for other in compiled.others) == sum(other.flop for other in plain.others)
    assert sum(other.bytes for other in compiled.others) < sum(other.bytes for other in plain.others)


def test_only_the_compiled_module_is_fused():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.compile(Gated())

        def forward(self, x):
            return self.inner(x).relu() * 2

    workload = trace_model(Outer(), torch.randn(4, 8))
    assert dict(workload.settings)["compiled"] == "inner"
    assert set(others(workload, "forward")) == {"compiled pointwise", "aten::relu", "aten::mul"}
    assert workload.calls[0].places == ("inner.first", "inner.second")


def test_what_an_operator_between_reads_parts_the_chain():
    class Parted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            x = self.layer(x).relu().abs()
            return (x / x.cumsum(0)).relu().abs()

    workload = trace_model(torch.compile(Parted()), torch.randn(4, 8), training=False)
    assert others(workload, "forward")["compiled pointwise"] == (2, (2 + 3) * ELEMENTS)


def test_functions_that_are_compiled_run_as_written():
    compiled = torch.compile(lambda x: x * 2 + 1)

    class Using(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            return compiled(self.layer(x))

    assert len(trace_model(Using(), torch.randn(4, 8)).calls) == 2
