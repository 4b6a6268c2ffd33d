"""A model traced without a GPU and answered: `gemmlab.profile_model`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gemmlab.chips import Chip
from gemmlab.experiment.workload.answer import Answer
from gemmlab.experiment.workload.answering import answer_of
from gemmlab.experiment.workload.device import device_of
from gemmlab.workload import Workload


def profile_model(
    model: Any,
    *inputs: Any,
    chip: Chip | str = "h100-sxm",
    keywords: Mapping[str, Any] | None = None,
    training: bool = True,
    loss: Any = None,
    autocast: str | None = None,
    optimizer: str = "",
    float8: bool = False,
) -> Answer:
    """Every multiplication of one step of a PyTorch model, predicted for a chip, with what to change.

    The model runs once on tensors without elements: no GPU, no weights. `inputs` and `keywords` are what it is called
    with; `training`, `loss`, `autocast` and `optimizer` say what a step is, as `gemmlab.workload.models.trace_model`
    takes them; `float8` advises formats of eight bits, too. Raises GemmlabError for a chip that is unknown or cannot
    compute in the model's formats, where PyTorch is missing, and where the model cannot be traced.
    """
    device_of(Workload("", "model"), chip)  # a wrong name is told before the model runs
    from gemmlab.workload.models import trace_model  # not loaded where nobody traces

    workload = trace_model(
        model, inputs, keywords, training=training, loss=loss, autocast=autocast, optimizer=optimizer
    )
    return answer_of(workload, chip, float8=float8)
