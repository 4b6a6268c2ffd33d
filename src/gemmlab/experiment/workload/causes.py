"""Why a multiplication is not at its limit, in a word."""

from __future__ import annotations

from gemmlab.experiment.workload.look import Look
from gemmlab.model.advice.surroundings import FAULT, NEAR, TINY

#: words for the terms of a predicted time; what the floor is made of is no cause
WORDS = {
    "re-read traffic": "traffic",
    "ragged tiles": "tile",
    "padded sides": "padding",
    "idle matrix units": "small",
    "weight shift": "small",
    "idle in the last wave": "waves",
    "feeding the arithmetic": "tile",
    "alignment": "alignment",
    "peak not held": "power",
    "pipeline fill": "small",
    "DRAM below data sheet": "memory",
    "cold cache": "memory",
    "imperfect overlap": "overlap",
    "split-k reduction": "small",
    "launch": "launch",
    "layout": "layout",
    "fused attention": "attention",
    "no matrix unit": "no matrix unit",
    "kernel": "library",
}
FINE = "fine"


def cause_of(look: Look, best: str) -> str:
    """The cause that the best change removes; without one, what most of the time past the limit goes to.

    A time measured far above the predicted one, with no change to explain it, is the library's. `fine` is what reaches
    half of its limit, as the model's own advice calls it.
    """
    if best:
        return best
    launches = look.forecaster.constants.launch_s * look.call.count
    if (
        look.measured_s is not None
        and look.measured_s > FAULT * look.predicted_s
        and launches < TINY * look.predicted_s
    ):
        return "library"
    if look.limit_s > NEAR * look.time_s:
        return FINE
    prediction = look.forecast.record.prediction
    lost = [(term.time_s, WORDS[term.cause]) for term in prediction.terms if term.cause in WORDS] if prediction else []
    together: dict[str, float] = {}
    for time_s, word in lost:
        together[word] = together.get(word, 0.0) + time_s
    return max(together, key=lambda word: together[word]) if together else FINE
