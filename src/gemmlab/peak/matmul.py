"""`gemmlab.matmul`: torch's tensors in, torch's tensor out, the kernel chosen by the plan."""

from __future__ import annotations

import sys
from typing import Any

from gemmlab.peak.asking import asked, request_of
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.plan import Plan
from gemmlab.peak.ready import Ready, ready

KEPT = 4096
ARCHITECTURE = (9, 0)  # wgmma is Hopper's own

#: launches that are ready, by the addresses, shapes and strides of what they multiply
_ready: dict[tuple[Any, ...], Ready] = {}


def matmul(a: Any, b: Any, out: Any = None, accuracy: str = "vendor", deterministic: bool = False) -> Any:
    """A (m, k) times B (k, n) on a Hopper GPU, any strides; a tensor (m, n) of A's type, of bfloat16 for float8.

    A may have more axes in front, which are folded into m, and A (batch, m, k) multiplies B (batch, k, n). `out` takes
    the result where it is given. `accuracy` is `vendor` (as torch's default, float8 in two levels), `best` or `fast`
    (float32 as tfloat32, float8 in one accumulator). With `deterministic` a result depends on its row of A and its
    column of B alone: `plan` tells the order of its sums, and `gemmlab.numerics` gives the same bits.

    Raises GemmlabError for tensors that are on no Hopper GPU or on two devices, types and shapes that do not multiply,
    an `out` that overlaps an operand, and where CUDA's packages are missing.
    """
    import torch

    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        from gemmlab.peak.gradient import multiplied

        return multiplied(torch, a, b, out, accuracy, deterministic)
    return product(torch, a, b, out, accuracy, deterministic)


def plan(a: Any, b: Any, accuracy: str = "vendor", deterministic: bool = False, out: Any = None) -> Plan:
    """How `matmul` would multiply these tensors: kernel, sizes, what is repacked, and the order of the sums.

    Raises GemmlabError as `matmul` does.
    """
    import torch

    a, b, _, d = asked(torch, a, b, out)
    return plan_for(request_of(torch, a, b, d, accuracy, deterministic))


def product(torch: Any, a: Any, b: Any, out: Any, accuracy: str, deterministic: bool) -> Any:
    """The product without autograd."""
    if a.dim() == 2 and b.dim() == 2 and out is not None:
        key = (
            a.data_ptr(), a.shape, a.stride(), a.dtype, b.data_ptr(), b.shape, b.stride(), b.dtype,
            out.data_ptr(), out.shape, out.stride(), out.dtype, accuracy, deterministic,
        )  # fmt: skip
        found = _ready.get(key)
        if found is not None:
            found.launch(torch.cuda.current_stream(found.device).cuda_stream)
            return out
    else:
        key = None
    a2, b2, shape, d = asked(torch, a, b, out)
    if min(*a2.shape, b2.shape[-1]) == 0:
        return (d.zero_() if out is None else out.zero_()).reshape(shape)
    if a2.dim() == 3:
        for index in range(a2.shape[0]):
            run(torch, a2[index], b2[index], d[index], accuracy, deterministic)
    else:
        kept = run(torch, a2, b2, d, accuracy, deterministic)
        if key is not None and d is out and not kept.buffers:
            if len(_ready) >= KEPT:
                _ready.clear()
            _ready[key] = kept
    if out is not None:
        if d is not out:
            out.copy_(d.reshape(out.shape))
        return out
    return d.reshape(shape)


def run(torch: Any, a: Any, b: Any, d: Any, accuracy: str, deterministic: bool) -> Ready:
    """Multiply two matrices into a third on the current stream."""
    found = ready(torch, a, b, d, plan_for(request_of(torch, a, b, d, accuracy, deterministic)))
    found.launch(torch.cuda.current_stream(found.device).cuda_stream)
    return found


def forget() -> None:
    """Drop the launches that are kept ready, as after a device was reset."""
    _ready.clear()
    for module in ("gemmlab.peak.multiply", "gemmlab.peak.vector"):
        if module in sys.modules:
            for name in ("engine_kernel", "plain_kernel", "vector_kernel"):
                getattr(getattr(sys.modules[module], name, None), "cache_clear", lambda: None)()
