"""Which operators multiply matrices, and which multiplications they are."""

from __future__ import annotations

from gemmlab.record import GemmlabError
from gemmlab.workload.operation import Operation, Settings
from gemmlab.workload.operators.arguments import Arguments
from gemmlab.workload.operators.names import canonical, multiplies, why_not
from gemmlab.workload.operators.product import Product, UnreadableError
from gemmlab.workload.operators.table import OPERATORS, parameters_of

__all__ = ["Product", "UnreadableError", "multiplies", "products"]


def products(operation: Operation, settings: Settings) -> tuple[Product, ...] | None:
    """The multiplications of an operation, in the order that it makes them; None for an operator that makes none.

    An empty tuple is a multiplication of nothing, one of whose sides is 0. Raises UnreadableError where the operator
    multiplies and its arguments do not say which sizes.
    """
    name = canonical(operation.name)
    operator = OPERATORS.get(name)
    if operator is None:
        why = why_not(operation.name)
        if why is None:
            return None
        raise UnreadableError(why)
    try:
        return operator.read(Arguments(operation, parameters_of(name, operation), settings))
    except GemmlabError as error:
        raise UnreadableError(error.text) from None
