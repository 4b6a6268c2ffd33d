"""What is not multiplication: its time as measured, else from its bytes and its launches."""

from __future__ import annotations

from gemmlab.experiment.workload.answer import Rest
from gemmlab.experiment.workload.beside import Images, images_of, reached
from gemmlab.experiment.workload.device import Device
from gemmlab.experiment.workload.forecast import Forecaster
from gemmlab.workload import Other, Workload

#: of streaming, what operators reach that do more than stream, by words of their names, the first that fits; read on
#: one H200 (benchmarks/networks_parts.py), PyTorch 2.11
SHARES = (
    ("batch_norm_backward", 0.38),
    ("batch_norm", 0.25),
    ("layer_norm_backward", 0.42),
    ("layer_norm", 0.6),
    ("log_softmax_backward", 0.85),
    ("log_softmax", 0.65),
    ("softmax_backward", 0.48),
    ("softmax", 0.59),
    ("dropout", 0.77),
    ("gelu", 0.83),
    ("max_pool", 0.34),
    ("index_add", 0.18),
    ("embedding_dense_backward", 0.28),
    ("sum", 0.7),
    ("mean", 0.9),
    ("_fused_adam", 0.88),
)
PLAIN = 1.1  # the others: a multiplication's loads, which streaming's share was fitted to, wait for each other more


def share_of(name: str) -> float:
    """What the operator reaches of the bandwidth that streaming reaches."""
    return next((share for word, share in SHARES if word in name), PLAIN)


def rest_of(workload: Workload, forecaster: Forecaster, device: Device) -> tuple[Rest, ...]:
    """Every other operator with its time, the longest first."""
    images = images_of(workload)
    found = [one(other, forecaster, images, device) for other in workload.others]
    return tuple(sorted(found, key=lambda rest: (-rest.time_s, rest.other.name, rest.other.phase)))


def one(other: Other, forecaster: Forecaster, images: Images | None, device: Device) -> Rest:
    """One operator; one that moves nothing, such as a view, launches nothing either.

    Another chip's time, where nobody tells the bytes, becomes this one's by the bandwidths of both; a processor's does
    not: most of it is what calling the operator costs there.
    """
    if other.time_s is not None and not device.foreign:
        return Rest(other, other.time_s, "measured")
    if other.bytes == 0 or (other.bytes is None and device.processor):
        return Rest(other, 0.0, "predicted")
    if other.bytes is None and other.time_s is not None and device.traced is not None:
        slower = Forecaster(device.traced).streaming_bytes_per_s / forecaster.streaming_bytes_per_s
        return Rest(other, other.time_s * slower, "predicted")
    share = reached(other.name, images) or share_of(other.name)
    return Rest(other, forecaster.copying_s(other.bytes or 0, other.count, share), "predicted")


def rest_notes(workload: Workload, device: Device) -> tuple[str, ...]:
    """What of a processor's trace is not predicted for another chip."""
    if not device.processor:
        return ()
    whole = sum(each.time_s or 0.0 for each in workload.others)
    left = sum(each.time_s or 0.0 for each in workload.others if each.bytes is None)
    if not left:
        return ()
    said = (
        f"left out: operators whose inputs do not tell their bytes, {left / whole:.0%} of what else the processor did"
    )
    return (f"{said}, such as views and what only calls others",)
