"""The predicted time as a sum of named causes: the model run again and again, one effect more each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gemmlab.model.effects import NOTHING, Effects
from gemmlab.record import Term


class Cause(NamedTuple):
    """One step of the waterfall."""

    name: str
    effect: str  #: the field of Effects that it switches on
    why: str


CAUSES = (
    Cause("re-read traffic", "traffic", "DRAM bytes beyond each matrix once"),
    Cause("ragged tiles", "padding", "tiles and k-steps that stick out of the matrices, and instructions' least sides"),
    Cause("idle in the last wave", "waves", "the busiest SM has a whole tile more than the average"),
    Cause("feeding the arithmetic", "feeding", "L2 and shared memory hand tiles this size on too slowly"),
    Cause(
        "alignment",
        "alignment",
        "rows of A, B or the result leave multiples of 16 bytes: kernels move single elements",
    ),
    Cause("peak not held", "clock", "power limit and issue: the clock under load is below the data sheet's"),
    Cause("pipeline fill", "fill", "each program fills and drains its pipeline"),
    Cause("DRAM below data sheet", "dram", "what streaming reaches, and how much few SMs can draw"),
    Cause("cold cache", "leftovers", "lines that earlier work left dirty are written back first"),
    Cause("imperfect overlap", "overlap", "arithmetic and DRAM do not hide each other wholly"),
    Cause("split-k reduction", "reduction", "partial results are written, read and added"),
    Cause("launch", "launch", "from the launch to the first load and from the last store to the end"),
)


TPU_CAUSES = (
    Cause("re-read traffic", "traffic", "blocks of D in VMEM read A and B again, which are stored in tiles of 8 x 128"),
    Cause("padded sides", "padding", "XLA pads rows to 8, n and k to the sides of the matrix units"),
    Cause("idle matrix units", "waves", "blocks and tiles do not divide evenly among the units"),
    Cause("weight shift", "feeding", "too few rows pass a unit to hide the shifting in of its next weights"),
    Cause("pipeline fill", "fill", "the first weights are shifted in, and the wave runs in and out"),
    Cause("DRAM below data sheet", "dram", "what streaming reaches of it, taken from GPUs: no TPU was read"),
    Cause("imperfect overlap", "overlap", "nothing hides the first block's way in and the last one's out"),
    Cause("launch", "launch", "from the launch to the first load and from the last store to the end"),
)


def waterfall(
    time_with: Callable[[Effects], float], floor: str, causes: tuple[Cause, ...] = CAUSES
) -> tuple[Term, ...]:
    """Terms that add up to `time_with(ALL)`: the floor first, then each cause's addition, causes of nothing left out.

    `time_with` gives seconds under some effects; `floor` names what the floor is made of. What an effect takes away
    because an earlier one hid it is added to that effect, so every term is at least zero.
    """
    effects = NOTHING
    reached = time_with(effects)
    terms = [
        Term(
            cause=floor, time_s=reached, why="the larger of arithmetic and each matrix once, at the data sheet's rates"
        )
    ]
    for cause in causes:
        effects = effects._replace(**{cause.effect: True})
        here = time_with(effects)
        terms.append(Term(cause=cause.name, time_s=here - reached, why=cause.why))
        reached = here
    return tuple(term for term in terms if abs(term.time_s) > 1e-12 * reached)
