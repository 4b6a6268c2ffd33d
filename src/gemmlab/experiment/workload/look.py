"""What a rule looks at: one distinct multiplication with its times, its weight, and the program around it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from gemmlab.experiment.workload.distinct import Distinct
from gemmlab.experiment.workload.forecast import Forecast, Forecaster
from gemmlab.experiment.workload.weights import Sides, Weight, sides_of, weights_of
from gemmlab.experiment.workload.widths import Heads, Widening, Width, key_of, widenings
from gemmlab.formats import storage_bytes
from gemmlab.model.advice.situation import Situation
from gemmlab.model.machine import machine_of
from gemmlab.workload import Call, Workload

WIDEST_HEAD = 256  # no fused kernel of attention takes wider ones


class Candidate(NamedTuple):
    """One change of a multiplication, priced as the row's own time is."""

    cause: str
    line: str  #: PyTorch, to paste
    digits: str
    cost: str
    confidence: str
    then_s: float  #: predicted seconds of one, or of each on average
    limit_s: float  #: what one could not go below then
    extra_s: float = 0.0  #: what it adds beside the multiplication, seconds of one
    wide: bool = False  #: a setting of the whole program: it touches every multiplication that it can
    shared: bool = False  #: a size of the whole program: it touches every multiplication that has it
    call: Call | None = None  #: the multiplication under that setting, to which others can be added


class Program:
    """What the rules of one multiplication may ask about all of them."""

    def __init__(self, workload: Workload, forecaster: Forecaster, time_of: dict[str, float]) -> None:
        self.workload, self.forecaster = workload, forecaster
        self.other_s = time_of  #: seconds of what is no multiplication, by its name
        self.told: dict[tuple[Width, ...], str] = {}  #: lines of changes of widths, each made once

    @cached_property
    def weights(self) -> dict[str, Weight]:
        """Weights by name, or by size where nobody names them."""
        return weights_of(self.workload.calls)

    @cached_property
    def autocast(self) -> bool:
        """Whether the program runs under autocast already, by its settings, or by what it multiplies in 16 bits."""
        formats = {call.problem.a_format for call in self.workload.calls}
        return "autocast" in dict(self.workload.settings) or bool(formats & {"bfloat16", "float16"})

    @cached_property
    def products(self) -> dict[tuple[Any, ...], list[Call]]:
        """Batched multiplications that no kernel fuses, by phase and sizes."""
        found: dict[tuple[Any, ...], list[Call]] = {}
        for call in self.workload.calls:
            if call.problem.batch > 1 and not call.fused and call.convolution is None:
                problem = call.problem
                found.setdefault((call.phase, problem.batch, problem.m, problem.n, problem.k), []).append(call)
        return found

    @cached_property
    def attention(self) -> frozenset[tuple[int, tuple[int, ...]]]:
        """Batch and sorted sides of forward products that follow on each other as attention's do.

        Scores (S, T) summed over the head's width d, then (S, d) summed over T; no product is both, and what softmax
        reads and writes, where that is told, is no less than the scores.
        """
        found = set()
        for (phase, batch, m, n, k), calls in self.products.items():
            values = self.products.get((phase, batch, m, k, n), [])
            if phase == "backward" or k > WIDEST_HEAD or not values:
                continue
            two = n != k or len({call.problem.layout for call in calls}) > 1  # q @ k^T, then p @ v
            if two and self.softmax_bytes >= storage_bytes(calls[0].problem.d_format, batch * m * n):
                found.add((batch, tuple(sorted((m, n, k)))))
        return frozenset(found)

    @property
    def softmax_bytes(self) -> float:
        """Bytes that forward softmaxes read and write; infinite where nobody tells."""
        found = [each.bytes for each in self.workload.others if "softmax" in each.name and each.phase != "backward"]
        return float("inf") if None in found else sum(each or 0 for each in found)

    @cached_property
    def heads(self) -> frozenset[Heads]:
        """Attention's heads: how many, and how wide."""
        tensors = [each for call in self.workload.calls if call.fused for each in call.operands]
        fused = {Heads(each.shape[1], each.shape[3]) for each in tensors if len(each.shape) == 4}
        apart = {
            Heads(0, k)
            for phase, batch, m, n, k in self.products
            if phase != "backward" and k <= WIDEST_HEAD and (batch, tuple(sorted((m, n, k)))) in self.attention
        }
        return frozenset(fused | (apart if any("softmax" in name for name in self.other_s) else set()))

    @cached_property
    def widenings(self) -> tuple[Widening, ...]:
        """Widths off the 16-byte road that one hyperparameter makes larger."""
        return widenings(self.workload.calls, self.weights, self.heads)

    @cached_property
    def widened(self) -> dict[tuple[int, int, int], Widening]:
        """What makes a weight of these outputs, inputs and number larger."""
        return {key_of(use.weight): each for each in self.widenings for use in each.uses}

    @cached_property
    def by_place(self) -> dict[tuple[str, str], list[Call]]:
        """Calls by phase and place."""
        found: dict[tuple[str, str], list[Call]] = {}
        for call in self.workload.calls:
            for place in call.places:
                found.setdefault((call.phase, place), []).append(call)
        return found

    def seconds(self, words: Iterable[str]) -> float:
        """Seconds of the other operators whose names have one of the words."""
        return sum(time for name, time in self.other_s.items() if any(word in name for word in words))


class Look:
    """One distinct multiplication."""

    def __init__(self, distinct: Distinct, program: Program, *, foreign: bool) -> None:
        self.call, self.members = distinct
        self.program, self.forecaster = program, program.forecaster
        self.measured_s = None if foreign else self.call.time_s  #: of all

    @cached_property
    def forecast(self) -> Forecast:
        """Of one of them."""
        return self.forecaster.forecast(self.call)

    @property
    def predicted_s(self) -> float:
        """Of all of them."""
        return self.forecast.time_s * self.call.count

    @property
    def time_s(self) -> float:
        """Of all of them: measured where the source has times, else predicted."""
        return self.predicted_s if self.measured_s is None else self.measured_s

    @property
    def limit_s(self) -> float:
        """The roofline's seconds of all of them."""
        return self.forecast.limit_s * self.call.count

    @property
    def peak_s(self) -> float:
        """The counted work of all of them at the data sheet's peak of its format."""
        format = self.call.convolution.format if self.call.convolution else self.call.problem.a_format
        return self.call.flop / machine_of(self.forecaster.chip, format).peak_flop_per_s

    @property
    def plain(self) -> bool:
        """Whether a plain GEMM serves it."""
        return not (self.call.fused or self.call.convolution or self.call.convolution_pass)

    @cached_property
    def now_s(self) -> float:
        """One, priced as its neighbours are."""
        return self.forecaster.price(self.call)

    @cached_property
    def sides(self) -> Sides:
        """Whose sides they are; of many layers' weights, one name for all."""
        found = sides_of(self.call, self.program.weights)
        several = len({each.places for each in self.members}) > 1 or len(self.call.places) > 1
        return found._replace(weight=found.weight.every) if several and found.weight else found

    @cached_property
    def situation(self) -> Situation:
        """As the model's own rules of advice look at a plain multiplication."""
        return self.forecaster.situation(self.call.problem)

    def then(self, **changes: Any) -> tuple[float, float]:
        """Seconds of one, and its limit, were its call changed so."""
        changed = msgspec.structs.replace(self.call, **changes)
        return self.forecaster.price(changed), self.forecaster.limit(changed)

    def gain_s(self, candidate: Candidate) -> float:
        """Seconds that a change saves of all of them, negative where it costs; never past the limit.

        A measured time shrinks by the predicted ratio; what a change adds is added as predicted.
        """
        count = self.call.count
        saved = self.time_s * (1 - candidate.then_s / self.now_s) - candidate.extra_s * count
        return min(saved, max(0.0, self.time_s - candidate.limit_s * count))
