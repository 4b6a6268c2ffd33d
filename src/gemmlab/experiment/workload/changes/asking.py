"""Ask every rule about one multiplication."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gemmlab.experiment.workload.changes.alignment import alignment_changes
from gemmlab.experiment.workload.changes.attention import attention_changes
from gemmlab.experiment.workload.changes.batching import expert_changes, folding_changes, sibling_changes
from gemmlab.experiment.workload.changes.channels import channel_changes
from gemmlab.experiment.workload.changes.layout import channels_last_changes, copied_changes
from gemmlab.experiment.workload.changes.precision import (
    autocast_changes,
    double_changes,
    float8_changes,
    tf32_changes,
)
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.record import GemmlabError

RULES: tuple[Callable[[Look], Iterator[Candidate]], ...] = (
    alignment_changes,
    channel_changes,
    copied_changes,
    channels_last_changes,
    folding_changes,
    sibling_changes,
    expert_changes,
    attention_changes,
    tf32_changes,
    autocast_changes,
    double_changes,
)

#: of them, settings of the whole program: what is to be asked of a multiplication that another setting has changed
SETTINGS = (channels_last_changes, tf32_changes, autocast_changes, double_changes)


def settings(look: Look) -> list[Candidate]:
    """What the settings of the whole program have to say."""
    return [candidate for rule in SETTINGS for candidate in said(rule, look)]


def candidates(look: Look, *, float8: bool = False) -> list[Candidate]:
    """What every rule has to say, whatever it gains; `float8` asks for eight bits, too."""
    rules = (*RULES, float8_changes) if float8 else RULES
    return [candidate for rule in rules for candidate in said(rule, look)]


def said(rule: Callable[[Look], Iterator[Candidate]], look: Look) -> Iterator[Candidate]:
    """What a rule has to say; nothing where a neighbour that it asks about cannot be."""
    try:
        yield from rule(look)
    except GemmlabError:
        return
