"""Compiles one Triton kernel for an architecture, in a process of its own: `python -m gemmlab.numerics.compiling`.

Of its own, because Triton keeps what it learned about the first architecture for the next one (3.6: how float8 is
converted), and because the file with the kernel is run.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gemmlab.record import GemmlabError, unknown_name

SCALARS = {"int32": "i32", "int64": "i64", "float32": "fp32", "float64": "fp64"}


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to compile."""

    source: str  #: FILE.py:KERNEL
    arguments: dict[str, str]  #: parameter -> Triton's type, or a constexpr's value as Python or triton.language has it
    architecture: str  #: sm_90
    warps: int  #: per program
    stages: int  #: of the software pipeline


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    ptx: str = ""
    cubin: bytes = b""
    compiler: str = ""  #: Triton's version
    types: dict[str, str] = {}  #: of the parameters that are no constants
    error: str = ""  #: why it was not made
    hint: str = ""


def made(job: Job) -> Made:
    """The job, done in another process; raises GemmlabError with what that process said."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "job.json", Path(folder) / "made.json"
        asked.write_bytes(msgspec.json.encode(job))
        # Under TRITON_INTERPRET a kernel is no kernel; here it is compiled all the same.
        around = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        paths = [str(Path(__file__).parents[2]), around.get("PYTHONPATH", "")]
        around["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        command = [sys.executable, "-P", "-m", "gemmlab.numerics.compiling", str(asked), str(answered)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
        if not answered.exists():
            words = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise GemmlabError(f"the compiler ended with status {done.returncode}: {words[:300]}", "another tile")
        answer = msgspec.json.decode(answered.read_bytes(), type=Made)
    if answer.error:
        raise GemmlabError(answer.error, answer.hint)
    return answer


def compile_here(job: Job) -> Made:
    """The job, done in this process; raises GemmlabError."""
    try:
        import triton
        import triton.language as tl
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as error:
        raise GemmlabError(
            f"triton cannot be imported: {error}", 'pip install "gemmlab[triton]"; compiling needs no GPU'
        ) from None
    kernel = kernel_of(job.source)
    types, constants = parameters(kernel, job.source, job.arguments, tl)
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    # As at a launch: pointers and row lengths are multiples of 16, which lets tiles be copied 16 bytes at a time.
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(kernel.arg_names)
        if types.get(name, "").startswith("*") or (types.get(name) == "i32" and len(name) == 1)
    }
    target = GPUTarget("cuda", int(job.architecture.removeprefix("sm_")), 32)
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
    try:
        done = triton.compile(source, target=target, options={"num_warps": job.warps, "num_stages": job.stages})
    except Exception as error:  # the compiler raises whatever its passes raise
        lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
        # An assembler's complaint is a line with `error`; of Python's compiler the last line says it, after the source.
        said = next((line for line in lines if re.search(r"\berror\s+:", line)), lines[-1] if lines else "")[:300]
        raise GemmlabError(
            f"Triton {triton.__version__} refuses it for {job.architecture}: {type(error).__name__}: {said}",
            "another tile, --warps, or a format that the architecture has",
        ) from None
    return Made(ptx=done.asm["ptx"], cubin=done.asm["cubin"], compiler=triton.__version__, types=types)


def kernel_of(source: str) -> Any:
    """The @triton.jit function of FILE.py:KERNEL; raises GemmlabError."""
    path, colon, name = source.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise GemmlabError(f"`{source}` names no kernel", "FILE.py:KERNEL")
    if not Path(path).is_file():
        raise GemmlabError(f"there is no file {path}", "FILE.py:KERNEL")
    described = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    sys.path.insert(0, str(Path(path).parent))
    try:
        described.loader.exec_module(module)
    except Exception as error:
        raise GemmlabError(f"{path} does not run: {type(error).__name__}: {error}", "") from None
    finally:
        sys.path.pop(0)
    kernels = [key for key, value in vars(module).items() if hasattr(value, "fn") and hasattr(value, "arg_names")]
    if name not in kernels:
        raise unknown_name(f"@triton.jit function in {path}", name, kernels)
    found = getattr(module, name)
    while not hasattr(found, "params"):
        found = found.fn  # an autotuner or heuristic stands around it
    return found


def parameters(
    kernel: Any, source: str, given: Mapping[str, str], language: Any
) -> tuple[dict[str, str], dict[str, Any]]:
    """Types of the parameters, and values of those that are constants; raises GemmlabError for what is missing."""
    types: dict[str, str] = {}
    constants: dict[str, Any] = {}
    for parameter in kernel.params:
        name, text = parameter.name, given.get(parameter.name)
        if text is None and parameter.has_default:
            constants[name] = parameter.default
        elif text is None:
            raise GemmlabError(
                f"parameter `{name}` of {source} has no {'value' if parameter.is_constexpr else 'type'}",
                f"{name}=64" if parameter.is_constexpr else f"{name}=*float16, or int32, float32",
            )
        elif parameter.is_constexpr:
            constants[name] = constant(text, language)
        else:
            types[name] = SCALARS.get(text, text)
    if extra := set(given) - set(kernel.arg_names):
        raise unknown_name(f"parameter of {source}", min(extra), kernel.arg_names)
    return types, constants


def constant(text: str, language: Any) -> Any:
    """A constant's value: a number, a text, True, None, or a type as `tl.float32`."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return getattr(language, text.removeprefix("tl."), text)


def main(asked: str, answered: str) -> None:
    """Do the job of one file and leave the answer in another."""
    try:
        answer = compile_here(msgspec.json.decode(Path(asked).read_bytes(), type=Job))
    except GemmlabError as error:
        answer = Made(error=error.text, hint=error.hint)
    Path(answered).write_bytes(msgspec.json.encode(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
