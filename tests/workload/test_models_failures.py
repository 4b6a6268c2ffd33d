"""Models that cannot be traced: what is said, and where."""

import threading

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from torch import library, nn  # noqa: E402

from gemmlab.record import GemmlabError  # noqa: E402
from gemmlab.workload.models import trace_model  # noqa: E402


def told(forward, x=None, **options):
    """What is said of a model whose second module runs that function on what the first returns."""

    class Body(nn.Module):
        def forward(self, x):
            return forward(x)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.body = nn.Linear(8, 8), Body()

        def forward(self, x):
            return self.body(self.first(x))

    with pytest.raises(GemmlabError) as caught:
        trace_model(Outer(), torch.randn(4, 8) if x is None else x, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("forward", "operator"),
    [
        (lambda x: x * x.sum().item(), "aten::_local_scalar_dense"),
        (lambda x: x if x.sum() > 0 else -x, "aten::_local_scalar_dense"),
        (lambda x: x[x > 0], "aten::index"),
        (lambda x: x.nonzero().float() * x.sum(), "aten::nonzero"),
        (lambda x: torch.masked_select(x, x > 0), "aten::masked_select"),
        (lambda x: x * torch.unique(x.round()).numel(), "aten::_unique2"),
    ],
)
def test_what_depends_on_data_is_told_by_module_operator_and_line(forward, operator):
    text = told(forward)
    assert "module `body` (test_models_failures.py:" in text
    assert f"{operator} needs the elements of a tensor" in text
    assert "hint: give that input as whole numbers" in text


def test_elements_taken_out_of_pytorch():
    assert "the elements of a tensor are asked for" in told(lambda x: x * float(x.detach().cpu().numpy().sum()))
    assert "the elements of a tensor are asked for" in told(lambda x: x * sum(x.detach().tolist()[0]))


def test_a_failing_forward_has_its_own_words():
    text = told(lambda x: x.view(3, 5))
    assert "module `body` (test_models_failures.py:" in text
    assert "RuntimeError: shape '[3, 5]' is invalid" in text


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16])
def test_operands_of_several_formats_which_a_real_run_refuses(dtype):
    words = f"of one dtype, but they are float32, {str(dtype)[6:]}, float32"
    assert words in told(None, torch.ones(4, 8, dtype=dtype))
    text = told(lambda x: x @ torch.ones(8, dtype=torch.bfloat16))
    assert "RuntimeError: mv takes operands of one dtype, but they are float32, bfloat16" in text


def test_a_module_in_a_thread_of_its_own_is_no_half_table():
    class Threads(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            found = []
            thread = threading.Thread(target=lambda: found.append(self.second(x)))
            thread.start()
            thread.join()
            return self.first(x) + found[0]

    with pytest.raises(GemmlabError, match="module `second` runs in a thread of its own"):
        trace_model(Threads(), torch.randn(4, 8))


def test_a_search_for_nan_rests_meanwhile():
    with torch.autograd.set_detect_anomaly(True):
        assert len(trace_model(nn.Linear(8, 8), torch.randn(4, 8)).calls) == 2
        assert torch.is_anomaly_enabled()


def test_a_program_that_leaves():
    assert "SystemExit" in told(lambda x: exit(3))


def test_custom_operators_are_named_with_the_remedy():
    library.define("owntest::nothing", "(Tensor x) -> Tensor")
    library.impl("owntest::nothing", "CPU", lambda x: x + 1)
    text = told(torch.ops.owntest.nothing, training=False)
    assert "the custom operator owntest::nothing does not say its result's shape" in text
    assert 'library.register_fake("owntest::nothing")' in text


def test_custom_operators_that_say_their_shape_run():
    library.define("owntest::double", "(Tensor x) -> Tensor")
    library.impl("owntest::double", "CPU", lambda x: x * 2)
    library.register_fake("owntest::double")(torch.empty_like)

    class Own(nn.Module):
        def forward(self, x):
            return torch.ops.owntest.double(x)

    workload = trace_model(nn.Sequential(nn.Linear(8, 8), Own()), torch.randn(4, 8), training=False)
    assert "owntest::double" in {other.name for other in workload.others}


def test_models_that_want_a_gpu_themselves():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert "the model asks for a GPU itself" in told(lambda x: torch.cuda.Stream() and x)


def test_nothing_to_train():
    with pytest.raises(GemmlabError, match="depends on a parameter that is trained"):
        trace_model(nn.ReLU(), torch.randn(4))
    assert not trace_model(nn.ReLU(), torch.randn(4), training=False).calls


def test_wrong_arguments_name_what_forward_takes():
    with pytest.raises(GemmlabError) as caught:
        trace_model(nn.Linear(8, 8), (torch.randn(4, 8), 3), {"mask": None})
    assert "does not take these inputs" in str(caught.value)
    assert "its forward takes: input" in str(caught.value)


def test_in_place_changes_of_weights():
    class Leaf(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        def forward(self, x):
            self.weight.add_(1)
            return x * self.weight

    with pytest.raises(GemmlabError, match="a leaf Variable that requires grad"):
        trace_model(Leaf(), torch.randn(4, 8))


def test_weights_that_only_their_kernels_read():
    quantized = nn.Module()
    quantized.weight = torch.quantize_per_tensor(torch.randn(4, 4), 0.1, 0, torch.qint8)
    sparse = nn.Module()
    sparse.register_buffer("table", torch.eye(4).to_sparse())
    for model, words in ((quantized, "quantised"), (sparse, "sparse"), (nn.LazyLinear(8), "no shape yet")):
        with pytest.raises(GemmlabError, match=words):
            trace_model(model, torch.randn(4, 4))


def test_torchscript():
    with pytest.raises(GemmlabError, match="TorchScript"):
        trace_model(torch.jit.script(nn.Linear(3, 3)), torch.randn(3, 3))


def test_what_is_no_model():
    with pytest.raises(GemmlabError, match="no Module"):
        trace_model(lambda x: x, torch.randn(3))
    with pytest.raises(GemmlabError, match="autocast is 'int8'"):
        trace_model(nn.Linear(3, 3), torch.randn(3, 3), autocast="int8")
    with pytest.raises(GemmlabError, match="unknown optimizer"):
        trace_model(nn.Linear(3, 3), torch.randn(3, 3), optimizer="adamx")


def test_an_error_of_the_loss():
    with pytest.raises(GemmlabError, match="KeyError: 'loss'"):
        trace_model(nn.Linear(3, 3), torch.randn(3, 3), loss=lambda output: {}["loss"])


def test_experts_chosen_by_data_are_told_with_their_own_remedy():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
            self.router = nn.Linear(8, 4)

        def forward(self, x):
            chosen, output = self.router(x).argmax(-1), torch.zeros_like(x)
            for index, expert in enumerate(self.experts):
                rows = (chosen == index).nonzero()[:, 0]
                output = output.index_add(0, rows, expert(x[rows]))
            return output

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.moe = Experts()

        def forward(self, x):
            return self.moe(x)

    with pytest.raises(GemmlabError) as caught:
        trace_model(Outer(), torch.randn(4, 8))
    assert "module `moe`" in str(caught.value)
    assert "grouped_mm" in str(caught.value)
