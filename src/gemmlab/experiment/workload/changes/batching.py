"""Several multiplications as one: a batch that shares its B, layers of one input, experts in a loop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gemmlab.experiment.workload.changes import digits
from gemmlab.experiment.workload.look import Candidate, Look
from gemmlab.problem import Gemm
from gemmlab.workload import Call

#: names of layers that take the same input, by the libraries that use them
TOGETHER = (
    ("query", "key", "value"),
    ("q_proj", "k_proj", "v_proj"),
    ("q_lin", "k_lin", "v_lin"),
    ("to_q", "to_k", "to_v"),
    ("q", "k", "v"),
    ("wq", "wk", "wv"),
    ("gate_proj", "up_proj"),
    ("w1", "w3"),
)
ALIKE = {name: names for names in TOGETHER for name in names}
#: of a decoder that looks at an encoder: its queries have another input than its keys and values
CROSS = re.compile(r"cross|enc_?dec|encoder_?att|multihead_attn", re.IGNORECASE)
EXPERT = re.compile(r"^(.*\bexperts?)\.(\d+)(\..+)?$")


class Team(NamedTuple):
    """Multiplications that could be one."""

    names: tuple[str, ...]
    calls: tuple[Call, ...]


def folding_changes(look: Look) -> Iterator[Candidate]:
    """The model's advice to fold a batch, where the strides say that every entry has the same B."""
    problem, operands = look.call.problem, look.call.operands
    if not look.plain or problem.batch == 1 or problem.groups or problem.layout[0] == "t" or len(operands) < 2:
        return
    strides = operands[1].strides
    if strides is None or len(strides) < 3 or any(strides[:-2]) or problem.lda != problem.k:
        return
    then_s, limit_s = look.then(problem=problem.replace(m=problem.m * problem.batch, batch=1))
    yield Candidate(
        cause="batch",
        line=f"y = (x.flatten(0, 1) @ w).unflatten(0, ({problem.batch}, -1))  # w (k, n), without its expanded axis",
        digits=digits.ORDER,
        cost="none: A is stored without gaps",
        confidence="high",
        then_s=then_s,
        limit_s=limit_s,
    )


def sibling_changes(look: Look) -> Iterator[Candidate]:
    """Layers of one input, such as query, key and value: their weights stacked are one longer multiplication."""
    weight, outs, _ = look.sides
    if weight is None or look.call.problem.groups:
        return
    teams = [team for call in look.members for team in siblings(look, call)]

    def one(team: Team) -> Gemm:
        side = sum(int(getattr(call.problem, outs)) for call in team.calls)
        return look.call.problem.replace(**{outs: side})

    found = merged(look, teams, one)
    if found is None:
        return
    names, then_s = teams[0].names, found
    sizes = [int(getattr(call.problem, outs)) for call in teams[0].calls]
    yield Candidate(
        cause="small",
        line=f"nn.Linear({weight.ins}, {sum(sizes)})(x).split({sizes}, dim=-1)  # in place of {', '.join(names)}",
        digits=digits.STACKED,
        cost="checkpoints: torch.cat of the weights and of the biases",
        confidence="medium",
        then_s=then_s,
        limit_s=look.forecast.limit_s,
    )


def siblings(look: Look, call: Call) -> Iterator[Team]:
    """The team of each of the call's places, found by names, phase and equal sides beside the outputs."""
    index = look.program.by_place
    problem, outs = call.problem, look.sides.outs
    for place in call.places:
        parent, dot, leaf = place.rpartition(".")
        names = ALIKE.get(leaf, ()) if not CROSS.search(parent) else ()
        alike = [(name, index.get((call.phase, f"{parent}{dot}{name}"), [])) for name in names]
        team = [(name, each) for name, calls in alike for each in calls if fits(problem, each.problem, outs)]
        if len({name for name, _ in team}) == len(names) == len(team) > 1:
            yield Team(tuple(name for name, _ in team), tuple(each for _, each in team))


def fits(problem: Gemm, other: Gemm, outs: str) -> bool:
    """Whether two multiplications differ in the side of their outputs alone."""
    if problem.layout != other.layout or problem.a_format != other.a_format:
        return False
    return all(getattr(problem, side) == getattr(other, side) for side in ("m", "n", "k", "batch") if side != outs)


def expert_changes(look: Look) -> Iterator[Candidate]:
    """Experts one after another, each with as many rows: one batched multiplication for all of them."""
    if look.call.problem.groups or not look.plain:
        return
    layers: dict[tuple[str, str], dict[str, Call]] = {}
    for call in look.members:
        for place in call.places:
            match = EXPERT.match(place)
            if match:
                layers.setdefault((match[1], match[3] or ""), {})[match[2]] = call
    teams = [Team((path,), tuple(calls.values())) for (path, _), calls in layers.items() if len(calls) > 1]
    sizes = {len(team.calls) for team in teams}
    if len(sizes) != 1:
        return
    problem, number = look.call.problem, sizes.pop()
    then_s = look.forecaster.price(Call(problem.replace(batch=number))) / number
    yield Candidate(
        cause="small",
        line=f"y = torch.bmm(x, w)  # x ({number}, rows, k), w ({number}, k, n): a layer's {number} experts at once\n"
        "# torch._grouped_mm(x, w, offs) where their rows differ",
        digits=digits.ORDER,
        cost="weights of the experts stacked in one parameter",
        confidence="medium",
        then_s=then_s,
        limit_s=look.forecast.limit_s,
    )


def merged(look: Look, teams: Iterable[Team], one: Callable[[Team], Gemm]) -> float | None:
    """Seconds of one on average, were every team one multiplication; None where there is no team.

    What a team saves is shared among its members by their times.
    """
    price, total, factors = look.forecaster.price, 0, 0.0
    for team in teams:
        apart = sum(price(call) for call in team.calls)
        factors += price(Call(one(team))) / apart
        total += 1
    if not total:
        return None
    places = sum(len(call.places) for call in look.members)
    return look.now_s * (max(0, places - total) + factors) / max(places, total)
