"""`gemmlab.tune`: the plans that the model thinks best are measured, and one that beats its first is remembered."""

from __future__ import annotations

import datetime
import hashlib
import statistics
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple, Protocol

from gemmlab.kernels.nvrtc import library
from gemmlab.peak.candidates import beside, frugal, variants, various
from gemmlab.peak.choosing import plan_for
from gemmlab.peak.engine import FOLDER
from gemmlab.peak.paired import ranked, surely_faster
from gemmlab.peak.planned import Plan
from gemmlab.peak.request import Request
from gemmlab.peak.store import Entry, chosen, device_of, keep, said_of
from gemmlab.peak.trying import Bench, Compiler, Tried
from gemmlab.record import GemmlabError

MOST = 12  # plans of the first round
BETTERED = (2, 1)  # of the best, whose other sizes are tried next, and after that
SEMIFINAL, FINAL = 10, 2  # plans beside the model's that are timed again, longer, and that are held against it
FIRST_ROUNDS, MORE_ROUNDS, SEMIFINAL_ROUNDS, FINAL_ROUNDS = 1, 2, 9, 31
#: a multiplication that takes this many seconds meets the power limit soon, and the last rounds are held there: so many
#: of them, with so many plans, none further behind the fastest in the rounds before than that; the `frugal` ones
#: join them for the rounds in which those plans are picked
LOADED_FROM_S, LOADED_ROUNDS, LOADED_FINAL, LOADED_NEAR = 1e-3, 11, 4, 1.01
LOADED_FIRST_ROUNDS = 3
RESTED = 0.99  # times the model's time after pauses, from which on a plan is worth it that load does not tell apart
HOPELESS = 1.1  # times the fastest's time, from which on a plan is timed once only


class Trial(Protocol):
    """Rounds of timing by turns: `Bench.tried`, or anything that answers as it does."""

    def __call__(self, plans: Sequence[Plan], rounds: int, *, loaded: bool = False) -> list[Tried]:
        """Times of the plans in the same rounds, maybe fewer, with pauses or under load."""


class Found(NamedTuple):
    """What a search found out about one request; all times are measured seconds."""

    request: Request
    plan: Plan  #: the fastest, or the model's where none surely beats it
    measured_s: float
    model_s: float | None  #: the model's first, in the same rounds; None where that one failed
    spread_s: float  #: the wider interquartile range of the two
    tried: tuple[Tried, ...]  #: every plan, each with its longest measurement with pauses
    loaded: bool = False  #: the last rounds, and the times above, were without pauses

    @property
    def better(self) -> bool:
        """Whether it is another than the model's."""
        return self.plan != plan_for(self.request)


def search(request: Request, trial: Trial, first: Sequence[Plan] | None = None) -> Found:
    """The fastest right plan: first the model's various best, or `first`, then briefly variants of the fastest, of
    short ones `beside` too; the best of all again, by turns; and the best few of these against the model's.

    Rounds in which plans were picked do not judge them: the last ones are new, and `surely_faster` decides. Plans that
    take `LOADED_FROM_S` or longer are held against one another, and `frugal` ones, under load: there the energy of a
    product decides, and of plans that look alike after a pause one may be 3 % slower. Those that load does not tell
    from the model's are held against it with pauses: there one may be 9 % faster.

    Raises GemmlabError where no plan gives a right result.
    """
    model = plan_for(request)
    known = Known(model, trial)
    known.try_all(first if first is not None else various(request, MOST))
    for count in BETTERED:
        best = known.best()[:count]
        known.try_all([other for plan in best for other in (*variants(request, plan), *beside(request, plan))])
    if not known.best():
        said = next((each.fault for each in known.tried.values() if each.fault), "")
        raise GemmlabError(f"no plan gives a right result: {said}", "finite operands, and memory for their copies")
    others = [plan for plan in known.best() if plan != model]
    last = ranked(known.timed(others[:SEMIFINAL], SEMIFINAL_ROUNDS))
    loaded = bool(last) and median_s(last[0]) >= LOADED_FROM_S
    if loaded:
        near = [each.plan for each in last if median_s(each) <= LOADED_NEAR * median_s(last[0])]
        last, loaded = known.loaded([*near[:SEMIFINAL], *frugal(request)])
    elif last and last[0].plan != model:
        last = ranked(known.timed([each.plan for each in last if each.plan != model][:FINAL], FINAL_ROUNDS))
    if not last:
        raise GemmlabError("no plan is right when it is measured again", "compute-sanitizer on the kernel")
    return judged(request, model, last, tuple(known.tried.values()))._replace(loaded=loaded)


class Known:
    """What is known of plans: the last times of each, and all its times over the model's in the same round.

    The model's plan runs in all rounds, so that plans of different rounds can be compared: meanwhile the clock moves.
    """

    def __init__(self, model: Plan, trial: Trial) -> None:
        self.model, self.trial = model, trial
        self.tried: dict[Plan, Tried] = {}
        self.beside: dict[Plan, list[float]] = {}
        self.model_s = 1.0  #: the model's median when it was last right

    def try_all(self, plans: Sequence[Plan]) -> None:
        """Time the plans that are not known yet: all once, and those not far behind the fastest some times more."""
        new = [plan for plan in dict.fromkeys([self.model, *plans]) if plan not in self.tried]
        once = {each.plan: each.seconds for each in self.timed(new, FIRST_ROUNDS)} if new else {}
        ahead = [(plan, statistics.median(self.beside[plan])) for plan in self.best()]
        near = [plan for plan, beside in ahead if plan in new and beside <= HOPELESS * ahead[0][1]]
        for each in self.timed(near, MORE_ROUNDS) if near else ():
            if each.seconds:
                self.tried[each.plan] = each._replace(seconds=once.get(each.plan, ()) + each.seconds)

    def timed(self, plans: Sequence[Plan], rounds: int, *, loaded: bool = False) -> list[Tried]:
        """Those plans and the model's, unless that is known to be wrong, in the same rounds."""
        wrong = self.model in self.tried and not self.tried[self.model].seconds
        found = self.trial(list(dict.fromkeys([*([] if wrong else [self.model]), *plans])), rounds, loaded=loaded)
        if loaded:
            return found
        own = next((each.seconds for each in found if each.plan == self.model), ())
        self.model_s = statistics.median(own) if own else self.model_s
        for each in found:
            self.tried[each.plan] = each
            pairs = zip(each.seconds, own or (self.model_s,) * rounds, strict=False)  # of a wrong plan there are none
            self.beside.setdefault(each.plan, []).extend(one / other for one, other in pairs)
        return found

    def loaded(self, plans: Sequence[Plan]) -> tuple[list[Tried], bool]:
        """The best of those plans and the model's under load, the fastest first; where none surely beats that one, it
        and one that is not surely slower and was much faster after pauses, with pauses. And whether it was under load.
        """
        last = ranked(self.timed(self.finalists(plans), LOADED_ROUNDS, loaded=True))
        own = next((each for each in last if each.plan == self.model), None)
        if own is None or beaten(own, last):
            return last, True
        even = {each.plan for each in last if not surely_faster(own, each)}
        rested = next(plan for plan in self.best() if plan in even)
        if statistics.median(self.beside[rested]) > RESTED:
            return last, True
        return ranked(self.timed([rested], FINAL_ROUNDS)), False

    def finalists(self, plans: Sequence[Plan]) -> list[Plan]:
        """Those beside the model's; of many the `LOADED_FINAL` that are the fastest under load, and of others not far
        behind there the `FINAL` that are after pauses.
        """
        others = [plan for plan in dict.fromkeys(plans) if plan != self.model]
        if len(others) <= LOADED_FINAL:
            return others
        first = ranked(self.timed(others, LOADED_FIRST_ROUNDS, loaded=True))
        near = {each.plan for each in first if median_s(each) <= LOADED_NEAR * median_s(first[0])}  # none if all fail
        return [each.plan for each in first][:LOADED_FINAL] + [plan for plan in self.best() if plan in near][:FINAL]

    def best(self) -> list[Plan]:
        """The right plans, the fastest first."""
        right = [plan for plan, each in self.tried.items() if each.seconds]
        return sorted(right, key=lambda plan: statistics.median(self.beside[plan]))


def beaten(own: Tried, last: Sequence[Tried]) -> bool:
    """Whether the fastest of the last rounds surely beats the model's."""
    return surely_faster(last[0], own, len(last) - 1 or 1) and median_s(last[0]) < median_s(own)


def median_s(of: Tried) -> float:
    """The median of its rounds."""
    return statistics.median(of.seconds)


def spread_s(of: Tried) -> float:
    """The interquartile range of its rounds."""
    if len(of.seconds) < 2:
        return 0.0
    low, _, high = statistics.quantiles(of.seconds, n=4, method="inclusive")
    return high - low


def judged(request: Request, model: Plan, last: Sequence[Tried], tried: tuple[Tried, ...]) -> Found:
    """The winner of the last rounds; the model's own where it is not surely beaten."""
    own = next((each for each in last if each.plan == model), None)
    winner = own if own and not beaten(own, last) else last[0]
    return Found(
        request=request,
        plan=winner.plan,
        measured_s=median_s(winner),
        model_s=median_s(own) if own else None,
        spread_s=max(spread_s(winner), spread_s(own or winner)),
        tried=tried,
    )


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

    Arguments are `matmul`'s; of a batch whose matrices go one by one the first are measured. Some forty plans are
    compiled side by side, which takes seconds where they are not kept from before, held against float64, and timed by
    CUDA graphs over copies of the operands, more than three times the L2 where they are small; the memory of the copies
    and of float64 operands is needed. Pauses keep the chip off its power limit; of multiplications that take a
    millisecond or longer the last rounds are without them, for some thirty seconds, with more of the widest tiles. A
    result's accuracy never changes, nor, with `deterministic`, the order of its sums.

    Returns the plan, its time and the model's in seconds, their spread, and all that was tried. It is remembered in the
    user's folder of caches (`gemmlab/tuned`) if it surely beats the model's choice, as `gemmlab.peak.paired` tells; an
    older entry of the same request is replaced or taken out.

    Raises GemmlabError as `matmul` does, and where no plan gives a right result or the file cannot be written.
    """
    import torch

    from gemmlab.peak import tensors
    from gemmlab.peak.asking import asked
    from gemmlab.peak.batches import at_once

    left, right, _, d = asked(torch, a, b, out)
    if min(*left.shape, right.shape[-1]) == 0:
        raise GemmlabError(f"{tuple(a.shape)} times {tuple(b.shape)} has nothing to multiply")
    device = device_of(torch, left.device.index)
    choose = partial(chosen, device=device)
    (left, right, d), request, known = at_once(torch, (left, right, d), accuracy, deterministic, choose)
    compiler = Compiler()
    try:
        with torch.no_grad(), torch.cuda.device(left.device):
            first = [known, *various(request, MOST)]
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
