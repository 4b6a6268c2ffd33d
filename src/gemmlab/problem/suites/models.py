"""What a transformer multiplies in one forward pass or one training step."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.problem.backward import training_step
from gemmlab.problem.checks import side
from gemmlab.problem.gemm import Gemm
from gemmlab.problem.shape import Shape
from gemmlab.problem.suites.architecture import Architecture, Experts, Linear, architecture, linears
from gemmlab.problem.suites.lists import load


def model_names() -> tuple[str, ...]:
    """The models of data/models.toml."""
    return tuple(load("models"))


def model_shapes(
    name: str,
    *,
    batch: int = 1,
    sequence: int = 0,
    context: int = 0,
    training: bool = False,
    format: str = "bfloat16",
) -> list[Shape]:
    """Every multiplication of a model's forward pass, or training step, with how often it occurs.

    `batch` sequences of `sequence` new tokens each (0: the model's usual length) see `context` tokens (0: their own);
    so sequence=1 with a context is one step of decoding. Attention is counted whole: a causal mask leaves half of it
    unused. Heads that share keys and values are rows of one multiplication; experts are one grouped multiplication at
    equal load. The head, and BERT's, is applied to every token.
    """
    model = architecture(name)
    sequence = side("sequence", sequence or model.sequence)
    context = side("context", context or sequence)
    batch = side("batch", batch)
    shapes: list[Shape] = []
    for linear in linears(model):
        if linear.name == "attention out":
            shapes += attention_shapes(model, batch, sequence, context, format)
        shapes.append(linear_shape(model, linear, batch, sequence, format))
    return training_step(shapes) if training else shapes


def linear_shape(model: Architecture, linear: Linear, batch: int, sequence: int, format: str) -> Shape:
    """The multiplication of a linear layer, its matrix stored (n, k)."""
    if linear.rows == "experts" and model.experts:
        members = [(rows, linear.n, linear.k) for rows in loads(model.experts, batch * sequence)]
        return Shape(Gemm.grouped(members, format, layout="nt"), linear.count, linear.name)
    rows = batch if linear.rows == "batch" else batch * sequence
    return Shape(Gemm(rows, linear.n, linear.k, format, layout="nt"), linear.count, linear.name)


def loads(experts: Experts, tokens: int) -> list[int]:
    """Rows of each routed expert at work, as equal as can be; with few tokens some experts see none."""
    rows = tokens * experts.chosen
    busy = min(experts.routed, rows)
    each, more = divmod(rows, busy)
    return [each + 1] * more + [each] * (busy - more)


def attention_shapes(model: Architecture, batch: int, sequence: int, context: int, format: str) -> Iterator[Shape]:
    """Queries times keys, then weights times values, one multiplication for each sequence and head of keys."""
    rows, heads = sequence * (model.heads // model.kv_heads), batch * model.kv_heads
    value = model.value_dim or model.head_dim
    scores = Gemm(rows, context, model.head_dim, format, layout="nt", batch=heads)
    yield Shape(scores, model.layers, "attention scores")
    yield Shape(Gemm(rows, value, context, format, batch=heads), model.layers, "attention values")
