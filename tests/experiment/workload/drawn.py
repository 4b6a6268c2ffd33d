"""Random workloads: plain, batched, grouped and fused multiplications, convolutions, with times and without."""

from hypothesis import strategies as st

from gemmlab import Gemm
from gemmlab.problem import Convolution
from gemmlab.workload import Call, Other, Tensor, Unread, Workload

SIDES = st.sampled_from((1, 8, 31, 64, 67, 128, 1001, 1024))
FORMATS = ("float32", "tfloat32", "bfloat16", "float16")
SECONDS = st.floats(1e-7, 1e-2)


@st.composite
def plain_calls(draw):
    m, n, k, format = draw(SIDES), draw(SIDES), draw(SIDES), draw(st.sampled_from(FORMATS))
    layout, batch = draw(st.sampled_from(("nn", "nt", "tn"))), draw(st.sampled_from((1, 1, 1, 12)))
    weight = draw(st.sampled_from(("", "h.0.up.weight", "wte.weight")))
    operands = (Tensor((m, k), format), Tensor((k, n), format, parameter=weight))
    problem = Gemm(m, n, k, format, layout=layout, batch=batch)
    gap = draw(st.sampled_from((0, 0, 3)))
    return Call(problem.replace(lda=problem.lda + gap) if gap else problem, "aten::mm", operands=operands)


@st.composite
def grouped_calls(draw):
    rows = draw(st.lists(st.integers(1, 300), min_size=1, max_size=4))
    return Call(Gemm.grouped([(m, 256, 128) for m in rows], draw(st.sampled_from(FORMATS))), "aten::_grouped_mm")


@st.composite
def fused_calls(draw):
    length, width = draw(st.sampled_from((1, 100, 512))), draw(st.sampled_from((64, 80, 128)))
    sides = draw(st.sampled_from(((length, length, width), (length, width, length))))
    q = Tensor((2, 4, length, width), "bfloat16")
    problem = Gemm(*sides, "bfloat16", batch=8)
    return Call(problem, "sdpa", operands=(q, q), fused="flash attention", causal=draw(st.booleans()))


@st.composite
def convolution_calls(draw):
    channels, groups = draw(st.sampled_from(((3, 1), (32, 1), (32, 32), (64, 4))))
    side, format = draw(st.sampled_from((7, 14, 16))), draw(st.sampled_from(("float32", "tfloat32", "bfloat16")))
    kernel, order = draw(st.sampled_from((1, 3))), draw(st.sampled_from(("nchw", "nhwc")))
    conv = Convolution(
        2, channels, side, side, 64, kernel, draw(st.sampled_from((1, 2))), kernel // 2, 1, groups, order, format
    )
    step = draw(st.sampled_from(("forward", "dgrad", "wgrad")))
    return Call(conv.gemm(step), "aten::convolution", convolution=conv, convolution_pass=step)


@st.composite
def calls(draw):
    import msgspec

    call = draw(st.one_of(plain_calls(), plain_calls(), grouped_calls(), fused_calls(), convolution_calls()))
    return msgspec.structs.replace(
        call,
        count=draw(st.integers(1, 24)),
        places=draw(st.sampled_from((("h.0.up",), ("h.1.up",), ("h.0.attn.query",), ("experts.0.up",), ()))),
        phase=draw(st.sampled_from(("forward", "backward", ""))),
        time_s=draw(st.one_of(st.none(), SECONDS)),
    )


@st.composite
def others(draw):
    name = draw(st.sampled_from(("aten::add", "aten::native_layer_norm", "aten::_softmax", "aten::view")))
    moved = draw(st.one_of(st.none(), st.integers(0, 10**9)))
    time, flop = draw(st.one_of(st.none(), SECONDS)), draw(st.one_of(st.none(), st.integers(0, 10**9)))
    return Other(name, draw(st.integers(1, 9)), time_s=time, bytes=moved, flop=flop)


@st.composite
def workloads(draw):
    return Workload(
        "drawn",
        draw(st.sampled_from(("trace", "model", "table"))),
        tuple(draw(st.lists(calls(), max_size=5))),
        tuple(draw(st.lists(others(), max_size=3))),
        tuple(draw(st.lists(st.just(Unread("aten::einsum", "no shapes", time_s=1e-4)), max_size=1))),
        steps=draw(st.integers(1, 3)),
    )
