"""Where in the program an operator was called: its modules, else the line of the program nearest to it."""

from __future__ import annotations

import re
import sys

import numpy as np

from gemmlab.workload.traces.forest import Forest
from gemmlab.workload.traces.gathering import Gathered, Table

MODULE = "nn.Module: "
LINE = re.compile(r"(?P<file>[^;]*)\((?P<line>\d+)\): ")
#: annotations that PyTorch itself makes
OWN_ANNOTATIONS = re.compile(
    r"ProfilerStep|Optimizer\.|enumerate\(DataLoader|## Call|Torch-Compiled|nccl:|c10d|PyTorch Profiler|FSDP::|"
    r"CompiledFunction|Pregraph|TorchDynamo|DistributedDataParallel|AOTDispatcher|record_param_comms|autograd"
)
LIBRARY = re.compile(r"(^|[/\\])(torch|triton|torch_xla)[/\\]|^<|/lib/python3\.\d+/(?!site-|dist-)|^nn\.Module")


def is_users(frame: str) -> bool:
    """Whether a frame, `file(line): function`, is no part of Python, of PyTorch, or compiled."""
    found = LINE.match(frame)
    if not found or LIBRARY.search(found["file"]) or not found["file"]:
        return False
    first = re.split(r"[/\\]", found["file"])[0].removesuffix(".py")
    return first not in sys.stdlib_module_names


def nearest_line(stack: str) -> str:
    """The innermost line of the program in a recorded stack, its innermost frame first."""
    return next((frame.strip() for frame in stack.split(";") if is_users(frame.strip())), "")


class Places:
    """The places of a trace, by thread and time."""

    def __init__(self, gathered: Gathered) -> None:
        self.names = gathered.names
        modules = {number for number, name in enumerate(self.names) if name.startswith(MODULE)}
        lines = {number for number, name in enumerate(self.names) if is_users(name)}
        annotated = set(gathered.annotations["name"].tolist())
        regions = {number for number in annotated if not OWN_ANNOTATIONS.search(self.names[number])}
        self.modules = Layer(gathered.frames, modules)
        self.lines = Layer(gathered.frames, lines)
        self.regions = Layer(gathered.annotations, regions)
        self.paths: dict[int, str] = {}

    def of(self, thread: int, time: int, recorded: str) -> str:
        """The place of what runs on a thread at a time; `recorded` is its stack or hierarchy of modules, if any."""
        module = self.modules.forest.innermost(thread, time)
        if module >= 0:
            return self.path(module)
        if recorded and not LINE.search(recorded):
            return recorded
        line = nearest_line(recorded) if recorded else ""
        if not line:
            frame = self.lines.forest.innermost(thread, time)
            line = self.names[self.lines.names[frame]] if frame >= 0 else ""
        if line:
            return line
        region = self.regions.forest.innermost(thread, time)
        return self.names[self.regions.names[region]] if region >= 0 else ""

    def module(self, thread: int, time: int, since: int) -> str:
        """The module that runs on a thread at a time, if it was called since another; else nothing."""
        module = self.modules.forest.innermost(thread, time)
        return self.path(module) if module >= 0 and self.modules.forest.starts[module] >= since else ""

    def path(self, module: int) -> str:
        """A module's name after those of the modules that call it."""
        if module not in self.paths:
            parent = self.modules.forest.parents[module]
            own = self.names[self.modules.names[module]].removeprefix(MODULE)
            self.paths[module] = f"{self.path(parent)}.{own}" if parent >= 0 else own
        return self.paths[module]


class Layer:
    """Some events of a table, as a forest of their own."""

    def __init__(self, table: Table, names: set[int]) -> None:
        wanted = np.isin(table["name"], np.fromiter(names, np.int64, len(names)))
        threads, starts, ends = (table[name][wanted] for name in ("thread", "start", "end"))
        self.forest = Forest(threads, starts, ends, np.arange(len(starts), dtype=np.int64))
        self.names: list[int] = table["name"][wanted][self.forest.order].tolist()
