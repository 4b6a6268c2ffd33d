"""`gemmlab.tune`: the plans that the model thinks best are measured, and one that beats its first is remembered."""

from __future__ import annotations

import datetime
import hashlib
import statistics
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NamedTuple

from gemmlab.kernels.nvrtc import library
from gemmlab.peak.candidates import variants, various
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.engine import FOLDER
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.store import Entry, chosen, device_of, keep, said_of
from gemmlab.peak.trying import Bench, Compiler, Tried
from gemmlab.record import GemmlabError

MOST = 12  # plans of the first round
BETTERED = 2  # of its best, whose other sizes are tried next
FINAL = 4  # of all, that are timed again, longer
BRIEF_ROUNDS, FINAL_ROUNDS = 3, 9

#: rounds of timing by turns: `Bench.tried`, or anything that answers as it does
Trial = Callable[[Sequence[Plan], int], list[Tried]]


class Found(NamedTuple):
    """What a search found out about one request; all times are measured seconds."""

    request: Request
    plan: Plan  #: the fastest, or the model's where none beats it
    measured_s: float
    model_s: float | None  #: the model's first; None where that one failed
    spread_s: float  #: the wider interquartile range of the two
    tried: tuple[Tried, ...]  #: every plan, each with its longest measurement

    @property
    def better(self) -> bool:
        """Whether it is another than the model's."""
        return self.plan != plan_for(self.request)


def search(request: Request, trial: Trial, first: Sequence[Plan] | None = None) -> Found:
    """The fastest right plan: first the model's various best, or `first`, then variants of the fastest, briefly; then
    the fastest of all longer, by turns. One replaces the model's only where it gains more than the spread.

    Raises GemmlabError where no plan gives a right result.
    """
    model = plan_for(request)
    known: dict[Plan, Tried] = {}
    try_all(known, trial, [model, *(first if first is not None else various(request, MOST))], BRIEF_ROUNDS)
    try_all(known, trial, [other for plan in best(known)[:BETTERED] for other in variants(request, plan)], BRIEF_ROUNDS)
    finalists = best(known)[:FINAL]
    if not finalists:
        said = next((each.fault for each in known.values() if each.fault), "")
        raise GemmlabError(f"no plan gives a right result: {said}", "finite operands, and memory for their copies")
    again = dict.fromkeys([*([model] if known[model].seconds else []), *finalists])
    known |= {each.plan: each for each in trial(list(again), FINAL_ROUNDS)}
    return judged(request, model, list(again), known)


def try_all(known: dict[Plan, Tried], trial: Trial, plans: Sequence[Plan], rounds: int) -> None:
    """Try the plans that are not known yet."""
    new = [plan for plan in dict.fromkeys(plans) if plan not in known]
    known.update((each.plan, each) for each in trial(new, rounds))


def best(known: dict[Plan, Tried]) -> list[Plan]:
    """The right plans, the fastest first."""
    return sorted((plan for plan in known if known[plan].seconds), key=lambda plan: median_s(known[plan]))


def median_s(of: Tried) -> float:
    """The median of its rounds."""
    return statistics.median(of.seconds)


def spread_s(of: Tried) -> float:
    """The interquartile range of its rounds."""
    if len(of.seconds) < 2:
        return 0.0
    low, _, high = statistics.quantiles(of.seconds, n=4, method="inclusive")
    return high - low


def judged(request: Request, model: Plan, finalists: Sequence[Plan], known: dict[Plan, Tried]) -> Found:
    """The winner of the last round; the model's own where it is not beaten by more than the spread."""
    right = best({plan: known[plan] for plan in finalists})
    if not right:
        raise GemmlabError("no plan is right when it is measured again", "compute-sanitizer on the kernel")
    winner, own = known[right[0]], known[model]
    spread = max(spread_s(winner), spread_s(own))
    if own.seconds and not clear(winner, own, spread):
        winner = own
    return Found(
        request=request,
        plan=winner.plan,
        measured_s=median_s(winner),
        model_s=median_s(own) if own.seconds else None,
        spread_s=spread,
        tried=tuple(known.values()),
    )


def clear(winner: Tried, own: Tried, spread: float) -> bool:
    """Whether one gains more than the spread, in all rounds but one: the luckiest of a few gains a little anyhow."""
    won = sum(first < second for first, second in zip(winner.seconds, own.seconds, strict=True))
    return median_s(own) - median_s(winner) > spread and won >= len(own.seconds) - 1


def entry_of(found: Found, versions: dict[str, str]) -> Entry:
    """What is kept of a search."""
    return Entry(
        request=found.request,
        kernel=said_of(found.plan.kernel),
        group_m=found.plan.group_m,
        measured_s=found.measured_s,
        model_s=found.model_s,
        spread_s=found.spread_s,
        date=datetime.date.today().isoformat(),
        versions=versions,
    )


def versions_of(torch: Any) -> dict[str, str]:
    """What a measurement depends on beside the chip: versions, and a digest of the kernels' text."""
    texts = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.cu*")))
    found = {"torch": str(torch.__version__), "nvrtc": library()[1], "kernels": hashlib.sha256(texts).hexdigest()[:12]}
    try:
        return {"gemmlab": metadata.version("gemmlab"), **found}
    except metadata.PackageNotFoundError:  # the sources, not installed
        return found


def tune(a: Any, b: Any, out: Any = None, accuracy: str = "vendor", deterministic: bool = False) -> Found:
    """Measure plans for A (m, k) times B (k, n) on their GPU; `matmul` uses the fastest from now on, in later runs too.

    Arguments are `matmul`'s; of a batch the first matrices are measured. About twenty plans are compiled side by side,
    which takes seconds where they are not kept from before, held against float64, and timed by CUDA graphs over copies
    of the operands, more than three times the L2 where they are small; the memory of the copies and of float64 operands
    is needed. Pauses keep the chip off its power limit. A result's accuracy never changes, nor, with `deterministic`,
    the order of its sums.

    Returns the plan, its time and the model's in seconds, their spread, and all that was tried. It is remembered in the
    user's folder of caches (`gemmlab/tuned`) if it beats the model's choice by more than the spread; an older entry of
    the same request is replaced or taken out.

    Raises GemmlabError as `matmul` does, and where no plan gives a right result or the file cannot be written.
    """
    import torch

    from gemmlab.peak import tensors
    from gemmlab.peak.asking import asked, request_of

    left, right, _, d = asked(torch, a, b, out)
    if min(*left.shape, right.shape[-1]) == 0:
        raise GemmlabError(f"{tuple(a.shape)} times {tuple(b.shape)} has nothing to multiply")
    if left.dim() == 3:
        left, right, d = left[0], right[0], d[0]
    request, device = request_of(torch, left, right, d, accuracy, deterministic), device_of(torch, left.device.index)
    compiler = Compiler()
    try:
        with torch.no_grad(), torch.cuda.device(left.device):
            first = [chosen(request, device), *various(request, MOST)]
            compiler.begin(first)
            bench = Bench(torch, left, right, d, compiler)
            found = search(request, bench.tried, first)
    finally:
        compiler.stop()
    remember(found, device, versions_of(torch))
    tensors.forget()
    return found


def remember(found: Found, device: Any, versions: dict[str, str]) -> None:
    """Keep a better plan in the user's file; where the model's is the best, so that no other is chosen."""
    keep(device, [], without=[found.request])
    if chosen(found.request, device) != found.plan:
        keep(device, [entry_of(found, versions)])
