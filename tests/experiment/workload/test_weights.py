"""Whose side a side is: a weight's outputs or inputs, or the data's."""

import pytest

from experiment.workload.networks import linear, tensor
from gemmlab import Gemm
from gemmlab.experiment.workload.weights import NOBODYS, Sides, Weight, same_place, sides_of, weights_of
from gemmlab.workload import Call


def sides(call, *calls):
    found = sides_of(call, weights_of((call, *calls)))
    return found.outs, found.ins


def test_a_layer_and_its_two_gradients():
    forward, of_input, of_weight = calls = linear("mlp.up", 4096, 768, 3072)
    weights = weights_of(calls)
    assert weights == {"mlp.up.weight": Weight("mlp.up.weight", 3072, 768, True)}
    assert [sides(call, *calls) for call in (forward, of_input, of_weight)] == [("n", "k"), ("k", "n"), ("m", "n")]


def test_transformers_conv1d_stores_its_weight_the_other_way():
    call = Call(
        Gemm(64, 3072, 768, layout="nn"), "aten::addmm", operands=(tensor(64, 768), tensor(768, 3072, parameter="w"))
    )
    (weight,) = weights_of((call,)).values()
    assert not weight.linear


def test_without_names_a_transposed_b_is_a_weight():
    forward = Call(Gemm(4096, 3072, 768, layout="nt"), "aten::addmm", phase="forward")
    gradient = Call(Gemm(3072, 768, 4096, layout="tn"), "aten::mm", phase="backward")
    assert sides(forward) == ("n", "k")
    assert sides(gradient, forward) == ("m", "n")
    assert sides_of(gradient, weights_of((forward,))).weight.name == ""


def test_of_several_weights_of_one_size_the_place_decides():
    calls = [*linear("h.0.up", 4096, 768, 3072), *linear("h.1.up", 4096, 768, 3072)]
    weights = weights_of(calls)
    assert sides_of(calls[5], weights).weight.name == "h.1.up.weight"
    elsewhere = Call(calls[5].problem, "aten::mm", phase="backward", places=("unknown",))
    assert sides_of(elsewhere, weights) == Sides(Weight("", 3072, 768, True), "m", "n")


def test_a_tied_weight_is_found_by_its_size():
    """The output layer shares the embedding's weight, which has another module's name."""
    calls = [*linear("lm_head", 4096, 768, 50257, parameter="wte.weight"), *linear("h.0.down", 1024, 4096, 768)]
    found = sides_of(calls[2], weights_of(calls))
    assert found == Sides(Weight("wte.weight", 50257, 768, True), "m", "n")
    assert found.weight.vocabulary


def test_a_shared_parameter_goes_by_the_module_that_multiplies():
    weight = Weight("tokens.weight = head.weight", 50257, 768, True)
    assert weight.module == "head"
    assert same_place(weight, "head")
    assert same_place(weight, "model.tokens")


def test_data_is_nobodys():
    batched = Call(Gemm(197, 197, 64, layout="nt", batch=12), "aten::bmm", phase="forward")
    assert sides_of(batched, {}) == NOBODYS
    assert weights_of((batched,)) == {}
    assert sides_of(Call(Gemm(64, 64, 64), "aten::mm", phase="forward"), {}) == NOBODYS


@pytest.mark.parametrize(
    ("name", "outs", "vocabulary"),
    [
        ("transformer.wte.weight", 50257, True),
        ("bert.embeddings.word_embeddings.weight", 30522, True),
        ("model.embed_tokens.weight", 32000, True),
        ("lm_head.weight", 128256, True),
        ("lm_head.weight", 2, False),
        ("tokens.weight = head.weight", 50257, True),
        ("classes.weight", 21841, False),
        ("h.0.mlp.c_fc.weight", 50257, False),
        ("", 50257, True),
        ("", 3072, False),
    ],
)
def test_which_weights_have_words_for_outputs(name, outs, vocabulary):
    assert Weight(name, outs, 768, True).vocabulary == vocabulary


def test_one_name_for_all_layers():
    weight = Weight("model.layers.11.mlp.up_proj.weight", 8, 8, True).every
    assert weight.module == "model.layers.*.mlp.up_proj"
    assert same_place(weight, "model.layers.3.mlp.up_proj")
    assert same_place(weight, "wrapped.model.layers.3.mlp.up_proj")
    assert not same_place(weight, "model.layers.3.mlp.down_proj")
