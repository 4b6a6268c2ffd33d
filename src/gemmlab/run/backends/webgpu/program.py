"""WGSL kernels as programs: the rungs and files of one's own, on whichever adapter the machine has."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from gemmlab.check import Operands, poisoned
from gemmlab.check.storage import first_element, placed
from gemmlab.kernels.ladder.webgpu import TEXTS, Text
from gemmlab.problem import Gemm
from gemmlab.record import GemmlabError, unknown_name
from gemmlab.run.backends.cuda.program import require
from gemmlab.run.backends.webgpu.device import Device, Group
from gemmlab.run.backends.webgpu.needs import require_half, require_limits

FORMATS = ("float32", "float16")
LAYOUTS = ("nn", "nt", "tn", "tt")
WIDEST = 32  # of a tile: 1024 invocations, more than which no adapter has
OWN_TILE = (16, 16)
WORKGROUP = r"@workgroup_size\(\s*(\d+)u?\s*(?:,\s*(\d+)u?\s*)?[,)][^{{}}]*\bfn\s+{entry}\b"  #: of that entry point
HALF_WORDS = ("f16", "vec2h", "vec3h", "vec4h", "2x16float")  #: without any of them a text has no half precision


class Loads(NamedTuple):
    """Elements of A and of B that all invocations of a dispatch loaded, counted by themselves."""

    a: int
    b: int


NONE = Loads(0, 0)


class WebGpuProgram:
    """A kernel in WGSL with the bindings (problem, A, B, C, loads)."""

    def __init__(self, problem: Gemm, text: Text, device: Device | None = None, *, given_tile: bool = False) -> None:
        require_formats(problem)
        self.given_tile = given_tile
        self.problem, self.text = problem, text
        self.device = device or Device()
        where = self.device.adapter.name
        require_half(problem, self.device.features, where)
        require_limits(problem, text, self.device.limits, where)
        self.source = text.source(problem.a_format, problem.d_format)
        self.pipeline = self.device.pipeline(text, self.source)
        self.grid = text.grid(problem.m, problem.n)
        self.described = self.device.upload(parameters(problem), "uniform")
        self.loads = self.device.upload(np.zeros(4, np.uint32))
        self.held: list[Any] = []
        self.outputs: list[Any] = []
        self.sets: list[Group] = []
        self.unwritten = poisoned(problem).storage

    @property
    def environment(self) -> dict[str, str]:
        """What its figures depend on; of a software adapter said first."""
        adapter = self.device.adapter
        return {
            "device": adapter.name,
            "adapter": "software: the CPU computes" if adapter.software else adapter.kind,
            "api": adapter.backend,
            "driver": adapter.driver,
            "wgpu": metadata.version("wgpu"),
            "tile": "x".join(map(str, self.text.tile)) + self.untold,
            "timed": self.device.timed,
        }

    @property
    def untold(self) -> str:
        """What is to be known of a tile that nobody gave: the workgroup's own size, where it is another one."""
        if self.text.rung or self.given_tile:
            return ""
        found = re.search(WORKGROUP.format(entry=re.escape(self.text.entry)), self.source)
        if found is None:
            return ""
        x, y = int(found[1]), int(found[2] or 1)
        return "" if (y, x) == self.text.tile else f", as none is given; its workgroup_size is {x}, {y}"

    def place(self, operands: Operands, copies: int) -> None:
        """A, B and D in buffers of their own, each set a copy."""
        for buffer in self.held:
            buffer.destroy()
        self.held, self.outputs, self.sets = [], [], []
        for _ in range(copies):
            a, b, d = (self.device.upload(each.storage) for each in (operands.a, operands.b, operands.d))
            self.held += [a, b, d]
            self.outputs.append(d)
            self.sets.append((self.device.bound([self.described, a, b, d, self.loads]), self.grid))

    def elapsed(self, order: Sequence[int]) -> float:
        """Seconds by the clock that `timed` names; raises RuntimeError where the device is lost."""
        return self.device.elapsed(self.pipeline, [self.sets[index] for index in order])

    def poison(self) -> None:
        """Fill every D again."""
        for output in self.outputs:
            self.device.write(output, self.unwritten)

    def result(self, copy: int) -> Any:
        """D of a copy, (m, n)."""
        found = poisoned(self.problem)
        found.storage[...] = self.device.download(self.outputs[copy], found.storage)
        return found.array

    def counted(self, before: Loads = NONE) -> Loads:
        """What one multiplication of the first set loads, by a rung that counts; the counters begin at `before`."""
        start = np.array([before.a, before.b], np.uint64)
        self.device.write(self.loads, start)
        counting = self.device.pipeline(self.text, self.source, counted=True)
        self.device.submitted(counting, [self.sets[:1]], None)
        found = self.device.download(self.loads, start)
        return Loads(*(int(each) - first for each, first in zip(found, before, strict=True)))


def require_formats(problem: Gemm) -> None:
    """Raise GemmlabError for what no kernel in WGSL multiplies."""
    require(problem, FORMATS, LAYOUTS)
    results = FORMATS if problem.a_format == "float16" else ("float32",)
    if problem.d_format not in results:
        raise GemmlabError(
            f"the kernel does not write {problem.d_format} from {problem.a_format}", f"--d-format {', '.join(results)}"
        )
    if problem.accumulate != "float32":
        raise GemmlabError(f"the kernel does not sum in {problem.accumulate}", "--accumulate float32")


def parameters(problem: Gemm) -> Any:
    """The words of `problem` in operands.wgsl: sides, then of each matrix the first element and both strides."""
    words = [problem.m, problem.n, problem.k, 0]
    for operand in "abc":
        name = problem.d_format if operand == "c" else getattr(problem, f"{operand}_format")
        _, _, ld, turned = placed(problem, operand)
        words += [first_element(problem, operand, name), *((1, ld) if turned else (ld, 1)), 0]
    return np.array(words, np.uint32)


def program(problem: Gemm, name: str) -> WebGpuProgram:
    """The program of a rung, in tiles of another width where that stands behind a colon: `tiled:8`.

    Raises GemmlabError for an unknown rung or width, what it does not multiply, what the adapter is too small for, and
    where adapter or package are missing.
    """
    return WebGpuProgram(problem, rung_of(name))


def rung_of(name: str) -> Text:
    """The text that `naive` or `tiled:8` names; raises GemmlabError."""
    rung, colon, width = name.partition(":")
    if rung not in TEXTS:
        raise unknown_name("kernel", rung, TEXTS)
    if not colon:
        return TEXTS[rung]
    if not (width.isascii() and width.isdigit() and 1 <= int(width) <= WIDEST):
        raise GemmlabError(f"`{width}` is no width of a tile", f"1 to {WIDEST}")
    return TEXTS[rung].with_tile(int(width))


def own(problem: Gemm, place: str) -> WebGpuProgram:
    """The program of one's own entry point, `FILE.wgsl:ENTRY`, with `;tile=64x32` behind where it is not 16x16.

    It declares the bindings of operands.wgsl that it uses, by number, and `tile` is the rows and columns of C that one
    workgroup computes. Raises GemmlabError for a file that cannot be read or does not compile, and as `program` does.
    """
    where, _, option = place.partition(";")
    path, _, entry = where.rpartition(":")
    if not os.path.isfile(path):
        raise GemmlabError(f"no file `{path}`", "FILE.wgsl:ENTRY")
    text = Text(entry, os.path.abspath(path), OWN_TILE, entry=entry, rung=False)
    try:
        source = text.source(problem.a_format, problem.d_format)
    except (OSError, UnicodeDecodeError) as error:
        raise GemmlabError(f"`{path}` cannot be read as WGSL: {error}", "a file of text in UTF-8") from None
    if problem.a_format == "float16" and not any(word in source for word in HALF_WORDS):
        raise GemmlabError(f"`{os.path.basename(path)}` reads no f16", "--format float32, or `enable f16` in the file")
    return WebGpuProgram(problem, replace(text, tile=tile_of(option)) if option else text, given_tile=bool(option))


def tile_of(option: str) -> tuple[int, int]:
    """`tile=64x32` as rows and columns; raises GemmlabError."""
    name, _, text = option.partition("=")
    sides = text.split("x")
    if name != "tile" or len(sides) != 2 or not all(s.isascii() and s.isdigit() and int(s) for s in sides):
        raise GemmlabError(f"`{option}` is no tile", "tile=64x32: rows and columns of C that a workgroup computes")
    return int(sides[0]), int(sides[1])
