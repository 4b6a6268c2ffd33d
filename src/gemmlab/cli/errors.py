"""Errors of usage in the same words as all others: what was given, what holds, what to do."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from gemmlab.record import GemmlabError, unknown_name


def say(error: GemmlabError) -> None:
    """Print an error, and its hint where it has one, on standard error."""
    text = f"error: {one_line(error.text)}"
    if error.hint:
        text += f"\n\nhint: {one_line(error.hint)}"
    print(text, file=sys.stderr)


def one_line(text: str) -> str:
    """The text without control characters: a name out of a file must not move the cursor."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def in_our_words(error: CycloptsError, verbs: Iterable[str]) -> GemmlabError:
    """The GemmlabError that says what a parser's error says."""
    if isinstance(error.__cause__, GemmlabError):
        return GemmlabError(f"{flag_of(error)}: {error.__cause__.text}", error.__cause__.hint)
    if isinstance(error, UnknownCommandError):
        word = (error.unused_tokens or ["?"])[0]
        return unknown_name("flag" if word.startswith("-") else "verb", word, [*verbs, "--help", "--version"])
    if isinstance(error, UnknownOptionError):
        return unknown_flag(error)
    if isinstance(error, RepeatArgumentError):
        return GemmlabError(f"{flag_of(error)} is given twice", "give it once")
    if isinstance(error, MissingArgumentError):
        return GemmlabError(f"{flag_of(error)} has no value", described(error))
    if isinstance(error, CoercionError):
        value = error.token.value if error.token else "?"
        return GemmlabError(f"{flag_of(error)}: `{value}` cannot be used", described(error))
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return GemmlabError(f"nothing takes the word `{error.unused_tokens[0]}`", help_of(error))
    text = str(error).rstrip(".")
    return GemmlabError(text[:1].lower() + text[1:], help_of(error))


def unknown_flag(error: UnknownOptionError) -> GemmlabError:
    """The error for a flag that a verb does not have, with the nearest that it has."""
    given = (error.token.keyword or error.token.value).split("=", 1)[0]
    known = [name for argument in error.argument_collection for name in argument.names if name.startswith("--")]
    near = difflib.get_close_matches(given, known, n=3, cutoff=0.6)
    return GemmlabError(f"unknown flag `{given}`", f"the nearest: {', '.join(near)}" if near else help_of(error))


def flag_of(error: CycloptsError) -> str:
    """The flag that an error is about, as it was typed where that is known."""
    token = getattr(error, "token", None)
    if token is not None and token.keyword:
        return str(token.keyword)
    return error.argument.name if error.argument is not None else "a flag"


def described(error: CycloptsError) -> str:
    """What the flag takes, and where it is told."""
    metavar = error.argument.parameter.metavar if error.argument is not None else None
    return f"{flag_of(error)} {metavar}; {help_of(error)}" if metavar else help_of(error)


def help_of(error: CycloptsError) -> str:
    """Where the flags are listed."""
    return f"`{' '.join(['gemmlab', *(error.command_chain or ()), '--help'])}` lists what there is"
