"""`gemmlab VERB ...`: the verbs, and how each run ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from cyclopts import App, CycloptsError, Parameter

from gemmlab.cli.errors import in_our_words, say
from gemmlab.record import GemmlabError


class Verb(NamedTuple):
    """One verb: its function is imported only when it is called, so what lists the verbs stands here."""

    home: str
    about: str
    usage: str
    example: str


VERBS = {
    "explain": Verb(
        "gemmlab.cli.explain:explain",
        "What a multiplication moves, what bounds it, its time and what to change; no hardware needed.",
        "gemmlab explain M N K | shapes.csv | --suite NAME [FLAGS]",
        "gemmlab explain 4096 50257 768 --format bfloat16 --chip h100-sxm",
    ),
    "chips": Verb(
        "gemmlab.cli.chips:chips",
        "What is known of each chip, from which source, and whether it agrees with itself.",
        "gemmlab chips [NAME | FILE.toml | here ...] [FLAGS]",
        "gemmlab chips a100-pcie-80gb",
    ),
}
INTERRUPTED = 130  # what shells report of a program that Ctrl-C ended


def build() -> App:
    """The program with its verbs."""
    app = App(
        name="gemmlab",
        help="What one matrix multiplication moves, what bounds it, how fast it can go on a chip, and what to change.",
        help_format="plaintext",
        help_epilogue="gemmlab VERB --help tells the flags of a verb.",
        version=version,
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for place, (name, verb) in enumerate(VERBS.items()):
        app.command(
            verb.home,
            name=name,
            help=verb.about,
            usage=f"Usage: {verb.usage}",
            help_epilogue=f"For example: {verb.example}",
            sort_key=place,
        )
    return app


def version() -> str:
    """The installed version; metadata is read only when it is asked for."""
    from importlib import metadata

    try:
        return metadata.version("gemmlab")
    except metadata.PackageNotFoundError:
        return "a source tree that is not installed"


def main(words: Sequence[str] | None = None) -> int:
    """Run one command, of `sys.argv` unless its words are given; returns the exit status.

    0: fine. 1: the answer is no. 2: bad usage or input, said on standard error with nothing on standard output.
    """
    try:
        status = run(sys.argv[1:] if words is None else list(words))
        sys.stdout.flush()
    except GemmlabError as error:
        say(error)
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        quiet_stdout()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        quiet_stdout()
        say(GemmlabError(f"cannot write the output: {error.strerror or error}"))
        return 2
    return status


def run(words: list[str]) -> int:
    """Parse the words, then call the verb; raises GemmlabError."""
    app = build()
    try:
        command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise in_our_words(error, VERBS) from None
    return int(command(*bound.args, **bound.kwargs) or 0)


def quiet_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain of it when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is no file of this process
        return
