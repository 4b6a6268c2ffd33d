"""The page as a folder of files that any web server can hand out, or a browser open from disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from gemmlab.lab.place import NOT_BUILT, STATIC, is_built, version
from gemmlab.record import GemmlabError

MARK = ".gemmlab-lab.json"


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What an export has put into a folder, so that the next one knows what is its own."""

    version: str
    files: tuple[str, ...]


def export(folder: str, static: Path = STATIC) -> list[Path]:
    """Write the page into a folder, made where it does not exist; returns the files.

    A folder with anything in it is taken only where an export wrote it: then its files are replaced, and all else
    stays. Raises GemmlabError, before anything is written, where that is not so or the page is not built.
    """
    if not is_built(static):
        raise GemmlabError(*NOT_BUILT.split(": ", 1))
    if not folder or "\0" in folder:
        raise GemmlabError(f"`{folder}` is no folder", "--export DIR")
    target = Path(folder)
    names = sorted(path.relative_to(static).as_posix() for path in static.rglob("*") if path.is_file())
    try:
        before = own_files(target)
        if taken := [name for name in names if name not in before and os.path.lexists(target / name)]:
            raise GemmlabError(
                f"`{target / taken[0]}` is there already, and no export wrote it", "move it, or another folder"
            )
        target.mkdir(parents=True, exist_ok=True)
        # first, so that an export which breaks off can be done again
        mark(target, sorted({*names, *before}))
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if (target / name).is_symlink():  # what it leads to is no export's
                (target / name).unlink()
            shutil.copyfile(static / name, target / name)
        for name in before - set(names):
            (target / name).unlink(missing_ok=True)
        mark(target, names)
    except OSError as error:
        raise GemmlabError(f"cannot write `{error.filename or folder}`: {error.strerror or error}") from error
    return [target / name for name in names]


def mark(target: Path, names: list[str]) -> None:
    """Note which files are an export's own."""
    (target / MARK).write_bytes(msgspec.json.encode(Written(version=version(), files=tuple(names))))


def own_files(target: Path) -> set[str]:
    """The files of an export that was there before; raises GemmlabError for a folder that holds something else."""
    if not target.exists():
        return set()
    if not target.is_dir():
        raise GemmlabError(f"`{target}` is no folder", "--export DIR")
    if not any(target.iterdir()):
        return set()
    try:
        written = msgspec.json.decode((target / MARK).read_bytes(), type=Written)
    except (OSError, msgspec.DecodeError):
        raise GemmlabError(
            f"folder `{target}` is not empty, and no export of the lab wrote it", "name an empty or new folder"
        ) from None
    # a name that leads out of the folder, by its parts or by a link, is none of ours
    inside = target.resolve()
    plain = (name for name in written.files if ".." not in Path(name).parts and not Path(name).is_absolute())
    return {name for name in plain if (target / name).parent.resolve().is_relative_to(inside)}
