"""The chip that an answer is for, and whether it is the one that a trace was taken on."""

from __future__ import annotations

from typing import NamedTuple

from gemmlab.chips import Chip, get, load, names
from gemmlab.record import require_type
from gemmlab.workload import Workload

DEFAULT = "h100-sxm"
PROCESSOR = "CPU"  # as a trace without a GPU names what it was taken on


class Device(NamedTuple):
    """What the answer is predicted for."""

    chip: Chip
    traced: Chip | None  #: another chip, whose times the source has: all is predicted
    notes: tuple[str, ...]
    processor: bool = False  #: the source's times are of some processor, which no chip file describes

    @property
    def foreign(self) -> bool:
        """Whether the source's times are another chip's."""
        return self.traced is not None or self.processor


def device_of(workload: Workload, chip: Chip | str | None) -> Device:
    """The chip that was asked for, else the one that the trace names, else the default.

    Raises GemmlabError for a chip that is unknown.
    """
    traced = reported(workload.chip)
    if workload.chip == PROCESSOR and (chip is None or loaded(chip).kind != "cpu"):
        found = get(DEFAULT) if chip is None else loaded(chip)
        note = f"the source's times are of a processor: every time for {found.name} is predicted, of what is not "
        note += "multiplication by the sizes of its inputs; --chip and a processor keep the times"
        return Device(found, None, (note,), processor=True)
    if chip is None:
        unknown = f"no chip file knows `{workload.chip}`: predicted for {DEFAULT}"
        return Device(traced or get(DEFAULT), None, (unknown,) if workload.chip and not traced else ())
    wanted = loaded(chip)
    timed = workload.span_s is not None or any(call.time_s is not None for call in workload.calls)
    if traced is None or traced.name == wanted.name or not timed:
        return Device(wanted, None, ())
    note = f"the source's times are of a {traced.name}: every time for {wanted.name} is predicted"
    return Device(wanted, traced, (note,))


def loaded(chip: Chip | str) -> Chip:
    """The chip that is meant; raises GemmlabError."""
    wanted = load(chip) if isinstance(chip, str) else chip
    require_type("chip", wanted, Chip, 'a name such as "h100-sxm", a file, or a Chip')
    return wanted


def reported(text: str) -> Chip | None:
    """The built-in chip that a driver reports by that name, or that has that name; None where none does."""
    if not text:
        return None
    return next((found for name in names() if text in ((found := get(name)).name, *found.reported_as)), None)
