"""CUDA C++ to machine code by NVRTC, kept on disk by what it was made from."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gemmlab.record import GemmlabError

EXTRA = 'pip install "gemmlab[cuda]"'
OPTIONS = ("--std=c++17", "--device-as-default-execution-space")


def cache_folder() -> Path:
    """Where machine code is kept: `gemmlab/peak` in the user's folder of caches."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gemmlab" / "peak"


def compiled(text: str, headers: Mapping[str, str] | None = None, arch: str = "sm_90a", *, keep: bool = True) -> bytes:
    """The machine code of a text; `headers` are files that it includes, by name.

    Raises GemmlabError where NVRTC is missing, and with the compiler's own words where it refuses the text.
    """
    nvrtc = library()
    major, minor = checked(nvrtc.nvrtcVersion())
    key = repr((text, sorted((headers or {}).items()), arch, OPTIONS, major, minor))
    kept = cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    if keep and kept.is_file():
        return kept.read_bytes()
    code = made(nvrtc, text, headers or {}, arch)
    if keep:
        store(kept, code)
    return code


def library() -> Any:
    """NVRTC's bindings; raises GemmlabError where they are not installed."""
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise GemmlabError("cuda-bindings is not installed", EXTRA) from error
    return nvrtc


def made(nvrtc: Any, text: str, headers: Mapping[str, str], arch: str) -> bytes:
    """Machine code from NVRTC itself; raises GemmlabError with its log."""
    names = [name.encode() for name in headers]
    contents = [body.encode() for body in headers.values()]
    program = checked(nvrtc.nvrtcCreateProgram(text.encode(), b"gemmlab.cu", len(names), contents, names))
    options = [option.encode() for option in (*OPTIONS, f"--gpu-architecture={arch}")]
    status = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    log = room(checked(nvrtc.nvrtcGetProgramLogSize(program)))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    if int(status):
        raise GemmlabError(f"NVRTC refuses the text: {log.decode(errors='replace').strip(chr(0)).strip()[:2000]}")
    code = room(checked(nvrtc.nvrtcGetCUBINSize(program)))
    checked(nvrtc.nvrtcGetCUBIN(program, code))
    checked(nvrtc.nvrtcDestroyProgram(program))
    return code


def room(size: int) -> bytes:
    """Bytes for the compiler to write to. Python keeps one object for all single bytes: it must not be that one."""
    return bytes(max(2, size))


def checked(answer: Any) -> Any:
    """What a call of NVRTC gives beside its status; raises GemmlabError with the status' name."""
    status, *rest = answer if isinstance(answer, tuple) else (answer,)
    if int(status):
        raise GemmlabError(f"NVRTC: {getattr(status, 'name', status)}")
    return rest[0] if len(rest) == 1 else tuple(rest)


def store(path: Path, code: bytes) -> None:
    """Write it whole or not at all; a folder that cannot be written only costs the next compilation."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, path)
    except OSError:
        return
