"""How far predictions of whole networks were from measurement: stated figures, with where they come from."""

from __future__ import annotations

import msgspec


class Accuracy(msgspec.Struct, frozen=True):
    """Errors found on one chip: predicted over measured, less 1, lowest and highest."""

    chip: str  #: that was measured
    networks: int  #: trained there, each as given and changed
    steps: int  #: networks and changes together
    multiplications: tuple[float, float]  #: of the multiplications' seconds in a step, from the model alone
    step: tuple[float, float]  #: of the whole step's seconds, from the model alone
    taken: int  #: pieces of advice that were taken, and the step measured again
    gains_of_models: tuple[float, float]  #: of what they gained, advised from the model alone
    gains_of_traces: tuple[float, float]  #: of what they gained, advised from a trace
    source: str


#: by chip; errors on any other are not known (tests/benchmarks hold these to the file)
MEASURED = {
    "h200-sxm": Accuracy(
        chip="h200-sxm",
        networks=5,
        steps=15,
        multiplications=(-0.111, 0.116),
        step=(-0.162, 0.058),
        taken=10,
        gains_of_models=(-0.117, 0.330),
        gains_of_traces=(-0.174, 0.011),
        source="benchmarks/results/networks.json: BERT-large, GPT-2, a Llama block, a mixture of experts, ResNet-50",
    )
}


def accuracy_of(chip: str) -> Accuracy | None:
    """What is known of that chip's predictions; None where no network was measured on it."""
    return MEASURED.get(chip)
