"""A module or a file of one's own, imported in the process that runs it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from gemmlab.record import GemmlabError


def module_of(where: str) -> Any:
    """The module of that name, or of that file, which finds its neighbours; raises GemmlabError."""
    if not where.endswith(".py"):
        return importlib.import_module(where)
    if not os.path.isfile(where):
        raise GemmlabError(f"no file `{where}`", "FILE.py:FUNC")
    folder, packages = package_of(where)
    stem = os.path.basename(where)[:-3]
    # A name of its own: the file may be called numpy.py.
    name = ".".join([*packages, stem]) if packages else f"gemmlab_kernels_of_{stem}"
    spec = importlib.util.spec_from_file_location(name, where)
    if spec is None or spec.loader is None:
        raise GemmlabError(f"`{where}` cannot be imported", "a file of Python")
    if folder not in sys.path:
        sys.path.append(folder)  # behind what is installed, which a file beside it shall not hide
    if packages:
        importlib.import_module(".".join(packages))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def package_of(path: str) -> tuple[str, list[str]]:
    """The folder that imports begin at, and the names of the packages that the file lies in from there."""
    folder, names = os.path.dirname(os.path.realpath(path)), list[str]()
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    return folder, names


def attribute(module: Any, name: str, where: str) -> Callable[..., Any]:
    """What the module calls so; raises GemmlabError."""
    if not callable(found := getattr(module, name, None)):
        raise GemmlabError(f"`{os.path.basename(where)}` has no function `{name}`", "FILE.py:FUNC")
    result: Callable[..., Any] = found
    return result
