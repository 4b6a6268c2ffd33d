"""What is not multiplication: its time as measured, else from its bytes and its launches."""

from __future__ import annotations

from gemmlab.experiment.workload.answer import Rest
from gemmlab.experiment.workload.forecast import Forecaster
from gemmlab.workload import Other, Workload

#: of streaming, what operators reach that do more than stream, by words of their names, the first that fits; read on
#: one H200 (benchmarks/networks_parts.py), PyTorch 2.11
SHARES = (
    ("batch_norm_backward", 0.35),
    ("batch_norm", 0.45),
    ("layer_norm_backward", 0.35),
    ("layer_norm", 0.5),
    ("softmax_backward", 0.5),
    ("softmax", 0.55),
    ("dropout", 0.7),
    ("gelu", 0.75),
    ("silu", 0.9),
    ("max_pool", 0.3),
    ("index_add", 0.18),
    ("embedding_dense_backward", 0.2),
    ("sum", 0.6),
    ("mean", 0.8),
)


def share_of(name: str) -> float:
    """What the operator reaches of the bandwidth that streaming reaches."""
    return next((share for word, share in SHARES if word in name), 1.0)


def rest_of(workload: Workload, forecaster: Forecaster, *, foreign: bool) -> tuple[Rest, ...]:
    """Every other operator with its time, the longest first; `foreign` says that times are another chip's."""
    found = [one(other, forecaster, foreign=foreign) for other in workload.others]
    return tuple(sorted(found, key=lambda rest: (-rest.time_s, rest.other.name, rest.other.phase)))


def one(other: Other, forecaster: Forecaster, *, foreign: bool) -> Rest:
    """One operator; one that moves nothing, such as a view, launches nothing either."""
    if other.time_s is not None and not foreign:
        return Rest(other, other.time_s, "measured")
    if other.bytes == 0:
        return Rest(other, 0.0, "predicted")
    return Rest(other, forecaster.copying_s(other.bytes or 0, other.count, share_of(other.name)), "predicted")
