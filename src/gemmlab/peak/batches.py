"""What of a batch one launch multiplies: all of it as one multiplication, all as several, or each matrix by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from gemmlab.peak.asking import lying, request_of
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.stored import MOST_SIDE
from gemmlab.record import GemmlabError


def folds(left: Any, right: Any, to: Any) -> bool:
    """Whether a batch is one multiplication: all of it with one B, the rows of its A and of its D equally far apart."""
    batch, rows = left.shape[:2]
    return (
        right.stride(0) == 0
        and batch * rows <= MOST_SIDE
        and all(each.stride(0) == rows * each.stride(1) for each in (left, to))
    )


def at_once(
    torch: Any,
    operands: tuple[Any, Any, Any],
    accuracy: str,
    deterministic: bool,
    choose: Callable[[Request], Plan],
) -> tuple[tuple[Any, Any, Any], Request, Plan]:
    """Of A, B and D, as `asked` makes them, what one launch multiplies, its request and its plan.

    Where a batch's matrices go one by one these are the first ones'. Raises GemmlabError as `choose` does.
    """
    left, right, to = operands
    if left.dim() == 3 and folds(left, right, to):
        left, right, to = left.flatten(0, 1), right[0], to.flatten(0, 1)
    if left.dim() == 3:
        left, right = lying(left, 1)[0], lying(right, 0)[0]
        request = request_of(torch, left, right, to, accuracy, deterministic)
        plan = whole_plan(request, choose)
        if plan is not None:
            return (left, right, to), request, plan
    left, right, to = (each[0] if each.dim() == 3 else each for each in (left, right, to))
    request = request_of(torch, left, right, to, accuracy, deterministic)
    return (left, right, to), request, choose(request)


def whole_plan(request: Request, choose: Callable[[Request], Plan]) -> Plan | None:
    """The plan that multiplies a batch by one launch; None where there is none, or one for each matrix is faster.

    That is for the model to say, whose times are of one kind, whatever plans `choose` knows to be faster than its own.
    """
    if request.batch == 1:
        return None
    try:
        whole = plan_for(request)
    except GemmlabError:  # of formats whose batches go one by one
        return None
    each = plan_for(replace(request, batch=1, a_shared=False, b_shared=False))
    return choose(request) if whole.predicted_s < request.batch * each.predicted_s else None
