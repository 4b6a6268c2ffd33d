"""Bytes that an operator's inputs tell, beside those that a model traced on meta tensors tells."""

import pytest

from gemmlab.workload import Operation, Tensor
from gemmlab.workload.moving import moved_bytes

X, HALF, WHICH = Tensor((64, 32), "float32"), Tensor((64, 32), "bfloat16"), Tensor((5,), "int64")
SIZE = 64 * 32 * 4


@pytest.mark.parametrize(
    ("name", "inputs", "moved"),
    [
        ("aten::add", (X, X, 1), 3 * SIZE),
        ("aten::add_", (X, HALF, 1), SIZE + SIZE // 2 + SIZE),
        ("aten::fill_", (X, 0), SIZE),
        ("aten::copy_", (HALF, X), SIZE + SIZE // 2),
        ("aten::cat", ([X, HALF], 0), 2 * (SIZE + SIZE // 2)),
        ("aten::sum", (X,), SIZE),
        ("aten::relu", (HALF,), SIZE),
        ("aten::_foreach_add_", ([X, X], [HALF, HALF], 1), 2 * SIZE + SIZE + 2 * SIZE),
        ("aten::index_select", (X, 0, WHICH), 2 * 5 * 32 * 4 + 5 * 8),
        ("aten::embedding_dense_backward", (Tensor((5, 32), "float32"), WHICH, 64, -1, False), 5 * 32 * 4 + 40 + SIZE),
        ("aten::mul", (Tensor((64, 32), "float32", (0, 1)), X), 32 * 4 + 2 * SIZE),
        ("aten::mul", (Tensor((3,), "bool"), Tensor((3,), "int64")), 3 + 24 + 24),
        ("aten::add", (Tensor((3,), "odd"), X), None),
        ("aten::view", (X, [32, 64]), None),
        ("aten::linear", (X, X), None),
        ("aten::index_select", (X, 7, WHICH), None),
        ("aten::index_select", (X, 0), None),
        ("aten::add", (), None),
        ("ViewBackward0", (X,), None),
    ],
)
def test_inputs_once_and_the_result_once(name, inputs, moved):
    assert moved_bytes(Operation(name, inputs)) == moved


def test_a_processors_trace_moves_what_the_model_does(tmp_path):
    torch = pytest.importorskip("torch", reason="pip install torch")
    from gemmlab.workload.models import trace_model
    from gemmlab.workload.traces import read_trace

    def network():
        return torch.nn.Sequential(
            *(torch.nn.Embedding(100, 64), torch.nn.LayerNorm(64), torch.nn.Linear(64, 256), torch.nn.GELU()),
            *(torch.nn.Linear(256, 64), torch.nn.SiLU(), torch.nn.Softmax(-1)),
        )

    words = torch.randint(0, 100, (16, 128))
    model = network()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        model(words).sum().backward()
    profile.export_chrome_trace(str(tmp_path / "step.json"))
    found = read_trace(tmp_path / "step.json")
    moved = {}
    for other in found.others:
        name = other.name.replace("::layer_norm", "::native_layer_norm").replace("::softmax", "::_softmax")
        moved[name] = moved.get(name, 0) + (other.bytes or 0)
    with torch.device("meta"):
        told = trace_model(network(), (torch.empty(16, 128, dtype=torch.int64),))
    expected = {}
    for other in told.others:
        expected[other.name] = expected.get(other.name, 0) + other.bytes
    assert sum(moved.values()) == pytest.approx(sum(expected.values()), rel=0.25)
    for name in ("native_layer_norm", "native_layer_norm_backward", "gelu", "gelu_backward", "silu", "_softmax"):
        assert moved[f"aten::{name}"] == pytest.approx(expected[f"aten::{name}"], rel=0.35), name
