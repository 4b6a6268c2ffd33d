"""Kernels out of a Python file, which is imported as it stands; no GPU is asked for."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from gemmlab.emulator.source import python_function
from gemmlab.own_code import file_module
from gemmlab.record import GemmlabError, unknown_name

GUARD = 'what is to run only as a program belongs under `if __name__ == "__main__":`'


def kernel_from(place: str) -> Any:
    """The kernel that `FILE.py:NAME` means; raises GemmlabError."""
    path, colon, name = place.rpartition(":")
    if not colon or not path.endswith(".py"):
        path, name = place, ""
    module = module_of(Path(path))
    found = kernels_of(module)
    names = ", ".join(found) or "none: a kernel is a function under @cuda.jit"
    if not name:
        raise GemmlabError(f"`{place}` names no kernel", f"{path}:NAME; kernels in it: {names}")
    kernel = getattr(module, name, None)
    if kernel is None:
        if found:
            raise unknown_name(f"kernel in {path}", name, found)
        raise GemmlabError(f"{path} has no `{name}`", f"kernels in it: {names}")
    if python_function(kernel) is None:
        raise GemmlabError(
            f"`{name}` of {path} is no kernel, but of type {type(kernel).__name__}", f"kernels in it: {names}"
        )
    return kernel


def kernels_of(module: ModuleType) -> dict[str, Any]:
    """The kernels that a module has under its own names, device functions left out."""
    return {name: value for name, value in vars(module).items() if not name.startswith("__") and is_kernel(value)}


def is_kernel(value: Any) -> bool:
    """Whether it is what @cuda.jit makes of a kernel."""
    options = getattr(value, "targetoptions", None) or {}
    device = bool(options.get("device")) or bool(getattr(value, "_device", False))
    decorated = hasattr(value, "py_func") or hasattr(value, "fn")
    return decorated and not device and python_function(value) is not None


def module_of(path: Path) -> ModuleType:
    """A file as a module, imported once more at each call; raises GemmlabError where that fails."""
    try:
        with without_signatures(), contextlib.redirect_stdout(sys.stderr):
            return file_module(path, "gemmlab_kernels_of", "FILE.py:KERNEL, or a rung of the ladder such as `tiled`")
    except GemmlabError:
        raise
    except (Exception, SystemExit) as error:
        ran = isinstance(error, SystemExit) or type(error).__name__.startswith("Cuda")
        hint = GUARD if ran else f"`python {path}` shows where"
        raise GemmlabError(f"{path} fails to import: {told(error, path)}", hint) from error


def told(error: BaseException, path: Path) -> str:
    """What went wrong, and at which line of the file."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    step = error.__traceback__
    while step is not None and line is None:
        if Path(step.tb_frame.f_code.co_filename) == path.resolve():
            line = step.tb_lineno
        step = step.tb_next
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    where = f"line {line}: " if line else ""
    return f"{where}{type(error).__name__}: {text}".rstrip(": ")


@contextlib.contextmanager
def without_signatures() -> Iterator[None]:
    """@cuda.jit ignores signatures: with one it would compile at once, for which it wants a GPU."""
    from numba import cuda

    original = cuda.jit
    cuda.jit = lazily(original)
    try:
        yield
    finally:
        cuda.jit = original


def lazily(original: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator without what would make it compile at once."""

    def jit(function: Any = None, *args: Any, **options: Any) -> Any:
        if callable(function) and python_function(function) is not None:
            return original(function, *args, **options)
        options.pop("func_or_sig", None)
        options.pop("signature", None)
        return original(None, *args, **options)

    return jit
