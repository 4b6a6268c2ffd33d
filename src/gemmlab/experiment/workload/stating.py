"""What a Record's `call` repeats of the workload, whoever answers for it."""

from __future__ import annotations

from typing import Any

from gemmlab.workload import Call, Workload


def stated(call: Call, workload: Workload) -> dict[str, Any]:
    """The fields of a CallSection that the source tells: where the call stands, and the tensors that it multiplies."""
    return {
        "source": workload.source,
        "steps": workload.steps,
        "operator": call.operator,
        "count": call.count,
        "places": call.places,
        "phase": call.phase,
        "shapes": tuple(each.shape for each in call.operands),
        "strides": tuple(each.strides for each in call.operands),
        "formats": tuple(each.format for each in call.operands),
        "fused": call.fused,
        "kernels": call.kernels,
    }
