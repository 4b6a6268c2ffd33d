"""Whole programs: what a trace, a model or a table of layers multiplies, where, how often, and what else it does."""

from gemmlab.workload.operation import Operation, Settings, Tensor
from gemmlab.workload.operators import Product, UnreadableError, products
from gemmlab.workload.workload import Call, Other, Unread, Workload

__all__ = [
    "Call",
    "Operation",
    "Other",
    "Product",
    "Settings",
    "Tensor",
    "Unread",
    "UnreadableError",
    "Workload",
    "products",
]
