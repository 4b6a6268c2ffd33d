"""Where the built page lies, what is said where it does not, and of which version it is."""

from importlib import metadata
from pathlib import Path

STATIC = Path(__file__).parent / "static"
NOT_BUILT = "the page is not built: `make web` builds it from a checkout, which takes Node 20 or newer"


def is_built(static: Path = STATIC) -> bool:
    """Whether the page is there."""
    return (static / "index.html").is_file()


def version() -> str:
    """The installed version; empty of a source tree that is not installed."""
    try:
        return metadata.version("gemmlab")
    except metadata.PackageNotFoundError:
        return ""
