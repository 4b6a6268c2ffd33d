"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path

from gemmlab.record import GemmlabError


def write_file(path: str | os.PathLike[str], text: str | bytes) -> None:
    """Write text as UTF-8, or bytes; a reader sees the old file or the whole new one, an error leaves the old one.

    Raises GemmlabError where the folder does not exist, the path is a folder, or the system refuses.
    """
    given = os.fspath(path)
    target = destination(path)
    content = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)  # a pipe or a device cannot be replaced
        else:
            replace(target, content)
    except OSError as error:
        raise GemmlabError(f"cannot write `{given}`: {error.strerror or error}") from error


def destination(path: str | os.PathLike[str]) -> Path:
    """The file that a path means; nothing is written.

    Raises GemmlabError where the folder does not exist or may not be written to, or the path is a folder.
    """
    given = os.fspath(path)
    if "\0" in given:
        raise GemmlabError(f"cannot write `{given}`: no file has such a name", "name another file")
    special = os.path.exists(given) and not os.path.isfile(given)  # a pipe like /dev/stdout may lead nowhere by name
    target = Path(given if special else os.path.realpath(given))  # the file behind a link is replaced, not the link
    if target.is_dir():
        raise GemmlabError(f"cannot write `{given}`: it is a folder", "name a file in it")
    if not target.parent.is_dir():
        raise GemmlabError(f"cannot write `{given}`: folder `{target.parent}` does not exist", "create it first")
    if not os.access(target if target.exists() and not target.is_file() else target.parent, os.W_OK):
        raise GemmlabError(
            f"cannot write `{given}`: folder `{target.parent}` is write-protected", "name another folder"
        )
    return target


def replace(target: Path, content: bytes) -> None:
    """Write beside the target, then rename onto it, with the permissions that the target has or would get."""
    handle, beside = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(beside, mode_for(target))
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def mode_for(target: Path) -> int:
    """Permissions of the file that is there, else what the umask leaves of read and write."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
