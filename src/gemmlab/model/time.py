"""Time of many pairs at once: an SM's work, DRAM, the power limit, and what surrounds them.

Every effect can be left out, which is how the waterfall and the advice know what a cause costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gemmlab.model.constants import Constants
from gemmlab.model.pairs import (
    L2_BYTES_PER_CLOCK_PER_SM,
    ROAD_BYTES,
    SHARED_BYTES_PER_CLOCK,
    Machine,
    Pairs,
    Values,
)
from gemmlab.model.wave_traffic import Launch, transposed, wave_reads

WARPGROUP_ROWS = 64.0  # of one wgmma: B's tile is read from shared memory once for each 64 rows
WARP_TILE = 64.0  # mma.sync kernels: each warp reads its own part of both tiles
BROADCAST = 2.0  # lanes of a warp that read the same word of shared memory are served at once
SHARP_NORM = 8.0  # of limits that replace each other rather than add: issue, power


class Effects(NamedTuple):
    """What the time includes; all of it by default."""

    padding: bool = True  #: tiles that stick out of the result, k-steps out of k
    waves: bool = True  #: SMs that idle in the last round
    feeding: bool = True  #: tiles too small for L2 or shared memory to feed the arithmetic
    alignment: bool = True  #: element-wise loads where rows leave multiples of 16 bytes
    clock: bool = True  #: peak not held: power limit, issue
    fill: bool = True  #: pipelines filling and draining, once a program
    traffic: bool = True  #: DRAM bytes read again
    dram: bool = True  #: DRAM below its data sheet, SMs too few to draw all of it
    leftovers: bool = True  #: dirty lines that must leave L2 first
    overlap: bool = True  #: arithmetic and DRAM that do not hide each other wholly
    reduction: bool = True  #: split-k's second pass
    launch: bool = True


ALL = Effects()


class Times(NamedTuple):
    """Seconds of each pair, and the parts that decide it."""

    total: Values
    sm: Values  #: the busiest SM's work
    dram: Values
    power: Values  #: the same FLOP at the rate the power limit allows
    reads: Values  #: DRAM bytes read
    rounds: Values  #: tiles of the busiest SM


def cycles_per_k(pairs: Pairs, machine: Machine, constants: Constants, effects: Effects, active: Values) -> Values:
    """Cycles of one SM for one element of k of one tile."""
    large = np.maximum(pairs.block_m, pairs.block_n)
    small = np.minimum(pairs.block_m, pairs.block_n)
    least = WARPGROUP_ROWS if machine.wide and not machine.vector else 1.0
    # a matrix instruction has a side that cannot shrink: a skinny tile is turned so that its long side meets it
    cycles = 2 * np.maximum(large, least) * np.maximum(small, 8.0) / machine.flop_per_clock
    if not effects.padding:
        cycles = 2 * pairs.block_m * pairs.block_n / machine.flop_per_clock
    norm = constants.feed_norm
    if effects.feeding:
        loaded = pairs.block_m * pairs.a_bytes / pairs.cluster_n + pairs.block_n * pairs.b_bytes / pairs.cluster_m
        port = constants.l2_share * machine.l2_bytes_per_s / machine.clock_hz / active
        l2 = loaded / np.minimum(L2_BYTES_PER_CLOCK_PER_SM, port)
        shared = np.maximum(shared_cycles(pairs, machine, large, small), pairs.issue)
        cycles = (cycles**norm + l2**norm + shared**norm) ** (1 / norm)
        cycles = cycles + pairs.bubble * constants.step_cycles
    if effects.alignment:
        slow = pairs.vector * pairs.a_bytes < ROAD_BYTES
        elements = (pairs.block_m + pairs.block_n) / 32 / pairs.vector
        scalar = np.where(slow, elements * constants.scalar_cycles, 0.0)
        # ordinary kernels issue four times as many multiply-adds as loads and hide these wholly; matrix units wait
        hidden, waited = np.maximum(cycles, scalar), (cycles**SHARP_NORM + scalar**SHARP_NORM) ** (1 / SHARP_NORM)
        cycles = hidden if machine.vector else waited
    return cycles


def shared_cycles(pairs: Pairs, machine: Machine, large: Values, small: Values) -> Values:
    """Cycles that shared memory needs to hand one k of both tiles to the arithmetic."""
    if machine.vector:
        read = pairs.block_m * pairs.block_n * (1 / pairs.thread_m + 1 / pairs.thread_n) / BROADCAST
    elif machine.array:
        read = pairs.block_m + pairs.block_n
    elif machine.wide:
        read = large + small * np.ceil(large / WARPGROUP_ROWS)
    else:
        read = pairs.block_m * np.ceil(pairs.block_n / WARP_TILE) + pairs.block_n * np.ceil(pairs.block_m / WARP_TILE)
    return read * pairs.a_bytes / SHARED_BYTES_PER_CLOCK


def times(
    pairs: Pairs,
    machine: Machine,
    constants: Constants,
    effects: Effects = ALL,
    dram_reads: Values | None = None,
    together: bool = False,
) -> Times:
    """Predicted time of each pair; `dram_reads`, where given, are the bytes read whatever `effects.traffic` says.

    `together`: all pairs are members of one launch, and the result is one time.
    """
    whole = np.ceil(pairs.m / pairs.block_m) * np.ceil(pairs.n / pairs.block_n)
    tiles = whole if effects.padding else pairs.m * pairs.n / (pairs.block_m * pairs.block_n)
    launched = whole * pairs.split_k * pairs.batch
    if together:
        launched = np.full_like(launched, launched.sum())
    active = np.minimum(launched, machine.sms)
    rounds = tiles * pairs.split_k * pairs.batch / machine.sms
    if effects.waves:
        rounds = rounds * np.ceil(launched / machine.sms) / (launched / machine.sms)
    k = pairs.k / pairs.split_k
    if effects.padding:
        k = np.ceil(k / pairs.block_k) * pairs.block_k
    if effects.fill:
        k = k + (constants.vector_fill_k if machine.vector else constants.tensor_fill_bytes / pairs.a_bytes)
    sm = pairs.work * rounds * k * cycles_per_k(pairs, machine, constants, effects, active) / machine.clock_hz

    reads = dram_reads
    if reads is None:
        once = pairs.batch * (pairs.m * pairs.k * pairs.a_bytes + pairs.k * pairs.n * pairs.b_bytes)
        reads = closed_reads(pairs, machine) if effects.traffic else once
    dram = dram_seconds(pairs, machine, constants, effects, reads, active)
    flop = 2 * pairs.m * pairs.n * pairs.k * pairs.batch * pairs.work
    if together:
        longest = (sm / rounds).max(keepdims=True)  # of one program: a launch lasts at least as long
        sm, dram, reads, flop, rounds = (value.sum(keepdims=True) for value in (sm, dram, reads, flop, rounds))
        sm = np.maximum(sm, longest * np.minimum(1.0, rounds))

    norm = constants.overlap_norm
    total = (sm**norm + dram**norm) ** (1 / norm) if effects.overlap else np.maximum(sm, dram)
    power = flop / machine.peak_flop_per_s
    if effects.clock:
        power = power / held_share(total, machine, constants)
        total = (total**SHARP_NORM + power**SHARP_NORM) ** (1 / SHARP_NORM)
    if effects.reduction:
        partials = np.where(pairs.split_k > 1, 4 * pairs.m * pairs.n * pairs.batch * pairs.split_k, 0.0)
        if together:  # one second pass over the partial results of all members
            partials = partials.sum(keepdims=True)
        total = total + np.where(partials > 0, constants.reduce_s + 2 * partials / machine.l2_bytes_per_s, 0.0)
    if effects.launch:
        total = total + constants.launch_s
    return Times(total, sm, dram, power, reads, rounds)


def closed_reads(pairs: Pairs, machine: Machine, raster: str = "n") -> Values:
    """DRAM bytes read by the closed wave form."""
    launch = Launch(
        m=pairs.m,
        n=pairs.n,
        k=pairs.k,
        block_m=pairs.block_m,
        block_n=pairs.block_n,
        group_m=pairs.group_m,
        slots=machine.sms * pairs.resident,
        a_bytes=pairs.a_bytes,
        b_bytes=pairs.b_bytes,
        d_bytes=pairs.d_bytes,
        split_k=pairs.split_k,
        batch=pairs.batch,
    )
    ordered = transposed(launch) if raster == "m" else launch
    return wave_reads(ordered, machine.l2_bytes, machine.l2_partitions)


def dram_seconds(
    pairs: Pairs, machine: Machine, constants: Constants, effects: Effects, reads: Values, active: Values
) -> Values:
    """Time of the DRAM traffic by itself: reads, the result, and what earlier work left dirty in L2."""
    moved = reads + pairs.batch * pairs.m * pairs.n * pairs.d_bytes
    whole = machine.dram_bytes_per_s * (constants.dram_share if effects.dram else 1.0)
    drawn = np.minimum(1.0, active / machine.sms * constants.dram_per_sm_share) if effects.dram else 1.0
    seconds: Values = moved / (whole * drawn)
    if effects.leftovers:  # L2 itself writes them back, however few SMs ask for the room
        seconds = seconds + np.minimum(constants.dirty_share * machine.l2_bytes, moved) / whole
    return seconds


def held_share(total: Values, machine: Machine, constants: Constants) -> Values:
    """Share of the peak that is held: what power allows a run of that length, between bursts and hours.

    A run that rests for `rest_s` between launches may draw more than its limit while it runs; the clock answers with
    less than the power (P ~ f * V**2, V falling with f).
    """
    rated = (machine.format_name, machine.vector, machine.flop_per_joule)
    sustained, burst = constants.sustained_share(*rated), constants.burst_share(*rated)
    relief = (1 + constants.rest_s / total) ** constants.clock_gain
    share: Values = np.minimum(burst, sustained * relief)
    return share
