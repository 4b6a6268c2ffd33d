"""The time of one pair, number by number: what time.py does with arrays."""

import math

from gemmlab.model.wave_traffic import EDGE

SHARP = 8.0  # the power of sums in which the larger part decides almost alone


def seconds(pair, machine, constants, effects, dram_reads=None):
    """Predicted time of one (problem, tiling) pair, its fields plain numbers."""
    part = parts(pair, machine, constants, effects, launched(pair), dram_reads)
    return finish(part, [pair], machine, constants, effects)


def seconds_together(pairs, machine, constants, effects, dram_reads=None):
    """One time of members that share a launch: work, traffic and programs add up."""
    programs = sum(launched(pair) for pair in pairs)
    reads = dram_reads or [None] * len(pairs)
    each = [parts(pair, machine, constants, effects, programs, r) for pair, r in zip(pairs, reads, strict=True)]
    total = {key: sum(part[key] for part in each) for key in each[0]}
    longest = max(part["sm"] / part["rounds"] for part in each)  # of one program
    total["sm"] = max(total["sm"], longest * min(1.0, total["rounds"]))
    total["second passes"] = min(1, total["second passes"])  # one pass serves all members
    return finish(total, pairs, machine, constants, effects)


def launched(pair):
    return math.ceil(pair.m / pair.block_m) * math.ceil(pair.n / pair.block_n) * pair.split_k * pair.batch


def parts(pair, machine, constants, effects, programs, dram_reads):
    """An SM's work, DRAM's, and the FLOP of one member of a launch of that many programs."""
    active = min(programs, machine.sms)
    tiles = pair.m * pair.n / (pair.block_m * pair.block_n)
    if effects.padding:
        tiles = math.ceil(pair.m / pair.block_m) * math.ceil(pair.n / pair.block_n)
    rounds = tiles * pair.split_k * pair.batch / machine.sms
    if effects.waves:
        rounds *= math.ceil(programs / machine.sms) * machine.sms / programs
    k = pair.k / pair.split_k
    if effects.padding:
        k = math.ceil(k / pair.block_k) * pair.block_k
    if effects.fill and machine.vector:
        k += constants.vector_fill_k
    elif effects.fill:
        k += constants.tensor_fill_bytes / pair.a_bytes
    sm = pair.work * rounds * k * cycles(pair, machine, constants, effects, active) / machine.clock_hz

    reads = dram_reads
    if reads is None and effects.traffic:
        reads = closed_reads(pair, machine)
    elif reads is None:
        reads = pair.batch * pair.k * (pair.m * pair.a_bytes + pair.n * pair.b_bytes)
    moved = reads + pair.batch * pair.m * pair.n * pair.d_bytes
    bandwidth, drawn = machine.dram_bytes_per_s, 1.0
    if effects.dram:
        bandwidth *= constants.dram_share
        drawn = min(1.0, constants.dram_per_sm_share * active / machine.sms)
    dram = moved / (bandwidth * drawn)
    if effects.leftovers:
        dram += min(constants.dirty_share * machine.l2_bytes, moved) / bandwidth
    return {
        "sm": sm,
        "rounds": rounds,
        "dram": dram,
        "flop": 2 * pair.m * pair.n * pair.k * pair.batch * pair.work,
        "partials": 4 * pair.m * pair.n * pair.batch * pair.split_k if pair.split_k > 1 else 0,
        "second passes": 1 if pair.split_k > 1 else 0,
    }


def finish(part, pairs, machine, constants, effects):
    """SM and DRAM overlapped, the power limit, the second pass, the launch."""
    total = p_norm(constants.overlap_norm, part["sm"], part["dram"])
    if not effects.overlap:
        total = max(part["sm"], part["dram"])
    if effects.clock:
        rated = (machine.format_name, machine.vector, machine.flop_per_joule)
        relief = (1 + constants.rest_s / total) ** constants.clock_gain
        share = min(constants.burst_share(*rated), constants.sustained_share(*rated) * relief)
        total = p_norm(SHARP, total, part["flop"] / machine.peak_flop_per_s / share)
    if effects.reduction:
        total += constants.reduce_s * part["second passes"] + 2 * part["partials"] / machine.l2_bytes_per_s
    return total + (constants.launch_s if effects.launch else 0.0)


def p_norm(p, *values):
    return sum(value**p for value in values) ** (1 / p)


def cycles(pair, machine, constants, effects, active):
    """Cycles of one SM for one k of one tile."""
    large, small = max(pair.block_m, pair.block_n), min(pair.block_m, pair.block_n)
    if effects.padding:
        least = 64 if machine.warpgroups and not machine.vector else 1
        arithmetic = 2 * max(large, least) * max(small, 8) / machine.flop_per_clock
    else:
        arithmetic = 2 * large * small / machine.flop_per_clock
    spent = arithmetic
    if effects.feeding:
        port = min(64.0, constants.l2_share * machine.l2_bytes_per_s / machine.clock_hz / active)
        loaded = pair.block_m * pair.a_bytes / pair.cluster_n + pair.block_n * pair.b_bytes / pair.cluster_m
        shared = max(shared_bytes(pair, machine, large, small) / 128, pair.issue)
        spent = p_norm(constants.feed_norm, spent, loaded / port, shared) + pair.bubble * constants.step_cycles
    if effects.alignment and pair.load_elements * pair.a_bytes < 16:
        scalar = (pair.block_m + pair.block_n) / 32 / pair.load_elements * constants.scalar_cycles
        spent = max(spent, scalar) if machine.vector else p_norm(SHARP, spent, scalar)
    return spent


def shared_bytes(pair, machine, large, small):
    """Bytes of one k that the arithmetic reads from shared memory."""
    if machine.vector:  # each thread its rows and columns; two lanes in a row ask for the same word
        threads = pair.block_m * pair.block_n / (pair.thread_m * pair.thread_n)
        return threads * (pair.thread_m + pair.thread_n) / 2 * pair.a_bytes
    if machine.warpgroups:  # A's rows once, B's columns once for each 64 rows
        return (large + small * math.ceil(large / 64)) * pair.a_bytes
    across, down = math.ceil(pair.block_n / 64), math.ceil(pair.block_m / 64)
    return (pair.block_m * across + pair.block_n * down) * pair.a_bytes


def closed_reads(pair, machine):
    """DRAM bytes read of A and B when programs run in lock-step waves, row-major in groups of rows."""
    down, across = math.ceil(pair.m / pair.block_m), math.ceil(pair.n / pair.block_n)
    group, slots = min(pair.group_m, down), machine.sms * pair.resident
    members = pair.batch * pair.split_k
    tiles = min(slots, down * across)
    beside = min(max(1.0, slots / (down * across)), members)
    rows = min(down, max(group, math.ceil(tiles / across)))
    columns = min(across, math.ceil(tiles / rows))
    k = pair.k / pair.split_k
    a_panel, b_panel = pair.block_m * k * pair.a_bytes, pair.block_n * k * pair.b_bytes
    two = machine.l2_partitions > 1
    stored = pair.d_bytes * (1.5 if two else 1) / machine.l2_partitions
    wave = beside * (rows * a_panel + columns * b_panel)
    sweep = beside * (across * b_panel + rows * a_panel + stored * rows * pair.block_m * pair.n)
    in_group = group * across
    passes = min(across, (in_group + tiles - math.gcd(int(in_group), int(tiles))) / tiles)
    if tiles == down * across:
        passes = 1
    sweeps = math.ceil(down * across / tiles) if tiles >= in_group else math.ceil(down / group)
    capacity = machine.l2_bytes / machine.l2_partitions
    a, b = (members * side * k * size for side, size in ((pair.m, pair.a_bytes), (pair.n, pair.b_bytes)))
    again_a, again_b = ((max(bytes_, 1) / capacity) ** EDGE for bytes_ in (wave, sweep))
    return a * (1 + (passes - 1) * again_a / (1 + again_a)) + b * (1 + (sweeps - 1) * again_b / (1 + again_b))
