"""What tensors may be asked to multiply, and as which matrices: everything refused here is refused with a reason."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from gemmlab.formats import bits_of
from gemmlab.peak.request import Request
from gemmlab.peak.stored import MOST_SIDE, Stored, format_of, stored
from gemmlab.record import GemmlabError

ARCHITECTURE = (9, 0)  # wgmma is Hopper's own


def asked(torch: Any, a: Any, b: Any, out: Any) -> tuple[Any, Any, tuple[int, ...], Any]:
    """A and B as two- or three-dimensional tensors, the shape of the result, and where its rows go.

    The last is `out` itself where it can be written as it is. Raises GemmlabError.
    """
    for name, tensor in (("a", a), ("b", b), *((("out", out),) if out is not None else ())):
        if not isinstance(tensor, torch.Tensor):
            raise GemmlabError(f"{name} is of type {type(tensor).__name__}", "a torch tensor on an NVIDIA GPU")
        if tensor.device != a.device or tensor.device.type != "cuda":
            raise GemmlabError(f"{name} is on {tensor.device}, a on {a.device}", "all on the same NVIDIA GPU")
        if tensor.layout != torch.strided:
            raise GemmlabError(f"{name} is of layout {tensor.layout}", "to_dense()")
    require_hopper(torch, a.device.index)
    a, b = a.resolve_neg(), b.resolve_neg()  # the imaginary part of a conjugate is kept as what is to be negated
    left, right, shape = shapes(a, b)
    d_type = result_type(torch, a, b, out)
    if out is None:
        return left, right, shape, torch.empty((*left.shape[:-1], right.shape[-1]), dtype=d_type, device=a.device)
    if tuple(out.shape) != shape:
        raise GemmlabError(f"out has shape {tuple(out.shape)}, the product {shape}", "the same shape")
    for name, tensor in (("a", a), ("b", b)):
        if overlap(out, tensor):
            raise GemmlabError(f"out overlaps {name}", "a result in memory of its own")
    d = out if out.dim() == left.dim() and not out.is_neg() else None
    if d is None or d.stride(-1) != 1 or d.stride(-2) < d.shape[-1] or (d.dim() == 3 and overlapping(d)):
        d = torch.empty((*left.shape[:-1], right.shape[-1]), dtype=d_type, device=a.device)
    return left, right, shape, d


@cache
def require_hopper(torch: Any, index: int) -> None:
    """Raise GemmlabError for a device without wgmma."""
    found = torch.cuda.get_device_capability(index)
    if found != ARCHITECTURE:
        raise GemmlabError(
            f"cuda:{index} has compute capability {found[0]}.{found[1]}", "Hopper, 9.0; elsewhere torch.matmul"
        )


@cache
def sm_count(torch: Any, index: int) -> int:
    """SMs of a device."""
    return int(torch.cuda.get_device_properties(index).multi_processor_count)


def shapes(a: Any, b: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """A and B of two axes, or of three with the same batch, and the result's shape; raises GemmlabError."""
    if a.dim() < 2 or b.dim() < 2 or a.shape[-1] != b.shape[-2]:
        given = f"a of shape {tuple(a.shape)} and b of {tuple(b.shape)}"
        raise GemmlabError(f"{given} do not multiply", "(m, k) and (k, n)")
    shape = (*a.shape[:-1], b.shape[-1])
    if b.dim() > 2:
        if a.shape[:-2] != b.shape[:-2]:
            raise GemmlabError(f"batches {tuple(a.shape[:-2])} and {tuple(b.shape[:-2])} differ", "expand one of them")
        # the batch is told, not -1: of a tensor without elements torch could not tell it
        a, b = (each.reshape(prod(each.shape[:-2]), *each.shape[-2:]) for each in (a, b))
    elif a.dim() > 2:
        a = a.reshape(prod(a.shape[:-1]), a.shape[-1])
    for name, tensor in (("a", a), ("b", b)):
        if max(tensor.shape[-2:]) > MOST_SIDE:
            raise GemmlabError(f"{name} has a side of {max(tensor.shape[-2:])}", f"at most {MOST_SIDE}")
    return a, b, shape


def result_type(torch: Any, a: Any, b: Any, out: Any) -> Any:
    """The result's type; raises GemmlabError for types that do not multiply here."""
    first, second = format_of(a), format_of(b)
    if first != second and not (bits_of(first) == bits_of(second) == 8):
        raise GemmlabError(f"a is {first}, b is {second}", "one type, or two of float8")
    allowed: tuple[Any, ...] = (torch.bfloat16, torch.float16, torch.float32) if bits_of(first) == 8 else (a.dtype,)
    if bits_of(first) == 16:
        allowed = (a.dtype, torch.float32)
    if out is None:
        return allowed[0]
    if out.dtype not in allowed:
        raise GemmlabError(f"out is {out.dtype} for {first}", f"{' or '.join(map(str, allowed))}")
    return out.dtype


def overlap(first: Any, second: Any) -> bool:
    """Whether two tensors may share memory: their first and last bytes are compared, and columns of the same rows."""
    (start, end), (other, past) = extent(first), extent(second)
    return start < past and other < end and not beside(first, second, start - other)


def beside(first: Any, second: Any, apart: int) -> bool:
    """Whether two matrices, whose first elements are so many bytes apart, are different columns of the same rows."""
    if first.dim() != 2 or second.dim() != 2:
        return False
    first, second = (each if each.stride(1) == 1 else each.t() for each in (first, second))
    row, other_row = (each.stride(0) * each.element_size() for each in (first, second))
    if first.stride(1) != 1 or second.stride(1) != 1 or row != other_row or not row:
        return False
    wide, other_wide = (each.shape[1] * each.element_size() for each in (first, second))
    return bool(other_wide <= apart % row and apart % row + wide <= row)


def extent(tensor: Any) -> tuple[int, int]:
    """Addresses of the first byte and past the last one."""
    if not tensor.numel():
        return 0, 0
    last = sum((side - 1) * step for side, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()


def overlapping(tensor: Any) -> bool:
    """Whether a batch's matrices lie over one another."""
    return bool(tensor.stride(0) < (tensor.shape[1] - 1) * tensor.stride(1) + tensor.shape[2] and tensor.shape[0] > 1)


def lies(tensor: Any, k_axis: int) -> Stored | None:
    """How a tensor lies, where a kernel can read it so: in rows, those of float8 along k."""
    found = stored(tensor, k_axis)
    return found if found is not None and (found.along_k or found.element_bytes > 1) else None


def lying(tensor: Any, k_axis: int) -> tuple[Any, Stored]:
    """A tensor that a kernel can read, copied where its strides are none that it can, and how it lies."""
    found = lies(tensor, k_axis)
    if found is None and tensor.dim() == 3 and tensor.stride(0) == 0:  # one matrix for all of a batch is copied once
        tensor = lying(tensor[0], k_axis)[0].expand(tensor.shape)
        found = lies(tensor, k_axis)
    if found is None:
        along = k_axis == 1 or stored(tensor, k_axis) is None
        tensor = tensor.contiguous() if along else tensor.mT.contiguous().mT
        found = lies(tensor, k_axis)
    if found is None:
        tensor = tensor.mT.contiguous().mT
        found = lies(tensor, k_axis)
    if found is None:  # pragma: no cover - rows along k can always be read
        raise GemmlabError(f"strides {tuple(tensor.stride())} cannot be read")
    return tensor, found


def request_of(torch: Any, a: Any, b: Any, d: Any, accuracy: str, deterministic: bool) -> Request:
    """The request of two matrices and where the result goes, or of a batch of them; raises GemmlabError."""
    left, right, to = lying(a, 1)[1], lying(b, 0)[1], stored(d, 1)
    return Request(
        m=a.shape[-2],
        n=b.shape[-1],
        k=a.shape[-1],
        a_format=format_of(a),
        b_format=format_of(b),
        d_format=format_of(d),
        a_along_k=left.along_k,
        b_along_k=right.along_k,
        a_on_road=left.on_road,
        b_on_road=right.on_road,
        d_on_road=to is not None and to.written_on_road,
        accuracy=accuracy,
        deterministic=deterministic,
        sm_count=sm_count(torch, a.device.index),
        batch=left.batch,
        a_shared=left.own < left.batch,
        b_shared=right.own < right.batch,
    )
