"""What a change may do to the digits, said so that it can be checked."""

from __future__ import annotations

from gemmlab.formats import get

ORDER = "each sum has the same terms; another kernel may add them in another order (float32 rounding, 2^-24 a step)"
ZEROS = "each sum gets terms that are exactly zero; " + ORDER.partition("; ")[2]
CUT = "what was there keeps its terms; " + ORDER.partition("; ")[2] + "; what is added is to be cut off or masked"
WORDS = (
    "the old logits keep their terms, perhaps added in another order; the added ones enter the softmax unless they are "
    "cut off before it (`logits[..., :{old}]`) or masked with -inf"
)
WIDER = (
    "as before where a checkpoint's weights are padded with zeros, whose terms are exactly zero; trained anew, it is a "
    "slightly larger model; " + ORDER.partition("; ")[2]
)
NORMED = "; normalisations over the width count what is added"
SCALED = "; attention's scale is to stay 1/sqrt({head})"
WORDED = "; added words enter the softmax unless cut off before it (`logits[..., :{old}]`) or masked with -inf"
BLOCKS = (
    "the same sums in blocks: the softmax is rescaled in float32 as it goes, and scores are no longer rounded to "
    "{name} between the kernels"
)
STACKED = ORDER + "; gradients of the input are added in float32 before they are rounded, not after"
ONCE = "none: the same values from another place in memory; another kernel may add in another order"
NONE = "none: the same kernels"


def roundoff(name: str) -> str:
    """The unit roundoff of a format: half a unit in the last of its significant bits."""
    return f"2^-{get(name).precision}"


def rounding(name: str, *, stored: bool) -> str:
    """Operands rounded to a format; `stored` says that results are, too."""
    bits = get(name).precision
    text = f"operands are rounded to {bits} significant bits: relative error up to {roundoff(name)} each"
    if name == "tfloat32":
        text += " (2^-10 where the hardware cuts off instead of rounding)"
    text += "; sums stay float32"
    if stored:
        text += f", results are rounded once more, {roundoff(name)}"
    if name == "float16":
        text += "; float16 ends at 65504 and loses gradients below 2^-24: scale the loss (torch.amp.GradScaler)"
    return text
