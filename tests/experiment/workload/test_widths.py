"""Widths that layers share: which are one hyperparameter, what it is called, and what it does to multiplications."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.workload.networks import linear, tensor
from gemmlab import Gemm
from gemmlab.experiment.workload import answer_of
from gemmlab.experiment.workload.changes.widening import restrided
from gemmlab.experiment.workload.weights import weights_of
from gemmlab.experiment.workload.widths import Heads, Width, uses_of, whole, widenings
from gemmlab.workload import Call, Workload
from gemmlab.workload.topology import read_topology

TOKENS = 8192


def layers(*sizes, names=True):
    """Layers of these inputs and outputs, one after another."""
    found = []
    for number, (ins, outs) in enumerate(sizes):
        found += linear(f"block.l{number}", TOKENS, ins, outs, parameter=None if names else "")
    return found


def widths(*sizes, heads=(), names=True):
    calls = layers(*sizes, names=names)
    return [each.widths for each in widenings(calls, weights_of(calls), heads)]


def lines(calls, **about):
    return [change.line for change in answer_of(Workload("x", "model", tuple(calls), **about), "h100-sxm").changes]


@pytest.mark.parametrize("names", [True, False])
def test_what_one_layer_gives_and_a_later_one_takes_is_one_width(names):
    assert widths((768, 3001), (3001, 768), names=names) == [(Width(3001, 3008),)]
    assert widths((768, 3072), (3072, 768), names=names) == []


def test_what_is_taken_before_it_is_given_is_the_datas():
    assert widths((785, 400), (400, 785)) == []  # an autoencoder
    assert widths((785, 400), (400, 785), (785, 64)) == [(Width(785, 832, fed=True),)]


def test_a_width_nobody_takes_or_nobody_gives_is_no_hyperparameter():
    assert widths((768, 3001)) == []
    assert widths((3001, 768)) == []


def test_a_gate_stacked_on_its_layer_holds_two_of_the_width():
    assert widths((1024, 2 * 2731), (2731, 1024)) == [(Width(2731, 2752),)]
    calls = layers((1024, 2 * 2731), (2731, 1024))
    assert lines(calls) == [
        "nn.Linear(1024, 5504)  # block.l0: 5462 outputs before\nnn.Linear(2752, 1024)  # block.l1: 2731 inputs before"
    ]


def test_outputs_that_are_a_width_of_their_own_hold_no_other():
    """A feed-forward width of three times a hidden one is taken whole by the next layer."""
    (found,) = widths((1024, 1001), (1001, 3003), (3003, 1001), (1001, 64))
    assert {width.old: width.new for width in found} == {1001: 1024, 3003: 3008}


def test_widths_that_meet_in_a_layer_are_one_change():
    calls = layers((512, 1001), (1001, 3001), (3001, 1001), (1001, 512))
    (line,) = lines(calls)
    assert line.splitlines() == [
        "nn.Linear(512, 1024)  # block.l0: 1001 outputs before",
        "nn.Linear(1024, 3008)  # block.l1: 3001 outputs before, 1001 inputs before",
        "nn.Linear(3008, 1024)  # block.l2: 1001 outputs before, 3001 inputs before",
        "nn.Linear(1024, 512)  # block.l3: 1001 inputs before",
    ]


def test_layers_apart_are_changes_apart():
    assert sorted(widths((512, 1001), (1001, 512), (512, 3001), (3001, 512))) == [
        (Width(1001, 1024),),
        (Width(3001, 3008),),
    ]


def test_heads_stay_whole():
    """12 heads of 75: a multiple of both, whatever is next to 900; PyTorch gives its kernels 80 of them."""
    expected = [(Width(900, 960, (75, 80)),)]
    for heads in ((Heads(12, 75),), (Heads(12, 80),), (Heads(0, 75),)):
        assert widths((1024, 900), (900, 1024), heads=heads) == expected
    assert widths((1024, 1200), (1200, 1024), heads=(Heads(16, 75),)) == [(Width(1200, 1280, (75, 80)),)]
    assert widths((1024, 1024), (1024, 1024), heads=(Heads(16, 64),)) == []


def test_the_configurations_own_name_is_said():
    calls = layers((1024, 5461), (5461, 1024))
    named = (("max_position_embeddings", 5461), ("intermediate_size", 5461), ("hidden_size", 1024))
    assert lines(calls, sizes=named) == ["intermediate_size = 5504  # of the model's configuration; before: 5461"]


def test_every_gradient_gains_by_the_same_change():
    calls = layers((1024, 2731), (2731, 1024))
    answer = answer_of(Workload("x", "model", tuple(calls)), "h100-sxm")
    (change,) = answer.changes
    assert len(answer.rows) == 6
    assert {row.record.call.changes[0].line for row in answer.rows} == {change.line}
    wider = answer_of(Workload("x", "model", tuple(layers((1024, 2752), (2752, 1024)))), "h100-sxm")
    assert change.gain_s == pytest.approx(answer.time_s - wider.time_s, rel=0.01)


def test_what_alignment_does_not_slow_is_no_alignments_gain():
    """Ordinary float32 is computed a number at a time: its rows may start anywhere."""
    calls = [
        Call(each.problem.in_format("float32"), each.operator, each.count, each.places, each.phase, each.operands)
        for each in layers((1024, 2731), (2731, 1024))
    ]
    assert not [line for line in lines(calls) if "nn.Linear" in line]


def test_recurrent_layers_are_no_uses():
    operands = (tensor(64, 509), tensor(509, 509, parameter="weight_hh_l0"))
    call = Call(Gemm(64, 509, 509, "bfloat16", layout="nt"), "aten::_cudnn_rnn", 1, ("RNN",), "forward", operands)
    assert list(uses_of((call,), weights_of((call,)))) == []


@given(st.integers(2, 300), st.integers(1, 300), st.integers(2, 4), st.integers(0, 3))
def test_a_view_of_several_widths_is_one_of_the_new_ones(m, k, several, place):
    """Strides and bases as the program that is made so has them: each part of a row starts at whole 16 bytes."""
    place, wide = min(place, several - 1), whole(k, 16)
    problem = Gemm(m, 64, k, "bfloat16", lda=several * k, a_offset_bytes=2 * place * k % 16)
    then = restrided(problem, {"k": wide})
    assert (then.k, then.lda) == (wide, several * wide)
    assert then.a_offset_bytes == 2 * place * wide % 16


def test_of_a_topology_n_is_what_a_layer_gives_and_m_the_datas(tmp_path):
    path = tmp_path / "t.csv"

    def told(text):
        path.write_text("Layer, M, N, K,\n" + text)
        workload = read_topology(str(path))
        narrow = (msgspec.structs.replace(call, problem=call.problem.in_format("bfloat16")) for call in workload.calls)
        return lines(narrow)

    assert told("odd, 4096, 11007, 4096,\n") == [
        "nn.Linear(4096, 11008)  # odd: 11007 outputs before; use y[..., :11007]"
    ]
    assert told("odd, 4096, 4096, 11007,\n") == [
        "nn.Linear(11008, 4096)  # odd: 11007 inputs before; x gets zeros after its own\nx = F.pad(x, (0, 1))"
    ]
    assert told("odd, 4095, 4096, 4096,\n") == []
    (both,) = told("up, 4096, 11007, 4096,\nagain, 4096, 11007, 4096,\ndown, 4096, 4096, 11007,\n")
    assert both.splitlines() == [
        "nn.Linear(4096, 11008)  # again, up: 11007 outputs before",
        "nn.Linear(11008, 4096)  # down: 11007 inputs before",
    ]
