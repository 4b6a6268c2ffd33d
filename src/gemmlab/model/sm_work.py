"""Time of one SM: its tiles, and for each k of a tile the slowest of arithmetic, its port to L2 and shared memory."""

from __future__ import annotations

import numpy as np

from gemmlab.kernels.kernel import WARP
from gemmlab.model.constants import Constants
from gemmlab.model.effects import Effects
from gemmlab.model.machine import L2_BYTES_PER_CLOCK_PER_SM, SHARED_BYTES_PER_CLOCK, Machine
from gemmlab.model.pairs import Pairs, Values
from gemmlab.model.road import ROAD_BYTES

WARPGROUP_ROWS = 64.0  # of one wgmma: B's tile is read from shared memory once for each 64 rows
INSTRUCTION_SIDE = 8.0  # least n of mma.sync and wgmma
WARP_TILE = 64.0  # mma.sync kernels: each warp reads its own part of both tiles
BROADCAST = 2.0  # lanes of a warp that read the same word of shared memory are served at once
WAIT_NORM = 8.0  # how sharply the larger of arithmetic and element-wise loads decides on matrix units


def p_norm(norm: float, *values: Values) -> Values:
    """Between the largest of the values (a high norm: all hide behind it) and their sum (1: nothing hides)."""
    total = values[0] ** norm
    for value in values[1:]:
        total = total + value**norm
    root: Values = total ** (1 / norm)
    return root


def sm_work(
    pairs: Pairs, machine: Machine, constants: Constants, effects: Effects, launched: Values
) -> tuple[Values, Values]:
    """Seconds of the busiest SM, and how many tiles it computes, for each pair.

    `launched` is how many programs the whole launch has, all its members together.
    """
    tiles = pairs.m * pairs.n / (pairs.block_m * pairs.block_n)
    if effects.padding:
        tiles = np.ceil(pairs.m / pairs.block_m) * np.ceil(pairs.n / pairs.block_n)
    rounds = tiles * pairs.split_k * pairs.batch / machine.sms
    if effects.waves:
        rounds = rounds * np.ceil(launched / machine.sms) / (launched / machine.sms)
    k = pairs.k / pairs.split_k
    if effects.padding:
        k = np.ceil(k / pairs.block_k) * pairs.block_k
    if effects.fill:
        k = k + (constants.vector_fill_k if machine.vector else constants.tensor_fill_bytes / pairs.a_bytes)
    cycles = cycles_per_k(pairs, machine, constants, effects, np.minimum(launched, machine.sms))
    return pairs.work * rounds * k * cycles / machine.clock_hz, rounds


def cycles_per_k(pairs: Pairs, machine: Machine, constants: Constants, effects: Effects, active: Values) -> Values:
    """Cycles of one SM for one element of k of one tile; `active` is how many SMs share L2's bandwidth."""
    large = np.maximum(pairs.block_m, pairs.block_n)
    small = np.minimum(pairs.block_m, pairs.block_n)
    least = WARPGROUP_ROWS if machine.warpgroups and not machine.vector else 1.0
    if effects.padding:  # an instruction has a side that cannot shrink: a skinny tile is turned, its long side meets it
        cycles = 2 * np.maximum(large, least) * np.maximum(small, INSTRUCTION_SIDE) / machine.flop_per_clock
    else:
        cycles = 2 * pairs.block_m * pairs.block_n / machine.flop_per_clock
    if effects.feeding:
        loaded = pairs.block_m * pairs.a_bytes / pairs.cluster_n + pairs.block_n * pairs.b_bytes / pairs.cluster_m
        port = constants.l2_share * machine.l2_bytes_per_s / machine.clock_hz / active
        l2 = loaded / np.minimum(L2_BYTES_PER_CLOCK_PER_SM, port)
        shared = np.maximum(shared_cycles(pairs, machine, large, small), pairs.issue)
        cycles = p_norm(constants.feed_norm, cycles, l2, shared) + pairs.bubble * constants.step_cycles
    if effects.alignment:
        slow = pairs.load_elements * pairs.a_bytes < ROAD_BYTES
        loads = (pairs.block_m + pairs.block_n) / WARP / pairs.load_elements
        scalar = np.where(slow, loads * constants.scalar_cycles, 0.0)
        # ordinary kernels issue four times as many multiply-adds as loads and hide these wholly; matrix units wait
        cycles = np.maximum(cycles, scalar) if machine.vector else p_norm(WAIT_NORM, cycles, scalar)
    return cycles


def shared_cycles(pairs: Pairs, machine: Machine, large: Values, small: Values) -> Values:
    """Cycles that shared memory needs to hand one k of both tiles to the arithmetic."""
    if machine.vector:
        read = pairs.block_m * pairs.block_n * (1 / pairs.thread_m + 1 / pairs.thread_n) / BROADCAST
    elif machine.warpgroups:
        read = large + small * np.ceil(large / WARPGROUP_ROWS)
    else:
        read = pairs.block_m * np.ceil(pairs.block_n / WARP_TILE) + pairs.block_n * np.ceil(pairs.block_m / WARP_TILE)
    return read * pairs.a_bytes / SHARED_BYTES_PER_CLOCK
