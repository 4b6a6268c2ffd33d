"""Each advice taken: the model as it says is traced, and gains what was promised."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is missing: pip install torch")

from experiment.workload import replayed  # noqa: E402
from gemmlab.experiment.workload import answer_of  # noqa: E402
from gemmlab.workload.models import trace_model  # noqa: E402


def data(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="meta")


def answer(make, inputs, **options):
    with torch.device("meta"):
        model = make()
    return answer_of(trace_model(model, inputs, **options), "h100-sxm")


HIDDEN, TOKENS, ROWS = data(8, 2048, 1024), data(8, 1024, dtype=torch.int64), data(8, 2048, 1024)
LAST = torch.channels_last
IMAGES = data(32, 64, 56, 56)
BFLOAT16 = {"autocast": "bfloat16"}
#: of each: the model before and after, what it is called with, how it is traced, and what the advice's line says
CASES = {
    "feed-forward width": (
        lambda: replayed.Gated(2731), lambda: replayed.Gated(2752), HIDDEN, BFLOAT16, BFLOAT16,
        "nn.Linear(1024, 2752)  # layers.*.w1, layers.*.w3: 2731 outputs before\n"
        "nn.Linear(2752, 1024)  # layers.*.w2: 2731 inputs before",
    ),
    "vocabulary": (
        lambda: replayed.Decoder(50257), lambda: replayed.Decoder(50304), TOKENS, BFLOAT16, BFLOAT16,
        "vocab_size = 50304",
    ),
    "classes": (
        lambda: replayed.Classes(3001, 3001), lambda: replayed.Classes(3008, 3001), data(16384, 2048), BFLOAT16,
        BFLOAT16, "nn.Linear(4096, 3008)  # classes: 3001 outputs before; use y[..., :3001]",
    ),
    "features": (
        lambda: replayed.Features(1021, 0), lambda: replayed.Features(1024, 3), data(16384, 1021), BFLOAT16, BFLOAT16,
        "nn.Linear(1024, 4096)  # first: 1021 inputs before; x gets zeros after its own\nx = F.pad(x, (0, 3))",
    ),
    "heads by hand": (
        lambda: replayed.Attention(75, False), lambda: replayed.Attention(80, False), HIDDEN, BFLOAT16, BFLOAT16,
        "nn.Linear(1024, 960)  # layers.*.k, layers.*.q, layers.*.v: 900 outputs before\n"
        "nn.Linear(960, 1024)  # layers.*.o: 900 inputs before",
    ),
    "heads of one kernel": (
        lambda: replayed.Attention(75, True), lambda: replayed.Attention(80, True), HIDDEN, BFLOAT16, BFLOAT16,
        "nn.Linear(1024, 960)  # layers.*.k, layers.*.q, layers.*.v: 900 outputs before\n"
        "nn.Linear(960, 1024)  # layers.*.o: 900 inputs before",
    ),
    "experts in a batch": (
        lambda: replayed.Experts(1403, True), lambda: replayed.Experts(1408, True), ROWS, BFLOAT16, BFLOAT16,
        "nn.Parameter(torch.empty(8, 2816, 1024))  # 2806 outputs before\n"
        "nn.Parameter(torch.empty(8, 1024, 1408))  # 1403 inputs before",
    ),
    "experts in a loop": (
        lambda: replayed.Experts(1403, False), lambda: replayed.Experts(1408, False), ROWS, BFLOAT16, BFLOAT16,
        "nn.Linear(1024, 2816)  # 2806 outputs before\nnn.Linear(1408, 1024)  # 1403 inputs before",
    ),
    "autocast": (
        lambda: replayed.Gated(2752), lambda: replayed.Gated(2752), HIDDEN, {}, BFLOAT16, "with torch.autocast(",
    ),
    "autocast of pictures": (
        replayed.Pictures, replayed.Pictures, IMAGES, {}, BFLOAT16, "with torch.autocast(",
    ),
    "channels last": (
        replayed.Pictures, lambda: replayed.Pictures(LAST), IMAGES, BFLOAT16, BFLOAT16, "torch.channels_last",
    ),
    "channels last of float32": (
        replayed.Pictures, lambda: replayed.Pictures(LAST), IMAGES, {}, {}, "torch.channels_last",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_advice_gains_what_it_promises(name):
    before, after, inputs, given, changed, line = CASES[name]
    first, then = answer(before, (inputs,), **given), answer(after, (inputs,), **changed)
    (change,) = [each for each in first.changes if line in each.line]
    assert change.gain_s == pytest.approx(first.time_s - then.time_s, rel=0.1)
    assert not [each for each in then.changes if each.line == change.line]
