"""Events whose JSON is broken in the ways that exporters of traces are known for.

Windows paths with bare backslashes (pytorch/kineto issue 336, pytorch/pytorch issue 98432), control characters and
bytes that are no UTF-8 in names (kineto issue 80, pytorch issue 136180), `inf` and `N/A` for a bandwidth (kineto issue
105), and bare quotation marks in names (kineto pull request 1459).
"""

from __future__ import annotations

import json
import re
from typing import Any

#: where one event ends and the next begins, by the keys that exporters begin with
BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|s|bp)"\s*:)')
START = re.compile(rb'"traceEvents"\s*:\s*\[')
END = re.compile(rb'\}\s*,?\s*\](?=\s*(?:,\s*"|\}|$))')  # args hold no lists of objects
BARE_NUMBER = re.compile(rb"([:\[,]\s*)-?(?:NaN|nan|Infinity|inf|N/A)(?=\s*[,}\]])")
BARE_BACKSLASH = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
CONTROL = re.compile(rb"[\x00-\x1f]")
QUOTED_NAME = re.compile(
    rb'("name"\s*:\s*")(.*?)("\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|args|id|s|bp)"\s*:|\}\s*$))', re.DOTALL
)
ESCAPED_OR_BARE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[\\"]')


def pieces(text: bytes | bytearray) -> list[bytes | bytearray]:
    """The events of a text, cut where one ends and the next begins; the last one goes to the text's end."""
    begun = START.search(text)
    start = begun.end() if begun else text.find(b"[") + 1
    found = []
    for between in BETWEEN.finditer(text, start):
        found.append(text[start : between.start() + 1])
        start = between.end()
    rest = text[start:]
    if rest.strip():
        ended = END.search(rest)
        found.append(rest[: ended.start() + 1] if ended else rest)
    return found


def mended(event: bytes) -> Any:
    """The value of an event after the known repairs, each of which leaves good JSON alone.

    Raises ValueError where none helps.
    """
    text = event.strip().decode("utf-8", "replace").encode()
    for repair in (without_controls, with_backslashes, with_numbers, with_quotes):
        text = repair(text)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    raise ValueError("no repair helps")


def without_controls(text: bytes) -> bytes:
    """Blanks in their place: between values they mean the same, in a name they only stand in the way."""
    return CONTROL.sub(b" ", text)


def with_backslashes(text: bytes) -> bytes:
    """A second one before each that escapes nothing."""
    return BARE_BACKSLASH.sub(rb"\\\\", text)


def with_numbers(text: bytes) -> bytes:
    """Null for what is no number of JSON."""
    return BARE_NUMBER.sub(rb"\1null", text)


def with_quotes(text: bytes) -> bytes:
    """Escaped quotation marks within a name, and a second backslash where one stands alone, as at its end."""
    return QUOTED_NAME.sub(lambda name: name[1] + ESCAPED_OR_BARE.sub(escaped, name[2]) + name[3], text)


def escaped(found: re.Match[bytes]) -> bytes:
    """An escape as it is; a bare backslash or quotation mark after a backslash."""
    return found[0] if len(found[0]) > 1 else b"\\" + found[0]
