"""`gemmlab lab`: the page on which multiplications are watched, broken and timed, and this machine behind it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import util
from typing import Any

from gemmlab.cli.output import emit
from gemmlab.cli.parse import Flag, Section, parse
from gemmlab.problem.columns import number
from gemmlab.record import GemmlabError

HELP = "gemmlab lab --help"
SOURCE = ("", "Nothing is named: the page asks.")
NEEDED = ("starlette", "uvicorn")
FLAGS = Section(
    "Flags",
    (
        Flag("port", "Listen on that port of this machine; default 8731, or any that is free.", "N", number),
        Flag("no_browser", "Print the address and open no browser."),
        Flag(
            "export",
            "Write the page as files that need no server: all but what runs on this machine. A folder that is not "
            "empty is refused, unless an export wrote it.",
            "DIR",
        ),
    ),
)


def help_text(about: str) -> str:
    """What `gemmlab lab --help` prints."""
    from gemmlab.cli.help import of_verb

    return of_verb("gemmlab lab [FLAGS]", about, SOURCE, (FLAGS,), "gemmlab lab --export site")


def run(words: Sequence[str]) -> int:
    """Serve until interrupted, or export; raises GemmlabError."""
    plain, given = parse(words, (FLAGS,), HELP)
    if plain:
        raise GemmlabError(f"the lab takes no `{plain[0]}`", f"`{HELP}` lists its flags")
    if "export" in given:
        return exported(given)
    port = given.get("port")
    if port is not None and not 0 <= port <= 65535:
        raise GemmlabError(f"--port: {port} is no port", "1 to 65535, or 0 for any that is free")
    if missing := [name for name in NEEDED if util.find_spec(name) is None]:
        raise GemmlabError(f"the lab's server needs {' and '.join(missing)}", "pip install 'gemmlab[lab]'")
    from gemmlab.lab.place import NOT_BUILT, is_built
    from gemmlab.lab.serving import serve

    if not is_built():
        print(f"note: {NOT_BUILT}; without it only programs are answered", file=sys.stderr)
    serve(port, browser="no_browser" not in given, told=told)
    return 0


def told(address: str) -> None:
    """Print where the page is."""
    emit(f"{address}\n")
    sys.stdout.flush()
    print("the address holds the key to run code here; Ctrl-C ends the server", file=sys.stderr)


def exported(given: dict[str, Any]) -> int:
    """Write the page's files; raises GemmlabError."""
    for flag in ("port", "no_browser"):
        if flag in given:
            typed = f"--{flag.replace('_', '-')}"
            raise GemmlabError(f"{typed} is of the server, and --export starts none", f"leave {typed} out")
    from gemmlab.lab.export import export

    files = export(given["export"])
    print(f"wrote {len(files)} files into {given['export']}", file=sys.stderr)
    return 0
