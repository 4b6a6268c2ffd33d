"""Visits of structured operands by whole classes equal visiting every step of every row block."""

import random
from collections import Counter

import pytest

from gemmlab.count.residues import SECTOR_BITS
from gemmlab.count.visits import Stride, Walk, spans, starts
from gemmlab.kernels import get
from gemmlab.problem import Gemm


def visited(problem, kernel, span):
    """(block, step, whole) of every visit, found by looking at the elements of each tile."""
    for block in range(-(-problem.m // kernel.block_m)):
        rows = range(block * kernel.block_m, min((block + 1) * kernel.block_m, problem.m))
        for step in range(-(-problem.k // kernel.block_k)):
            first, last = step * kernel.block_k, min((step + 1) * kernel.block_k, problem.k) - 1
            if problem.structure == "banded":
                # the tile's corner nearest each edge of the band
                inside = rows.start - last <= problem.lower_band and first - rows[-1] <= problem.upper_band
            elif problem.structure == "general":
                inside = True
            else:
                inside = (first <= rows[-1]) != span.mirrored
            if inside:
                yield block, step, last - first + 1 == kernel.block_k


@pytest.mark.parametrize("structure", ["general", "triangular", "symmetric", "banded"])
def test_starts_equal_visiting_each_step(structure):
    rng = random.Random(structure)
    for _ in range(120):
        side = rng.randint(1, 400)
        band = {"lower_band": rng.randint(0, side), "upper_band": rng.randint(0, side)} if structure == "banded" else {}
        problem = Gemm(side, 8, side, structure=structure, **band)
        kernel = get("register").replace(block_m=rng.randint(4, 40), block_k=rng.randint(3, 40))
        walk = Walk(side, side, kernel.block_m, kernel.block_k)
        stride = Stride(rng.choice((0, 32, 96, 4096, rng.randint(1, 999))), rng.choice((32, 256, rng.randint(1, 999))))
        for span in spans(problem, kernel):
            for whole in (True, False):
                first = rng.choice((0, 0, rng.randint(0, walk.blocks - 1)))
                blocks = range(first, walk.blocks)
                expected = Counter(
                    (block * stride.block + step * stride.step) % SECTOR_BITS
                    for block, step, is_whole in visited(problem, kernel, span)
                    if is_whole == whole and block in blocks
                )
                found = {at: n for at, n in starts(walk, span, blocks, stride, whole_steps=whole).items() if n}
                assert found == expected, (problem, kernel, span, stride, whole)
