"""A profiler's trace as a Workload."""

from __future__ import annotations

from pathlib import Path

from gemmlab.record import GemmlabError
from gemmlab.workload.traces.devices import Device, chip_of, in_use, settings_of, words_of
from gemmlab.workload.traces.events import Events
from gemmlab.workload.traces.file import read_text
from gemmlab.workload.traces.foreign import refuse_events
from gemmlab.workload.traces.gathering import Gathered
from gemmlab.workload.traces.joining import has_graphs
from gemmlab.workload.traces.notes import notes_of, refuse_shapeless
from gemmlab.workload.traces.spans import Spans
from gemmlab.workload.traces.steps import Steps
from gemmlab.workload.traces.work import Work
from gemmlab.workload.workload import Workload

CPU = "CPU"  # as the trace labels the process


def read_trace(path: str | Path, *, step: int | None = None) -> Workload:
    """What the program whose trace of torch.profiler a file holds multiplies, how long it takes, and what else it does.

    `path` is what export_chrome_trace wrote, .json or .json.gz, or the folder of tensorboard_trace_handler, of which
    the newest trace is read; `step` is the number of one ProfilerStep, else all whole ones are read. A multiplication's
    time is that of its kernels, joined by correlation id; in a trace of a CPU alone, its operator's own.
    Raises GemmlabError for a file that is cut off or no such trace, one recorded without shapes, and a missing step.
    """
    place, text = read_text(path)
    events = Events(place, text)
    del text
    gathered = Gathered(place, events)
    mended, devices = events.mended, events.devices
    del events
    if not len(gathered.operators) and not len(gathered.kernels):
        refuse_events(place, gathered.foreign)
    if not gathered.shapes and (len(gathered.operators) or not has_graphs(gathered)):
        refuse_shapeless(gathered)
    which = [f"read is {place.name}, the newest trace of the folder"] if Path(path).is_dir() else []
    steps = Steps(gathered, step)
    work = Work(gathered, steps, settings_of(devices), timed=is_timed(gathered, devices))
    device = in_use(devices, work.tally.devices) if len(gathered.kernels) else None
    spans = Spans(work)
    collected = work.collected
    calls = collected.all_calls()
    unread = collected.all_unread()
    if not calls and not unread and not collected.others:
        raise GemmlabError(f"{place} holds no operator in its steps", "profile at least one step of the program")
    return Workload(
        source=str(path),
        kind="trace",
        calls=calls,
        others=collected.all_others(),
        unread=unread,
        steps=len(steps),
        marked=bool(steps.all),
        span_s=spans.span_s,
        busy_s=spans.busy_s,
        chip=chip_of(device) or ("" if devices else CPU),
        settings=collected.settings(),
        notes=(*which, *notes_of(work, spans, mended), *words_of(device)),
    )


def is_timed(gathered: Gathered, devices: list[Device]) -> bool:
    """Whether the trace times the work itself: its kernels, or its operators where no device can have done it."""
    launched = any("Launch" in gathered.names[number] for number in set(gathered.launches["name"].tolist()))
    return bool(len(gathered.kernels)) or (not devices and not launched)
