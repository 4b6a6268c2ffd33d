"""Tensors as the matrices of a multiplication: layout letters and leading dimensions from strides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

from gemmlab.problem import Gemm
from gemmlab.problem.gemm import ALIGNMENT
from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import FORMATS, Arguments
from gemmlab.workload.operators.product import Product, Products, UnreadableError


class Axis(NamedTuple):
    """Several adjacent axes of a tensor as one."""

    size: int
    stride: int  #: 1 where the size is 1


class Matrix(NamedTuple):
    """Matrices of one size inside a tensor, as a GEMM reads them."""

    rows: int
    columns: int
    batch: int
    letter: str  #: `n` with the columns' index fastest, `t` with the rows'
    leading: int
    offset_bytes: int
    tensor: Tensor  #: as the program holds it

    @property
    def transposed(self) -> Matrix:
        """The same memory with rows and columns exchanged."""
        flipped = {"n": "t", "t": "n"}[self.letter]
        return self._replace(rows=self.columns, columns=self.rows, letter=flipped)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a row-major tensor without gaps."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides[: len(shape)]))


def merged(shape: Sequence[int], strides: Sequence[int], axes: Iterable[int]) -> Axis | None:
    """The axes as one, the last of them fastest; None where memory does not run through them evenly."""
    size, stride = 1, 0
    for axis in reversed(tuple(axes)):
        if shape[axis] == 1:
            continue
        if size == 1:
            stride = strides[axis]
        elif strides[axis] != size * stride:
            return None
        size *= shape[axis]
    return Axis(size, stride if size > 1 else 1)


def stored(rows: Axis, columns: Axis) -> tuple[str, int] | None:
    """Layout letter and leading dimension; None where no GEMM reads the strides, and PyTorch copies the matrix first.

    A side of 1 has no stride, so a vector is read along its own elements where they are adjacent.
    """
    if rows.size == 1 and columns.size == 1:
        return "n", 1
    if rows.size == 1:
        return ("n", columns.size) if columns.stride == 1 else ("t", columns.stride) if columns.stride else None
    if columns.size == 1:
        return ("t", rows.size) if rows.stride == 1 else ("n", rows.stride) if rows.stride else None
    if columns.stride == 1 and rows.stride >= columns.size:
        return "n", rows.stride
    if rows.stride == 1 and columns.stride >= rows.size:
        return "t", columns.stride
    return None


def matrix(
    tensor: Tensor,
    rows: Sequence[int],
    columns: Sequence[int],
    batch: Sequence[int] = (),
    held: Tensor | None = None,
) -> Matrix:
    """The matrices that groups of axes make of a tensor; `held` is the tensor that it is a view of.

    Strides that no GEMM reads, broadcast ones among them, are those of a copy without gaps: the tensor keeps the true
    ones.
    """
    shape = tensor.shape
    strides = contiguous(shape) if tensor.strides is None else tensor.strides
    across, down = merged(shape, strides, columns), merged(shape, strides, rows)
    sides = [prod(shape[axis] for axis in axes) for axes in (rows, columns, batch)]
    found = stored(down, across) if down is not None and across is not None and all(sides) else None
    letter, leading = found or stored_copy(sides[0], sides[1])
    offset = tensor.offset_bytes % ALIGNMENT if found else 0
    return Matrix(sides[0], sides[1], sides[2], letter, leading, offset, held or tensor)


def stored_copy(rows: int, columns: int) -> tuple[str, int]:
    """Letter and leading dimension of a contiguous matrix."""
    return stored(Axis(rows, columns), Axis(columns, 1)) or ("n", columns)


class Added(NamedTuple):
    """What is added to a product: C, or a bias in the epilogue."""

    tensor: Tensor | None = None
    beta: float = 0.0
    epilogue: str = ""


def addition(tensor: Tensor | None, shape: Sequence[int], beta: float = 1.0) -> Added:
    """What adding `beta` times a tensor, broadcast to the result's shape, asks of the multiplication.

    One row for all is a bias where its factor is 1; all else is copied into the result, and read as C.
    """
    if tensor is None or beta == 0:
        return Added()
    strides = contiguous(tensor.shape) if tensor.strides is None else tensor.strides
    repeated = [size == 1 or stride == 0 for size, stride in zip(tensor.shape, strides, strict=True)]
    if beta == 1 and tensor.shape and tensor.shape[-1] == shape[-1] and all(repeated[:-1]):
        return Added(tensor, epilogue="bias")
    return Added(tensor, beta=beta)


def multiply(
    given: Arguments,
    a: Matrix,
    b: Matrix,
    *,
    added: Added | None = None,
    alpha: float = 1.0,
    epilogue: str = "",
    batch: int | None = None,
    rule: str = "",
    tf32: bool | None = None,
    index: int = 0,
    **more: Any,
) -> Products:
    """A times B as one product; none where a side is 0. `rule` is the result's format where nobody tells it.

    `batch` is the number of multiplications where broadcasting makes it more than an operand's own; `index` names the
    output; `more` are further fields of Gemm and of Product. Raises UnreadableError where the sides do not meet.
    """
    if a.columns != b.rows:
        raise UnreadableError(f"A is {a.rows}x{a.columns} and B {b.rows}x{b.columns}: their inner sides differ")
    batch = a.batch if batch is None else batch
    if not batch or not (a.rows and a.columns and b.columns):
        return ()
    added = added or Added()
    rounded = given.settings.matmul_tf32 if tf32 is None else tf32
    result = given.result_format(rule or a.tensor.format, index)
    operands = (a.tensor, b.tensor) if added.tensor is None else (a.tensor, b.tensor, added.tensor)
    about = {name: more.pop(name) for name in ("convolution", "convolution_pass", "fused", "causal") if name in more}
    placed = not about.get("convolution_pass") and len(given.outputs) > index
    leading, offset = result_place(given.outputs[index], a.rows * batch, b.columns) if placed else (0, 0)
    if added.beta and added.tensor is not None and added.tensor.format in FORMATS:
        more.setdefault("c_format", added.tensor.format)
    problem = Gemm(
        a.rows, b.columns, a.columns, multiplied_as(a.tensor.format, rounded), multiplied_as(b.tensor.format, rounded),
        d_format=result, layout=a.letter + b.letter, lda=a.leading, ldb=b.leading, ldc=leading, batch=batch,
        a_offset_bytes=a.offset_bytes, b_offset_bytes=b.offset_bytes, c_offset_bytes=offset, alpha=alpha,
        beta=added.beta, epilogue="+".join(filter(None, (added.epilogue, epilogue))), **more,
    )  # fmt: skip
    return (Product(problem, operands, **about),)


def multiplied_as(name: str, rounded: bool) -> str:
    """Format in which an operand is multiplied: float32 as tfloat32 where the settings allow it."""
    return "tfloat32" if rounded and name == "float32" else name


def result_place(output: Tensor, rows: int, columns: int) -> tuple[int, int]:
    """Leading dimension, 0 for one without a gap, and base offset of a result of that many rows in all."""
    shape, strides = output.shape, output.strides
    if not strides or len(shape) < 2 or len(strides) != len(shape) or shape[-1] != columns or strides[-1] != 1:
        return 0, 0
    if prod(shape[:-1]) != rows:
        return 0, 0
    return (strides[-2] if strides[-2] > columns else 0), output.offset_bytes % ALIGNMENT
