"""What the words in a network's answer mean: causes, bounds, and what stands for nothing."""

from __future__ import annotations

from collections.abc import Iterable

#: why a multiplication is not at its limit
CAUSES = {
    "alignment": "its sizes, strides or addresses are no multiple of what fast kernels load at once",
    "attention": "the softmax between two products: in their fused kernel, or through memory where none is used",
    "batch": "many multiplications that one launch could make",
    "contiguous": "an operand has gaps between its rows, or lies in an order that is copied first",
    "fine": "at least half of its limit is reached, and no change is known",
    "format": "it computes in a wider number format than it may",
    "launch": "starting its kernel takes as long as the work",
    "layout": "its operands lie in an order that is slower to read",
    "library": "measured far above what is predicted, and nothing here explains it",
    "memory": "DRAM gives less than its data sheet says, or the caches are cold",
    "no matrix unit": "the chip has no matrix unit for its format",
    "overlap": "loads and arithmetic wait for each other",
    "padding": "the matrix units round its sizes up to their own",
    "power": "the clock drops under load, or units cannot be fed without a pause",
    "precision": "a faster format is there for float32 and is not allowed",
    "small": "too little work to fill the chip",
    "tile": "the result is no multiple of the tiles, or the tiles' data comes too slowly",
    "traffic": "operands are read from memory more than once",
    "waves": "the last round of tiles leaves most of the chip idle",
}
#: what limits a multiplication in the model, where the key alone does not say it
BOUNDS = {
    "compute": "the matrix units",
    "dram": "the bandwidth of DRAM",
    "l2": "the bandwidth of the L2 cache",
    "shared": "the bandwidth of shared memory",
    "launch": "the launch of the kernel",
    "latency": "waiting, with too little in flight",
    "alignment": "narrow loads",
}


def meanings(causes: Iterable[str], bounds: Iterable[str]) -> list[tuple[str, str]]:
    """Each word that is used and not plain by itself, with what it means: causes first."""
    found = [(word, CAUSES[word]) for word in dict.fromkeys(causes) if word in CAUSES]
    told = {word for word, _ in found}
    bound = [word for word in dict.fromkeys(bounds) if word in BOUNDS and word not in told]
    return found + [(f"bound {word}", f"limited by {BOUNDS[word]}") for word in bound]
