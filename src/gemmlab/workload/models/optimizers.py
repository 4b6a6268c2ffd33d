"""What an optimiser's step moves: no multiplication of matrices, but a pass over every parameter."""

from __future__ import annotations

from typing import Any

from gemmlab.record import unknown_name
from gemmlab.workload.elementwise import FLOP_PER_ELEMENT
from gemmlab.workload.workload import Other

#: by name, the tensors of a parameter's size that a fused step reads and writes, and its operator
OPTIMIZERS = {
    "sgd": (3, "_fused_sgd"),  # parameter and gradient, parameter
    "momentum": (5, "_fused_sgd"),  # and one average, read and written
    "adam": (7, "_fused_adam"),  # and two
    "adamw": (7, "_fused_adamw"),
}


def optimizer_step(name: str, model: Any) -> Other | None:
    """One fused step over the parameters that are trained; None where none is.

    Averages have the parameters' own format. Raises GemmlabError for an optimiser that is in no table.
    """
    if name not in OPTIMIZERS:
        raise unknown_name("optimizer", name, OPTIMIZERS)
    passes, operator = OPTIMIZERS[name]
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    elements = sum(parameter.numel() for parameter in trained)
    if not elements:
        return None
    moved = passes * sum(parameter.numel() * parameter.element_size() for parameter in trained)
    return Other(
        name=f"aten::{operator}_",
        phase="optimizer",
        bytes=moved,
        flop=elements * FLOP_PER_ELEMENT[operator],
    )
