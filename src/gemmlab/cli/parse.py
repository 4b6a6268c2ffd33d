"""Words of a command line as values.

Written by hand: a parser that reads signatures and docstrings takes as long to load as numpy, and that is a third of
what a whole answer may take (benchmarks/cold_start.py). It also says what is wrong in the words of all other errors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gemmlab.record import GemmlabError


class Flag(NamedTuple):
    """One flag of a verb."""

    name: str  #: of the field that it sets; `a_format` is typed `--a-format`
    about: str
    metavar: str = ""  #: what its value is called; empty for a flag without one
    read: Callable[[str], Any] = str  #: its value from the word; raises GemmlabError
    many: bool = False  #: may be given several times; its values are then a tuple, in order
    words: int = 1  #: how many words are its value; of more than one, each is read alone and the value is a tuple
    more: Callable[[str], bool] | None = None  #: of `many`: whether a further word behind a value is a value, too

    @property
    def typed(self) -> str:
        """The flag as it is typed."""
        return f"--{self.name.replace('_', '-')}"


class Section(NamedTuple):
    """Flags that belong together."""

    title: str
    flags: tuple[Flag, ...]

    def of(self, given: dict[str, Any]) -> dict[str, Any]:
        """Those of the given flags that are of this section."""
        return {flag.name: given[flag.name] for flag in self.flags if flag.name in given}


class Words(NamedTuple):
    """What a command line says."""

    plain: tuple[str, ...]  #: words that are no flags, in order
    given: dict[str, Any]  #: by the name of the flag; those that were not given are absent


def parse(words: Sequence[str], sections: Iterable[Section], where: str) -> Words:
    """The words sorted into plain ones and flags with their values; `where` names the help that lists the flags.

    `--flag value` and `--flag=value` are the same, and nothing after `--` is a flag. Raises GemmlabError for a flag
    that is unknown, given twice, or lacks its value.
    """
    known = {flag.typed: flag for section in sections for flag in section.flags}
    plain: list[str] = []
    given: dict[str, Any] = {}
    left = deque(words)
    while left:
        word = left.popleft()
        if word == "--":
            plain += left
            break
        elif not is_flag(word):
            plain.append(word)
        else:
            typed, equals, value = word.partition("=")
            if typed not in known:
                raise unknown_flag(typed, known, where)
            flag = known[typed]
            if flag.name in given and not flag.many:
                raise GemmlabError(f"{typed} is given twice", "give it once")
            if not flag.metavar and equals:
                raise GemmlabError(f"{typed} takes no value, but `{value}` is given", typed)
            if flag.many:
                given[flag.name] = (*given.get(flag.name, ()), *values_of(flag, value if equals else None, left))
            else:
                given[flag.name] = value_of(flag, value if equals else None, left) if flag.metavar else True
    return Words(tuple(plain), given)


def is_flag(word: str) -> bool:
    """Whether a word is a flag: it begins with a dash, is more than that, and is no negative number."""
    return word.startswith("-") and word != "-" and not word[1:2].isdigit()


def values_of(flag: Flag, first: str | None, left: deque[str]) -> list[Any]:
    """The values of a flag that takes many: its first, and the words after it that are values, too.

    Words that a shell keeps together by quotation marks are several, where each of them is a value.
    """
    words = [first if first is not None else left.popleft() if left else None]
    while flag.more and left and not is_flag(left[0]) and flag.more(left[0]):
        words.append(left.popleft())
    found = []
    for word in words:
        parts = (word or "").split()
        several = flag.more and len(parts) > 1 and all(map(flag.more, parts))
        found += [read(flag, part) for part in (parts if several else [word])]
    return found


def value_of(flag: Flag, first: str | None, left: deque[str]) -> Any:
    """The value of a flag from what stands behind its `=`, if anything does, and from the words after it."""
    found: list[Any] = []
    while len(found) < flag.words:
        word = first if first is not None and not found else left.popleft() if left else None
        found.append(read(flag, word))
    return found[0] if flag.words == 1 else tuple(found)


def read(flag: Flag, word: str | None) -> Any:
    """The value of a flag; raises GemmlabError."""
    if word is None or word.startswith("--"):
        after = f", but `{word}` after it" if word else ""
        raise GemmlabError(f"{flag.typed} has no value{after}", f"{flag.typed} {flag.metavar}: {flag.about}")
    try:
        return flag.read(word)
    except GemmlabError as error:
        raise GemmlabError(f"{flag.typed}: {error.text}", error.hint) from None


def unknown_flag(typed: str, known: Iterable[str], where: str) -> GemmlabError:
    """The error for a flag that a verb does not have, with the nearest that it has."""
    from difflib import get_close_matches

    near = get_close_matches(typed, list(known), n=3, cutoff=0.6)
    return GemmlabError(
        f"unknown flag `{typed}`", f"the nearest: {', '.join(near)}" if near else f"`{where}` lists them"
    )
