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


def saved_beside(workload: Workload, rest: tuple[Rest, ...], lines: set[str], *, autocast: bool) -> dict[str, float]:
    """Seconds that each of the lines saves of the rest, negative where it costs; lines that touch nothing are left out.

    A setting's lines are those of changes: images channels last, and autocast, which `autocast` says is on already.
    """
    images, found = images_of(workload), {}
    for line in lines:
        if line in CHANNELS_LAST.values() and images and images.order == "nchw":
            found[line] = sum(each.time_s * (1 - relaid(each, images)) for each in rest)
        elif line.startswith(AUTOCAST) and not autocast:
            found[line] = sum(each.time_s * (1 - cast(each, images)) for each in rest)
    return found


def relaid(each: Rest, images: Images) -> float:
    """Time of an operator channels last over its time now."""
    now = reached(each.other.name, images)
    then = reached(each.other.name, images._replace(order="nhwc"))
    return now / then if now and then else 1.0


def cast(each: Rest, images: Images | None) -> float:
    """Time of an operator under autocast over its time now."""
    now = reached(each.other.name, images)
    if now is not None and images is not None and images.bits == 32:
        return 0.5 * now / (reached(each.other.name, images._replace(bits=16)) or now)
    return 0.5 if each.other.phase != "optimizer" and each.other.name in FOLLOWING else 1.0
