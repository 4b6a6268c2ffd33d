"""CUDA C++ to machine code by NVRTC, which needs no GPU; kept on disk, where asked for, by what it was made from."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gemmlab.record import GemmlabError

EXTRA = 'pip install "gemmlab[cuda]"'
OPTIONS = ("--std=c++17",)


class Compiled(NamedTuple):
    """What NVRTC makes of a text."""

    code: bytes  #: machine code
    version: str  #: NVRTC's
    log: str  #: what it says, with the option --ptxas-options=-v registers, spills and shared memory


def compiled(
    text: str, arch: str = "sm_90a", headers: Mapping[str, str] | None = None, options: Sequence[str] = ()
) -> Compiled:
    """Machine code of a text for an architecture; `headers` are files that it includes, by name.

    Raises GemmlabError where NVRTC is not installed, RuntimeError with its words for text that it refuses.
    """
    nvrtc, version = library()
    names = [name.encode() for name in headers or {}]
    bodies = [body.encode() for body in (headers or {}).values()]
    words = [word.encode() for word in (f"--gpu-architecture={arch}", *OPTIONS, *options)]
    program = called(nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", len(names), bodies, names))
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(words), words)[0]
        log = room(called(nvrtc.nvrtcGetProgramLogSize(program)))
        called(nvrtc.nvrtcGetProgramLog(program, log))
        said = log.rstrip(b"\0").decode(errors="replace").strip()
        if int(status):
            raise RuntimeError(f"{status.name}: {said}")
        code = room(called(nvrtc.nvrtcGetCUBINSize(program)))
        called(nvrtc.nvrtcGetCUBIN(program, code))
    finally:
        called(nvrtc.nvrtcDestroyProgram(program))
    return Compiled(code, version, said)


def kept(text: str, arch: str = "sm_90a", headers: Mapping[str, str] | None = None) -> bytes:
    """Machine code as `compiled` makes it, from the folder of caches where it was made before."""
    _, version = library()
    key = repr((text, sorted((headers or {}).items()), arch, OPTIONS, version))
    path = cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    if path.is_file():
        return path.read_bytes()
    code = compiled(text, arch, headers).code
    store(path, code)
    return code


def library() -> tuple[Any, str]:
    """NVRTC's bindings and its version; raises GemmlabError where it is not installed."""
    try:
        from cuda.bindings import nvrtc

        return nvrtc, ".".join(map(str, called(nvrtc.nvrtcVersion())))
    except (ImportError, RuntimeError) as error:
        raise GemmlabError("NVRTC is not installed", EXTRA) from error


def called(answer: Any) -> Any:
    """What a call of the bindings gives beside its status; raises RuntimeError with the status' name."""
    status, *rest = answer if isinstance(answer, tuple) else (answer,)
    if int(status):
        raise RuntimeError(getattr(status, "name", str(status)))
    return rest[0] if len(rest) == 1 else tuple(rest)


def room(size: int) -> bytes:
    """Bytes for the compiler to write to. Python keeps one object for all single bytes: it must not be that one."""
    return bytes(max(2, size))


def cache_folder() -> Path:
    """Where machine code is kept: `gemmlab/kernels` in the user's folder of caches."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gemmlab" / "kernels"


def store(path: Path, code: bytes) -> None:
    """Write it whole or not at all; a folder that cannot be written only costs the next compilation."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, path)
    except OSError:
        return
