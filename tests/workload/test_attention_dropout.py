"""A kernel of attention that drops scores is told apart from one that drops none."""

import pytest

from gemmlab.workload import Operation, Settings, Tensor, products

Q = Tensor((2, 4, 64, 32), "bfloat16")


@pytest.mark.parametrize("dropout", [None, 0.0, 0.1])
@pytest.mark.parametrize(
    ("name", "before", "way"),
    [
        ("_scaled_dot_product_flash_attention", (), "flash attention"),
        ("_scaled_dot_product_efficient_attention", (None, True), "memory-efficient attention"),
        ("_scaled_dot_product_cudnn_attention", (None, True), "cuDNN attention"),
    ],
)
def test_dropout_is_told(name, before, way, dropout):
    found = products(Operation(f"aten::{name}", (Q, Q, Q, *before, dropout, False)), Settings())
    assert len(found) == 2
    assert {each.fused for each in found} == {way + " with dropout" * bool(dropout)}


def test_unfused_products_are_no_kernel_that_drops():
    found = products(Operation("aten::_scaled_dot_product_attention_math", (Q, Q, Q, None, 0.1, False)), Settings())
    assert not found or {each.fused for each in found} == {""}
