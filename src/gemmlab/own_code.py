"""A Python file of the user's own as a module, its neighbours found as when it is run."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from gemmlab.record import GemmlabError


def file_module(file: Path, prefix: str, form: str, *, stays: bool = False) -> ModuleType:
    """The file, imported anew at each call under a name of its own: it may be called numpy.py.

    `prefix` begins that name where the file lies in no package, `form` is how a user names such a file. While it is
    imported, its folder comes first; where it `stays`, in a process that only runs this file, the folder stands behind
    what is installed, for as long as the process lives. Raises GemmlabError where there is no such file, else what the
    file raises.
    """
    if not file.is_file():
        raise GemmlabError(f"there is no file `{file}`", form)
    root, package = package_of(file)
    name = ".".join([*package, file.stem]) if package else f"{prefix}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise GemmlabError(f"`{file}` is no Python file", form)
    module = importlib.util.module_from_spec(spec)
    with behind(root) if stays else reachable(root):
        if package:
            importlib.import_module(".".join(package))
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return module


def package_of(file: Path) -> tuple[Path, list[str]]:
    """The folder that imports begin at, and the names of the packages that the file lies in from there."""
    folder, names = file.resolve().parent, list[str]()
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, names


@contextlib.contextmanager
def reachable(folder: Path) -> Iterator[None]:
    """Modules in the folder can be imported, as when a file in it is run."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


@contextlib.contextmanager
def behind(folder: Path) -> Iterator[None]:
    """Modules in the folder can be imported from now on, but hide none that is installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    yield
