"""Time of many pairs at once: an SM's work, DRAM, the power limit, and what surrounds them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gemmlab.model.constants import Constants
from gemmlab.model.effects import ALL, Effects
from gemmlab.model.machine import Machine
from gemmlab.model.matrix_units import MatrixUnits
from gemmlab.model.pairs import Pairs, Values
from gemmlab.model.sm_work import p_norm, sm_work
from gemmlab.model.tpu import hbm_reads, tpu_parts
from gemmlab.model.wave_traffic import launch_of, wave_reads

SHARP_NORM = 8.0  # how sharply the larger of what DRAM and SMs need and what power allows decides: they do not add


class Times(NamedTuple):
    """Seconds of each pair, and the parts that decide it."""

    total: Values
    sm: Values  #: the busiest SM's work
    dram: Values
    power: Values  #: the same FLOP at the rate the power limit allows
    reads: Values  #: DRAM bytes read


def times(
    pairs: Pairs,
    machine: Machine,
    constants: Constants,
    effects: Effects = ALL,
    dram_reads: Values | None = None,
    together: bool = False,
) -> Times:
    """Predicted time of each pair, seconds, in arrays of the pairs' shape.

    `dram_reads`, where given, are the bytes read, whatever `effects.traffic` says. `together`: all pairs are members of
    one launch, and the result is one time, an array of one.
    """
    if machine.systolic is not None:
        return systolic_times(pairs, machine, machine.systolic, constants, effects, dram_reads, together)
    launched = np.ceil(pairs.m / pairs.block_m) * np.ceil(pairs.n / pairs.block_n) * pairs.split_k * pairs.batch
    if together:
        launched = np.full_like(launched, launched.sum())
    sm, rounds = sm_work(pairs, machine, constants, effects, launched)
    reads = dram_reads
    if reads is None:
        once = pairs.batch * (pairs.m * pairs.k * pairs.a_bytes + pairs.k * pairs.n * pairs.b_bytes)
        reads = closed_reads(pairs, machine) if effects.traffic else once
    dram = dram_seconds(pairs, machine, constants, effects, reads, np.minimum(launched, machine.sms))
    flop = 2 * pairs.m * pairs.n * pairs.k * pairs.batch * pairs.work
    if together:
        longest = (sm / rounds).max(keepdims=True)  # of one program: a launch lasts at least as long
        sm, dram, reads, flop, rounds = (value.sum(keepdims=True) for value in (sm, dram, reads, flop, rounds))
        sm = np.maximum(sm, longest * np.minimum(1.0, rounds))

    total = p_norm(constants.overlap_norm, sm, dram) if effects.overlap else np.maximum(sm, dram)
    power = flop / machine.peak_flop_per_s
    if effects.clock:
        power = power / held_share(total, machine, constants)
        total = p_norm(SHARP_NORM, total, power)
    if effects.reduction:  # partial results are float32: 4 bytes
        partials = np.where(pairs.split_k > 1, 4 * pairs.m * pairs.n * pairs.batch * pairs.split_k, 0.0)
        if together:  # one second pass over the partial results of all members
            partials = partials.sum(keepdims=True)
        total = total + np.where(partials > 0, constants.reduce_s + 2 * partials / machine.l2_bytes_per_s, 0.0)
    if effects.launch:
        total = total + constants.launch_s
    return Times(total, sm, dram, power, reads)


def systolic_times(
    pairs: Pairs,
    machine: Machine,
    units: MatrixUnits,
    constants: Constants,
    effects: Effects,
    dram_reads: Values | None,
    together: bool,
) -> Times:
    """`times` on a TPU: blocks of VMEM are double-buffered, so arithmetic and HBM hide each other but at the ends.

    Nothing is taken off the peak: no public reading says how much of it a TPU holds.
    """
    reads = dram_reads
    if reads is None:
        once = pairs.batch * pairs.k * (pairs.m * pairs.a_bytes + pairs.n * pairs.b_bytes)
        reads = hbm_reads(pairs) if effects.traffic else once
    busy, hbm, edges, last = tpu_parts(pairs, machine, units, constants, effects, reads)
    flop = 2 * pairs.m * pairs.n * pairs.k * pairs.batch * pairs.work
    if together:
        busy, hbm, reads, flop = (value.sum(keepdims=True) for value in (busy, hbm, reads, flop))
        edges, last = edges.max(keepdims=True), last.max(keepdims=True)
    total = np.maximum(busy + edges, hbm + last) if effects.overlap else np.maximum(busy, hbm)
    if effects.launch:
        total = total + constants.launch_s
    return Times(total, busy, hbm, flop / machine.peak_flop_per_s, reads)


def closed_reads(pairs: Pairs, machine: Machine, raster: str = "n") -> Values:
    """DRAM bytes of A and B read by the closed wave form, programs in the order that `raster` names."""
    return wave_reads(launch_of(pairs, machine.sms * pairs.resident, raster), machine.l2_bytes, machine.l2_partitions)


def dram_seconds(
    pairs: Pairs, machine: Machine, constants: Constants, effects: Effects, reads: Values, active: Values
) -> Values:
    """Seconds of the DRAM traffic by itself: reads, the result, and what earlier work left dirty in L2.

    `active` is how many SMs have a program at all.
    """
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
