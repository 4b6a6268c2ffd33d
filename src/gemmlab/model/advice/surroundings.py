"""What lies outside the kernel: launches, batches, the library, the measurement."""

from __future__ import annotations

from collections.abc import Iterator

from gemmlab.model.advice.situation import WORTH, Situation
from gemmlab.record import Advice
from gemmlab.units import seconds_text

OWN = ("alignment", "contiguous", "format", "padding")  # causes that the shape itself brings
MOSTLY = 0.5  # of the time
FAULT = 1.6  # a measured time that many predicted ones long is not the model's error (p90 0.2) but somebody's
EXPLAINED = 0.5  # of such a time: a cause that explains so much is to blame, not the library
SURELY = 3  # times as long as predicted: far beyond what the model errs by
ABSURD = 100  # no kernel of a library is that slow; a first call, which loads and tunes, is
TINY = 0.3  # of the time, for the launch: then the host's own time is likely to have been measured
TINY_FAULT = 3 * FAULT  # for such, since launches vary more than kernels do
NEAR = 0.5  # of its limit, from which on a shape may be called fine
FOLDED = 8  # problems launched together in the counterfactual
FINE = 1.25  # a measured time within that of the predicted one leaves nothing to find


def launch_advice(now: Situation) -> Iterator[Advice]:
    """Problems so small that starting them is most of their time."""
    problem, constants = now.problem, now.outlook.constants
    if problem.groups or now.chip.kind != "gpu" or constants.launch_s < MOSTLY * now.now_s:
        return
    together = now.time_s(problem.replace(batch=problem.batch * FOLDED)) / FOLDED
    if now.gain(together) < WORTH:
        return
    yield Advice(
        cause="launch",
        change=f"launch several together, as a batched or grouped GEMM ({FOLDED} are priced here) or in a CUDA graph",
        predicted_speedup=now.gain(together),
        cost="the multiplications must be known at the same time",
        confidence="high",
    )


def folding_advice(now: Situation) -> Iterator[Advice]:
    """A batch whose entries share B is one GEMM with a longer m, and reads B once."""
    problem = now.problem
    if problem.batch == 1 or problem.groups or problem.structure != "general" or problem.layout[0] == "t":
        return
    folded = problem.replace(m=problem.m * problem.batch, batch=1)
    gain = now.gain(now.time_s(folded))
    if gain >= WORTH:
        yield Advice(
            cause="batch",
            change=f"if all {problem.batch} entries share B, fold the batch into m: one GEMM with m={folded.m}",
            predicted_speedup=gain,
            cost="none where A is stored without gaps; impossible where every entry has its own B",
            confidence="low",
        )


def blame(now: Situation, found: list[Advice]) -> Iterator[Advice]:
    """A measured time far above the predicted one that no cause explains."""
    measured = now.measured_time_s
    if measured is None:
        return
    explained = max((advice.predicted_speedup for advice in found if advice.cause in OWN), default=1.0)
    slower = measured / now.outlook.time_s
    if slower < FAULT or (explained > EXPLAINED * slower and explained > FAULT):
        return
    problem = now.problem
    gaps = [name for name in ("lda", "ldb", "ldc") if getattr(problem, name) > gapless(now, name)]
    if gaps:
        yield Advice(
            cause="contiguous",
            change=f"copy the operand with {' and '.join(gaps)} wider than its rows: a library may treat such a "
            "view element by element",
            predicted_speedup=slower,
            cost="one copy; none where the result of the copy can be kept",
            confidence="medium",
        )
        return
    tiny = now.outlook.constants.launch_s > TINY * now.outlook.time_s
    if slower > ABSURD or (tiny and slower > TINY_FAULT):
        yield Advice(
            cause="measurement",
            change=f"measure again after a warm-up and with the device synchronised: {seconds_text(measured)} for "
            f"{seconds_text(now.outlook.time_s)} of work is a first call, a lazy start or the host's own time",
            predicted_speedup=slower,
            cost="none",
            confidence="medium",
        )
        return
    yield Advice(
        cause="library",
        change=f"this is the library's fault: the shape allows {seconds_text(now.outlook.time_s)} and took "
        f"{seconds_text(measured)}; try another version or algorithm of it, or a kernel tuned for this shape",
        predicted_speedup=slower,
        cost="an own or tuned kernel",
        confidence="high" if slower > SURELY else "medium",
    )


def gapless(now: Situation, name: str) -> int:
    """The shortest leading dimension."""
    problem = now.problem
    return {"lda": problem.a_stored[1], "ldb": problem.b_stored[1], "ldc": problem.n}[name]


def fine(now: Situation, found: list[Advice]) -> Iterator[Advice]:
    """What to say when nothing is to be gained."""
    if any(advice.predicted_speedup >= WORTH for advice in found):
        return
    if now.measured_time_s is not None and now.measured_time_s > FINE * now.outlook.time_s:
        return
    limit = sum(term.time_s for term in now.outlook.terms[:1])
    verdict = "this shape is fine" if limit > NEAR * now.outlook.time_s else "this shape is not to blame"
    yield Advice(
        cause="none",
        change=f"{verdict}: nothing to pad, copy, split or fold is predicted to gain 3 %",
        predicted_speedup=1.0,
        cost="none",
        confidence="high",
    )
