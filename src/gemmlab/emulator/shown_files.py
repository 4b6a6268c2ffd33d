"""How reports call files: from the folder that one is in, or from the package, so that they read the same anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def shown_files(files: Iterable[str]) -> dict[str, str]:
    """Each file's name in reports."""
    return {file: shown(file) for file in files}


def shown(file: str) -> str:
    """`tiled.py` here, `gemmlab/kernels/ladder/tiled.py` of the package, else the path as it stands."""
    path = Path(file)
    for folder, base in ((PACKAGE, PACKAGE.parent), (Path.cwd(), Path.cwd())):
        if path.is_relative_to(folder):
            return path.relative_to(base).as_posix()
    return file
