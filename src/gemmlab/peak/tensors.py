"""`gemmlab.matmul`: torch's tensors in, torch's tensor out, the kernel chosen by the plan."""

from __future__ import annotations

from typing import Any

import torch

from gemmlab.peak.asking import asked, request_of
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.planned import Plan
from gemmlab.peak.ready import Ready, ready
from gemmlab.peak.store import chosen, device_of

KEPT = 4096

#: launches that are ready, by the addresses, shapes and strides of what they multiply
_ready: dict[tuple[Any, ...], Ready] = {}


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None = None,
    accuracy: str = "vendor",
    deterministic: bool = False,
) -> torch.Tensor:
    """A (m, k) times B (k, n) on a Hopper GPU, any strides; a tensor (m, n) of A's type, of bfloat16 for float8.

    A may have more axes in front, which are folded into m, and A (batch, m, k) multiplies B (batch, k, n). `out` takes
    the result where it is given. `accuracy` is `vendor` (as torch's default, float8 in two levels), `best` or `fast`
    (float32 as tfloat32, float8 in one accumulator). With `deterministic` a result depends on its row of A and its
    column of B alone: `plan` tells the order of its sums, and `gemmlab.numerics` gives the same bits.

    Raises GemmlabError for tensors that are on no Hopper GPU or on two devices, types and shapes that do not multiply,
    an `out` that overlaps an operand, and where CUDA's packages are missing.
    """
    wanted = torch.is_grad_enabled() and any(getattr(each, "requires_grad", False) for each in (a, b))
    if torch.compiler.is_compiling() or (wanted and out is None):
        found: torch.Tensor = torch.ops.gemmlab.matmul(a, b, accuracy, deterministic)
        return found if out is None else out.copy_(found)
    if wanted:
        raise RuntimeError("out= does not support automatic differentiation, as in torch: leave it out")
    return product(a, b, out, accuracy, deterministic)


def plan(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None = None,
    accuracy: str = "vendor",
    deterministic: bool = False,
    tuned: bool = True,
) -> Plan:
    """How `matmul` would multiply these tensors: kernel, sizes, what is repacked, and the order of the sums.

    Without `tuned` it is the model's alone, whatever `tune` has measured; GEMMLAB_TUNED=0 in the environment asks the
    same of `matmul` too. Raises GemmlabError as `matmul` does.
    """
    left, right, _, d = asked(torch, a, b, out)
    request = request_of(torch, left, right, d, accuracy, deterministic)
    return chosen(request, device_of(torch, a.device.index)) if tuned else plan_for(request)


def product(a: Any, b: Any, out: Any, accuracy: str, deterministic: bool) -> Any:
    """The product without autograd."""
    key: tuple[Any, ...] | None = None
    if out is not None and all(isinstance(each, torch.Tensor) for each in (a, b, out)) and a.dim() == b.dim() == 2:
        key = (
            a.data_ptr(), a.shape, a.stride(), a.dtype, b.data_ptr(), b.shape, b.stride(), b.dtype,
            out.data_ptr(), out.shape, out.stride(), out.dtype, accuracy, deterministic,
        )  # fmt: skip
        found = _ready.get(key)
        if found is not None:
            found.launch(torch.cuda.current_stream(found.device).cuda_stream)
            return out
    left, right, shape, d = asked(torch, a, b, out)
    if min(*left.shape, right.shape[-1]) == 0:
        return (d if out is None else out).zero_().reshape(shape)
    if left.dim() == 3:
        for index in range(left.shape[0]):
            run(left[index], right[index], d[index], accuracy, deterministic)
    else:
        kept = run(left, right, d, accuracy, deterministic)
        if key is not None and d is out and not kept.buffers:
            if len(_ready) >= KEPT:
                _ready.clear()
            _ready[key] = kept
    if out is None:
        return d.reshape(shape)
    return out if d is out else out.copy_(d.reshape(out.shape))


def run(a: Any, b: Any, d: Any, accuracy: str, deterministic: bool) -> Ready:
    """Multiply two matrices into a third on the current stream."""
    request = request_of(torch, a, b, d, accuracy, deterministic)
    found = ready(torch, a, b, d, chosen(request, device_of(torch, a.device.index)))
    found.launch(torch.cuda.current_stream(found.device).cuda_stream)
    return found


def forget() -> None:
    """Choose again, whatever was multiplied before."""
    _ready.clear()
