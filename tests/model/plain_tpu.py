"""The time of one multiplication on a TPU in plain numbers: a loop over blocks, units and passes."""

import math


def up(length, step):
    return -(-length // step) * step


def stored(rows, columns):
    """Elements of a matrix in whole tiles of 8 x 128, along the better sides."""
    return min(up(rows, 8) * up(columns, 128), up(rows, 128) * up(columns, 8))


def core_cycles(rows, columns, k, units):
    """Cycles of one core for one block: each way of sharing it among units, weight tile after weight tile."""
    best = math.inf
    for parts in range(1, units.units + 1):
        if units.units % parts:
            continue
        share = up(-(-rows // parts), units.step_m)
        tiles = math.ceil(math.ceil(columns / units.cols) / (units.units // parts))
        spent = 0
        for _ in range(-(-k // units.rows)):
            for _ in range(tiles):
                spent += max(share, units.rows)  # the next tile is shifted in behind, which takes a cycle a row
        best = min(best, spent)
    return best


def plain_time(m, n, k, batch, block_m, block_n, block_k, sizes, machine, constants):
    """Seconds, and bytes read; `sizes` are bytes of an element of A, B and D."""
    units, (a, b, d) = machine.systolic, sizes
    rate = machine.flop_per_clock / (2 * units.rows * units.cols)
    down, across = -(-m // block_m), -(-n // block_n)
    rows, columns = min(m, block_m), min(n, block_n)
    busy = [0] * units.cores
    for block in range(down * across * batch):
        busy[block % units.cores] += core_cycles(rows, columns, k, units)
    bandwidth = machine.dram_bytes_per_s * constants.dram_share
    reads = batch * (stored(m, k) * a * across + stored(k, n) * b * down)
    hbm = (reads + batch * stored(m, n) * d) / bandwidth
    step = min(block_k, k)
    ends = min(down * across * batch, units.cores) * (step * (rows * a + columns * b) + rows * columns * d) / bandwidth
    compute = (max(busy) / rate + 2 * units.rows + units.cols - 2) / machine.clock_hz
    last = core_cycles(rows, columns, step, units) / rate / machine.clock_hz
    return max(compute + ends, hbm + last), reads
