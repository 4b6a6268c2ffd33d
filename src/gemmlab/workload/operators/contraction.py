"""Sums over indices of several tensors as products of matrices: einsum, tensordot, bilinear."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import Arguments
from gemmlab.workload.operators.matrix import contiguous, matrix, multiply
from gemmlab.workload.operators.product import Products, UnreadableError

ELLIPSIS = "..."


class Term(NamedTuple):
    """A tensor with a label for each axis; what is broadcast or summed away has none."""

    labels: tuple[str, ...]
    tensor: Tensor
    held: Tensor  #: as the program holds it, where the tensor is a view of another

    def size(self, label: str) -> int:
        """Length along a label; 1 where the term has none."""
        return self.tensor.shape[self.labels.index(label)] if label in self.labels else 1

    def axes(self, labels: list[str]) -> list[int]:
        """Axes of those of the labels that the term has."""
        return [self.labels.index(label) for label in labels if label in self.labels]


def einsum(given: Arguments) -> Products:
    """torch.einsum: pairs of operands along the path, or from left to right, each pair one batched product.

    As ATen does it: an index that only one operand of the pair still has is summed before, and a pair without a common
    index to sum is multiplied element by element, which is no product of matrices.
    """
    equation = given.value("equation")
    if not isinstance(equation, str):
        raise UnreadableError("the equation is not told")
    operands = given.tensors("tensors")
    terms, output = parse(equation, operands)
    counts = Counter(label for term in terms for label in term.labels if term.size(label) != 1)
    path = given.wholes("path")
    found: Products = ()
    while len(terms) > 1:
        i, j = sorted(path[:2]) if path else (0, 1)
        if i == j or not 0 <= i < j < len(terms):
            raise UnreadableError(f"the path contracts operands {i} and {j} of {len(terms)}")
        b, a = terms.pop(j), terms.pop(i)
        term, made = contract(given, a, b, output, counts)
        found += made
        terms.insert(len(terms) if path else 0, term)
        path = path[2:] if path else path
    return found


def parse(equation: str, operands: tuple[Tensor, ...]) -> tuple[list[Term], list[str]]:
    """The operands with their labels, and the output's labels; raises UnreadableError."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise UnreadableError(f"`{equation}` names {len(parts)} operands, and {len(operands)} are given")
    terms = [labelled(part, operand, equation) for part, operand in zip(parts, operands, strict=True)]
    hidden = sorted({label for term in terms for label in term.labels if label.startswith(ELLIPSIS)}, reverse=True)
    if arrow:
        head, dots, tail = right.partition(ELLIPSIS)
        output = [*head, *(hidden if dots else ()), *tail]
    else:
        once = Counter(letter for part in parts for letter in part.replace(ELLIPSIS, ""))
        output = hidden + sorted(letter for letter, times in once.items() if times == 1)
    return terms, output


def labelled(part: str, operand: Tensor, equation: str) -> Term:
    """One operand with its labels, axes of an ellipsis numbered from the right, diagonals taken."""
    head, dots, tail = part.partition(ELLIPSIS)
    letters, hidden = head + tail, len(operand.shape) - len(head) - len(tail)
    if hidden < 0 or (hidden and not dots) or (letters and not letters.isalpha()):
        raise UnreadableError(f"`{part}` of `{equation}` does not name the axes of {list(operand.shape)}")
    labels = [*head, *(f"{ELLIPSIS}{index:02d}" for index in range(hidden, 0, -1)), *tail]
    strides = contiguous(operand.shape) if operand.strides is None else operand.strides
    sizes: dict[str, int] = {}
    steps: dict[str, int] = {}
    for label, size, stride in zip(labels, operand.shape, strides, strict=True):
        if sizes.get(label, size) != size:
            raise UnreadableError(f"`{label}` of `{equation}` is both {sizes[label]} and {size}")
        sizes[label] = size
        steps[label] = steps.get(label, 0) + stride
    view = Tensor(tuple(sizes.values()), operand.format, tuple(steps.values()), operand.offset_bytes)
    return Term(tuple(sizes), view, operand)


def contract(given: Arguments, a: Term, b: Term, output: list[str], counts: Counter[str]) -> tuple[Term, Products]:
    """Two operands become one, and the product that it takes."""
    labels = list(dict.fromkeys([*(each for each in output if each in a.labels + b.labels), *a.labels, *b.labels]))
    contracted = []
    for label in labels:
        if label in output:
            continue
        real_a, real_b = a.size(label) != 1, b.size(label) != 1
        if real_a and real_b:
            counts[label] -= 1
            if counts[label] == 1:
                contracted.append(label)
                counts[label] = 0
        elif counts[label] == 1 and (real_a or real_b):
            a, b = summed(a, label), summed(b, label)
            counts[label] = 0
    for label in labels:
        if a.size(label) != b.size(label) and 1 not in (a.size(label), b.size(label)):
            raise UnreadableError(f"`{label}` is both {a.size(label)} and {b.size(label)}")
    free = [label for label in labels if label not in contracted]
    both = [label for label in free if a.size(label) != 1 and b.size(label) != 1]
    only_a = [label for label in free if a.size(label) != 1 and b.size(label) == 1]
    only_b = [label for label in free if a.size(label) == 1 and b.size(label) != 1]
    kept = both + only_a + only_b
    shape = tuple(max(a.size(label), b.size(label)) if min(a.size(label), b.size(label)) else 0 for label in kept)
    result = Tensor(shape, a.tensor.format, contiguous(shape))
    term = Term(tuple(kept), result, result)
    if not contracted:
        return term, ()
    left = matrix(a.tensor, a.axes(only_a), a.axes(contracted), a.axes(both), held=a.held)
    right = matrix(b.tensor, b.axes(contracted), b.axes(only_b), b.axes(both), held=b.held)
    return term, multiply(given, left, right)


def summed(term: Term, label: str) -> Term:
    """The term without an index that is summed before: a new tensor, in the order that the old one had in memory."""
    if label not in term.labels or term.size(label) == 1:
        return term
    kept = [(each, size) for each, size in zip(term.labels, term.tensor.shape, strict=True) if each != label]
    shape = tuple(size for _, size in kept)
    result = Tensor(shape, term.tensor.format, contiguous(shape))
    return Term(tuple(each for each, _ in kept), result, result)


def tensordot(given: Arguments) -> Products:
    """torch.tensordot: one product of all free axes, summed over the named ones."""
    a, b = given.tensor("self"), given.tensor("other")
    over_a, over_b = given.wholes("dims_self"), given.wholes("dims_other")
    if over_a is None or over_b is None:
        raise UnreadableError("the axes to sum over are not told")
    over_a, over_b = axes_of(a, over_a), axes_of(b, over_b)
    pairs = list(zip(over_a, over_b, strict=False))
    if len(over_a) != len(over_b) or any(
        a.shape[x] != b.shape[y] and 1 not in (a.shape[x], b.shape[y]) for x, y in pairs
    ):
        raise UnreadableError(f"axes {list(over_a)} of {list(a.shape)} do not meet {list(over_b)} of {list(b.shape)}")
    met = [(x, y) for x, y in pairs if a.shape[x] == b.shape[y]]  # a side of 1 against more is summed before
    free_a = [axis for axis in range(len(a.shape)) if axis not in over_a]
    free_b = [axis for axis in range(len(b.shape)) if axis not in over_b]
    left = matrix(a, free_a, [x for x, _ in met])
    return multiply(given, left, matrix(b, [y for _, y in met], free_b))


def axes_of(tensor: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes counted from the first; raises UnreadableError for one that the tensor does not have."""
    dims = len(tensor.shape)
    if any(not -dims <= axis < dims for axis in axes):
        raise UnreadableError(f"axes {list(axes)} of a tensor of {dims} dimensions")
    return tuple(axis % dims for axis in axes)


def bilinear(given: Arguments) -> Products:
    """x1 @ W[o] @ x2 for every output o: a product with x1, then one row of it with each x2."""
    one, two, weight = given.tensor("input1"), given.tensor("input2"), given.tensor("weight")
    if not one.shape or not two.shape or len(weight.shape) != 3:
        raise UnreadableError(f"a weight of shape {list(weight.shape)}, not (out, in1, in2)")
    rows = range(len(one.shape) - 1)
    first = matrix(one, rows, (len(one.shape) - 1,))
    found = multiply(given, first, matrix(weight, (1,), (2,), (0,)), batch=weight.shape[0])
    if not found or two.shape[-1] != weight.shape[2]:
        return found
    between = Tensor((weight.shape[0], *one.shape[:-1], two.shape[-1]), one.format)
    last = len(between.shape) - 1
    entries = matrix(between, (), (last,), range(last))
    return found + multiply(given, entries, matrix(two, (len(two.shape) - 1,), (), rows), batch=entries.batch)
