"""Products of matrices, batches of them and vectors: mm and its kin, matmul, linear, chains."""

from __future__ import annotations

from collections.abc import Sequence

from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import Arguments
from gemmlab.workload.operators.matrix import Added, Matrix, addition, contiguous, matrix, merged, multiply
from gemmlab.workload.operators.product import Products, UnreadableError


def as_left(tensor: Tensor) -> Matrix:
    """A vector as one row, a matrix, or all axes but the last two as a batch of matrices."""
    dims = len(tensor.shape)
    return matrix(tensor, range(max(dims - 2, 0), dims - 1), (dims - 1,), range(dims - 2))


def as_right(tensor: Tensor) -> Matrix:
    """A vector as one column, else the same."""
    return as_left(tensor).transposed if len(tensor.shape) == 1 else as_left(tensor)


def dense(
    given: Arguments,
    a: str,
    b: str,
    dims: tuple[int, int] = (2, 2),
    added: str = "",
    activated: bool = False,
    rule: str = "",
) -> Products:
    """A product of two operands of fixed dimensions, `beta` times a third added."""
    left, right = given.tensor(a), given.tensor(b)
    for name, tensor, wanted in ((a, left, dims[0]), (b, right, dims[1])):
        if len(tensor.shape) != wanted:
            raise UnreadableError(f"`{name}` has shape {list(tensor.shape)}, not {wanted} dimensions")
    first, second = as_left(left), as_right(right)
    if dims == (3, 3) and first.batch != second.batch:
        raise UnreadableError(f"`{a}` has {first.batch} matrices, `{b}` {second.batch}")
    plus = Added()
    if added:
        shape = (first.batch, first.rows, second.columns)
        plus = addition(given.maybe(added), shape, given.factor("beta"))
    epilogue = ("gelu" if given.flag("use_gelu") else "relu") if activated else ""
    return multiply(given, first, second, added=plus, alpha=given.factor("alpha"), epilogue=epilogue, rule=rule)


def matmul(given: Arguments, a: str = "self", b: str = "other") -> Products:
    """torch.matmul: vectors, matrices, or batches of them broadcast against each other.

    A batch of A times one matrix is one product of all its rows, as PyTorch folds it, where memory lets it.
    """
    left, right = given.tensor(a), given.tensor(b)
    if not left.shape or not right.shape:
        raise UnreadableError(f"`{a if not left.shape else b}` has no dimensions")
    if len(left.shape) <= 2 and len(right.shape) <= 2:
        return multiply(given, as_left(left), as_right(right))
    if len(left.shape) > 2 and len(right.shape) <= 2 and foldable(left):
        return multiply(given, flattened(left), as_right(right))
    batch = broadcast(left.shape[:-2], right.shape[:-2])
    return multiply(given, as_left(left), as_right(right), batch=batch)


def foldable(tensor: Tensor) -> bool:
    """Whether all rows of all matrices lie evenly in memory."""
    strides = contiguous(tensor.shape) if tensor.strides is None else tensor.strides
    return merged(tensor.shape, strides, range(len(tensor.shape) - 1)) is not None


def broadcast(left: Sequence[int], right: Sequence[int]) -> int:
    """Entries of two batches broadcast against each other; raises UnreadableError."""
    total = 1
    for index in range(1, max(len(left), len(right)) + 1):
        sizes = {shape[-index] for shape in (left, right) if len(shape) >= index} - {1}
        if len(sizes) > 1:
            raise UnreadableError(f"batches of {list(left)} and {list(right)} do not broadcast")
        total *= sizes.pop() if sizes else 1
    return total


def linear(given: Arguments, a: str = "input", b: str = "weight", bias: str = "bias", rule: str = "") -> Products:
    """All rows of the input times a weight stored (out, in)."""
    left, right = given.tensor(a), given.tensor(b)
    if not left.shape or len(right.shape) not in (1, 2):
        raise UnreadableError(f"an input of shape {list(left.shape)} and a weight of shape {list(right.shape)}")
    weight = matrix(right, (0,), (1,)).transposed if len(right.shape) == 2 else as_right(right)
    first = flattened(left)
    added = addition(given.maybe(bias), (first.rows, weight.columns))
    return multiply(given, first, weight, added=added, rule=rule)


def linear_backward(given: Arguments) -> Products:
    """The gradients of a linear layer's input and weight, as the mask asks."""
    mask = given.mask("output_mask", 2)
    return (linear_input(given) if mask[0] else ()) + (linear_weight(given) if mask[1] else ())


def linear_input(given: Arguments) -> Products:
    """The gradient of a linear layer's input: that of the output times the weight."""
    gradient, weight = given.tensor("grad_output"), given.tensor("weight")
    if len(weight.shape) != 2 or not gradient.shape:
        raise UnreadableError(f"a weight of shape {list(weight.shape)} and a gradient of {list(gradient.shape)}")
    return multiply(given, flattened(gradient), matrix(weight, (0,), (1,)))


def linear_weight(given: Arguments) -> Products:
    """The gradient of a linear layer's weight: that of the output, transposed, times the input."""
    gradient, left = given.tensor("grad_output"), given.tensor("input", "self")
    if not gradient.shape or not left.shape:
        raise UnreadableError("the input or the gradient has no dimensions")
    return multiply(given, flattened(gradient).transposed, flattened(left), index=1)


def flattened(tensor: Tensor) -> Matrix:
    """All axes but the last as rows."""
    last = len(tensor.shape) - 1
    return matrix(tensor, range(last), (last,))


def inner(given: Arguments) -> Products:
    """torch.inner: every row of one tensor with every row of the other; a scalar only scales."""
    left, right = given.tensor("self"), given.tensor("other")
    if not left.shape or not right.shape:
        return ()
    return multiply(given, flattened(left), flattened(right).transposed)


def each(given: Arguments) -> Products:
    """A product for every pair of two lists of matrices."""
    lefts, rights = given.tensors("self"), given.tensors("mat2")
    if len(lefts) != len(rights) or any(len(tensor.shape) != 2 for tensor in lefts + rights):
        raise UnreadableError("the lists do not pair matrices")
    pairs = zip(lefts, rights, strict=True)
    return sum(
        (multiply(given, as_left(left), as_right(right), index=index) for index, (left, right) in enumerate(pairs)),
        (),
    )


def sum_of_two(given: Arguments) -> Products:
    """A @ B + C @ D."""
    a, b, c, d = (given.tensor(name) for name in "abcd")
    if any(len(tensor.shape) != 2 for tensor in (a, b, c, d)):
        raise UnreadableError("its operands are no matrices")
    first = multiply(given, as_left(a), as_right(b))
    if not first:
        return first
    between = Tensor((first[0].problem.m, first[0].problem.n), a.format)
    plus = Added(between, beta=1.0)
    return first + multiply(given, as_left(c), as_right(d), added=plus)


def chain(given: Arguments) -> Products:
    """A chain of matrices in the cheapest order, which PyTorch finds as well (Cormen et al., matrix-chain order)."""
    links = given.tensors("matrices", "tensors")
    inner_ones = links[1:-1]
    if not links or any(len(link.shape) not in (1, 2) for link in links) or any(len(x.shape) != 2 for x in inner_ones):
        raise UnreadableError("the chain's shapes are not those of matrices")
    ends = [as_left(links[0]), *(as_right(link) for link in links[1:])]
    sides = [ends[0].rows, *(link.columns for link in ends)]
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(links))}
    for length in range(1, len(links)):
        for i in range(len(links) - length):
            j = i + length
            best[i, j] = min(
                (best[i, cut][0] + best[cut + 1, j][0] + sides[i] * sides[cut + 1] * sides[j + 1], cut)
                for cut in range(i, j)
            )

    def made(i: int, j: int) -> tuple[Matrix, Products]:
        if i == j:
            return ends[i], ()
        cut = best[i, j][1]
        (left, before), (right, between) = made(i, cut), made(cut + 1, j)
        shape = (left.rows, right.columns)
        result = matrix(Tensor(shape, left.tensor.format), (0,), (1,))
        return result, before + between + multiply(given, left, right)

    return made(0, len(links) - 1)[1]
