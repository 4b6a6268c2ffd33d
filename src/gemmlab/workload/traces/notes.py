"""What is to be said of a trace beside its figures."""

from __future__ import annotations

from typing import NoReturn

from gemmlab.record import GemmlabError
from gemmlab.units import seconds_text
from gemmlab.workload.traces.gathering import Gathered
from gemmlab.workload.traces.kernel_names import multiplies
from gemmlab.workload.traces.spans import Spans
from gemmlab.workload.traces.work import Work

LAUNCH_BOUND = 0.1  # of the span: less waiting is not worth a word of its own
SHAPES = "profile(..., record_shapes=True), with both ProfilerActivity.CPU and ProfilerActivity.CUDA"


def notes_of(work: Work, spans: Spans, mended: int) -> list[str]:
    """The notes of a trace that was read."""
    tally, collected = work.tally, work.collected
    told = list(work.steps.notes())
    counted = [start for start, counts in zip(work.forest.starts, work.counting.counted, strict=True) if counts]
    told += work.steps.uneven(counted)
    if mended:
        told.append(
            f"{mended:,} events of broken JSON were mended: names with backslashes or quotation marks, infinities"
        )
    if tally.outside:
        told.append(f"{seconds_text(tally.outside / 1e9)} of work lie outside of the steps that are read")
    if spans.span_s and spans.waiting_s is not None and spans.busy_s is not None:
        idle = 1 - spans.busy_s / spans.span_s
        waiting = spans.waiting_s / spans.span_s
        if waiting >= LAUNCH_BOUND:
            told.append(
                f"the device idles {idle:.0%} of the time, {waiting:.0%} of it while the CPU runs operators: launches, "
                "slowed by the profiler, bound the step"
            )
        elif idle >= LAUNCH_BOUND:
            told.append(f"the device idles {idle:.0%} of the time, nearly all of it while the CPU runs no operator")
    if tally.graphs:
        told.append(
            f"{tally.graphs:,} kernels, {seconds_text(tally.graph_time / 1e9)}, ran in CUDA graphs, whose launches "
            "tell no operators: profile without graphs for their shapes"
        )
    if tally.captured:
        told.append(f"{tally.captured:,} multiplications were recorded into CUDA graphs, not run, and are left out")
    if tally.orphans:
        told.append(
            f"{tally.orphans:,} kernels, {seconds_text(tally.orphan_time / 1e9)}, were launched by no operator in the "
            "trace"
        )
    if collected.without_kernels:
        told.append(
            f"{collected.without_kernels:,} multiplications ran no kernel: on the CPU, or their records were lost; "
            "they have no time"
        )
    if collected.split:
        told.append("the time of an operator that multiplies several times is divided by their work")
    if not collected.timed:
        told.append(
            "the trace holds no kernels of its device, so that nothing is timed: profile with ProfilerActivity.CUDA, "
            "or for a CPU's times without the device (CUDA_VISIBLE_DEVICES=)"
        )
    processes = {list(work.gathered.threads)[thread][0] for thread in work.forest.bounds}
    if len(processes) > 1:
        told.append(f"operators of {len(processes)} processes are read together, as those of one program")
    if len(tally.devices) > 1:
        told.append(
            f"kernels ran on {len(tally.devices)} devices; the time with a kernel running is that of any of them"
        )
    return told


def refuse_shapeless(gathered: Gathered) -> NoReturn:
    """Raise GemmlabError for a trace without shapes, with what its kernels tell alone."""
    kernels = gathered.kernels
    names, spent = kernels["name"].tolist(), (kernels["end"] - kernels["start"]).tolist()
    known = [multiplies(gathered.names[name]) for name in names]
    total = sum(spent)
    products = sum(time for time, is_product in zip(spent, known, strict=True) if is_product)
    told = ""
    if total:
        told = (
            f"; its {len(spent):,} kernels take {seconds_text(total / 1e9)}, of which the {sum(known):,} that multiply "
            f"by their names take {seconds_text(products / 1e9)} ({products / total:.0%})"
        )
    what = "no shapes of operators' inputs" if len(gathered.operators) else "kernels, but no operators"
    raise GemmlabError(f"{gathered.path} holds {what}{told}", SHAPES)
