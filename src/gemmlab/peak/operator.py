"""The multiplication as one of torch's operators: what torch.compile and autograd see of it."""

from typing import Any

import torch
from torch import library

from gemmlab.peak.asking import result_type, shapes


@library.custom_op("gemmlab::matmul", mutates_args=())
def multiply(a: torch.Tensor, b: torch.Tensor, accuracy: str, deterministic: bool) -> torch.Tensor:
    """A times B into a new tensor."""
    from gemmlab.peak.tensors import product

    found: torch.Tensor = product(a, b, None, accuracy, deterministic)
    return found


@multiply.register_fake
def described(a: torch.Tensor, b: torch.Tensor, accuracy: str, deterministic: bool) -> torch.Tensor:
    """The result's shape and type, without elements."""
    return a.new_empty(shapes(a, b)[2], dtype=result_type(torch, a, b, None))


def remember(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    """Keep what the gradients are made of."""
    a, b, *ctx.how = inputs
    ctx.save_for_backward(a, b)


def gradients(ctx: Any, d: torch.Tensor) -> tuple[Any, ...]:
    """DA = dD B^T and DB = A^T dD, multiplied in the same way."""
    return multiplied_back(ctx, d, torch.ops.gemmlab.matmul)


def multiplied_back(ctx: Any, d: torch.Tensor, matmul: Any) -> tuple[Any, ...]:
    """The gradients by a function that multiplies."""
    a, b = ctx.saved_tensors
    rows, left = (d, a) if b.dim() > 2 else (d.flatten(0, -2), a.flatten(0, -2))
    to_a = matmul(d, b.mT, *ctx.how) if ctx.needs_input_grad[0] else None
    to_b = matmul(left.mT, rows, *ctx.how) if ctx.needs_input_grad[1] else None
    return to_a, to_b, None, None


multiply.register_autograd(gradients, setup_context=remember)


class Product(torch.autograd.Function):
    """The same for tensors that are there: an operator's own way to a gradient takes longer than a small product."""

    @staticmethod
    def forward(a: torch.Tensor, b: torch.Tensor, accuracy: str, deterministic: bool) -> torch.Tensor:
        """A times B into a new tensor."""
        from gemmlab.peak.tensors import product

        found: torch.Tensor = product(a, b, None, accuracy, deterministic)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        """Keep what the gradients are made of."""
        remember(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, d: torch.Tensor) -> tuple[Any, ...]:
        """Both gradients, which have gradients of their own."""
        from gemmlab.peak.tensors import matmul

        return multiplied_back(ctx, d, lambda left, right, *how: matmul(left, right, None, *how))
