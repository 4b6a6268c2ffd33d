"""The gradients of `gemmlab.matmul`: two more multiplications."""

from __future__ import annotations

from typing import Any


def multiplied(torch: Any, a: Any, b: Any, out: Any, accuracy: str, deterministic: bool) -> Any:
    """The product with its gradients known to autograd; an `out` takes a copy, as torch's own refuses it here."""
    from gemmlab.record import GemmlabError

    if out is not None:
        raise GemmlabError("out is given where gradients are asked for", "leave it out, or torch.no_grad()")
    return function(torch).apply(a, b, accuracy, deterministic)


def function(torch: Any) -> Any:
    """The autograd function, made once torch is there."""
    from gemmlab.peak.matmul import product

    class Multiply(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, accuracy: str, deterministic: bool) -> Any:
            ctx.save_for_backward(a, b)
            ctx.how = accuracy, deterministic
            return product(torch, a, b, None, accuracy, deterministic)

        @staticmethod
        def backward(ctx: Any, d: Any) -> Any:
            a, b = ctx.saved_tensors
            rows = d.reshape(-1, d.shape[-1]) if b.dim() == 2 else d
            left = a.reshape(-1, a.shape[-1]) if b.dim() == 2 else a
            to_a = product(torch, d, b.mT, None, *ctx.how) if ctx.needs_input_grad[0] else None
            to_b = product(torch, left.mT, rows, None, *ctx.how) if ctx.needs_input_grad[1] else None
            return to_a, to_b, None, None

    return Multiply
