"""Attention: two products forward, scores and values; five backward, the scores computed again."""

from __future__ import annotations

from math import prod
from typing import Any

import msgspec

from gemmlab.workload.operation import Tensor
from gemmlab.workload.operators.arguments import Arguments
from gemmlab.workload.operators.matrix import Matrix, matrix, multiply
from gemmlab.workload.operators.product import Product, Products, UnreadableError

QUERY, KEY, VALUE = ("query", "q"), ("key", "k"), ("value", "v")
GRADIENT = ("grad_out", "grad_out_", "dout", "grad")
LENGTHS = (
    ("cum_seq_q", "cu_seqlens_q", "cu_seq_q", "seqstart_q"),
    ("cum_seq_k", "cu_seqlens_k", "cu_seq_k", "seqstart_k"),
)
LONGEST = (("max_q", "max_seqlen_q"), ("max_k", "max_seqlen_k"))
#: what says how much of the keys is used, as values of a tensor
USED = ("seqused_k", "seqlen_k", "block_table", "page_table", "seqused_q")
WITH_DROPOUT = " with dropout"  #: kernels draw a random number for every score, which takes time
CAUSAL_MASKS = (1, 2)  # custom_mask_type: from the top left, from the bottom right


class Heads:
    """Query, key, value and the result's gradient as batches of matrices, one for each head of the query."""

    def __init__(self, tensors: dict[str, Tensor], sequence: int) -> None:
        self.tensors = tensors
        shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
        dims = {len(tensor.shape) for tensor in tensors.values()}
        if len(dims) != 1 or min(dims) < max(2, sequence + 2):
            raise UnreadableError(f"attention of shapes {shapes}")
        count = dims.pop()
        axis = count + sequence if sequence < 0 else sequence
        others = [each for each in range(count - 1) if each != axis]
        self.matrices = {name: matrix(tensor, (axis,), (count - 1,), others) for name, tensor in tensors.items()}
        counts = [[tensor.shape[each] for tensor in tensors.values()] for each in others]
        self.batch = prod(max(sizes) if min(sizes) else 0 for sizes in counts)
        q, k, v = (self.matrices[name] for name in ("query", "key", "value"))
        gradient = self.matrices.get("gradient")
        agree = q.columns == k.columns and k.rows == v.rows
        agree &= gradient is None or (gradient.rows, gradient.columns) == (q.rows, v.columns)
        if not agree or any(max(sizes) % (size or 1) for sizes in counts for size in sizes):
            raise UnreadableError(f"attention of shapes {shapes}")

    def scores(self) -> Matrix:
        """What is between the products: as many rows as queries, as many columns as keys, never told to memory."""
        q, k = self.matrices["query"], self.matrices["key"]
        made = Tensor((self.batch, q.rows, k.rows), self.tensors["query"].format)
        return matrix(made, (1,), (2,), (0,))


def attention(given: Arguments, fused: str = "", sequence: int = -2) -> Products:
    """The products of an attention's forward or backward pass; `sequence` is the axis of queries and keys."""
    backward = any(name in given.parameters for name in GRADIENT)
    names = {"query": QUERY, "key": KEY, "value": VALUE} | ({"gradient": GRADIENT} if backward else {})
    tensors = {name: given.tensor(*aliases) for name, aliases in names.items()}
    for name in USED:
        if given.maybe(name) is not None:
            raise UnreadableError(f"how many keys are used is the values of `{name}`: {bound(tensors)}")
    causal = bool(fused) and (given.flag("is_causal", "causal") or given.whole("custom_mask_type") in CAUSAL_MASKS)
    drops = given.value("dropout_p")
    if fused and isinstance(drops, float) and drops > 0:
        fused += WITH_DROPOUT
    about: dict[str, Any] = {"fused": fused, "causal": causal}
    lengths = [given.value(*aliases) for aliases in LENGTHS]
    if lengths[1] is None:
        lengths[1] = lengths[0]
    if all(isinstance(each, list | tuple) and each and all(type(end) is int for end in each) for each in lengths):
        return parts(given, tensors, lengths, about)
    ragged = given.maybe(*LENGTHS[0]) if isinstance(lengths[0], Tensor) else None
    if ragged is not None and prod(ragged.shape) > 1:
        longest = [given.whole(*aliases) for aliases in LONGEST]
        most = f", none longer than {longest[0]}" if longest[0] else ""
        count, name = prod(ragged.shape) - 1, name_of(given)
        raise UnreadableError(f"the lengths of {count} sequences are the values of `{name}`{most}: {bound(tensors)}")
    return passes(given, Heads(tensors, sequence), about)


def name_of(given: Arguments) -> str:
    """How this operator's schema names the lengths of the queries' sequences."""
    return next((name for name in LENGTHS[0] if name in given.parameters), LENGTHS[0][0])


def bound(tensors: dict[str, Tensor]) -> str:
    """What is known all the same."""
    return ", ".join(f"{name} is {list(tensor.shape)}" for name, tensor in tensors.items())


def parts(given: Arguments, tensors: dict[str, Tensor], ends: list[Any], about: dict[str, Any]) -> Products:
    """Sequences of told lengths one after another: the products of each; tensors are (tokens, heads, width)."""
    packed = {}
    for name, tensor in tensors.items():
        lead = len(tensor.shape) - 3  # memory-efficient attention has a batch of 1 before
        if lead not in (0, 1) or (tensor.shape[0] != 1 and lead):
            raise UnreadableError(f"sequences of different lengths: {bound(tensors)}")
        strides = None if tensor.strides is None else tensor.strides[lead:]
        packed[name] = msgspec.structs.replace(tensor, shape=tensor.shape[lead:], strides=strides)
    if len(ends[0]) != len(ends[1]):
        raise UnreadableError(f"{len(ends[0]) - 1} sequences of queries and {len(ends[1]) - 1} of keys")
    found: Products = ()
    for index in range(1, len(ends[0])):
        count = {"query": ends[0][index] - ends[0][index - 1], "key": ends[1][index] - ends[1][index - 1]}
        if min(count.values()) < 0:
            raise UnreadableError("the ends of the sequences do not grow")
        count |= {"value": count["key"], "gradient": count["query"]}
        cut = {
            name: Tensor((count[name], *tensor.shape[1:]), tensor.format, tensor.strides, 0, tensor.parameter)
            for name, tensor in packed.items()
        }
        found += passes(given, Heads(cut, 0), about)
    return found


def passes(given: Arguments, heads: Heads, about: dict[str, Any]) -> Products:
    """Scores and values; or, for a gradient, the scores again and the gradients of scores, value, query and key."""
    q, k, v = (heads.matrices[name] for name in ("query", "key", "value"))
    gradient = heads.matrices.get("gradient")
    scores = heads.scores()
    pairs = [(q, k.transposed), (scores, v)]
    if gradient is not None:
        pairs = [(q, k.transposed), (gradient, v.transposed), (scores.transposed, gradient), (scores, k)]
        pairs.append((scores.transposed, q))
    found: Products = ()
    for a, b in pairs:
        made = multiply(given, a, b, batch=heads.batch, **about)
        if about["fused"]:
            made = tuple(msgspec.structs.replace(each, operands=held(each, scores)) for each in made)
        found += made
    return found


def held(product: Product, scores: Matrix) -> tuple[Tensor, ...]:
    """The operands but the scores, which a fused kernel keeps on chip."""
    return tuple(each for each in product.operands if each is not scores.tensor)


def multi_head(given: Arguments) -> Products:
    """_native_multi_head_attention: the projections of query, key and value, attention, and the result's projection."""
    query, key, weight = given.tensor("query"), given.tensor("key"), given.tensor("qkv_weight")
    out, heads = given.tensor("proj_weight"), given.whole("num_head")
    if len(query.shape) != 3 or len(key.shape) != 3 or len(weight.shape) != 2 or len(out.shape) != 2:
        raise UnreadableError(f"query of shape {list(query.shape)} and weight of {list(weight.shape)}")
    width = weight.shape[1]
    if not heads or width % heads:
        raise UnreadableError("the number of heads is not told")
    if key.shape != query.shape:
        raise UnreadableError(f"query of shape {list(query.shape)} and key of {list(key.shape)}")
    batch, length, _ = query.shape
    rows = matrix(query, (0, 1), (2,))
    projected = multiply(given, rows, matrix(weight, (0,), (1,)).transposed)
    one = Tensor((batch, heads, length, width // heads), query.format)
    between = passes(given, Heads({"query": one, "key": one, "value": one}, -2), {"fused": "", "causal": False})
    last = multiply(given, matrix(Tensor(query.shape, query.format), (0, 1), (2,)), matrix(out, (0,), (1,)).transposed)
    return projected + between + last
