"""Plans tried on a GPU: compiled side by side, held against float64, and timed by turns in CUDA graphs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from gemmlab.kernels.nvrtc import kept
from gemmlab.peak.asking import lying
from gemmlab.peak.chain import Chain, ImmovableError
from gemmlab.peak.planned import Plan
from gemmlab.peak.ready import row_major
from gemmlab.peak.stored import ROAD_BYTES

L2_BYTES = 60e6  # of an H200, what cudaDeviceProp says: operands of three times as much turn by turn leave it cold
ALIGNED = 256  # bytes, of memory that torch gives out
REPLAY_S = 1e-3  # about what one replay takes where one multiplication takes less
MOST_CALLS = 160  # of one replay
PAUSE_S = 0.005  # before each replay; at a chip's power limit all tiles look alike
RESTED = 2  # times a replay's own length is waited at least
MOST_S, LEAST_ROUNDS = 1.5, 7  # that rounds take about, with their pauses, and how many are made though it is longer
LOADED_S = 0.2  # of a turn without a pause
WRONG = 0.05  # norm-wise error of no format that is multiplied here
ALLOWED = 1.5  # times the error of the first plan that is right


class Compiler:
    """Machine code made ahead, side by side: NVRTC lets go of the interpreter, so threads are enough."""

    def __init__(self, workers: int | None = None) -> None:
        self.pool = ThreadPoolExecutor(workers or os.cpu_count() or 1)
        self.found: dict[Any, Future[bytes]] = {}

    def begin(self, plans: Iterable[Plan]) -> None:
        """Compile the kernels that are not yet, later."""
        for kernel in dict.fromkeys(plan.kernel for plan in plans):
            if kernel not in self.found:
                self.found[kernel] = self.pool.submit(code_of, kernel)

    def end(self, plan: Plan) -> None:
        """Wait for a plan's kernel; raises what its compilation raised."""
        self.begin([plan])
        self.found[plan.kernel].result()

    def stop(self) -> None:
        """Begin no more."""
        self.pool.shutdown(wait=False, cancel_futures=True)


def code_of(kernel: Any) -> bytes:
    """Machine code of a kernel, kept on disk."""
    text, headers = kernel.text()
    return kept(text, headers=headers)


class Tried(NamedTuple):
    """What came of a plan."""

    plan: Plan
    seconds: tuple[float, ...] = ()  #: of one multiplication, a number for each round; none where it failed
    error: float = math.nan  #: norm-wise, against float64
    fault: str = ""  #: why it was not timed


class Bench:
    """One multiplication's operands on a GPU, several copies in turn, and the plans that are timed on them."""

    def __init__(self, torch: Any, a: Any, b: Any, d: Any, compiler: Compiler) -> None:
        self.torch, self.compiler = torch, compiler
        a, b = lying(a, 1)[0], lying(b, 0)[0]
        self.exact = a.double() @ b.double()
        self.norm = float(self.exact.norm()) or 1.0
        self.most_error = WRONG
        bytes_ = sum(map(bytes_of, (a, b, d)))
        count = max(1, min(MOST_CALLS, math.ceil(3 * L2_BYTES / bytes_)))
        self.sets = [(copy_of(torch, a), copy_of(torch, b), alike(torch, d)) for _ in range(count)]
        self.pool = torch.cuda.graph_pool_handle()  # one for all: no graph leaves anything in it
        self.graphs: dict[Plan, tuple[Any, int, float]] = {}
        self.chains: dict[Plan, Chain] = {}
        self.zeros = [torch.zeros(1 << 16, dtype=torch.uint8, device=a.device)]  # outgrown ones too: graphs hold them

    def tried(self, plans: Sequence[Plan], rounds: int, *, loaded: bool = False) -> list[Tried]:
        """Each plan's times in as many rounds, by turns: the first round of all, then the second, backwards, and so on.

        There are fewer rounds where they would take longer than about `MOST_S`, and as many for every plan. `loaded`
        asks for turns of `LOADED_S` without a pause instead, at the chip's power limit, all rounds of them. A plan that
        cannot be compiled or launched, or whose result is wrong, has a fault and no times.
        """
        self.compiler.begin(plans)
        faults: dict[Plan, str] = {}
        errors: dict[Plan, float] = {}
        for plan in plans:
            try:
                errors[plan] = self.prepare(plan)
            except (RuntimeError, ValueError, ImmovableError) as error:  # torch's and NVRTC's; our own
                faults[plan] = str(error)[:200]
                continue
            if not errors[plan] <= self.most_error:
                self.zeros[-1].zero_()  # it may have left others
                faults[plan] = f"error {errors[plan]:.2e}, at most {self.most_error:.2e}"
        right = [plan for plan in plans if plan not in faults]
        times: dict[Plan, list[float]] = {plan: [] for plan in right}
        turn = self.loaded if loaded else self.replayed
        for at in range(rounds if loaded else self.affordable(right, rounds)):
            for plan in right[::-1] if at % 2 else right:  # behind which other one a plan runs, and when, cancels
                times[plan].append(turn(*self.graphs[plan]))
        return [
            Tried(plan, tuple(times.get(plan, ())), errors.get(plan, math.nan), faults.get(plan, "")) for plan in plans
        ]

    def prepare(self, plan: Plan) -> float:
        """The norm-wise error of a plan's result; its graph is captured where that is right."""
        self.compiler.end(plan)
        error = self.error(lambda: self.launch(plan, self.sets[0]), self.sets[:1])
        if error <= self.most_error and plan not in self.graphs:
            if self.most_error == WRONG:
                self.most_error = min(WRONG, max(ALLOWED * error, 1e-7))
            self.graphs[plan] = self.captured(plan)
            graph = self.graphs[plan][0]
            error = max(error, self.error(graph.replay, self.sets))
            if not error <= self.most_error:
                del self.graphs[plan]  # asked again, it is held against float64 again
        return error

    def launch(self, plan: Plan, operands: tuple[Any, Any, Any]) -> None:
        """Multiply once on the current stream, as `matmul` does when it is warm."""
        torch = self.torch
        chain = self.chains.get(plan) or self.chains.setdefault(plan, self.chain(plan))
        # graphs are replayed one after another: all count in the same zeros
        if chain.zero_bytes > self.zeros[-1].numel():
            self.zeros.append(torch.zeros(chain.zero_bytes, dtype=torch.uint8, device=self.exact.device))
        buffer = torch.empty(chain.buffer_bytes, dtype=torch.uint8, device=self.exact.device)
        a, b, d = (each.data_ptr() & -ROAD_BYTES for each in operands)
        stream = torch.cuda.current_stream(self.exact.device.index).cuda_stream
        chain((a, b, d, buffer.data_ptr(), self.zeros[-1].data_ptr()), stream)

    def chain(self, plan: Plan) -> Chain:
        """A plan's launches; all sets lie alike."""
        a, b, d = self.sets[0]
        sides = (a.shape[-2], b.shape[-1], a.shape[-1])
        return Chain(self.torch, plan, lying(a, 1)[1], lying(b, 0)[1], row_major(d), sides, a.device.index)

    def error(self, call: Callable[[], object], sets: Sequence[tuple[Any, Any, Any]]) -> float:
        """The largest error of the results that a call writes; what it leaves is NaN."""
        for _, _, d in sets:
            d.fill_(math.nan)
        call()
        found = [float((d.double() - self.exact).norm()) / self.norm for _, _, d in sets]
        return max(found) if all(map(math.isfinite, found)) else math.inf

    def captured(self, plan: Plan) -> tuple[Any, int, float]:
        """A graph of one multiplication of each set, repeated; how many there are; seconds of a replay, roughly."""
        graph, whole = self.graph(plan, 1)
        repeats = max(1, min(MOST_CALLS // len(self.sets), int(REPLAY_S / max(whole, 1e-6))))
        if repeats > 1:
            graph, whole = self.graph(plan, repeats)
        return graph, repeats * len(self.sets), whole

    def graph(self, plan: Plan, repeats: int) -> tuple[Any, float]:
        """A graph of all sets, so many times over, and the seconds of its second replay."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, pool=self.pool):
            for _ in range(repeats):
                for each in self.sets:
                    self.launch(plan, each)
        graph.replay()
        return graph, self.timed(graph.replay)

    def affordable(self, plans: Sequence[Plan], rounds: int) -> int:
        """How many of the rounds are made."""
        taken = sum(self.graphs[plan][2] + pause_s(self.graphs[plan][2]) for plan in plans)
        return min(rounds, max(LEAST_ROUNDS, int(MOST_S / max(taken, 1e-6))))

    def replayed(self, graph: Any, count: int, whole: float) -> float:
        """Seconds of one multiplication in a replay, after a pause."""
        time.sleep(pause_s(whole))
        return self.timed(graph.replay) / count

    def loaded(self, graph: Any, count: int, whole: float) -> float:
        """Seconds of one multiplication without a pause, once the clock has had half the turn to follow the power."""
        half = range(max(1, round(LOADED_S / 2 / whole)))
        for _ in half:
            graph.replay()
        return self.timed(lambda: [graph.replay() for _ in half]) / count / len(half)

    def timed(self, call: Callable[[], object]) -> float:
        """Seconds that the GPU takes for a call."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda.synchronize()
        start.record()
        call()
        end.record()
        self.torch.cuda.synchronize()
        return float(start.elapsed_time(end)) * 1e-3


def pause_s(whole: float) -> float:
    """Seconds of rest before a replay that lasts so long."""
    return max(PAUSE_S, RESTED * whole)


def bytes_of(tensor: Any) -> int:
    """Bytes that a tensor has of its own: of a batch in which one matrix stands for all, that one's."""
    own: int = math.prod(side for side, step in zip(tensor.shape, tensor.stride(), strict=True) if step)
    size: int = tensor.element_size()
    return own * size


def copy_of(torch: Any, of: Any) -> Any:
    """A tensor with the same numbers, strides and alignment."""
    found = alike(torch, of)
    shared = of.dim() == 3 and of.stride(0) == 0
    (found[0] if shared else found).copy_(of[0] if shared else of)
    return found


def alike(torch: Any, of: Any) -> Any:
    """Memory for a tensor with the same strides, as far past an aligned address."""
    past = of.data_ptr() % ALIGNED // of.element_size()
    last = sum((side - 1) * step for side, step in zip(of.shape, of.stride(), strict=True))
    memory = torch.empty(past + last + 1, dtype=of.dtype, device=of.device)
    return memory[past:].as_strided(tuple(of.shape), tuple(of.stride()))
