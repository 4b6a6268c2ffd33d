"""Many (shape, tiling) pairs in one call: the time model on arrays, DRAM traffic by its closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemmlab.chips import Chip, load
from gemmlab.model.constants import constants_of
from gemmlab.model.machine import machine_of
from gemmlab.model.pairs import Values, pairs_of
from gemmlab.model.time import times

BOUNDS = ("compute", "dram", "launch")


class Predictions(NamedTuple):
    """Arrays of one shape, one entry a pair."""

    time_s: Values
    dram_read_bytes: Values  #: of A and B
    dram_bytes: Values  #: with the result
    waves: Values  #: programs over the SMs
    wave_efficiency: Values
    flop_per_s: Values
    bound: NDArray[np.str_]  #: compute, dram or launch: what takes longest


def predict_many(
    m: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    block_m: ArrayLike,
    block_n: ArrayLike,
    *,
    chip: Chip | str = "h100-sxm",
    format: str = "bfloat16",
    block_k: ArrayLike = 64,
    split_k: ArrayLike = 1,
    group_m: ArrayLike = 8,
    cluster_m: ArrayLike = 1,
    batch: ArrayLike = 1,
    vector: ArrayLike | None = None,
) -> Predictions:
    """Predicted times of many multiplications under many tilings, general operands in one format.

    Sizes in elements; arrays broadcast. `vector` is how many elements one load takes where rows leave multiples of 16
    bytes (left out: none do). Everything that `explain` predicts but the simulation of L2 near its capacity, which the
    closed wave form replaces. Raises GemmlabError for a chip or format that is unknown.
    """
    chip = load(chip) if isinstance(chip, str) else chip
    machine = machine_of(chip, format)
    pairs = pairs_of(
        m,
        n,
        k,
        block_m,
        block_n,
        a_format=format,
        block_k=block_k,
        split_k=split_k,
        group_m=group_m,
        cluster_m=cluster_m,
        batch=batch,
        load_elements=vector,
    )
    constants = constants_of(chip)
    found = times(pairs, machine, constants)
    programs = np.ceil(pairs.m / pairs.block_m) * np.ceil(pairs.n / pairs.block_n) * pairs.split_k * pairs.batch
    waves = programs / (machine.systolic.cores if machine.systolic else machine.sms)
    busy = np.stack([np.maximum(found.sm, found.power), found.dram, np.full_like(found.dram, constants.launch_s)])
    return Predictions(
        time_s=found.total,
        dram_read_bytes=found.reads,
        dram_bytes=found.reads + pairs.batch * pairs.m * pairs.n * pairs.d_bytes,
        waves=waves,
        wave_efficiency=waves / np.ceil(waves),
        flop_per_s=2 * pairs.m * pairs.n * pairs.k * pairs.batch / found.total,
        bound=np.array(BOUNDS)[busy.argmax(axis=0)],
    )
