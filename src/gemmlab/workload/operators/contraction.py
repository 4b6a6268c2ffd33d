"""Sums over indices of several tensors as products of matrices: einsum, tensordot, bilinear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import Arguments
from gemmlab.workload.operators.matrix import contiguous, matrix, multiply
from gemmlab.workload.operators.product import Products, UnreadableError

ELLIPSIS = "..."
MOST_TURNS = 1 << 20


class Term(NamedTuple):
    """A tensor with a label for each axis; what is broadcast or summed away has none."""

    labels: tuple[str, ...]
    tensor: Tensor
    held: Tensor  #: as the program holds it, where the tensor is a view of another

    def size(self, label: str) -> int:
        """Length along a label; 1 where the term has none."""
        return self.tensor.shape[self.labels.index(label)] if label in self.labels else 1

    def axes(self, labels: Sequence[str]) -> list[int]:
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
        i, j = sorted((*path, *path)[:2]) if path else (0, 1)
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
    return joined(given, a, b, labels, contracted)


def joined(
    given: Arguments, a: Term, b: Term, labels: Sequence[str], contracted: Sequence[str]
) -> tuple[Term, Products]:
    """Two operands as one batched product over the contracted indices; element by element where there are none."""
    for label in labels:
        if a.size(label) != b.size(label) and 1 not in (a.size(label), b.size(label)):
            raise UnreadableError(f"`{label}` is both {a.size(label)} and {b.size(label)}")
    free = [label for label in labels if label not in contracted]
    both = [label for label in free if a.size(label) != 1 and b.size(label) != 1]
    only_a = [label for label in free if a.size(label) != 1 and b.size(label) == 1]
    only_b = [label for label in free if a.size(label) == 1 and b.size(label) != 1]
    kept = both + only_a + only_b
    shape = tuple(a.size(label) if a.size(label) != 1 else b.size(label) for label in kept)
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
    """x1 @ W[o] @ x2 for every output o, as PyTorch makes it: a product of three tensors, one output after another."""
    one, two, weight = (given.tensor(name) for name in ("input1", "input2", "weight"))
    if not one.shape or not two.shape or len(weight.shape) != 3:
        raise UnreadableError(f"a weight of shape {list(weight.shape)}, not (out, in1, in2)")
    terms = (rows_of(one, "bi"), Term(("o", "i", "j"), weight, weight), rows_of(two, "bj"))
    return in_turn(given, terms, "ij", "o")


def rows_of(tensor: Tensor, labels: str) -> Term:
    """All axes but the last as one of rows."""
    shape = (prod(tensor.shape[:-1]), tensor.shape[-1])
    return Term(tuple(labels), Tensor(shape, tensor.format), tensor)


def trilinear(given: Arguments) -> Products:
    """_trilinear: a sum over three tensors whose missing axes are told, one entry of an axis after another."""
    terms = []
    for number in "123":
        tensor, missing = given.tensor(f"i{number}"), given.wholes(f"expand{number}")
        if missing is None:
            raise UnreadableError("the axes that its tensors lack are not told")
        axes = [axis for axis in range(len(tensor.shape) + len(missing)) if axis not in missing]
        if len(axes) != len(tensor.shape):
            raise UnreadableError(f"a tensor of shape {list(tensor.shape)} lacks axes {list(missing)}")
        terms.append(Term(tuple(chr(ord("a") + axis) for axis in axes), tensor, tensor))
    over, turn = given.wholes("sumdim"), given.wholes("unroll_dim", default=(1,))
    if over is None or not turn:
        raise UnreadableError("the axes to sum over are not told")
    over = tuple(axis for axis in over if 0 <= axis < 26)
    return in_turn(given, tuple(terms), "".join(chr(ord("a") + axis) for axis in over), chr(ord("a") + turn[0] % 26))


def in_turn(given: Arguments, terms: tuple[Term, ...], over: str, turn: str) -> Products:
    """The first two of three operands become one, then that and the third, for every entry of one index."""
    if any(0 in term.tensor.shape for term in terms):
        return ()
    times = max(term.size(turn) for term in terms)
    if times > MOST_TURNS:
        raise UnreadableError(f"{times} products, one after another, are more than {MOST_TURNS}")
    one, two, three = (without(term, turn) for term in terms)
    labels = list(dict.fromkeys([*one.labels, *two.labels, *three.labels]))
    first = [label for label in over if label != turn and label not in three.labels]
    last = [label for label in over if label != turn and label in three.labels]
    between, found = joined(given, one, two, labels, first)
    _, more = joined(given, between, three, labels, last)
    return (found + more) * times


def without(term: Term, label: str) -> Term:
    """One entry of an index, which then is no axis any more."""
    if label not in term.labels:
        return term
    at = term.labels.index(label)
    strides = contiguous(term.tensor.shape) if term.tensor.strides is None else term.tensor.strides
    shape, steps = (tuple(each[:at]) + tuple(each[at + 1 :]) for each in (term.tensor.shape, strides))
    view = Tensor(shape, term.tensor.format, steps, term.tensor.offset_bytes)
    return Term(term.labels[:at] + term.labels[at + 1 :], view, term.held)
