"""The events that matter, as columns of numbers: operators, annotations, Python's frames, launches and kernels."""

from __future__ import annotations

import re
from array import array
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from gemmlab.record import GemmlabError
from gemmlab.workload.traces.arguments import Signature
from gemmlab.workload.traces.events import BROKEN, Event, Events, nanoseconds
from gemmlab.workload.traces.forest import Ints

#: which table a category's events go to; Kineto wrote capitals before 1.12, and each vendor has its own runtime
TABLES: dict[str, str] = {
    "cpu_op": "operators",
    "Operator": "operators",
    "user_annotation": "annotations",
    "python_function": "frames",
    "kernel": "kernels",
    "Kernel": "kernels",
    "gpu_memcpy": "kernels",
    "Memcpy": "kernels",
    "gpu_memset": "kernels",
    "Memset": "kernels",
    "cuda_runtime": "launches",
    "cuda_driver": "launches",
    "Runtime": "launches",
    "hip_runtime": "launches",
    "xpu_runtime": "launches",
    "xpu_driver": "launches",
    "privateuse1_runtime": "launches",
    "privateuse1_driver": "launches",
    "mtia_runtime": "launches",
}
END_OF_TIME = 1 << 62  # nanoseconds: 146 years
NONE = -1  # no such number in the event

Id = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  #: what a column holds


class OperatorArguments(msgspec.Struct, gc=False):
    """What an operator's event says beside its time."""

    external: Id = msgspec.field(name="External id", default=NONE)
    sequence: Id = msgspec.field(name="Sequence number", default=NONE)
    forward_thread: Id = msgspec.field(name="Fwd thread id", default=0)
    shapes: msgspec.Raw = msgspec.field(name="Input Dims", default_factory=msgspec.Raw)
    old_shapes: msgspec.Raw = msgspec.field(name="Input dims", default_factory=msgspec.Raw)
    types: msgspec.Raw = msgspec.field(name="Input type", default_factory=msgspec.Raw)
    strides: msgspec.Raw = msgspec.field(name="Input Strides", default_factory=msgspec.Raw)
    values: msgspec.Raw = msgspec.field(name="Concrete Inputs", default_factory=msgspec.Raw)
    stack: str = msgspec.field(name="Call stack", default="")
    hierarchy: str = msgspec.field(name="Module Hierarchy", default="")


class DeviceArguments(msgspec.Struct, gc=False):
    """What the event of a kernel or a launch says beside its time."""

    external: Id = msgspec.field(name="External id", default=NONE)
    old_external: Id = msgspec.field(name="external id", default=NONE)
    correlation: Id = NONE
    device: Id = 0


decode_operator = msgspec.json.Decoder(OperatorArguments, strict=False).decode
decode_device = msgspec.json.Decoder(DeviceArguments, strict=False).decode


class Table:
    """Events of one kind in columns: thread, start and end in nanoseconds, name, and what else is asked of them."""

    def __init__(self, *more: str) -> None:
        self.columns = {name: array("q") for name in ("thread", "start", "end", "name", *more)}

    def __len__(self) -> int:
        return len(self.columns["start"])

    def __getitem__(self, column: str) -> Ints:
        return np.frombuffer(self.columns[column], dtype=np.int64)


class Gathered:
    """A trace's events in tables; names, signatures and stacks are numbers, the same for the same text."""

    def __init__(self, path: Path, events: Events) -> None:
        self.path = path
        self.operators = Table("external", "sequence", "forward_thread", "signature", "stack")
        self.annotations = Table()
        self.frames = Table()
        self.launches = Table("correlation", "external")
        self.kernels = Table("correlation", "external", "device")
        self.numbers: dict[str, int] = {}
        self.threads: dict[tuple[int | str, int | str], int] = {}
        self.signatures: dict[Signature, int] = {}
        self.shapes = False  #: whether any operator's event has shapes
        self.foreign: dict[str, None] = {}  #: categories and names of what is none of all this
        for event in events:
            table = TABLES.get(event.cat)
            if table is not None and event.ph in ("X", ""):
                self.add(table, event)
            elif len(self.foreign) < 1000 and event.ph != "M":
                self.foreign[event.cat or event.name] = None
            elif len(self.foreign) < 1000:
                self.foreign[str(args_name(event))] = None
        self.names = list(self.numbers)

    def add(self, kind: str, event: Event) -> None:
        """One event into its table; raises GemmlabError for a time that is none."""
        start, length = self.times(event)
        table: Table = getattr(self, kind)
        columns = table.columns
        columns["thread"].append(self.threads.setdefault((event.pid, event.tid), len(self.threads)))
        columns["start"].append(start)
        columns["end"].append(start + length)
        columns["name"].append(self.number(event.name))
        if kind == "operators":
            self.add_operator(columns, event)
        elif kind in ("launches", "kernels"):
            told = arguments(event.args, decode_device, DeviceArguments)
            columns["correlation"].append(told.correlation)
            columns["external"].append(told.external if told.external != NONE else told.old_external)
            if kind == "kernels":
                columns["device"].append(told.device)

    def add_operator(self, columns: dict[str, array[int]], event: Event) -> None:
        """What an operator's arguments tell."""
        told = arguments(event.args, decode_operator, OperatorArguments)
        shapes = bytes(told.shapes) or bytes(told.old_shapes)
        self.shapes = self.shapes or bool(shapes)
        signature = (event.name, shapes, bytes(told.types), bytes(told.strides), bytes(told.values))
        columns["external"].append(told.external)
        columns["sequence"].append(told.sequence)
        columns["forward_thread"].append(told.forward_thread)
        columns["signature"].append(self.signatures.setdefault(signature, len(self.signatures)))
        columns["stack"].append(self.number(told.hierarchy or told.stack))

    def number(self, name: str) -> int:
        """The number of a name."""
        return self.numbers.setdefault(name, len(self.numbers))

    def times(self, event: Event) -> tuple[int, int]:
        """Start and length of an event in nanoseconds."""
        try:
            start = nanoseconds(event.ts)
            length = round((event.dur or 0.0) * 1000)
        except (ValueError, OverflowError):
            raise self.no_time(event, "has a time that is no number") from None
        if event.dur is None:
            raise self.no_time(event, "has no duration")
        if length < 0 or max(abs(start), length) >= END_OF_TIME:
            raise self.no_time(event, f"starts at {bytes(event.ts).decode():.24} and lasts {event.dur:g} microseconds")
        return start, length

    def no_time(self, event: Event, what: str) -> GemmlabError:
        """The error for an event whose time cannot be used."""
        return GemmlabError(
            f"`{event.name:.60}` ({event.cat}) in {self.path} {what}: no times can be joined",
            "profile again, and end the profiler before the program; newer versions of PyTorch mend such events",
        )


def arguments(raw: msgspec.Raw, decode: Any, kind: Any) -> Any:
    """An event's arguments; a number that is none is as if it were not told."""
    if not memoryview(raw).nbytes:
        return kind()
    try:
        return decode(raw)
    except BROKEN:
        pass
    try:
        fields = msgspec.json.decode(bytes(raw).decode("utf-8", "replace"))
    except BROKEN:
        return kind()
    told = kind()
    for field in msgspec.structs.fields(kind) if isinstance(fields, dict) else ():
        value = fields.get(field.encode_name)
        usual = getattr(told, field.name)
        if isinstance(usual, int) and isinstance(value, int | str) and re.fullmatch(r"-?\d{1,18}", str(value)):
            setattr(told, field.name, int(value))
        elif isinstance(usual, str) and isinstance(value, str):
            setattr(told, field.name, value)
        elif isinstance(usual, msgspec.Raw) and value is not None:
            setattr(told, field.name, msgspec.Raw(msgspec.json.encode(value)))
    return told


def args_name(event: Event) -> Any:
    """The name that a metadata event gives its process or thread."""
    try:
        fields = msgspec.json.decode(event.args) if memoryview(event.args).nbytes else {}
    except BROKEN:
        return ""
    return fields.get("name", "") if isinstance(fields, dict) else ""
