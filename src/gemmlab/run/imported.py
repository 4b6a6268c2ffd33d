"""A module or a file of one's own, imported in the process that runs it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gemmlab.own_code import file_module
from gemmlab.record import GemmlabError


def module_of(where: str) -> Any:
    """The module of that name, or of that file, which finds its neighbours; raises GemmlabError."""
    if not where.endswith(".py"):
        return importlib.import_module(where)
    return file_module(Path(where), "gemmlab_kernels_of", "FILE.py:FUNC", stays=True)


def attribute(module: Any, name: str, where: str) -> Callable[..., Any]:
    """What the module calls so; raises GemmlabError."""
    if not callable(found := getattr(module, name, None)):
        raise GemmlabError(f"`{os.path.basename(where)}` has no function `{name}`", "FILE.py:FUNC")
    result: Callable[..., Any] = found
    return result
