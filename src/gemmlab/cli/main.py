"""`gemmlab VERB ...`: the verbs, and how each run ends."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from gemmlab.cli.ending import TERMINATED, Terminated, terminable
from gemmlab.cli.stderr import quiet, unheard
from gemmlab.record import GemmlabError, unknown_name

ABOUT = "What one matrix multiplication moves, what bounds it, how fast it can go on a chip, and what to change."
LONGEST_WORD = 200  # of an error: a longer one is cut
INTERRUPTED = 130  # what shells report of a program that Ctrl-C ended


class Verb(NamedTuple):
    """One verb; its module is imported only when it is called. It has `run(words) -> status` and `help_text()`."""

    module: str
    about: str


VERBS = {
    "explain": Verb(
        "gemmlab.cli.explain",
        "What a multiplication moves, what bounds it, its time and what to change; no hardware needed.",
    ),
    "run": Verb(
        "gemmlab.cli.run",
        "Run real kernels on this machine: timed in turn beside their count, each result checked.",
    ),
    "emulate": Verb(
        "gemmlab.cli.emulate",
        "Run a GPU kernel on the CPU: every access counted, races and other faults named, its result checked.",
    ),
    "numerics": Verb(
        "gemmlab.cli.numerics",
        "What a matrix unit's accumulator does to the bits: emulated, traced term by term, predicted, revealed.",
    ),
    "systolic": Verb(
        "gemmlab.cli.systolic",
        "A systolic array, cycle by cycle: cycles by cause, traffic, energy, values, beside another chip.",
    ),
    "report": Verb(
        "gemmlab.cli.report",
        "The whole story of one multiplication as one page: counted, emulated, broken, timed here, bit by bit.",
    ),
    "chips": Verb(
        "gemmlab.cli.chips", "What is known of each chip, from which source, and whether it agrees with itself."
    ),
    "lab": Verb(
        "gemmlab.cli.lab",
        "A page to watch, break and time multiplications on, with this machine behind it; or as files for any site.",
    ),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run one command, of `sys.argv` unless its words are given; returns the exit status.

    0: fine. 1: the answer is no. 2: bad usage or input, said on standard error with nothing on standard output.
    """
    with unheard():
        return ended(words)


def ended(words: Sequence[str] | None) -> int:
    """Run one command, and say how it ended."""
    if sys.stdout is None:
        say(GemmlabError("cannot write the output: standard output is closed"))
        return 2
    try:
        with terminable():
            status = run(sys.argv[1:] if words is None else list(words))
            sys.stdout.flush()
    except GemmlabError as error:
        say(error)
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough
        quiet(sys.stdout)
        return 0
    except MemoryError as error:
        say(GemmlabError(f"memory is too small: {error}".rstrip(": "), "a smaller problem"))
        return 2
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        quiet(sys.stdout)
        say(GemmlabError(f"cannot write the output: {error.strerror or error}"))
        return 2
    return status


def run(words: list[str]) -> int:
    """Find the verb and call it; raises GemmlabError."""
    name, *rest = words or ["--help"]
    if name in ("--help", "-h"):
        from gemmlab.cli.help import overview

        print(overview(ABOUT, ((verb, told.about) for verb, told in VERBS.items())))
        return 0
    if name == "--version":
        print(version())
        return 0
    if name not in VERBS:
        raise unknown_name("flag" if name.startswith("-") else "verb", name, [*VERBS, "--help", "--version"])
    module = import_module(VERBS[name].module)
    if ("--help" in rest or "-h" in rest) and not hasattr(module, "VERBS"):  # one with verbs of its own helps itself
        print(module.help_text(VERBS[name].about))
        return 0
    return int(module.run(rest))


def version() -> str:
    """The installed version."""
    from importlib import metadata

    try:
        return metadata.version("gemmlab")
    except metadata.PackageNotFoundError:
        return "a source tree that is not installed"


def say(error: GemmlabError) -> None:
    """Print an error, and its hint where it has one, on standard error."""
    text = f"error: {one_line(error.text)}"
    if error.hint:
        text += f"\n\nhint: {one_line(error.hint)}"
    print(text, file=sys.stderr)


def one_line(text: str) -> str:
    """The text without control characters or endless words: a name out of a file must not move or fill the screen."""
    short = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda found: f"{found[0][: LONGEST_WORD // 2]}...", text)
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in short)
