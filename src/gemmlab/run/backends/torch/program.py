"""What programs on PyTorch's GPU share: operands as tensors, graphs of launches between two events, results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gemmlab.check import Operands, poisoned
from gemmlab.check.storage import first_element
from gemmlab.formats import dtype_of
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError

EXTRA = 'pip install "gemmlab[torch]"'
DTYPES = {
    "float64": "float64",
    "float32": "float32",
    "tfloat32": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
}
KEPT_GRAPHS = 4
CHUNK = 1000  # launches of one graph


def torch_with_gpu() -> Any:
    """PyTorch where it has a GPU; raises GemmlabError."""
    try:
        import torch
    except ImportError as error:
        raise GemmlabError("torch is not installed", EXTRA) from error
    if not torch.cuda.is_available():
        raise GemmlabError("torch finds no GPU", "--backend cpu, or run it on a machine that has one")
    return torch


def tensor(torch: Any, problem: Gemm, operand: str, storage: Any, device: str = "cuda") -> tuple[Any, Any]:
    """An operand's matrix as a tensor, rows and columns as multiplied, and the flat tensor that it is a view of."""
    name = problem.d_format if operand == "d" else getattr(problem, f"{operand}_format")
    letter = "c" if operand == "d" else operand
    whole = torch.from_numpy(storage.view(np.uint8)).to(device, copy=True).view(getattr(torch, DTYPES[name]))
    ld = getattr(problem, f"ld{letter}")
    rows, columns = {"a": (problem.m, problem.k), "b": (problem.k, problem.n), "c": (problem.m, problem.n)}[letter]
    turned = letter != "c" and problem.layout["ab".index(letter)] == "t"
    strides = (1, ld) if turned else (ld, 1)
    return torch.as_strided(whole, (rows, columns), strides, first_element(problem, letter, name)), whole


class TorchProgram:
    """`multiply(a, b, d)` on tensors of one GPU, replayed from CUDA graphs between two of its events."""

    def __init__(self, problem: Gemm, multiply: Callable[[Any, Any, Any], Any]) -> None:
        self.torch = torch_with_gpu()
        self.problem, self.multiply = problem, multiply
        self.sets: list[tuple[Any, Any, Any]] = []
        self.outputs: list[Any] = []
        self.unwritten: Any = None
        self.graphs: OrderedDict[tuple[int, ...], Any] = OrderedDict()
        self.by_graph = True
        self.environment = {
            "device": self.torch.cuda.get_device_name(0),
            "torch": self.torch.__version__,
            "cuda": str(self.torch.version.cuda),
            "timed": "CUDA graph between two events of the device",
        }

    def place(self, operands: Operands, copies: int) -> None:
        """A, B and D at addresses of their own, each set a copy."""
        self.graphs.clear()
        self.sets, self.outputs = [], []
        self.torch.cuda.empty_cache()
        for _ in range(copies):
            a, b, d = (
                tensor(self.torch, self.problem, name, getattr(operands, name).storage) for name in ("a", "b", "d")
            )
            self.sets.append((a[0], b[0], d[0]))
            self.outputs.append(d[1])
        self.unwritten = self.outputs[0].clone()

    def launch(self, number: int) -> None:
        """Put the multiplication of set `number` on the current stream."""
        self.multiply(*self.sets[number])

    def elapsed(self, order: Sequence[int]) -> float:
        """Seconds by the device's clock; raises RuntimeError for what goes wrong on it."""
        cuda = self.torch.cuda
        self.launch(order[0])  # what compiles or loads at a first launch may not do so while it is captured
        cuda.synchronize()
        runs = self.captured(order) if self.by_graph else None
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        start.record()
        if runs is None:
            for number in order:
                self.launch(number)
        else:
            for graph in runs:
                graph.replay()
        end.record()
        cuda.synchronize()
        return float(start.elapsed_time(end)) * 1e-3

    def captured(self, order: Sequence[int]) -> list[Any] | None:
        """Graphs of the launches in this order; None, from now on, where they cannot be captured."""
        parts = [tuple(order[first : first + CHUNK]) for first in range(0, len(order), CHUNK)]
        for part in parts:
            if part not in self.graphs:
                graph = self.torch.cuda.CUDAGraph()
                try:
                    with self.torch.cuda.graph(graph):
                        for number in part:
                            self.launch(number)
                except Exception:
                    self.by_graph = False
                    self.environment["timed"] = "launches one by one between two events of the device"
                    self.torch.cuda.synchronize()
                    return None
                graph.replay()  # the first replay uploads it
                self.graphs[part] = graph
            self.graphs.move_to_end(part)
        found = [self.graphs[part] for part in parts]
        while len(self.graphs) > max(KEPT_GRAPHS, len(set(parts))):
            self.graphs.popitem(last=False)
        self.torch.cuda.synchronize()
        return found

    def poison(self) -> None:
        """Fill every D again."""
        for output in self.outputs:
            output.copy_(self.unwritten)
        self.torch.cuda.synchronize()

    def result(self, copy: int) -> Any:
        """D of a copy, (m, n)."""
        whole = poisoned(self.problem)
        flat = self.outputs[copy].view(self.torch.uint8).cpu().numpy()
        whole.storage[...] = flat.view(dtype_of(self.problem.d_format))
        return whole.array
