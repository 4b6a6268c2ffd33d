"""Time on a TPU: blocks of D in VMEM, weights shifted into matrix units behind those in use, operands from HBM."""

from __future__ import annotations

import numpy as np

from gemmlab.model.constants import Constants
from gemmlab.model.effects import Effects
from gemmlab.model.machine import Machine
from gemmlab.model.matrix_units import FLOP_PER_MAC, LANES, SUBLANES, MatrixUnits
from gemmlab.model.pairs import Pairs, Values


def rounded(length: Values, step: int) -> Values:
    """The next multiple of `step`."""
    return np.ceil(length / step) * step


def stored(rows: Values, columns: Values) -> Values:
    """Elements of a matrix as HBM has it: whole tiles of 8 x 128, along the sides that waste less of them."""
    upright = rounded(rows, SUBLANES) * rounded(columns, LANES)
    return np.minimum(upright, rounded(rows, LANES) * rounded(columns, SUBLANES))


def blocks_of(pairs: Pairs) -> tuple[Values, Values]:
    """Blocks of D down and across."""
    return np.ceil(pairs.m / pairs.block_m), np.ceil(pairs.n / pairs.block_n)


def hbm_reads(pairs: Pairs) -> Values:
    """Bytes of A and B that all blocks together read: A once a column of blocks, B once a row of them."""
    down, across = blocks_of(pairs)
    a = stored(pairs.m, pairs.k) * pairs.a_bytes * across
    reads: Values = pairs.batch * (a + stored(pairs.k, pairs.n) * pairs.b_bytes * down)
    return reads


def hbm_writes(pairs: Pairs) -> Values:
    """Bytes of D as HBM stores it."""
    written: Values = pairs.batch * stored(pairs.m, pairs.n) * pairs.d_bytes
    return written


def cycles_a_row(pairs: Pairs, machine: Machine, units: MatrixUnits, effects: Effects) -> Values:
    """Cycles of one core for one row of weight tiles (`rows` of k) of one block.

    A core's units share the block's rows, its columns of tiles, or both, whichever is done first. A tile of weights is
    used for as many cycles as rows of A pass it, at least as many as shifting in the next tile behind it takes: the
    double-buffered closed form of `gemmlab systolic`.
    """
    rows, columns = np.minimum(pairs.block_m, pairs.m), np.minimum(pairs.block_n, pairs.n) / units.cols
    if effects.padding:
        rows, columns = rounded(rows, units.step_m), np.ceil(columns)
    found = np.full_like(rows, np.inf)
    for parts in range(1, units.units + 1):
        if units.units % parts:
            continue
        stream, tiles = rows / parts, columns / (units.units // parts)
        if effects.waves:
            stream, tiles = rounded(stream, units.step_m), np.ceil(tiles)
        if effects.feeding:
            stream = np.maximum(stream, units.rows)
        found = np.minimum(found, stream * tiles)
    # formats at a multiple of the rate that the sides explain: how is not published, the multiple is taken
    cycles: Values = found * FLOP_PER_MAC * units.rows * units.cols / machine.flop_per_clock
    return cycles


def tpu_parts(
    pairs: Pairs, machine: Machine, units: MatrixUnits, constants: Constants, effects: Effects, reads: Values
) -> tuple[Values, Values, Values, Values]:
    """Seconds of each pair: arithmetic, HBM, and what neither hides behind: before the first and after the last block.

    The third is of transfers before and after all arithmetic, the fourth of arithmetic after the last read.
    """
    down, across = blocks_of(pairs)
    if effects.padding:
        high = np.ceil(pairs.k / units.rows)
    else:
        down, across = np.maximum(1, pairs.m / pairs.block_m), np.maximum(1, pairs.n / pairs.block_n)
        high = pairs.k / units.rows
    blocks = down * across * pairs.batch
    rounds = np.ceil(blocks / units.cores) if effects.waves else blocks / units.cores
    row = cycles_a_row(pairs, machine, units, effects)
    cycles = pairs.work * rounds * high * row
    if effects.fill:
        cycles = cycles + 2 * units.rows + units.cols - 2
    bandwidth = machine.dram_bytes_per_s * (constants.dram_share if effects.dram else 1.0)
    written = hbm_writes(pairs) if effects.traffic else pairs.batch * pairs.m * pairs.n * pairs.d_bytes
    hbm = (reads + written) / bandwidth
    at_once = np.minimum(blocks, units.cores)
    step = np.minimum(pairs.block_k, pairs.k)
    rows, columns = np.minimum(pairs.block_m, pairs.m), np.minimum(pairs.block_n, pairs.n)
    edges = step * (rows * pairs.a_bytes + columns * pairs.b_bytes) + rows * columns * pairs.d_bytes
    last = pairs.work * np.ceil(step / units.rows) * row
    return cycles / machine.clock_hz, hbm, at_once * edges / bandwidth, last / machine.clock_hz
