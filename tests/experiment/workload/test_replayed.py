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


def llama(width):
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "vocab_size": 1024}
    return LlamaForCausalLM(LlamaConfig(intermediate_size=width, **sizes))


def opt(width):
    from transformers import OPTConfig, OPTForCausalLM

    sizes = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "vocab_size": 1024}
    return OPTForCausalLM(OPTConfig(ffn_dim=width, word_embed_proj_dim=512, **sizes))


def gpt2(inner, width=512):
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_layer": 2, "n_head": 4, "vocab_size": 1024}
    return GPT2LMHeadModel(GPT2Config(n_inner=inner, n_embd=width, **sizes))


def mixture(width):
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    sizes = {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 2}
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "intermediate_size": 1024, "vocab_size": 1024}
    config = Qwen3MoeConfig(moe_intermediate_size=width, **sizes, **experts)
    return Qwen3MoeForCausalLM(config).bfloat16()


#: of models of transformers: as made, as advised, and the hyperparameters that are named
NAMED = {
    "llama": (lambda: llama(2731), lambda: llama(2752), {"intermediate_size": 2752}),
    "opt": (lambda: opt(3001), lambda: opt(3008), {"ffn_dim": 3008}),
    "gpt2": (lambda: gpt2(3001), lambda: gpt2(3008), {"n_inner": 3008}),
    "gpt2's hidden size": (lambda: gpt2(None, 612), lambda: gpt2(2448, 640), {"n_embd": 640}),
    "mixture of experts": (lambda: mixture(1403), lambda: mixture(1408), {"moe_intermediate_size": 1408}),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_hyperparameter_goes_by_its_name_in_transformers(name):
    pytest.importorskip("transformers", reason="transformers is missing: pip install transformers")
    before, after, named = NAMED[name]
    inputs, given = (data(4, 1024, dtype=torch.int64),), {} if name.startswith("mix") else BFLOAT16
    first, then = answer(before, inputs, **given), answer(after, inputs, **given)
    change = first.changes[0]
    told = dict(line.partition("  #")[0].split(" = ") for line in change.line.splitlines())
    assert {key: int(value) for key, value in told.items()} == named
    busy_s = [each.multiplying_s + each.rest_s for each in (first, then)]  # so small a step waits for its host
    about = 0.2 if "hidden size" in name else 0.1  # what else a whole model's width makes grow is told by shares
    assert change.gain_s == pytest.approx(busy_s[0] - busy_s[1], rel=about)
