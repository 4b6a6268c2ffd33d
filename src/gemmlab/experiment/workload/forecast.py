"""One multiplication of a program, forecast: its Record, its seconds, its limit, and the seconds of any neighbour."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from gemmlab.chips import Chip
from gemmlab.chips import section as chip_section
from gemmlab.count import count
from gemmlab.experiment.explaining import kernel_shown, limit_s
from gemmlab.experiment.workload.attending import attend
from gemmlab.experiment.workload.convolving import convolve
from gemmlab.experiment.workload.priced import Priced, limited
from gemmlab.kernels import default_for
from gemmlab.model.advice.situation import Situation
from gemmlab.model.candidates import best_tiling
from gemmlab.model.constants import Constants, constants_of
from gemmlab.model.machine import machine_of
from gemmlab.model.outlook import Outlook
from gemmlab.model.predict import predict
from gemmlab.model.suited import suited
from gemmlab.problem import Gemm
from gemmlab.record import Record
from gemmlab.workload import Call


class Forecast(NamedTuple):
    """One of a call's multiplications."""

    record: Record  #: problem, chip, kernel, count and prediction
    time_s: float
    limit_s: float  #: the roofline's seconds
    confidence: str = "high"  #: how far to trust the time: low for kernels that the model was not fitted to


#: of `launch_s`: kernels of one stream follow on each other, where one alone waits for its arguments and the device;
#: of an H200's 19 products below 20 us (benchmarks/networks_parts.py) the median is predicted 4 % too long, else 28 %
IN_STREAM = 0.4


class Forecaster:
    """Forecasts for one chip, each distinct multiplication worked out once."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.forecasts: dict[Any, Forecast] = {}
        self.prices: dict[Any, float] = {}
        self.situations: dict[Gemm, Situation] = {}

    @cached_property
    def constants(self) -> Constants:
        """The chip's, measured or generic, with the launches of a stream."""
        alone = constants_of(self.chip)
        return msgspec.structs.replace(alone, launch_s=IN_STREAM * alone.launch_s)

    def forecast(self, call: Call) -> Forecast:
        """The Record's prediction of one multiplication, DRAM traffic simulated where that matters."""
        key = kind_of(call)
        if key not in self.forecasts:
            self.forecasts[key] = self.special(call) or self.plain(call.problem)
        return self.forecasts[key]

    def price(self, call: Call) -> float:
        """Predicted seconds of one, DRAM traffic in closed form: what neighbours are compared by."""
        key = kind_of(call)
        if key not in self.prices:
            special = self.priced(call)
            self.prices[key] = special.time_s if special else self.closed_s(call.problem)
        return self.prices[key]

    def limit(self, call: Call) -> float:
        """The roofline's seconds of one."""
        special = self.priced(call)
        if special:
            return special.limit_s
        machine = machine_of(self.chip, call.problem.a_format)
        moved = call.problem.compulsory_bytes
        return limited(call.problem.flop, machine.peak_flop_per_s, moved, machine.dram_bytes_per_s)[0]

    def situation(self, problem: Gemm) -> Situation:
        """A plain multiplication as the rules of advice look at it."""
        if problem not in self.situations:
            kernel = suited(problem, self.chip, default_for(problem), self.constants)
            outlook = Outlook(problem, self.chip, kernel, self.constants)
            self.situations[problem] = Situation(outlook, chosen=False, measured_time_s=None)
        return self.situations[problem]

    def closed_s(self, problem: Gemm) -> float:
        """Predicted seconds of a plain multiplication as Situation prices it; without groups no kernel is asked for."""
        if problem.groups:
            return self.situation(problem).now_s
        return best_tiling(problem, self.chip, self.constants).time_s

    def copying_s(self, moved_bytes: float, kernels: int = 1, share: float = 1.0) -> float:
        """Predicted seconds of kernels that move bytes at a share of what streaming reaches, launches added."""
        return self.streaming_s(moved_bytes, share) + kernels * self.constants.launch_s

    @property
    def streaming_bytes_per_s(self) -> float:
        """What streaming reaches of DRAM; without one, nothing waits for it."""
        dram = self.chip.level("dram")
        return self.constants.dram_share * float(dram.bandwidth_bytes_per_s) if dram else float("inf")

    def streaming_s(self, moved_bytes: float, share: float = 1.0) -> float:
        """Predicted seconds of bytes through DRAM at that share of what streaming reaches."""
        return moved_bytes / (share * self.streaming_bytes_per_s)

    def plain(self, problem: Gemm) -> Forecast:
        """As `explain` predicts it."""
        outlook = self.situation(problem).outlook
        kernel = outlook.kernel
        counted = count(problem, kernel)
        prediction = predict(outlook, counted)
        record = Record(
            problem=problem.section(),
            chip=chip_section(self.chip),
            kernel=kernel_shown(kernel, problem, self.chip),
            count=counted,
            prediction=prediction,
        )
        return Forecast(record, prediction.time_s, limit_s(self.chip, counted, prediction))

    def priced(self, call: Call) -> Priced | None:
        """What kernels of their own do with the call; None for one that a plain GEMM serves."""
        if call.fused:
            return attend(call, self.chip, self.constants)
        if call.convolution is not None:
            return convolve(call, self.chip, self.constants)
        return None

    def special(self, call: Call) -> Forecast | None:
        """A convolution or a part of fused attention: a GEMM's Record with their own bytes, time and causes."""
        priced = self.priced(call)
        if priced is None:
            return None
        problem, outlook = call.problem, priced.outlook
        counted = count(outlook.problem, outlook.kernel)
        counted = msgspec.structs.replace(counted, compulsory_bytes=round(priced.bytes))
        prediction = msgspec.structs.replace(
            predict(outlook, counted), time_s=priced.time_s, bound=priced.bound, terms=priced.terms
        )
        record = Record(
            problem=problem.section(),
            chip=chip_section(self.chip),
            kernel=kernel_shown(outlook.kernel, outlook.problem, self.chip),
            count=counted,
            prediction=prediction,
        )
        return Forecast(record, priced.time_s, priced.limit_s, priced.confidence)


def kind_of(call: Call) -> tuple[Any, ...]:
    """All that the forecast of a call depends on."""
    sizes = tuple(each.shape for each in call.operands) if call.fused else ()
    about = (call.phase == "backward", call.kernels) if call.fused else ()
    return call.problem, call.convolution, call.convolution_pass, call.fused, call.causal, sizes, about
