"""From what ran to a workload: equal multiplications together, everything else by operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from gemmlab.workload.elementwise import flop_of
from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators import Product, UnreadableError, products
from gemmlab.workload.workload import Call, Other, Unread


class Collected(msgspec.Struct):
    """What a step's calls come to, by what makes two of them the same."""

    calls: dict[Any, Call] = msgspec.field(default_factory=dict)
    others: dict[Any, Other] = msgspec.field(default_factory=dict)
    unread: dict[Any, Unread] = msgspec.field(default_factory=dict)

    def add(self, event: Any) -> None:
        """One call of an operator, to one of the three."""
        try:
            found = products(event.operation, event.settings)
        except UnreadableError as error:
            key = (event.operation.name, str(error))
            before = self.unread.get(key) or Unread(operator=event.operation.name, why=str(error), count=0)
            self.unread[key] = msgspec.structs.replace(before, count=before.count + 1)
            return
        if found is None:
            self.add_other(event.operation.name, event.phase, event.bytes, flop_of(event.operation) or 0)
        for product in found or ():
            self.add_product(event, product)

    def add_product(self, event: Any, product: Product) -> None:
        """One multiplication, beside those that are like it."""
        operands = tuple(msgspec.structs.replace(tensor, parameter="") for tensor in product.operands)
        key = (
            *(product.problem, event.operation.name, event.phase, operands, product.fused, product.causal),
            *(product.convolution, product.convolution_pass, tuple(bool(each.parameter) for each in product.operands)),
        )
        before = self.calls.get(key)
        if before is None:
            self.calls[key] = Call(
                problem=product.problem,
                operator=event.operation.name,
                places=(event.place,),
                phase=event.phase,
                operands=product.operands,
                convolution=product.convolution,
                convolution_pass=product.convolution_pass,
                fused=product.fused,
                causal=product.causal,
            )
            return
        self.calls[key] = msgspec.structs.replace(
            before,
            count=before.count + 1,
            places=before.places if event.place in before.places else (*before.places, event.place),
            operands=tuple(map(alike, before.operands, product.operands)),
        )

    def add_other(self, name: str, phase: str, moved: int, flop: int, count: int = 1) -> None:
        """Calls of an operator that multiplies no matrices."""
        before = self.others.get((name, phase)) or Other(name=name, count=0, phase=phase, bytes=0, flop=0)
        self.others[name, phase] = msgspec.structs.replace(
            before,
            count=before.count + count,
            bytes=(before.bytes or 0) + moved,
            flop=(before.flop or 0) + flop,
        )


def collected(events: Iterable[Any]) -> Collected:
    """All calls of a step, together."""
    result = Collected()
    for event in events:
        result.add(event)
    return result


def alike(one: Tensor, other: Tensor) -> Tensor:
    """One operand for two calls: its parameter goes by what their names have in common, `h.*.weight` of layers."""
    if one.parameter == other.parameter:
        return one
    parts, others = one.parameter.split("."), other.parameter.split(".")
    if len(parts) != len(others):  # what they end in alike
        length = min(len(parts), len(others))
        same = next((n for n in range(length) if parts[-1 - n] != others[-1 - n]), length)
        parts, others = (["*", *names[len(names) - same :]] for names in (parts, others))
    common = ".".join(a if a == b else "*" for a, b in zip(parts, others, strict=True))
    return msgspec.structs.replace(one, parameter=common)
