"""The two multiplications that training adds to each forward one: the gradients of its operands."""

from collections.abc import Callable
from typing import Any

from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape
from gemmlab.problem.statement import FORMAT_FIELDS

Sides = tuple[int, int, int]
FLIPPED = {"n": "t", "t": "n"}


def gradient_a(problem: Gemm) -> Gemm:
    """DA = dD @ B^T, in the layout that A is stored in: (m, k), or its transpose for `t`."""
    a, b = tuple(problem.layout)
    if a == "n":
        return derived(problem, lambda m, n, k: (m, k, n), "n" + FLIPPED[b])
    return derived(problem, lambda m, n, k: (k, m, n), b + "t")


def gradient_b(problem: Gemm) -> Gemm:
    """DB = A^T @ dD, in the layout that B is stored in: (k, n), or its transpose (n, k) for `t`."""
    a, b = tuple(problem.layout)
    if b == "n":
        return derived(problem, lambda m, n, k: (k, n, m), FLIPPED[a] + "n")
    return derived(problem, lambda m, n, k: (n, k, m), "t" + a)


def derived(problem: Gemm, turn: Callable[[int, int, int], Sides], layout: str) -> Gemm:
    """The multiplication of the turned sides, all members alike; formats stay, rows are stored without gaps."""
    fields: dict[str, Any] = {name: getattr(problem, name) for name in FORMAT_FIELDS}
    if problem.groups:
        return Gemm.grouped((turn(*sides) for sides in problem.groups), layout=layout, **fields)
    return Gemm(*turn(problem.m, problem.n, problem.k), layout=layout, batch=problem.batch, **fields)


def training_step(shapes: list[Shape]) -> list[Shape]:
    """The shapes of a forward pass, each followed by the gradients of its two operands: three times the work."""
    return [
        step
        for shape in shapes
        for step in (
            shape,
            Shape(gradient_a(shape.problem), shape.count, f"{shape.name} dgrad".strip()),
            Shape(gradient_b(shape.problem), shape.count, f"{shape.name} wgrad".strip()),
        )
    ]
