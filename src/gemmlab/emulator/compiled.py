"""Generated code as a module in the user's cache folder, where numba keeps what it compiled beside it."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

PREFIX = "gemmlab_emulated_"
KEPT = 400  # generated modules; the oldest go first
LOADED: dict[str, ModuleType] = {}


def compiled(text: str, name: str) -> ModuleType:
    """The module with that text, imported from the cache folder; `name` only makes its file easy to find.

    Functions in it that are decorated with `njit(cache=True)` are compiled once on this machine. The file's name holds
    a hash of the text and of the helpers it imports, so that a change of either compiles anew.
    """
    digest = hashlib.sha256((text + helpers_digest()).encode()).hexdigest()[:20]
    module_name = f"{PREFIX}{''.join(c if c.isalnum() else '_' for c in name)[:40]}_{digest}"
    if module_name in LOADED:
        return LOADED[module_name]
    path = folder() / f"{module_name}.py"
    if not path.exists():
        write(path, text)
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:  # cannot happen with a .py file; mypy cannot know
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # numba's cache unpickles through it
    spec.loader.exec_module(module)
    LOADED[module_name] = module
    return module


@contextmanager
def lightly() -> Iterator[None]:
    """Compile what is compiled meanwhile at LLVM's level O1.

    Generated code is many short loops of calls and branches: O3 tries to vectorise each, takes five times as long to
    compile, and what comes out runs no faster.
    """
    from numba.core import config

    with LIGHTLY:
        settings: Any = config
        usual = settings.OPT
        settings.OPT = type(usual)(min(1, int(usual)))
        try:
            yield
        finally:
            settings.OPT = usual


LIGHTLY = threading.RLock()


def folder() -> Path:
    """Where generated modules are kept: the user's cache folder, or a temporary one where that cannot be written."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(base) / "gemmlab" / "emulator"
    try:
        path.mkdir(parents=True, exist_ok=True)
        if os.access(path, os.W_OK):
            return path
    except OSError:
        pass
    return temporary_folder()


@cache
def temporary_folder() -> Path:
    """A folder that lasts as long as the process."""
    made = Path(tempfile.mkdtemp(prefix="gemmlab-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def write(path: Path, text: str) -> None:
    """Put the text there in one step, since several processes may want the same module at once."""
    prune(path.parent)
    replaced(path, text.encode())


def replaced(path: Path, content: bytes) -> None:
    """Write a file in one step."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


def prune(kept_in: Path) -> None:
    """Drop the oldest generated modules, with what numba compiled of them, once there are too many."""
    found = sorted(kept_in.glob(f"{PREFIX}*.py"), key=lambda p: p.stat().st_mtime)
    for path in found[: max(0, len(found) - KEPT)]:
        for old in [path, *(kept_in / "__pycache__").glob(f"{path.stem}.*")]:
            old.unlink(missing_ok=True)


def helpers_digest() -> str:
    """A hash of the modules that generated code imports: numba's own cache does not look at them."""
    here = Path(__file__).parent
    files = [here / "halves.py", *sorted(here.glob("*/runtime*.py")), *sorted(here.glob("*/runtime/*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files if path.exists())).hexdigest()
