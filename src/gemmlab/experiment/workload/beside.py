"""What settings of a whole program do to what is no multiplication: images normalised in an order, halved bytes."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.experiment.workload.answer import Rest
from gemmlab.experiment.workload.changes.layout import CHANNELS_LAST
from gemmlab.formats import bits_of
from gemmlab.workload import Workload

AUTOCAST = "with torch.autocast("
NORMALISATIONS = ("native_batch_norm", "cudnn_batch_norm", "batch_norm")
#: of streaming, what batch normalisation reaches forward and backward, by order in memory and bits: each the geometric
#: mean of four sizes on one H200, PyTorch 2.11 (benchmarks/networks_parts.py)
REACHED = {
    ("nchw", 32): (0.37, 0.32),
    ("nhwc", 32): (0.50, 0.56),
    ("nchw", 16): (0.10, 0.15),
    ("nhwc", 16): (0.19, 0.35),
}
#: operators that compute in their input's format, and so move half the bytes under autocast
FOLLOWING = frozenset(
    f"aten::{name}"
    for name in (
        *("relu", "relu_", "clamp_min", "clamp_min_", "threshold_backward", "add", "add_", "mul", "silu", "silu_"),
        *("silu_backward", "gelu", "gelu_backward", "native_dropout", "native_dropout_backward", "hardtanh"),
        *("max_pool2d_with_indices", "max_pool2d_with_indices_backward", "leaky_relu", "leaky_relu_backward"),
    )
)


class Images(NamedTuple):
    """How a program keeps its images."""

    order: str  #: nchw or nhwc
    bits: int  #: of an element, 16 or 32


def images_of(workload: Workload) -> Images | None:
    """As most of the work of its convolutions has them; None without convolutions."""
    work: dict[Images, int] = {}
    for call in workload.calls:
        if call.convolution is not None:
            narrow = bits_of(call.convolution.format) <= 16
            kept = Images(call.convolution.order, 16 if narrow else 32)
            work[kept] = work.get(kept, 0) + call.flop
    return max(work, key=work.__getitem__, default=None)


def normalises(name: str) -> bool:
    """Whether the operator is a batch normalisation or its gradient."""
    return name.partition("::")[2].removesuffix("_backward") in NORMALISATIONS


def reached(name: str, images: Images | None) -> float | None:
    """What a normalisation of images reaches of streaming; None for any other operator."""
    if images is None or not normalises(name):
        return None
    return REACHED[images][name.endswith("_backward")]


def saved_beside(workload: Workload, rest: tuple[Rest, ...], lines: set[str], *, autocast: bool) -> float:
    """Seconds that lines of changes save of the rest when all are taken, negative where they cost.

    Of settings they are: images channels last, and autocast, which `autocast` says is on already.
    """
    images = images_of(workload)
    relaid = bool(images and images.order == "nchw" and lines & set(CHANNELS_LAST.values()))
    cast = not autocast and any(line.startswith(AUTOCAST) for line in lines)
    if not relaid and not cast:
        return 0.0
    then = images and Images("nhwc" if relaid else images.order, 16 if cast else images.bits)
    return sum(each.time_s * (1 - changed(each, images, then, cast=cast)) for each in rest)


def changed(each: Rest, images: Images | None, then: Images | None, *, cast: bool) -> float:
    """Time of an operator under those settings over its time now."""
    now, later = reached(each.other.name, images), reached(each.other.name, then)
    if now and later and images and then:
        return now / later * then.bits / images.bits
    return 0.5 if cast and each.other.phase != "optimizer" and each.other.name in FOLLOWING else 1.0
