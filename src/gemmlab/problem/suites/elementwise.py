"""What a transformer computes besides its multiplications: a count by operator, for the share that GEMM has."""

from __future__ import annotations

from gemmlab.problem.epilogue import EPILOGUES
from gemmlab.problem.suites.architecture import Architecture, architecture, linears
from gemmlab.problem.suites.models import model_shapes
from gemmlab.record import GemmlabError

#: FLOP for each element that an operator sees; an exponential, a root and a comparison count as one
COST = {
    "softmax": 7,  # scale, mask, maximum, subtract, exponential, sum, divide
    "norm": 7,  # sum, subtract, square, sum, multiply by the inverse root, gain, bias
    "bias": 1,
    "residual": 1,
    "gelu": EPILOGUES["gelu"].flop,
    "silu and gate": EPILOGUES["silu"].flop + 1,
    "dropout": 2,  # compare with the drawn number, scale
}


def elementwise_flop(name: str, *, batch: int = 1, sequence: int = 0, training: bool = False) -> dict[str, int]:
    """FLOP of a dense model outside its multiplications, by operator, counted with the table above.

    `training` adds dropout after the attention weights, their output and the feed-forward layer, and the backward pass
    as twice the forward one, as for multiplications. Rotary positions, the loss and the optimizer are left out.
    Raises GemmlabError for a model with experts or latent attention.
    """
    model = architecture(name)
    if model.experts or model.latent:
        raise GemmlabError(f"{name} is no dense model", "the operators of experts and latent attention are not counted")
    tokens = batch * (sequence or model.sequence)
    elements = seen(model, tokens, sequence or model.sequence)
    if not training:
        elements.pop("dropout")
    passes = 3 if training else 1
    return {operator: passes * COST[operator] * count for operator, count in elements.items()}


def seen(model: Architecture, tokens: int, sequence: int) -> dict[str, int]:
    """Elements that each operator sees in a forward pass."""
    inside, outside = model.norms
    blocks = tokens * model.layers
    scores = blocks * model.heads * sequence
    activation = "silu and gate" if model.gated else "gelu"
    return {
        "softmax": scores,
        "norm": (blocks * inside + tokens * outside) * model.hidden,
        "bias": sum(tokens * layer.n * layer.count for layer in linears(model) if layer.bias),
        "residual": blocks * 2 * model.hidden,
        activation: blocks * model.intermediate,
        "dropout": scores + blocks * 2 * model.hidden,
    }


def gemm_share(name: str, *, batch: int = 1, sequence: int = 0, training: bool = False) -> float:
    """The share of a dense model's FLOP that its matrix multiplications do."""
    shapes = model_shapes(name, batch=batch, sequence=sequence, training=training)
    gemm = sum(each.count * each.problem.flop for each in shapes)
    return gemm / (gemm + sum(elementwise_flop(name, batch=batch, sequence=sequence, training=training).values()))
