"""SCALE-Sim's topologies: its meaning of every column, its rounding, its variants, and what is no topology."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemmlab.problem import Gemm, Shape
from gemmlab.record import GemmlabError
from gemmlab.workload.table import workload_of
from gemmlab.workload.topology import is_topology, read_topology

CONV = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
STRIDES = (
    "Layer name,IFMAP height,IFMAP width,Filter height,Filter width,Channels,Num filter,Stride height,Stride width,\n"
)
GEMM = "Layer,M,N,K,\n"


@pytest.fixture
def read(tmp_path):
    def reading(text, **more):
        path = tmp_path / "net.csv"
        path.write_text(text)
        return read_topology(str(path), **more)

    return reading


def sides(workload):
    return [(c.problem.m, c.problem.n, c.problem.k, c.problem.batch, c.count) for c in workload.calls]


def test_alexnet_as_scale_sim_multiplies_it(read):
    work = read(CONV + "Conv1, 224, 224, 11, 11, 3, 96, 4,\nConv2, 27,27,5,5,96,256,1,\nFC,1,1,1,1,4096,1000,1,\n")
    # 55 outputs a side: SCALE-Sim rounds (224 - 11 + 4) / 4 = 54.25 up
    assert sides(work) == [(55 * 55, 96, 363, 1, 1), (23 * 23, 256, 2400, 1, 1), (1, 1000, 4096, 1, 1)]
    assert work.kind == "topology"
    assert [call.places for call in work.calls] == [("Conv1",), ("Conv2",), ("FC",)]
    assert any("rounded up" in note for note in work.notes)
    assert work.calls[0].convolution.output == (55, 55)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 7), st.integers(1, 7), st.integers(1, 5))
def test_work_is_that_of_scale_sim_s_own_loops(tmp_path_factory, height, width, r, s, stride):
    path = tmp_path_factory.mktemp("net") / "net.csv"
    path.write_text(CONV + f"one,{height},{width},{r},{s},3,8,{stride},\n")
    if r > height or s > width:
        with pytest.raises(GemmlabError, match="does not fit"):
            read_topology(str(path))
        return
    outputs = [-(-(size - window + stride) // stride) for size, window in ((height, r), (width, s))]
    (call,) = read_topology(str(path)).calls
    assert call.flop == 2 * outputs[0] * outputs[1] * r * s * 3 * 8
    assert call.convolution.output == tuple(outputs)


def test_gemm_form_is_m_n_k(read):
    work = read(GEMM + "qkv,128,1536,512,\n\nscores,512,128,64,12,\nragged,7,5,3")
    assert sides(work) == [(128, 1536, 512, 1, 1), (512, 128, 64, 12, 1), (7, 5, 3, 1, 1)]
    assert sides(read(GEMM + "a,8,8,8,2:4,3,\n")) == [(8, 8, 8, 3, 1)]


def test_same_layers_are_one_call_with_their_places(read):
    (call,) = read(GEMM + "a,8,16,32,\nb,8,16,32,\n").calls
    assert (call.count, call.places) == (2, ("a", "b"))


def test_both_strides(read):
    (call,) = read(STRIDES + "c,9,9,3,3,4,5,2,1,\n").calls
    assert call.convolution.stride == (2, 1)
    assert call.problem.m == 4 * 7
    (call,) = read(STRIDES.replace(",\n", ",Sparsity,\n") + "c,9,9,3,3,4,5,2,1,2:4,\n").calls
    assert call.problem.structure == "sparse_2_4"


def test_depthwise_layers_take_each_channel_alone(read):
    (call,) = read(CONV + "DP3,14,14,3,3,32,1,1,\n").calls
    assert (call.problem.m, call.problem.n, call.problem.k, call.problem.batch) == (144, 1, 9, 32)
    assert call.convolution.groups == 32


def test_sparsity(read):
    sparse = read(CONV + "a,8,8,3,3,16,24,1,2:4,\n")
    (call,) = sparse.calls
    assert (call.problem.m, call.problem.n, call.problem.k) == (24, 36, 144)
    assert call.problem.structure == "sparse_2_4"
    assert call.flop == Gemm(24, 36, 144, structure="sparse_2_4").flop
    dense = read(CONV + "a,8,8,3,3,16,24,1,1:4,\nb,8,8,3,3,3,24,1,1:1,\nc,8,8,3,3,3,24,1,2:4,\n")
    assert {call.problem.structure for call in dense.calls} == {"general"}
    assert any("1:4 is read as dense" in note for note in dense.notes)


def test_format_comments_and_a_mark_of_utf_8(read):
    work = read("\ufeff" + GEMM + "a,8,16,32,#dw\n", format="bfloat16")
    assert work.calls[0].problem.a_format == "bfloat16"


@pytest.mark.parametrize(
    ("text", "named", "hinted"),
    [
        ("m,n,k\n8,8,8\n", "does not begin", "Layer"),
        (GEMM, "no layers", "each layer"),
        (GEMM + "a,8,8,\n", "line 2: 2 sizes, but 3", "M, N, K"),
        (GEMM + "a,8,x,8,\n", "line 2: N: `x`", "4096"),
        (GEMM + "a,8,0,8,\n", "line 2: N=0", "at least 1"),
        (GEMM + "a,8,8,8,0,\n", "line 2: batch=0", ""),
        (GEMM + "a,8,8,8,5:4,\n", "sparsity 5:4", "2:4"),
        (CONV + "a,8,8,9,3,1,1,1,\n", "line 2: a filter of height 9", "padded"),
        (CONV + "a,8,8,3,3,1,1,\n", "line 2: 6 sizes, but 7", "stride"),
    ],
)
def test_what_cannot_be_read_is_named(read, text, named, hinted):
    with pytest.raises(GemmlabError) as error:
        read(text)
    assert named in error.value.text
    assert hinted in error.value.hint


def test_what_is_a_topology(tmp_path):
    topologies = [CONV, STRIDES, GEMM, "LAYER NAME,m,n,k\n"]
    others = ["m,n,k\n", "name,m,n,k\n", "", "layer,count\n"]
    for text, expected in [*((text, True) for text in topologies), *((text, False) for text in others)]:
        path = Path(tmp_path / "net.csv")
        path.write_text(text)
        assert is_topology(str(path)) is expected, text
    assert not is_topology(str(tmp_path / "missing.csv"))
    assert not is_topology(str(tmp_path))


def test_a_table_of_shapes_is_a_workload():
    work = workload_of([Shape(Gemm(8, 8, 8), 3, "up"), Shape(Gemm(8, 8, 8), 2, "down"), Shape(Gemm(4, 4, 4))], "a.csv")
    assert [(call.count, call.places) for call in work.calls] == [(5, ("up", "down")), (1, ())]
    assert work.flop == 5 * 1024 + 128
    assert work.kind == "table"


def test_blank_and_commented_lines_before_the_header(tmp_path, read):
    text = "\n# of the paper\n" + GEMM + "A, 128, 64, 0,\n"
    (tmp_path / "net.csv").write_text(text)
    assert is_topology(str(tmp_path / "net.csv"))
    with pytest.raises(GemmlabError, match=r"net.csv, line 4: K=0 is not a size"):
        read(text)
    assert sides(read("\n\n" + GEMM + "\nA, 128, 64, 32,\n")) == [(128, 64, 32, 1, 1)]
