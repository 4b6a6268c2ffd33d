"""Published facts about whole networks: GPT-2's vocabulary, and BERT's share of arithmetic in multiplications."""

import pytest

from experiment.workload.networks import bert_layer, gpt2
from gemmlab.experiment.workload import answer_of
from gemmlab.workload import Operation, Tensor
from gemmlab.workload.elementwise import flop_of

G = 1e9


@pytest.mark.parametrize("tokens", [4096, 8192])
def test_gpt2s_vocabulary_is_named_first_and_padded_to_50304(tokens):
    """Karpathy's nanoGPT: 50257 -> 50304, the nearest multiple of 64, is the largest single gain."""
    answer = answer_of(gpt2(50257, tokens // 1024), "h100-sxm")
    first = answer.rows[0]
    assert 50257 in (first.call.problem.m, first.call.problem.n, first.call.problem.k)
    assert first.call.places == ("lm_head",)
    assert first.record.call.cause == "alignment"
    assert "vocab_size = 50304" in first.record.call.changes[0].line
    assert [change.line for change in answer.changes] == [first.record.call.changes[0].line]
    assert all(row.record.call.places == ("lm_head",) for row in answer.rows[:3])
    assert answer.advised_gain > 0.2


def test_gpt2_with_50304_words_has_nothing_to_gain_there():
    answer = answer_of(gpt2(50304), "h100-sxm")
    output = [row for row in answer.rows if row.call.places == ("lm_head",)]
    assert len(output) == 3
    assert all(row.record.call.changes == () and row.record.call.cause == "fine" for row in output)
    assert answer.advised_gain == 0


@pytest.mark.parametrize(
    ("name", "shape", "gflop"),
    [
        ("aten::native_layer_norm", (4096, 1024), 0.029),
        ("aten::native_layer_norm_backward", (4096, 1024), 0.038 + 0.017),
        ("aten::add", (4096, 1024), 0.004),
        ("aten::native_dropout", (4096, 4096), 0.017),
        ("aten::_softmax", (8, 16, 512, 512), 0.201 - 2 * 0.0336),  # theirs scales and drops out, too
    ],
)
def test_what_multiplies_nothing_does_the_published_flop(name, shape, gflop):
    """Ivanov et al. 2021, table A.1: one layer of BERT-large, batch 8, sequence 512."""
    tensor = Tensor(shape, "bfloat16")
    assert flop_of(Operation(name, (tensor,), (tensor,))) / G == pytest.approx(gflop, abs=6e-4)


def test_of_a_layer_of_bert_large_998_permille_of_the_flop_are_multiplications():
    """The same table: 99.80 % in tensor contractions."""
    answer = answer_of(bert_layer(batch=8, length=512), "v100-sxm2-16gb")
    assert answer.flop_share == pytest.approx(0.998, abs=0.001)
    assert sum(row.record.call.flop_share for row in answer.rows) == pytest.approx(answer.flop_share)


def test_of_bert_large_itself_998_permille_of_the_flop_are_multiplications():
    torch = pytest.importorskip("torch", reason="pip install torch")
    transformers = pytest.importorskip("transformers", reason="pip install transformers")
    from gemmlab import profile_model

    sizes = {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096}
    config = transformers.BertConfig(num_hidden_layers=24, **sizes)
    with torch.device("meta"):
        model = transformers.BertForPreTraining(config)
    words = torch.zeros(8, 512, dtype=torch.long)
    answer = profile_model(
        model, words, keywords={"labels": words}, chip="h200-sxm", autocast="bfloat16", optimizer="adamw"
    )
    assert answer.flop_share == pytest.approx(0.998, abs=0.001)
