"""`gemmlab.matmul`: torch's tensors in, torch's tensor out, the kernel chosen by the plan."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad

from gemmlab.peak.alike import alike, never
from gemmlab.peak.asking import asked, lying, request_of
from gemmlab.peak.batches import at_once
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.operator import Product
from gemmlab.peak.planned import Plan
from gemmlab.peak.ready import ready
from gemmlab.peak.store import chosen, device_of
from gemmlab.peak.warm import Warm, warm

KEPT = 4096  # geometries of a thread
PLAIN = (torch.Tensor, torch.nn.Parameter)  # tensors that have memory; other kinds have ways of their own


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
    column of B alone: `plan` tells the order of its sums, and `gemmlab.numerics` gives the same bits. Autocast does not
    change types: they are what is given. Gradients and forward mode are multiplied in the same way.

    Errors by norm of float32 are about 2e-7; torch's are below that where k is short and all numbers have one sign.
    Numbers of float32 below 1e-30 may keep eleven bits, subnormals fewer; with `deterministic` all, where their row's
    are within 2^28 of one another.

    Raises GemmlabError for tensors that are on no Hopper GPU or on two devices, types and shapes that do not multiply,
    an `out` that overlaps an operand, and where CUDA's packages are missing.
    """
    if torch.compiler.is_compiling():
        found = torch.ops.gemmlab.matmul(a, b, accuracy, deterministic)
        return found if out is None else out.copy_(found)
    try:
        tracked = a.requires_grad or b.requires_grad or (out is not None and out.requires_grad)
    except AttributeError:  # no tensors: `asked` says so
        tracked = False
    dual = forward_ad._current_level >= 0 and has_tangent(a, b, out)
    if dual or (tracked and torch.is_grad_enabled()):
        if out is not None:
            raise RuntimeError("out= does not support automatic differentiation, as in torch: leave it out")
        if dual:
            return with_tangent(a, b, accuracy, deterministic)
        if type(a) in PLAIN and type(b) in PLAIN:
            return Product.apply(a, b, accuracy, deterministic)
        return torch.ops.gemmlab.matmul(a, b, accuracy, deterministic)
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
    same of `matmul` too. Of a batch it is the plan of all where one launch multiplies them (`batched`), else that of
    the first matrices. Raises GemmlabError as `matmul` does.
    """
    left, right, _, d = asked(torch, a, b, out)
    device = device_of(torch, a.device.index)
    choose = partial(chosen, device=device) if tuned else plan_for
    return at_once(torch, (left, right, d), accuracy, deterministic, choose)[2]


def has_tangent(*tensors: Any) -> bool:
    """Whether forward mode follows one of them."""
    given = (each for each in tensors if isinstance(each, torch.Tensor))
    return any(forward_ad.unpack_dual(each).tangent is not None for each in given)


def with_tangent(a: torch.Tensor, b: torch.Tensor, accuracy: str, deterministic: bool) -> torch.Tensor:
    """The product and its tangent, dA B + A dB."""
    (x, dx), (y, dy) = forward_ad.unpack_dual(a), forward_ad.unpack_dual(b)
    pairs = [(left, right) for left, right in ((dx, y), (x, dy)) if left is not None and right is not None]
    parts = [matmul(left, right, None, accuracy, deterministic) for left, right in pairs]
    return forward_ad.make_dual(matmul(x, y, None, accuracy, deterministic), sum(parts[1:], parts[0]))


def product(a: Any, b: Any, out: Any, accuracy: str, deterministic: bool) -> Any:
    """The product without autograd."""
    found: Warm | None = None
    key: tuple[Any, ...] = ()
    given = (a, b) if out is None else (a, b, out)
    try:
        at_a, at_b, at_d = a.data_ptr(), b.data_ptr(), 0 if out is None else out.data_ptr()
        # B is a weight as a rule, and multiplied before: what did it is asked whether all is as it was then
        guess = (at_b, at_a & 15, at_d & 15, out is None, accuracy, deterministic)
        found = _kept.guessed.get(guess)
        if found is None or found.age != Kept.age or not found.alike(*given):
            key = (
                a.shape, a.stride(), a.dtype, a.get_device(), a.is_neg(), at_a & 15,
                b.shape, b.stride(), b.dtype, b.get_device(), b.is_neg(), at_b & 15, accuracy, deterministic,
            )  # fmt: skip
            if out is not None:
                key = (*key, out.shape, out.stride(), out.dtype, out.get_device(), out.is_neg(), at_d & 15)
            found = _kept.warm.get(key)
            if found is not None and found.alike is not never:
                _kept.guess(guess, found)
    except (AttributeError, RuntimeError, TypeError):
        found, key = None, ()  # no tensors, or such as have no memory: `asked` says what is wrong
    if found is not None and found.age == Kept.age:
        return found(a, b, out, at_a, at_b, at_d)
    left, right, shape, d = asked(torch, a, b, out)
    if min(*left.shape, right.shape[-1]) == 0:
        return d.zero_().reshape(shape) if out is None else out.zero_()
    to = d.reshape(shape) if out is None else out
    age = Kept.age  # before it is planned: what is tuned meanwhile outdates it
    found = warm(torch, (a, b, to), (left, right, d), accuracy, deterministic) if key else None
    if found is None:
        return copied((left, right, d), to, (at_a, at_b, to.data_ptr()) if key else None, accuracy, deterministic)
    if len(_kept.warm) >= KEPT:
        _kept.warm.clear()
    _kept.warm[key] = found
    found.age, found.alike = age, alike(torch, given)
    return found(a, b, to, at_a, at_b, to.data_ptr())


def copied(
    operands: tuple[Any, Any, Any], to: Any, given: tuple[int, int, int] | None, accuracy: str, deterministic: bool
) -> Any:
    """The product where something must be copied at each call: an operand to strides that are read, or D to its own.

    `operands` are what `asked` makes of the tensors that are at the addresses `given`; the copies are multiplied as any
    tensors are, by launches that are kept for how they lie.
    """
    a, b, d = lying(operands[0], 1)[0], lying(operands[1], 0)[0], operands[2]
    if given in (None, (a.data_ptr(), b.data_ptr(), d.data_ptr())):  # none is a copy
        one_by_one(a, b, d, accuracy, deterministic)
    else:
        product(a, b, d, accuracy, deterministic)
    return to if to.data_ptr() == d.data_ptr() else to.copy_(d.reshape(to.shape))


def one_by_one(left: Any, right: Any, d: Any, accuracy: str, deterministic: bool) -> None:
    """Multiply by launches that are made for these tensors alone: what cannot be moved to others."""
    for a, b, result in zip(left, right, d, strict=True) if left.dim() == 3 else ((left, right, d),):
        plan = chosen(request_of(torch, a, b, result, accuracy, deterministic), device_of(torch, a.device.index))
        found = ready(torch, a, b, result, plan)
        found.launch(torch.cuda.current_stream(found.device).cuda_stream)
    torch.autograd.graph.increment_version(d)


class Kept(threading.local):
    """What a thread has multiplied, by all that its plans depend on."""

    age = 0  #: of all threads' together: what was kept at a lesser one is chosen again

    def __init__(self) -> None:
        self.warm: dict[tuple[Any, ...], Warm] = {}
        self.guessed: dict[tuple[Any, ...], Warm] = {}  #: by an address of B, and what a guard does not know

    def guess(self, guess: tuple[Any, ...], found: Warm) -> None:
        """Try this one first where B lies there again."""
        if len(self.guessed) >= KEPT:
            self.guessed.clear()
        self.guessed[guess] = found


_kept = Kept()


def forget() -> None:
    """Choose again, whatever was multiplied before, in all threads."""
    Kept.age += 1
