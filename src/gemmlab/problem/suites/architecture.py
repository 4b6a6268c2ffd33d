"""A transformer by its numbers, and the linear layers that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from gemmlab.problem.suites.lists import load


class Latent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Latent attention (DeepSeek-V2): queries, and keys with values, pass through a narrow layer."""

    q_rank: int
    kv_rank: int
    rotary_dim: int  #: of each head, and shared by all heads in the keys


class Experts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mixture of experts in place of the dense feed-forward layer."""

    dense_layers: int  #: first layers that stay dense
    routed: int
    shared: int  #: experts that see every token
    chosen: int  #: routed experts that see a token
    intermediate: int


class Extra(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A linear layer outside the blocks."""

    name: str
    n: int | str  #: a number, or the field it equals
    k: int | str
    rows: str  #: `tokens`, or `batch`: one row a sequence


class Architecture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers of one transformer."""

    about: str
    source: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int  #: each serves heads / kv_heads of the queries
    head_dim: int
    value_dim: int = 0  #: 0: as head_dim
    intermediate: int
    vocab: int
    positions: int  #: learned position and type vectors
    sequence: int  #: tokens of one sequence, where nothing else is asked for
    gated: bool  #: feed-forward with a gate: gate and up projections side by side
    bias: bool
    tied: bool  #: the head shares the embedding's matrix
    head_bias: bool = False
    norms: tuple[int, int]
    norm_width: int
    extra: tuple[Extra, ...] = ()
    latent: Latent | None = None
    experts: Experts | None = None


class Linear(msgspec.Struct, frozen=True):
    """Matrices (n, k) of one kind: each multiplies its rows of tokens."""

    name: str
    n: int
    k: int
    count: int = 1  #: layers that have one
    rows: str = "tokens"  #: `tokens`, `batch`, or `experts`: each of many matrices sees its share of the tokens
    bias: bool = False
    stored: bool = True  #: False where the matrix is the embedding's


@cache
def architecture(name: str) -> Architecture:
    """The architecture of that name in data/models.toml, `like` another one resolved."""
    return msgspec.convert(resolved(name), Architecture)


def resolved(name: str) -> dict[str, Any]:
    """One table of data/models.toml with what it takes over from the one it is like."""
    table = dict(load("models")[name])
    like = table.pop("like", None)
    return {**resolved(like), **table} if like else table


def linears(model: Architecture) -> Iterator[Linear]:
    """Every linear layer of a model in the order of a forward pass, equal layers of all blocks as one entry."""
    yield from attention_linears(model)
    yield from feed_forward_linears(model)
    for extra in model.extra:
        n, k = (side if isinstance(side, int) else getattr(model, side) for side in (extra.n, extra.k))
        yield Linear(extra.name, n, k, rows=extra.rows, bias=model.bias)
    yield Linear("head", model.vocab, model.hidden, bias=model.head_bias, stored=not model.tied)


def attention_linears(model: Architecture) -> Iterator[Linear]:
    """The projections around attention, queries, keys and values side by side where they share their input."""
    value = model.value_dim or model.head_dim
    if model.latent:
        q, kv, rotary = model.latent.q_rank, model.latent.kv_rank, model.latent.rotary_dim
        yield Linear("q and kv down", q + kv + rotary, model.hidden, model.layers)
        yield Linear("q up", model.heads * model.head_dim, q, model.layers)
        yield Linear("kv up", model.heads * (model.head_dim - rotary + value), kv, model.layers)
    else:
        width = model.heads * model.head_dim + model.kv_heads * (model.head_dim + value)
        yield Linear("qkv", width, model.hidden, model.layers, bias=model.bias)
    yield Linear("attention out", model.hidden, model.heads * value, model.layers, bias=model.bias)


def feed_forward_linears(model: Architecture) -> Iterator[Linear]:
    """The feed-forward layers: dense ones, then the experts'."""
    experts = model.experts
    dense = experts.dense_layers if experts else model.layers
    yield from up_and_down(model, "", model.intermediate, dense, "tokens")
    if experts:
        sparse = model.layers - dense
        yield Linear("router", experts.routed, model.hidden, sparse)
        yield from up_and_down(model, "shared expert ", experts.shared * experts.intermediate, sparse, "tokens")
        yield from up_and_down(model, "experts ", experts.intermediate, sparse, "experts")


def up_and_down(model: Architecture, prefix: str, width: int, layers: int, rows: str) -> Iterator[Linear]:
    """The two matrices of a feed-forward layer, the gate beside the up projection where there is one."""
    name = "gate and up" if model.gated else "up"
    yield Linear(prefix + name, width * (2 if model.gated else 1), model.hidden, layers, rows, model.bias)
    yield Linear(prefix + "down", model.hidden, width, layers, rows, model.bias)


def parameter_count(name: str) -> int:
    """Parameters of a model: its linear layers with their biases, the embedding, and the norms' vectors."""
    model = architecture(name)
    total = (model.vocab + model.positions) * model.hidden
    for linear in linears(model):
        copies = linear.count * (model.experts.routed if model.experts and linear.rows == "experts" else 1)
        total += copies * (linear.n * linear.k * linear.stored + linear.n * linear.bias)
    inside, outside = model.norms
    total += (model.layers * inside + outside) * model.hidden * model.norm_width
    if model.latent:
        total += model.layers * (model.latent.q_rank + model.latent.kv_rank) * model.norm_width
    if model.experts:
        total += (model.layers - model.experts.dense_layers) * model.experts.routed  # the router's balance term
    return total
