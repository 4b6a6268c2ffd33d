"""One mma.sync instruction in PTX, chained over k: the instruction itself, with no compiler's choices around it.

Source of the fragments' layout: PTX ISA, matrix fragments for mma.m16n8k16 and m16n8k32; in bytes it is one for all.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import numpy.typing as npt

from gemmlab.numerics import sass
from gemmlab.numerics.backends import device
from gemmlab.numerics.operands import typed
from gemmlab.record import GemmlabError, unknown_name

#: operand format -> (PTX type, elements of k)
TYPES = {
    "float16": ("f16", 16),
    "bfloat16": ("bf16", 16),
    "tfloat32": ("tf32", 8),
    "float8_e4m3fn": ("e4m3", 32),
    "float8_e5m2": ("e5m2", 32),
    "int8": ("s8", 32),
    "uint8": ("u8", 32),
}
ACCUMULATORS = {
    "int8": ("int32",),
    "uint8": ("int32",),
    "float16": ("float32", "float16"),
    "float8_e4m3fn": ("float32", "float16"),
    "float8_e5m2": ("float32", "float16"),
}
TILE = (16, 8)

# One warp computes 16x8 outputs. Lane 4*g + t has 4 bytes of A's rows g and g + 8 and of B's column g, at bytes 4*t and
# 16 + 4*t of the instruction's 32, and the outputs 2*t and 2*t + 1 of rows g and g + 8.
PTX = """
.version 8.7
.target {target}
.address_size 64
.visible .entry gemm(
 .param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd, .param .u32 pn, .param .u32 pbytes)
{{
 .reg .pred p;
 .reg .b32 lane, g, t, n, bytes, row, column, at, left, x<4>, y<2>, z<4>;
 .reg .b64 a, a8, b, c, d, step;
 mov.u32 lane, %tid.x;
 shr.u32 g, lane, 2;
 and.b32 t, lane, 3;
 ld.param.u32 n, [pn];
 ld.param.u32 bytes, [pbytes];
 ld.param.u64 a, [pa];
 ld.param.u64 b, [pb];
 ld.param.u64 c, [pc];
 ld.param.u64 d, [pd];
 mov.u32 row, %ctaid.x;
 mad.lo.u32 row, row, 16, g;
 mov.u32 column, %ctaid.y;
 mad.lo.u32 column, column, 8, g;
 mad.wide.u32 a, row, bytes, a;
 mad.wide.u32 b, column, bytes, b;
 mad.wide.u32 a, t, 4, a;
 mad.wide.u32 b, t, 4, b;
 mad.wide.u32 a8, bytes, 8, a;
 mov.u32 column, %ctaid.y;
 shl.b32 column, column, 3;
 mad.lo.u32 column, t, 2, column;
 mad.lo.u32 at, row, n, column;
 mad.wide.u32 c, at, {size}, c;
 mad.wide.u32 d, at, {size}, d;
 mul.wide.u32 step, n, {eight};
{load}
 mov.u32 left, bytes;
again:
 .pragma "nounroll";
 ld.global.b32 x0, [a];
 ld.global.b32 x1, [a8];
 ld.global.b32 x2, [a+16];
 ld.global.b32 x3, [a8+16];
 ld.global.b32 y0, [b];
 ld.global.b32 y1, [b+16];
 {instruction} {{{z}}}, {{x0, x1, x2, x3}}, {{y0, y1}}, {{{z}}};
 add.u64 a, a, 32;
 add.u64 a8, a8, 32;
 add.u64 b, b, 32;
 sub.u32 left, left, 32;
 setp.ne.u32 p, left, 0;
 @p bra again;
{store}
 ret;
}}
"""
WIDE = """ ld.global.v2.b32 {z0, z1}, [c];
 add.u64 c, c, step;
 ld.global.v2.b32 {z2, z3}, [c];"""
NARROW = """ ld.global.b32 z0, [c];
 add.u64 c, c, step;
 ld.global.b32 z1, [c];"""


def check(a_format: str, b_format: str, accumulate: str) -> None:
    """Raise GemmlabError for formats that no mma.sync takes."""
    for what, given, known in (
        ("format", a_format, TYPES),
        ("format", b_format, TYPES),
        (f"accumulator of {a_format}", accumulate, ACCUMULATORS.get(a_format, ("float32",))),
    ):
        if given not in known:
            raise unknown_name(what, given, known)
    eight = TYPES[a_format][1] == TYPES[b_format][1] == 32
    if a_format != b_format and not (eight and ("int" in a_format) == ("int" in b_format)):
        raise GemmlabError(f"no mma.sync multiplies {a_format} by {b_format}", "one format, or two of 8 bits of a kind")


def instruction(a_format: str, b_format: str, accumulate: str) -> str:
    """The instruction in PTX's spelling; raises GemmlabError."""
    check(a_format, b_format, accumulate)
    (left, k), (right, _) = TYPES[a_format], TYPES[b_format]
    whole = {"float32": "f32", "float16": "f16", "int32": "s32"}[accumulate]
    return f"mma.sync.aligned.m16n8k{k}.row.col.{whole}.{left}.{right}.{whole}"


def text(a_format: str, b_format: str, accumulate: str, architecture: str) -> str:
    """The kernel in PTX; raises GemmlabError for formats that no mma.sync takes."""
    load = NARROW if accumulate == "float16" else WIDE
    registers = "z0, z1" if accumulate == "float16" else "z0, z1, z2, z3"
    size = 2 if accumulate == "float16" else 4
    return PTX.format(
        target=architecture, size=size, eight=8 * size, z=registers, load=load,
        instruction=instruction(a_format, b_format, accumulate), store=stored(load),
    )  # fmt: skip


def stored(load: str) -> str:
    """The stores that undo the loads of C: the same places of D."""
    lines = []
    for line in load.replace("[c]", "[d]").replace("c, c", "d, d").splitlines():
        words = line.strip().rstrip(";").split(" ", 1)
        if words[0].startswith("ld"):
            registers, place = words[1].rsplit(", ", 1)
            lines.append(f" st{words[0][2:]} {place}, {registers};")
        else:
            lines.append(line)
    return "\n".join(lines)


@cache
def assembled(ptx: str, architecture: str) -> bytes:
    """Machine code; raises GemmlabError where there is no assembler or it refuses."""
    package = find_spec("triton")
    folders = package.submodule_search_locations if package and package.submodule_search_locations else []
    tools = [
        Path(folder) / "backends" / "nvidia" / "bin" / name
        for folder in folders
        for name in (("ptxas-blackwell",) if int(architecture[3:]) >= 100 else ()) + ("ptxas",)
    ]
    tool = next((each for each in tools if each.is_file()), None) or which("ptxas")
    if tool is None:
        raise GemmlabError("there is no ptxas", 'pip install "gemmlab[triton]" on Linux')
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "gemm.ptx", Path(folder) / "gemm.cubin"
        source.write_text(ptx)
        command = [str(tool), f"--gpu-name={architecture}", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = " ".join((done.stderr + done.stdout).split())[-300:]
            raise GemmlabError(f"ptxas refuses it for {architecture}: {said}", "an architecture that has it")
        return made.read_bytes()


def compile_mma(
    a_format: str, architecture: str = "sm_90", *, b_format: str | None = None, accumulate: str | None = None
) -> sass.Compiled:
    """What one mma.sync instruction becomes on an architecture, without a GPU; raises GemmlabError."""
    if architecture not in sass.ARCHITECTURES:
        raise unknown_name("architecture", architecture, sass.ARCHITECTURES)
    right = b_format or a_format
    ptx = text(a_format, right, accumulate or ("int32" if "int" in a_format else "float32"), architecture)
    machine = sass.disassembled(assembled(ptx, architecture))
    return sass.judged("mma.sync", architecture, "ptxas", ptx, machine, a_format, right)


class Mma:
    """mma.sync as a callable `mma(a, b, c)`, C loaded into the accumulator, one instruction after the other over k.

    `compiled` tells the machine code and the unit. Raises GemmlabError without torch, a GPU or an assembler.
    """

    def __init__(self, a_format: str, *, b_format: str | None = None, accumulate: str | None = None) -> None:
        self.a_format, self.b_format = a_format, b_format or a_format
        self.accumulate = accumulate or ("int32" if "int" in a_format else "float32")
        self.torch = device.torch_here()
        self.architecture = device.architecture()
        self.compiled = compile_mma(a_format, self.architecture, b_format=self.b_format, accumulate=self.accumulate)
        ptx = text(self.a_format, self.b_format, self.accumulate, self.architecture)
        self.function = loaded(assembled(ptx, self.architecture))

    def __call__(self, a: Any, b: Any, c: Any = None) -> npt.NDArray[Any]:
        """D = A @ B + C of shapes (m, k), (k, n), (m, n), in the accumulator's own type; k filled up with zeros."""
        asked = device.problem(a, b, c, self.a_format, self.b_format, self.accumulate)
        whole = device.padded(asked, *TILE, TYPES[self.a_format][1])
        m, n, k = whole.shape
        d = device.poisoned((m, n), self.accumulate)
        there = [
            device.upload(whole.a, self.a_format), device.upload(whole.b, self.b_format),
            device.upload(whole.c, self.accumulate), d,
        ]  # fmt: skip
        launch(self.function, (m // TILE[0], n // TILE[1]), there, [n, k * there[0].element_size()])
        self.torch.cuda.synchronize()
        return typed(device.download(d)[: asked.shape[0], : asked.shape[1]], self.accumulate)


def loaded(cubin: bytes) -> ctypes.c_void_p:
    """The function `gemm` of machine code, in torch's context; raises GemmlabError with the driver's status."""
    driver = ctypes.CDLL("libcuda.so.1")
    device.torch_here().zeros(1, device="cuda")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    answered(driver.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
    answered(driver.cuModuleGetFunction(ctypes.byref(function), module, b"gemm"), "cuModuleGetFunction")
    return function


def launch(function: ctypes.c_void_p, grid: tuple[int, int], tensors: list[Any], numbers: list[int]) -> None:
    """One warp a block on torch's stream; raises GemmlabError with the driver's status."""
    driver = ctypes.CDLL("libcuda.so.1")
    values: list[Any] = [ctypes.c_uint64(tensor.data_ptr()) for tensor in tensors]
    values += [ctypes.c_uint32(number) for number in numbers]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    stream = ctypes.c_void_p(device.torch_here().cuda.current_stream().cuda_stream)
    answered(driver.cuLaunchKernel(function, *grid, 1, 32, 1, 1, 0, stream, pointers, None), "cuLaunchKernel")


def answered(status: int, call: str) -> None:
    """Raise GemmlabError unless the driver said success."""
    if status != 0:
        raise GemmlabError(f"{call} answers {status}", "the codes of CUresult stand in the CUDA driver's reference")
