"""Files that are no PyTorch traces, told by what they look like."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

from gemmlab.record import GemmlabError

EXPORT = "prof.export_chrome_trace('trace.json') of torch.profiler.profile(record_shapes=True) writes one"

#: how a file begins, what writes such a file, what to do
BINARY: tuple[tuple[bytes, str, str], ...] = (
    (b"\x80", "a Python pickle, such as torch.cuda.memory's snapshot of allocations", EXPORT),
    (b"SQLite format 3\0", "a SQLite database, such as Nsight Systems exports", EXPORT),
    (b"PK\x03\x04", "a zip archive", "unpack it and give the trace in it"),
    (b"\x0a", "a protocol buffer, such as Perfetto's or TensorFlow's (.pb)", EXPORT),
    (b"\x7fELF", "a program", EXPORT),
    (b"NSYS", "a report of Nsight Systems", EXPORT),
    (b"NVR\x00", "a report of Nsight Compute", EXPORT),
    (b"PERFILE2", "a recording of Linux's perf", EXPORT),
    (b"%PDF", "a PDF", EXPORT),
    (b"<", "HTML or XML, such as an error page that was saved", "download the file itself"),
    (b"version https://git-lfs", "a pointer of Git LFS", "git lfs pull"),
)

#: a key of the top level that gives a format away
KEYS: tuple[tuple[str, str], ...] = (
    ("viztracer_metadata", "a trace of VizTracer"),
    ("nodes", "a graph of nodes, such as PyTorch's execution trace (Chakra)"),
    ("log", "an HTTP archive (HAR) or another log"),
    ("$schema", "a profile of speedscope"),
    ("shared", "a profile of speedscope"),
    ("libs", "a profile of Firefox"),
    ("segments", "a snapshot of memory"),
    ("device_traces", "a snapshot of memory"),
    ("stackFrames", "a Chrome trace with sampled stacks"),
    ("problem", "a Record of gemmlab"),
)

#: categories or names of events that give a format away
EVENTS: tuple[tuple[str, str], ...] = (
    (r"devtools|blink|v8|toplevel|netlog|loading|cc\b|viz\b", "Chrome's own trace"),
    (r"FEE|viztracer", "a trace of VizTracer"),
    (r"Session|Node|Api", "a profile of ONNX Runtime"),
    (r"/device:|XLA|TfOp|/host:CPU|ThunkExecute|tf_", "a trace of TensorFlow's or JAX's profiler"),
    (r"nsys|NVTX|CUPTI|CUDA API", "an export of Nsight Systems"),
    (r"cpu_to_cuda|CPU functions|cpu_to_device", "a trace of PyTorch's profiler before Kineto (1.8)"),
    (r"async_npu|HostToDevice|enqueue|dequeue", "a trace of Ascend's profiler"),
)

ONE_A_LINE = re.compile(rb"\{[^\n]+\}\r?\n\{")


def refuse_binary(path: Path, start: bytes) -> None:
    """Raise GemmlabError for a file that is no JSON text, named by how it begins."""
    if start.lstrip(b" \t\r\n")[:1] in (b"{", b"["):
        if start.startswith(b'{"Type":') or ONE_A_LINE.match(start):
            raise GemmlabError(f"{path} holds one JSON object a line, as Nsight Systems exports them, no trace", EXPORT)
        return
    for magic, what, hint in BINARY:
        if start.startswith(magic):
            raise GemmlabError(f"{path} is no trace: it looks like {what}", hint)
    printable = start[:24].decode("utf-8", "replace")
    raise GemmlabError(f"{path} is no trace: it begins with {printable!r}, and JSON with {{ or [", EXPORT)


def refuse_keys(path: Path, keys: Collection[str]) -> NoReturn:
    """Raise GemmlabError for a JSON object without traceEvents, named by its keys."""
    what = next((what for key, what in KEYS if key in keys), "")
    told = f"it looks like {what}" if what else f"its keys are {', '.join(list(keys)[:6]) or 'none'}"
    raise GemmlabError(f"{path} has no `traceEvents`: {told}", EXPORT)


def refuse_events(path: Path, words: Collection[str]) -> NoReturn:
    """Raise GemmlabError for a trace without operators of PyTorch, named by its events' categories and names."""
    what = ""
    for pattern, name in EVENTS:
        if any(re.match(pattern, word) for word in words):
            what = f"; it looks like {name}"
            break
    some = ", ".join(f"`{word:.40}`" for word in list(words)[:5]) or "none"
    raise GemmlabError(f"{path} has no operators of PyTorch (cpu_op): its events are {some}{what}", EXPORT)
