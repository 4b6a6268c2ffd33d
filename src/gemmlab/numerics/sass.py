"""Which tensor-core instruction a Triton kernel becomes on any architecture, without a GPU, and which unit that is."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import msgspec

from gemmlab.numerics.behaviour import Unit
from gemmlab.numerics.compiling import Job, made
from gemmlab.numerics.units import names
from gemmlab.numerics.units import unit as named
from gemmlab.record import GemmlabError, unknown_name

ARCHITECTURES = {
    "sm_80": "ampere",
    "sm_86": "ampere",
    "sm_89": "ada",
    "sm_90": "hopper",
    "sm_100": "blackwell",
    "sm_120": "rtx-blackwell",
}
#: formats by ml_dtypes' names -> Triton's pointers
POINTERS = {
    "float16": "*fp16",
    "bfloat16": "*bf16",
    "tfloat32": "*fp32",
    "float8_e4m3fn": "*fp8e4nv",
    "float8_e5m2": "*fp8e5",
    "int8": "*i8",
    "float32": "*fp32",
    "int32": "*i32",
}
#: PTX's operand types -> formats
PTX_FORMATS = {
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "tfloat32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "s8": "int8",
    "u8": "uint8",
    "f64": "float64",
    "f32": "float32",
    "s32": "int32",
}
OPERANDS = tuple(name for name in POINTERS if name not in ("float32", "int32"))
ACCUMULATORS = {
    "int8": ("int32",),
    **dict.fromkeys(("float16", "float8_e4m3fn", "float8_e5m2"), ("float32", "float16")),
}
KERNELS = Path(__file__).parent / "backends" / "kernels.py"
SPELLINGS = ("chained", "added", "summed", "masked")
OPCODE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)")
MATRIX = re.compile(r"^(?:[HQIFDB]?GMMA|[HQIDOB]MMA|UTC\w*MMA)(?:\.|$)")
BESIDE = re.compile(r"^(?:FADD2?|FMUL2?|FFMA2?|HADD2|HFMA2|DADD|F2FP|F2F|I2F|I2FP|DFMA)(?:\.|$)")
IN_PTX = re.compile(r"\b(wgmma\.mma_async|mma\.sync|tcgen05\.mma)((?:[.:]\w+)*)")


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """What one kernel became, and the unit that will compute it."""

    kernel: str  #: its name
    architecture: str  #: sm_80 .. sm_120
    compiler: str  #: Triton's version
    instruction: str  #: of the matrix unit, as PTX spells it; empty where there is none
    opcodes: dict[str, int]  #: of machine code, with counts: matrix instructions, additions and conversions
    unit_name: str  #: the unit whose numerics these are; empty where none is known
    a_format: str  #: operands as the source has them; empty where they cannot be told
    b_format: str  #: those of B
    fell: bool  #: float8 operands that a tensor core of another format multiplies
    notes: tuple[str, ...]  #: what else decides the bits

    @property
    def matrix(self) -> dict[str, int]:
        """The matrix instructions among the opcodes."""
        return {name: count for name, count in self.opcodes.items() if MATRIX.match(name)}

    def unit(self) -> Unit:
        """The unit to emulate it with; raises GemmlabError where none is known.

        Where Triton itself unpacks float8 to float16, a thread holds four consecutive k of float8 and gives two of them
        to each instruction: of 32 k, those with k % 4 < 2 are summed first.
        """
        found = named(self.unit_name)
        if "satfinite" in self.instruction:
            found = msgspec.structs.replace(found, name=f"{found.name}, saturating", saturate=True)
        if not self.fell or self.a_format in found.a_formats:
            return found
        return msgspec.structs.replace(
            found, name=f"{found.name} of {self.a_format}", a_formats=(self.a_format,), b_formats=(self.b_format,),
            read_as="float16", instruction_k=32, order="quads", silicon="",
        )  # fmt: skip


def compile_dot(
    a_format: str,
    architecture: str = "sm_90",
    *,
    b_format: str | None = None,
    accumulate: str | None = None,
    tile: tuple[int, int, int] = (128, 64, 64),
    warps: int = 4,
    stages: int = 3,
    imprecise: int | None = None,
    spelling: str = "chained",
) -> Compiled:
    """What gemmlab's own Triton GEMM becomes; `tile` is (block_m, block_n, block_k).

    `accumulate` is float32 unless named (int32 of int8), `imprecise` Triton's max_num_imprecise_acc, `spelling` one of
    `SPELLINGS`. Raises GemmlabError without triton, for formats and architectures it cannot compile, and where its
    compiler refuses the tile.
    """
    right = b_format or a_format
    whole = accumulate or ("int32" if a_format == "int8" else "float32")
    check(a_format, right, whole, spelling)
    arguments = {
        "a": a_format,
        "b": right,
        "c": whole,
        "d": whole,
        **dict.fromkeys(("n", "k", "half", "low"), "int32"),
        **dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), map(str, tile), strict=True)),
        "SPELLING": repr(spelling),
        "IMPRECISE": repr(imprecise),
        "ACCUMULATE": whole,
    }
    for pointer in "abcd":
        arguments[pointer] = "*" + arguments[pointer]
    return compile_kernel(f"{KERNELS}:gemm", arguments, architecture, warps=warps, stages=stages)


def check(a_format: str, b_format: str, accumulate: str, spelling: str) -> None:
    """Raise GemmlabError for formats that no one instruction takes, and unknown spellings."""
    for what, given, known in (
        ("format", a_format, OPERANDS),
        ("format", b_format, OPERANDS),
        ("spelling", spelling, SPELLINGS),
        (f"accumulator of {a_format}", accumulate, ACCUMULATORS.get(a_format, ("float32",))),
    ):
        if given not in known:
            raise unknown_name(what, given, known)
    if a_format != b_format and not {a_format, b_format} <= {"float8_e4m3fn", "float8_e5m2"}:
        raise GemmlabError(f"no instruction multiplies {a_format} by {b_format}", "one format, or two of float8")
    if accumulate != "float32" and spelling in ("summed", "masked"):
        raise GemmlabError(f"`{spelling}` works on the bits of float32, not of {accumulate}", "spell it `chained`")


def compile_kernel(
    source: str,
    arguments: Mapping[str, str],
    architecture: str = "sm_90",
    *,
    warps: int = 4,
    stages: int = 3,
) -> Compiled:
    """What one's own Triton kernel becomes; `source` is FILE.py:KERNEL.

    `arguments` has each parameter's type (`*float16`, `*float8_e4m3fn`, `int32`, `float32`) or, of a constexpr, its
    value as Python writes it. Pointers, and integers named by one letter, count as multiples of 16. Raises
    GemmlabError for a file or name that is not there, a parameter without a type or value, and where Triton refuses
    it. The file is run, in a process of its own.
    """
    if architecture not in ARCHITECTURES:
        raise unknown_name("architecture", architecture, ARCHITECTURES)
    told = {name: POINTERS.get(text[1:], text) if text[:1] == "*" else text for name, text in arguments.items()}
    done = made(Job(source=source, arguments=told, architecture=architecture, warps=warps, stages=stages))
    held = [text[1:] for text in arguments.values() if text.startswith("*") and text[1:] in OPERANDS]
    pair = (held[0], held[min(1, len(held) - 1)]) if held else ("", "")
    return judged(source.rpartition(":")[2], architecture, done.compiler, done.ptx, disassembled(done.cubin), *pair)


def needs_triton() -> None:
    """Raise GemmlabError where triton is not installed."""
    if find_spec("triton") is None:
        raise GemmlabError("triton is not installed", 'pip install "gemmlab[triton]"')


def disassembled(cubin: bytes) -> str:
    """Machine code as text, by the disassembler that Triton's package brings; raises GemmlabError."""
    package = find_spec("triton")
    folders = package.submodule_search_locations if package and package.submodule_search_locations else []
    inside = [Path(folder) / "backends" / "nvidia" / "bin" / "cuobjdump" for folder in folders]
    tool = next((each for each in inside if each.is_file()), None) or which("cuobjdump")
    if tool is None:
        raise GemmlabError("there is no cuobjdump: this Triton brings none", 'pip install "gemmlab[triton]" on Linux')
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([str(tool), "-sass", file.name], capture_output=True, text=True, check=False)
    if done.returncode != 0 or "/*0000*/" not in done.stdout:
        raise GemmlabError(f"cuobjdump cannot read the machine code: {done.stderr.strip()[:200]}", "")
    return done.stdout


def read(text: str) -> dict[str, int]:
    """Every opcode of disassembled machine code with its modifiers, and how often it stands there."""
    return dict(Counter(OPCODE.findall(text)))


def judged(
    kernel: str, architecture: str, compiler: str, ptx: str, machine: str, a_format: str = "", b_format: str = ""
) -> Compiled:
    """Which unit a kernel's machine code is, from it and the PTX that it was made from.

    The PTX names the operands, the machine code says whether the instruction exists on that architecture or was put
    together from others. `a_format` and `b_format` are the source's; left out, the PTX's are taken.
    """
    every = read(machine)
    opcodes = {name: count for name, count in every.items() if MATRIX.match(name) or BESIDE.match(name)}
    spelled = Counter("".join(match.groups()) for match in IN_PTX.finditer(ptx) if "." in match.group(2))
    notes: list[str] = []
    family = ARCHITECTURES[architecture]
    if not spelled:
        fused = sum(count for name, count in opcodes.items() if name.startswith("FFMA"))
        notes.append(f"no matrix instruction; {fused} fused multiply-adds on the ordinary cores")
        return Compiled(
            kernel=kernel, architecture=architecture, compiler=compiler, instruction="", opcodes=opcodes, fell=False,
            unit_name="cuda.fma.float32" if fused else "", a_format=a_format, b_format=b_format, notes=tuple(notes),
        )  # fmt: skip
    instruction = spelled.most_common(1)[0][0]
    if len(spelled) > 1:
        notes.append(f"{len(spelled)} different instructions: {', '.join(sorted(spelled))}")
    way = {"wgmma": "wgmma", "mma": "mma", "tcgen05": "tcgen05"}[instruction.split(".")[0]]
    kinds = [PTX_FORMATS[word] for word in instruction.split(".") if word in PTX_FORMATS]
    # D comes first; tcgen05 keeps its operands' types in a descriptor, which only the source tells.
    left, right = (kinds[1], kinds[2]) if len(kinds) > 2 else (a_format, b_format)
    a_format, b_format = a_format or left, b_format or right
    unpacked = any(name.startswith("F2FP") and "UNPACK" in name for name in opcodes)
    on_float16 = any(name.startswith("HMMA") for name in opcodes)
    by_triton = left == "float16" and (a_format.startswith("float8") or (unpacked and on_float16))
    by_assembler = left.startswith("float8") and on_float16
    name = f"{family}.{way}.{left.replace('uint8', 'int8')}"
    if kinds and kinds[0] == "float16":
        name += ".float16"
    if name not in names():
        notes.append(f"no unit is known by the name {name}")
        name = ""
    if by_triton:
        notes.append(
            "fell to the float16 tensor cores: the compiler unpacks float8 to float16, and of 32 k sums those with "
            "k % 4 < 2 first"
        )
    elif by_assembler:
        notes.append("fell to the float16 tensor cores: the assembler unpacks float8 to float16, C is added after them")
    added = sum(count for each, count in opcodes.items() if each.split(".")[0] in ("FADD", "FADD2"))
    if added and not by_assembler:
        notes.append(f"{added} FADD a thread: sums go on outside of the tensor core")
    if "satfinite" in instruction:
        notes.append("saturates at the ends of int32")
    return Compiled(
        kernel=kernel, architecture=architecture, compiler=compiler, instruction=instruction, opcodes=opcodes,
        unit_name=name, a_format=a_format, b_format=b_format, fell=by_triton or by_assembler, notes=tuple(notes),
    )  # fmt: skip
