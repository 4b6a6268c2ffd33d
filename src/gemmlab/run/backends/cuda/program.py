"""What all programs on a GPU without a framework share: operands in its memory, launches in turn, results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from gemmlab.check import Operands, poisoned
from gemmlab.check.storage import first_element
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError
from gemmlab.run.backends.cuda.device import Device


class Placed(NamedTuple):
    """Addresses of one set of operands: of the first element of A, B and D, and of D's storage."""

    a: int
    b: int
    d: int
    d_storage: int


class CudaProgram(ABC):
    """A kernel on one GPU; `launch` puts the multiplication of one set on the stream."""

    def __init__(self, problem: Gemm, formats: tuple[str, ...]) -> None:
        require(problem, formats)
        self.problem = problem
        self.device = Device()
        self.sets: list[Placed] = []
        self.held: list[int] = []
        self.poisoned = poisoned(problem)
        self.unwritten = 0
        self.environment = {
            "device": self.device.name,
            "cuda_driver": f"{self.device.version // 1000}.{self.device.version % 1000 // 10}",
            "timed": "CUDA graph between two events of the device",
        }

    @abstractmethod
    def launch(self, number: int) -> None:
        """Put the multiplication of set `number` on the stream."""

    def place(self, operands: Operands, copies: int) -> None:
        """A, B and D at addresses of their own, each set a copy."""
        self.device.release(self.held)
        self.held, self.sets = [], []
        first = {name: first_element(self.problem, name, getattr(self.problem, f"{name}_format")) for name in "abc"}
        storages = {"a": operands.a.storage, "b": operands.b.storage, "c": operands.d.storage}
        self.unwritten = self.keep(self.device.upload(operands.d.storage))
        originals = {name: self.keep(self.device.upload(storages[name])) for name in "ab"} | {"c": self.unwritten}
        for copy in range(copies):
            own = {
                name: originals[name]
                if copy == 0 and name != "c"
                else self.keep(self.device.duplicate(originals[name], storage.nbytes))
                for name, storage in storages.items()
            }
            a, b, d = (own[name] + first[name] * storages[name].itemsize for name in "abc")
            self.sets.append(Placed(a, b, d, own["c"]))

    def keep(self, address: int) -> int:
        """The address, noted as memory to give back."""
        self.held.append(address)
        return address

    def elapsed(self, order: Sequence[int]) -> float:
        """Seconds by the device's clock; raises RuntimeError for what goes wrong on it."""
        seconds = self.device.elapsed(order, self.launch)
        if not self.device.by_graph:
            self.environment["timed"] = "launches one by one between two events of the device"
        return seconds

    def poison(self) -> None:
        """Fill every D again."""
        for each in self.sets:
            self.device.copy(each.d_storage, self.unwritten, self.poisoned.storage.nbytes)

    def result(self, copy: int) -> Any:
        """D of a copy, (m, n)."""
        self.poisoned.storage[...] = self.device.download(self.sets[copy].d_storage, self.poisoned.storage)
        return self.poisoned.array.copy()


def require(problem: Gemm, formats: tuple[str, ...], layouts: tuple[str, ...] = ("nn",)) -> None:
    """Raise GemmlabError for what is not D = A @ B of one of these formats, in one of these layouts."""
    if problem.alpha != 1 or problem.beta != 0:
        raise GemmlabError(
            f"alpha={problem.alpha:g}, beta={problem.beta:g}: the kernel computes D = A @ B", "leave out"
        )
    if problem.groups or problem.batch > 1:
        raise GemmlabError("the kernel multiplies two matrices, no batch or group of them", "one multiplication")
    if problem.a_format not in formats or problem.b_format != problem.a_format:
        raise GemmlabError(
            f"the kernel does not multiply {problem.a_format} by {problem.b_format}", f"--format {', '.join(formats)}"
        )
    if problem.layout not in layouts:
        raise GemmlabError(f"layout {problem.layout} is none of the kernel's", f"--layout {', '.join(layouts)}")
    if problem.structure != "general":
        raise GemmlabError(f"the kernel knows no structure such as {problem.structure}", "leave --structure out")
