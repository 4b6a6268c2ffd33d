"""Ask every rule, keep what is worth saying, the largest gain first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gemmlab.model.advice.alignment import alignment_advice
from gemmlab.model.advice.arithmetic import format_advice, padding_advice
from gemmlab.model.advice.situation import Situation
from gemmlab.model.advice.surroundings import blame, fine, folding_advice, launch_advice
from gemmlab.model.advice.tiling import cluster_advice, family_advice, raster_advice, split_advice, tile_advice
from gemmlab.model.outlook import Outlook
from gemmlab.record import Advice, GemmlabError

Rule = Callable[[Situation], Iterator[Advice]]
RULES = (
    alignment_advice,
    format_advice,
    padding_advice,
    tile_advice,
    family_advice,
    split_advice,
    raster_advice,
    cluster_advice,
    launch_advice,
    folding_advice,
)
#: a TPU pads by itself and has no threads: rows of 16 bytes, tiles, clusters and launch orders are no matter of its
TPU_RULES = (format_advice, padding_advice, folding_advice)
SURE = {"high": 0, "medium": 1, "low": 2}


def order(advice: Advice) -> tuple[bool, float, int]:
    """What rests on a guess comes last; otherwise the largest gain first, the surer of equals before the other."""
    return advice.confidence == "low", -round(advice.predicted_speedup, 2), SURE[advice.confidence]


def said(rule: Rule, now: Situation) -> Iterator[Advice]:
    """What a rule has to say; nothing where a neighbour that it asks about cannot be, its side past the largest."""
    try:
        yield from rule(now)
    except GemmlabError:
        return


def advise(outlook: Outlook, *, chosen: bool = False, measured_time_s: float | None = None) -> tuple[Advice, ...]:
    """The Record's `advice`: changes predicted to gain, the surest and largest first, or that the shape is fine.

    `chosen` says that the user named the kernel or its tile, so that changing it is advice too. With `measured_time_s`,
    a time that the user saw, it may be the library's fault, or the measurement's.
    """
    now = Situation(outlook, chosen=chosen, measured_time_s=measured_time_s)
    rules = TPU_RULES if outlook.machine.systolic else RULES
    found = [advice for rule in rules for advice in said(rule, now)]
    found.extend(blame(now, found))
    found.extend(fine(now, found))
    return tuple(sorted(found, key=order))
