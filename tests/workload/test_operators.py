"""Which products an operator is: facts by hand, from shapes and strides alone."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemmlab.problem import BlockScale
from gemmlab.workload import Operation, Settings, Tensor, UnreadableError, products
from gemmlab.workload.operators import multiplies
from gemmlab.workload.operators.names import UNREADABLE
from gemmlab.workload.operators.table import OPERATORS


def tensor(*shape, strides=None, format="bfloat16", offset=0):
    return Tensor(shape, format, strides, offset)


def read(name, *inputs, outputs=(), **settings):
    return products(Operation(name, inputs, outputs), Settings(**settings))


def one(name, *inputs, **more):
    (product,) = read(name, *inputs, **more)
    return product.problem


def sides(name, *inputs, **more):
    return [(p.problem.m, p.problem.n, p.problem.k, p.problem.batch) for p in read(name, *inputs, **more)]


@pytest.mark.parametrize(
    ("strides_a", "strides_b", "layout", "lda", "ldb"),
    [
        (None, None, "nn", 8, 3),
        ((8, 1), (1, 8), "nt", 8, 8),
        ((1, 4), (3, 1), "tn", 4, 3),
        ((1, 5), (1, 9), "tt", 5, 9),
        ((20, 1), (4, 1), "nn", 20, 4),
        ((16, 2), (3, 1), "nn", 8, 3),  # neither runs at 1: PyTorch copies it
        ((0, 1), (3, 1), "nn", 8, 3),  # a broadcast row: the same
        ((4, 1), (3, 1), "nn", 8, 3),  # rows that overlap: the same
    ],
)
def test_letters_from_strides(strides_a, strides_b, layout, lda, ldb):
    (product,) = read("aten::mm", tensor(4, 8, strides=strides_a), tensor(8, 3, strides=strides_b))
    problem = product.problem
    assert (problem.m, problem.n, problem.k) == (4, 3, 8)
    assert (problem.layout, problem.lda, problem.ldb) == (layout, lda, ldb)
    assert [each.strides for each in product.operands] == [strides_a, strides_b]


def test_a_copy_begins_at_an_aligned_address():
    read_view = one("aten::mm", tensor(4, 8, strides=(20, 1), offset=6), tensor(8, 3, offset=514))
    copied = one("aten::mm", tensor(4, 8, strides=(20, 2), offset=6), tensor(8, 3))
    assert (read_view.a_offset_bytes, read_view.b_offset_bytes) == (6, 2)
    assert copied.a_offset_bytes == 0


def test_a_result_may_have_gaps():
    problem = one("aten::mm", tensor(4, 8), tensor(8, 3), outputs=(tensor(4, 3, strides=(10, 1), offset=20),))
    assert (problem.ldc, problem.c_offset_bytes) == (10, 20)


@pytest.mark.parametrize(
    ("added", "factors", "beta", "epilogue"),
    [
        (tensor(3), (1, 1), 0, "bias"),
        (tensor(1, 3), (1, 1), 0, "bias"),
        (tensor(4, 3, strides=(0, 1)), (1, 1), 0, "bias"),
        (tensor(4, 3), (1, 1), 1, ""),
        (tensor(4, 1), (1, 1), 1, ""),
        (tensor(3), (0.5, 1), 0.5, ""),
        (tensor(3), (0, 2), 0, ""),
        (tensor(3), (), 0, "bias"),
    ],
)
def test_what_addmm_adds(added, factors, beta, epilogue):
    (product,) = read("aten::addmm", added, tensor(4, 8), tensor(8, 3), *factors)
    assert (product.problem.beta, product.problem.epilogue) == (beta, epilogue)
    assert product.problem.alpha == (factors[1] if factors else 1)
    assert len(product.operands) == (3 if beta or epilogue else 2)


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("aten::bmm", (tensor(5, 4, 8), tensor(5, 8, 3)), [(4, 3, 8, 5)]),
        ("aten::baddbmm", (tensor(5, 4, 3), tensor(5, 4, 8), tensor(5, 8, 3), 1, 1), [(4, 3, 8, 5)]),
        ("aten::addbmm", (tensor(4, 3), tensor(5, 4, 8), tensor(5, 8, 3), 1, 1), [(4, 3, 8, 5)]),
        ("aten::mv", (tensor(4, 8), tensor(8)), [(4, 1, 8, 1)]),
        ("aten::addmv", (tensor(4), tensor(4, 8), tensor(8), 1, 1), [(4, 1, 8, 1)]),
        ("aten::dot", (tensor(8), tensor(8)), [(1, 1, 8, 1)]),
        ("aten::matmul", (tensor(8), tensor(8, 3)), [(1, 3, 8, 1)]),
        ("aten::matmul", (tensor(6, 4, 8), tensor(8, 3)), [(24, 3, 8, 1)]),
        ("aten::matmul", (tensor(6, 4, 8, strides=(8, 48, 1)), tensor(8, 3)), [(4, 3, 8, 6)]),
        ("aten::matmul", (tensor(5, 1, 4, 8), tensor(6, 8, 3)), [(4, 3, 8, 30)]),
        ("aten::matmul", (tensor(5, 4, 8), tensor(8)), [(20, 1, 8, 1)]),
        ("aten::linear", (tensor(2, 4, 8), tensor(3, 8), tensor(3)), [(8, 3, 8, 1)]),
        ("aten::linear_backward", (tensor(4, 8), tensor(4, 3), tensor(3, 8), [True, True, True]), [
            (4, 8, 3, 1), (3, 8, 4, 1)]),
        ("aten::inner", (tensor(2, 4, 8), tensor(3, 8)), [(8, 3, 8, 1)]),
        ("aten::tensordot", (tensor(3, 4, 5), tensor(4, 3, 2), [1, 0], [0, 1]), [(5, 2, 12, 1)]),
        ("aten::tensordot", (tensor(3, 4), tensor(5, 2), [], []), [(12, 10, 1, 1)]),
        ("aten::bilinear", (tensor(6, 3), tensor(6, 4), tensor(5, 3, 4)), [(6, 4, 3, 1), (1, 1, 4, 6)] * 5),
        ("aten::chain_matmul", ([tensor(10, 30), tensor(30, 5), tensor(5, 60)],), [(10, 5, 30, 1), (10, 60, 5, 1)]),
        ("aten::linalg_multi_dot", ([tensor(8), tensor(8, 3), tensor(3)],), [(1, 3, 8, 1), (1, 1, 3, 1)]),
        ("aten::_foreach_mm", ([tensor(2, 3)] * 2, [tensor(3, 4)] * 2), [(2, 4, 3, 1)] * 2),
        ("extern_kernels.mm", (tensor(4, 8), tensor(8, 3)), [(4, 3, 8, 1)]),
        ("aten::addmm_", (tensor(4, 3), tensor(4, 8), tensor(8, 3)), [(4, 3, 8, 1)]),
        ("aten::mm.default", (tensor(4, 8), tensor(8, 3)), [(4, 3, 8, 1)]),
        ("aten::mm", (tensor(0, 8), tensor(8, 3)), []),
        ("aten::bmm", (tensor(0, 4, 8), tensor(0, 8, 3)), []),
        ("aten::matmul", (tensor(0, 4, 8), tensor(8, 3)), []),
        ("aten::matmul", (tensor(3, 4, 0), tensor(3, 0, 3)), []),
    ],
)  # fmt: skip
def test_sides(name, inputs, expected):
    assert sides(name, *inputs) == expected


@pytest.mark.parametrize(
    ("equation", "operands", "path", "expected"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], None, [(2, 4, 3, 1)]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)], None, [(2, 4, 3, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 7, 8), (2, 3, 9, 8)], None, [(7, 9, 8, 6)]),
        ("...ij,...jk", [(2, 7, 3, 4), (7, 4, 5)], None, [(6, 5, 4, 7)]),
        ("i,j->ij", [(2,), (3,)], None, []),
        ("ij,ij->ij", [(2, 3), (2, 3)], None, []),
        ("ij,ij", [(2, 3), (2, 3)], None, [(1, 1, 6, 1)]),
        ("ijk,kl->il", [(2, 3, 4), (4, 5)], None, [(2, 5, 4, 1)]),  # j is summed before
        ("iij,jk->ik", [(2, 2, 3), (3, 4)], None, [(2, 4, 3, 1)]),  # a diagonal
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], None, [(2, 4, 3, 1), (2, 5, 4, 1)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], [1, 2, 0, 1], [(3, 5, 4, 1), (2, 5, 3, 1)]),
        ("ij->ji", [(2, 3)], None, []),
    ],
)
def test_einsum(equation, operands, path, expected):
    assert sides("aten::einsum", equation, [tensor(*shape) for shape in operands], path) == expected


def test_the_weight_of_a_linear_layer_is_stored_transposed_and_its_gradients_follow():
    forward = one("aten::addmm", tensor(3), tensor(4, 8), tensor(8, 3, strides=(1, 8)), 1, 1)
    of_input = one("aten::mm", tensor(4, 3), tensor(3, 8))
    of_weight = one("aten::mm", tensor(3, 4, strides=(1, 3)), tensor(4, 8))
    assert [each.layout for each in (forward, of_input, of_weight)] == ["nt", "nn", "tn"]


def test_formats_of_results():
    assert one("aten::mm", tensor(4, 8), tensor(8, 3)).d_format == "bfloat16"
    assert one("aten::_int_mm", tensor(4, 8, format="int8"), tensor(8, 3, format="int8")).d_format == "int32"
    narrow = tensor(16, 32, format="float8_e4m3fn"), tensor(32, 48, strides=(1, 32), format="float8_e4m3fn")
    scales = tensor(1, format="float32"), tensor(1, format="float32")
    for told, expected in ((15, "bfloat16"), ("15", "bfloat16"), ("float16", "float16"), (None, "float8_e4m3fn")):
        assert one("aten::_scaled_mm", *narrow, *scales, None, None, told).d_format == expected
    assert one("aten::_scaled_mm", *narrow, *scales, outputs=(tensor(16, 48),)).d_format == "bfloat16"
    assert one("aten::mm", tensor(4, 8), tensor(8, 3), "float32").d_format == "float32"


def test_float32_is_rounded_to_tfloat32_where_the_program_allows_it():
    operands = tensor(4, 8, format="float32"), tensor(8, 3, format="float32")
    plain, rounded = one("aten::mm", *operands), one("aten::mm", *operands, matmul_tf32=True)
    assert (plain.a_format, rounded.a_format, rounded.b_format) == ("float32", "tfloat32", "tfloat32")
    assert rounded.c_format == rounded.d_format == "float32"
    image, filters = tensor(1, 4, 8, 8, format="float32"), tensor(4, 4, 3, 3, format="float32")
    asked = (image, filters, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    assert one("aten::convolution", *asked).a_format == "tfloat32"
    assert one("aten::convolution", *asked, convolution_tf32=False).a_format == "float32"
    assert one("aten::_convolution", *asked, False, False, True, False).a_format == "float32"


@pytest.mark.parametrize(
    ("scale_a", "scale_b", "expected"),
    [
        (tensor(1, format="float32"), tensor(1, format="float32"), None),
        (tensor(), tensor(), None),
        (tensor(256, 1, format="float32"), tensor(1, 512, format="float32"), BlockScale("float32", 384, 1, 1)),
        (tensor(256, 3, format="float32"), tensor(3, 4, format="float32"), BlockScale("float32", 128, 1, 128)),
        (
            tensor(3072, format="float8_e8m0fnu"),
            tensor(6144, format="float8_e8m0fnu"),
            BlockScale("float8_e8m0fnu", 32),
        ),
    ],
)
def test_block_scales(scale_a, scale_b, expected):
    narrow = tensor(256, 384, format="float8_e4m3fn"), tensor(384, 512, strides=(1, 384), format="float8_e4m3fn")
    assert one("aten::_scaled_mm", *narrow, scale_a, scale_b).scale == expected


def test_scaled_products_of_torch_2_4_have_their_own_order():
    narrow = tensor(256, 384, format="float8_e4m3fn"), tensor(384, 512, strides=(1, 384), format="float8_e4m3fn")
    scales = tensor(256, 1, format="float32"), tensor(1, 512, format="float32")
    older = one("aten::_scaled_mm", *narrow, None, "bfloat16", *scales, None, True)
    assert older == one("aten::_scaled_mm", *narrow, *scales, None, None, "bfloat16", True)


def test_recipes_say_the_block_scales_of_the_second_version():
    narrow = tensor(256, 384, format="float8_e4m3fn"), tensor(384, 512, strides=(1, 384), format="float8_e4m3fn")
    scales = [tensor(1, format="float32")]
    version_2 = one("aten::_scaled_mm_v2", *narrow, scales, [4], [0], scales, [5], [0], None, 15)
    assert version_2.scale == BlockScale("float32", 128, 1, 128)
    assert one("aten::_scaled_mm_v2", *narrow, scales, [0], [0], scales, [0], [0]).scale is None


def test_pairs_of_four_bits_lie_along_k():
    narrow = tensor(128, 32, format="float4_e2m1fn_x2"), tensor(32, 256, strides=(1, 32), format="float4_e2m1fn_x2")
    scales = tensor(512, format="float8_e4m3fn"), tensor(1024, format="float8_e4m3fn")
    problem = one("aten::_scaled_mm", *narrow, *scales, None, None, 15)
    assert (problem.m, problem.n, problem.k, problem.layout) == (128, 256, 64, "nt")
    assert (problem.a_format, problem.lda, problem.scale.block_k) == ("float4_e2m1fn", 64, 16)


def test_groups_are_read_where_their_ends_are_told():
    operands = tensor(64, 32), tensor(4, 32, 16)
    problem = one("aten::_grouped_mm", *operands, [10, 20, 20, 64])
    assert problem.groups == ((10, 16, 32), (10, 16, 32), (44, 16, 32))
    assert one("aten::_grouped_mm", tensor(32, 64), tensor(64, 16), [10, 64]).groups == ((32, 16, 10), (32, 16, 54))
    assert sides("aten::_grouped_mm", tensor(4, 8, 32), tensor(4, 32, 16)) == [(8, 16, 32, 4)]
    with pytest.raises(UnreadableError, match="4 groups share 64 rows, together at most 64x16x32, 65536 FLOP"):
        read("aten::_grouped_mm", *operands, tensor(4, format="int32"))


def convolve(*, image=(2, 16, 14, 14), weight=(32, 16, 3, 3), stride=1, padding=1, groups=1, transposed=False, **more):
    return read(
        "aten::convolution", tensor(*image, **more), tensor(*weight), None, [stride], [padding], [1], transposed, [0],
        groups,
    )  # fmt: skip


def test_a_convolution_keeps_what_it_is():
    (product,) = convolve()
    assert product.convolution.output == (14, 14)
    assert (product.convolution.kernel, product.convolution.order) == ((3, 3), "nchw")
    assert product.problem.flop == product.convolution.gemm().flop
    assert product.problem.layout == product.convolution.gemm().layout
    (last,) = convolve(strides=(14 * 14 * 16, 1, 14 * 16, 16))
    assert last.convolution.order == "nhwc"
    assert last.problem.layout == "nt"


def test_one_dimension_has_height_1_and_three_have_a_depth():
    (line,) = convolve(image=(2, 16, 50), weight=(8, 16, 5), stride=2)
    assert (line.convolution.height, line.convolution.width, line.convolution.kernel) == (1, 50, (1, 5))
    assert line.convolution.output == (1, 24)
    (volume,) = convolve(image=(2, 16, 4, 14, 14), weight=(8, 16, 3, 3, 3))
    assert (volume.convolution.depth, volume.convolution.output) == (4, (4, 14, 14))
    assert volume.problem.flop == volume.convolution.gemm().flop
    assert volume.problem.k == 16 * 27


def test_groups_are_a_batch():
    (depthwise,) = convolve(image=(2, 16, 14, 14), weight=(16, 1, 3, 3), groups=16)
    assert (depthwise.problem.n, depthwise.problem.k, depthwise.problem.batch) == (1, 9, 16)


def test_a_transposed_convolution_is_the_gradient_of_the_one_that_it_transposes():
    (up,) = convolve(image=(2, 16, 7, 7), weight=(16, 32, 2, 2), stride=2, padding=0, transposed=True)
    assert up.convolution_pass == "dgrad"
    assert (up.convolution.height, up.convolution.channels, up.convolution.filters) == (14, 32, 16)
    assert (up.problem.m, up.problem.n, up.problem.k) == (2 * 49, 32, 16 * 4)


def test_gradients_of_a_strided_convolution_leave_the_zeros_out():
    found = read(
        "aten::convolution_backward", tensor(2, 32, 7, 7), tensor(2, 16, 14, 14), tensor(32, 16, 3, 3), [32], [2, 2],
        [1, 1], [1, 1], False, [0, 0], 1, [True, True, False],
    )  # fmt: skip
    assert [each.convolution_pass for each in found] == ["dgrad", "wgrad"]
    forward = 2 * 2 * 49 * 32 * 16 * 9
    assert [each.problem.flop for each in found] == [forward, forward]
    assert found[0].convolution.gemm("dgrad").flop == 4 * forward


@pytest.mark.parametrize(("padding", "outputs"), [("same", (14, 14)), ("valid", (12, 11)), ([1], (14, 13))])
def test_padding_by_name(padding, outputs):
    (product,) = read("aten::conv2d", tensor(2, 3, 14, 14), tensor(8, 3, 3, 4), None, [1], padding, [1], 1)
    assert product.problem.m == 2 * math.prod(outputs)
    assert product.convolution.output == outputs


def test_an_image_without_a_batch():
    assert sides("aten::conv2d", tensor(3, 14, 14), tensor(8, 3, 3, 3)) == [(144, 8, 27, 1)]


def test_a_gradient_says_its_sizes_without_the_stride():
    found = read(
        "aten::convolution_backward", tensor(2, 32, 7, 7), tensor(2, 16, 14, 14), tensor(32, 16, 3, 3), None, None,
        None, None, False, None, None, [True, False, False],
    )  # fmt: skip
    assert found[0].convolution is None
    assert (found[0].problem.m, found[0].problem.n, found[0].problem.k) == (98, 16, 288)


QUERY, KEY, VALUE = tensor(2, 8, 10, 64), tensor(2, 2, 12, 64), tensor(2, 2, 12, 32)


def test_attention_forward_is_two_products_of_every_query_head():
    scores, values = read("aten::scaled_dot_product_attention", QUERY, KEY, VALUE, None, 0.0, True)
    assert (scores.problem.m, scores.problem.n, scores.problem.k, scores.problem.batch) == (10, 12, 64, 16)
    assert (values.problem.m, values.problem.n, values.problem.k, values.problem.batch) == (10, 32, 12, 16)
    assert (scores.problem.layout, values.problem.layout) == ("nt", "nn")
    assert (scores.operands, values.operands) == ((QUERY, KEY), (VALUE,))
    assert all(each.fused and each.causal for each in (scores, values))


def test_attention_backward_is_five():
    gradient = tensor(2, 8, 10, 32)
    found = read(
        "aten::_scaled_dot_product_flash_attention_backward", gradient, QUERY, KEY, VALUE, gradient, None, None, None,
        10, 12, 0.0, False,
    )  # fmt: skip
    expected = [(10, 12, 64), (10, 12, 32), (12, 32, 10), (10, 64, 12), (12, 64, 10)]
    assert [(each.problem.m, each.problem.n, each.problem.k) for each in found] == expected
    assert [each.problem.layout for each in found] == ["nt", "nt", "tn", "nn", "tn"]
    assert not any(each.causal for each in found)


def test_unfused_attention_skips_nothing():
    found = read("aten::_scaled_dot_product_attention_math", QUERY, KEY, VALUE, None, 0.0, True)
    assert not any(each.fused or each.causal for each in found)


def test_heads_behind_the_sequence_leave_gaps_between_rows():
    heads = tensor(2, 10, 8, 64)
    for name in ("aten::_flash_attention_forward", "flash_attn::_flash_attn_forward"):
        scores, values = read(name, heads, heads, heads)
        assert (scores.problem.m, scores.problem.n, scores.problem.batch, scores.problem.lda) == (10, 10, 16, 512)
        assert values.problem.ldb == 512


def test_the_lengths_of_packed_sequences_are_told_or_missed():
    packed, ends = tensor(20, 8, 64), tensor(3, format="int32")
    with pytest.raises(
        UnreadableError, match="lengths of 2 sequences are the values of `cum_seq_q`, none longer than 12"
    ):
        read("aten::_flash_attention_forward", packed, packed, packed, ends, ends, 12, 12, 0.0, False, False)
    found = sides("aten::_flash_attention_forward", packed, packed, packed, [0, 8, 20], [0, 8, 20], 12, 12)
    assert found == [(8, 8, 64, 8), (8, 64, 8, 8), (12, 12, 64, 8), (12, 64, 12, 8)]


def test_cudnn_attention_of_torch_2_4_has_its_own_order():
    assert all(
        each.causal for each in read("aten::_scaled_dot_product_cudnn_attention", QUERY, QUERY, QUERY, 0.0, True)
    )
    newer = QUERY, QUERY, QUERY, None, True, 0.0, True, False
    assert all(each.causal for each in read("aten::_scaled_dot_product_cudnn_attention", *newer))


def test_a_recurrent_layer_multiplies_its_state_at_every_step():
    weights = [tensor(64, 8), tensor(64, 16), tensor(64), tensor(64)]
    lstm = sides("aten::lstm", tensor(5, 2, 8), [tensor(1, 2, 16)] * 2, weights, True, 1, 0.0, True, False, False)
    assert lstm == [(10, 64, 8, 1)] + 5 * [(2, 64, 16, 1)]
    first = sides("aten::lstm", tensor(2, 5, 8), [tensor(1, 2, 16)] * 2, weights, True, 1, 0.0, True, False, True)
    assert first == lstm
    assert sides("aten::lstm", tensor(0, 2, 8), [tensor(1, 2, 16)] * 2, weights, True, 1, 0.0, True, False) == []
    packed = sides("aten::gru", tensor(7, 8), [4, 2, 1], tensor(1, 4, 16), weights, True, 1, 0.0, True, False)
    assert packed == [(7, 64, 8, 1), (4, 64, 16, 1), (2, 64, 16, 1), (1, 64, 16, 1)]
    with pytest.raises(UnreadableError, match="values of `batch_sizes`"):
        read("aten::gru", tensor(7, 8), tensor(3), tensor(1, 4, 16), weights, True, 1, 0.0, True, False)


@pytest.mark.parametrize(
    ("name", "inputs", "why"),
    [
        ("aten::mm", (), "the shape of `self` is not told"),
        ("aten::mm", (tensor(), tensor(8, 3)), r"`self` has shape \[\], not 2 dimensions"),
        ("aten::mm", (tensor(4, 8), tensor(7, 3)), "A is 4x8 and B 7x3"),
        ("aten::mm", (tensor(4, 8, format="int64"), tensor(8, 3, format="int64")), "unknown format `int64`"),
        ("aten::mm", (tensor(4, 8, format="complex64"), tensor(8, 3, format="complex64")), "unknown format"),
        ("aten::mm", (tensor("s0", 8), tensor(8, 3)), "no numbers"),
        ("aten::bmm", (tensor(5, 4, 8), tensor(6, 8, 3)), "5 matrices, `mat2` 6"),
        ("aten::matmul", (tensor(5, 4, 8), tensor(6, 8, 3)), "do not broadcast"),
        ("aten::convolution", (tensor(2, 16, 14, 14), tensor(32, 16, 3, 3), None, None, None, None, False, None, None),
         "neither its stride"),
        ("aten::convolution", (tensor(2, 16, 14, 14), tensor(32, 5, 3, 3), None, [1], [1], [1], False, [0], 1),
         "do not go with a weight"),
        ("aten::convolution_backward", (tensor(2, 32, 7, 7), tensor(2, 16, 14, 14), tensor(32, 16, 3, 3)),
         "`output_mask`"),
        ("aten::einsum", (None, [tensor(2, 3)]), "the equation is not told"),
        ("aten::einsum", ("ij,jk->ik", [tensor(2, 3), tensor(4, 5)]), "`j` is both 3 and 4"),
        ("aten::einsum", ("ij,jk->ik", [tensor(2, 3)]), "names 2 operands, and 1 are given"),
        ("aten::_sparse_mm", (tensor(3, 3), tensor(3, 3)), "nonzeros"),
        ("triton_tem_fused_mm_0", (tensor(4, 8),), "order of its arguments is not known"),
        ("aten::scaled_dot_product_attention", (QUERY, KEY, tensor(2, 2, 13, 32)), "attention of shapes"),
        ("aten::lstm", (tensor(5, 2, 8), [], [], True, 1), "0 weights"),
        ("aten::_flash_attention_forward", (tensor(5, 8), tensor(5, 8), tensor(5, 8)), "attention of shapes"),
        ("aten::_trilinear", (tensor(2), tensor(2), tensor(2), [], [], [], [0], []), "not told"),
        ("aten::lstm", (tensor(1 << 40, 2, 8), [], [tensor(64, 8), tensor(64, 16)], True, 1), "more steps"),
        ("aten::bilinear", (tensor(2, 3), tensor(2, 3), tensor(1 << 30, 3, 3)), "one after another"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told(name, inputs, why):
    with pytest.raises(UnreadableError, match=why):
        read(name, *inputs)


@pytest.mark.parametrize("name", ["aten::relu", "aten::outer", "aten::_to_copy", "MmBackward0", "ProfilerStep#3", ""])
def test_what_multiplies_nothing(name):
    assert read(name, tensor(4, 8), tensor(8, 3)) is None
    assert not multiplies(name)


MULTIPLY = """aten::mm aten::addmm_ aten::convolution.default extern_kernels.addmm triton_mm triton_bmm
triton_tem_fused_mm_3
triton_tem_fused_addmm_gelu_9 ampere_sgemm_128x64_tn nvjet_hsh_128x256 sm80_xmma_fprop_implicit_gemm Cijk_Ailk_Bljk_HHS
flash_attn::_flash_attn_forward vllm::unified_attention mylib::linear gemv2T_kernel flash_fwd_kernel
aten::_sparse_mm higher_order.flex_attention flash_attn::_flash_attn_varlen_backward
fmha_cutlassF_bf16_aligned fused_moe_kernel
void_flash::flash_bwd_dq_dk_dv_loop_softmax _ZN7cutlass13device_kernelIN5flash11FlashAttnFwdSm90ESoftmaxE"""
DO_NOT = """aten::relu aten::t aten::mkldnn_reorder_conv2d_weight aten::_cudnn_rnn_flatten_weight AddmmBackward0
triton_poi_fused_addmm_relu_0 triton_per_fused_native_layer_norm_0 vectorized_elementwise_kernel aten::_fused_sdp_choice
aten::_convert_weight_to_int4pack quantized::linear_prepack splitKreduce_kernel upsample_bilinear2d_out_frame
mylib::gelu aten::linalg_norm at::cuda::detail::prepare_grouped_gemm_data<cutlass::bfloat16_t>
_quantized::wrapped_fbgemm_pack_gemm_matrix_fp16 Memcpy softmax_warp_forward aten::native_layer_norm"""


@pytest.mark.parametrize("name", MULTIPLY.split())
def test_names_that_multiply(name):
    assert multiplies(name)


@pytest.mark.parametrize("name", DO_NOT.split())
def test_names_that_do_not(name):
    assert not multiplies(name)


SCRAPS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 70), st.floats(), st.text(max_size=4),
    st.sampled_from(["ij,jk->ik", "same"]),
    st.lists(st.integers(-1, 9), max_size=4), st.lists(st.booleans(), max_size=4),
    st.builds(
        lambda shape, strides, format, offset: Tensor(tuple(shape), format, strides and tuple(strides), offset),
        st.lists(st.integers(0, 5), max_size=5), st.none() | st.lists(st.integers(-1, 30), max_size=5),
        st.sampled_from(["float32", "bfloat16", "float8_e4m3fn", "float4_e2m1fn_x2", "int64", "bool", ""]),
        st.integers(-5, 2000),
    ),
)  # fmt: skip
ANYTHING = st.one_of(SCRAPS, st.lists(SCRAPS, max_size=3))


@given(
    st.sampled_from(sorted(OPERATORS) + sorted(UNREADABLE)),
    st.lists(ANYTHING, max_size=16),
    st.lists(ANYTHING, max_size=2),
)
def test_nothing_else_is_ever_raised(name, inputs, outputs):
    with contextlib.suppress(UnreadableError):
        found = read(name, *inputs, outputs=tuple(outputs))
        assert found is not None
        assert all(each.problem.flop > 0 for each in found)


TENSORS = st.builds(
    lambda shape, format: Tensor(tuple(shape), format),
    st.lists(st.integers(0, 3), min_size=1, max_size=4), st.sampled_from(["bfloat16", "float32"]),
)  # fmt: skip


@given(st.sampled_from(sorted(OPERATORS)), st.data())
def test_nor_for_tensors_where_they_belong(name, data):
    numbers = st.sampled_from([1, 0, [1], [1, 1], True, False, None, [True, True, True, True]])
    count = len(OPERATORS[name].parameters.split())
    inputs = [data.draw(TENSORS if data.draw(st.integers(0, 3)) else numbers) for _ in range(min(count, 4))]
    inputs += [data.draw(numbers) for _ in range(count - len(inputs))]
    with contextlib.suppress(UnreadableError):
        assert read(name, *inputs) is not None


IMAGE, FILTERS = tensor(2, 4, 6, 6), tensor(6, 2, 3, 3)
HEADS, ROWS = tensor(2, 4, 5, 8), tensor(10, 4, 8)
WEIGHTS = [tensor(12, 8), tensor(12, 3), tensor(12), tensor(12)]
CUDNN = (tensor(5, 2, 8), WEIGHTS, 4, None, tensor(1, 2, 3), None, 2, 3, 0, 1, False, 0.0, True, False, [], None)
#: a call of each kind that is right
RIGHT = [
    ("aten::addmm", (tensor(3), tensor(4, 8), tensor(8, 3), 1, 1)),
    ("aten::baddbmm", (tensor(5, 4, 3), tensor(5, 4, 8), tensor(5, 8, 3), 1, 1)),
    ("aten::matmul", (tensor(5, 4, 8), tensor(8, 3))),
    ("aten::linear", (tensor(2, 4, 8), tensor(3, 8), tensor(3))),
    ("aten::linear_backward", (tensor(4, 8), tensor(4, 3), tensor(3, 8), [True, True, True])),
    ("aten::mkldnn_linear_backward_weights", (tensor(4, 3), tensor(4, 8), tensor(3, 8), True)),
    ("aten::inner", (tensor(2, 8), tensor(3, 8))),
    ("aten::chain_matmul", ([tensor(2, 3), tensor(3, 4), tensor(4, 5)],)),
    ("aten::_foreach_mm", ([tensor(2, 3)], [tensor(3, 4)])),
    ("inductor::_mm_plus_mm", (tensor(2, 3), tensor(3, 4), tensor(2, 5), tensor(5, 4))),
    ("aten::einsum", ("ij,jk,kl->il", [tensor(2, 3), tensor(3, 4), tensor(4, 5)], [1, 2, 0, 1])),
    ("aten::tensordot", (tensor(2, 3), tensor(3, 4), [1], [0])),
    ("aten::bilinear", (tensor(2, 3), tensor(2, 4), tensor(5, 3, 4), tensor(5))),
    ("aten::_trilinear", (tensor(6, 3), tensor(5, 3, 4), tensor(6, 4), [1, 3], [0], [1, 2], [2, 3], 1)),
    ("aten::_scaled_mm", (tensor(4, 8), tensor(8, 3), tensor(4, 1), tensor(1, 3), None, None, 15, True)),
    ("aten::_scaled_mm_v2", (tensor(4, 8), tensor(8, 3), [tensor(1)], [3], [0], [tensor(1)], [3], [0], None, 15)),
    ("aten::_grouped_mm", (tensor(9, 8), tensor(2, 8, 3), [4, 9])),
    ("aten::_scaled_grouped_mm", (tensor(9, 8), tensor(2, 8, 3), tensor(9), tensor(2, 3), [4, 9])),
    ("aten::_weight_int4pack_mm", (tensor(4, 64), tensor(2, 1, 32, 2), 32, tensor(2))),
    ("aten::convolution", (IMAGE, FILTERS, tensor(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 2)),
    ("aten::convolution", (IMAGE, tensor(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2)),
    ("aten::conv2d", (IMAGE, FILTERS, None, [1, 1], "same", [1, 1], 2)),
    ("aten::conv_tbc", (tensor(7, 2, 5), tensor(3, 5, 4), tensor(4), 1)),
    ("aten::convolution_backward", (tensor(2, 6, 6, 6), IMAGE, FILTERS, [6], [1, 1], [1, 1], [1, 1], False, [0, 0], 2,
                                    [True, True, True])),
    ("aten::scaled_dot_product_attention", (HEADS, HEADS, HEADS, None, 0.0, True)),
    ("aten::_flash_attention_forward", (ROWS, ROWS, ROWS, [0, 4, 10], [0, 4, 10], 6, 6, 0.0, True, False)),
    ("aten::_efficient_attention_backward", (HEADS, HEADS, HEADS, HEADS, None, HEADS, None, None, 4, 4)),
    ("aten::_native_multi_head_attention", (tensor(2, 5, 8), tensor(2, 5, 8), tensor(2, 5, 8), 8, 2, tensor(24, 8),
                                            tensor(24), tensor(8, 8), tensor(8))),
    ("aten::lstm", (tensor(5, 2, 8), [tensor(1, 2, 3)] * 2, WEIGHTS, True, 1, 0.0, True, False, False)),
    ("aten::gru", (tensor(7, 8), [4, 2, 1], tensor(1, 4, 3), WEIGHTS, True, 1, 0.0, True, False)),
    ("aten::_cudnn_rnn", CUDNN),
    ("aten::_cudnn_rnn_backward", (*CUDNN[:6], tensor(5, 2, 3), tensor(5, 2, 3), None, None, *CUDNN[6:], None,
                                   [True] * 4)),
    ("aten::lstm_cell", (tensor(2, 8), [tensor(2, 3)] * 2, tensor(12, 8), tensor(12, 3))),
    ("aten::mkldnn_rnn_layer", (tensor(5, 2, 8), *WEIGHTS, tensor(2, 3), tensor(2, 3), False, [], 2, 3, 1, True, False,
                                False, True)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs"), RIGHT)
def test_right_calls_are_read(name, inputs):
    assert read(name, *inputs)


@given(st.sampled_from(RIGHT), st.data())
def test_nor_for_calls_that_are_nearly_right(call, data):
    name, inputs = call[0], list(call[1])
    for _ in range(data.draw(st.integers(1, 2))):
        index = data.draw(st.integers(0, len(inputs) - 1))
        if isinstance(inputs[index], list) and inputs[index] and data.draw(st.booleans()):
            inner = list(inputs[index])
            inner[data.draw(st.integers(0, len(inner) - 1))] = data.draw(st.one_of(SCRAPS, TENSORS))
            inputs[index] = inner[data.draw(st.integers(0, 1)) :]
        else:
            inputs[index] = data.draw(st.one_of(ANYTHING, TENSORS))
    with contextlib.suppress(UnreadableError):
        told = inputs[: data.draw(st.integers(1, len(inputs)))]
        assert read(name, *told, outputs=data.draw(st.lists(TENSORS | SCRAPS, max_size=2))) is not None
