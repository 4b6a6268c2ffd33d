"""The process in which answers are worked out: requests on standard input, answers on what was standard output.

`python -m gemmlab.lab.worker PARENT`. A message is a letter, the length of its text in four bytes, and its text: to it
`q`, a Work as JSON; from it `p`, what it is doing in words, `r`, the answer, `e`, an error of the request, and `m`, a
mistake of this program, all three as JSON. What code prints goes to standard error: it cannot pass for an answer.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
from typing import IO, Any

import msgspec

from gemmlab.record import GemmlabError
from gemmlab.run.fault import fault_of
from gemmlab.run.worker import leave_first, leave_no_core, leave_with

HEAD = struct.Struct("<cI")
PROGRESS, RESULT, ERROR, MISTAKE, REQUEST = b"p", b"r", b"e", b"m", b"q"
MOST_WRITTEN = 1 << 26  #: bytes of a file that somebody's own code writes, what it prints among them
MOST_SAID = 10_000  #: characters of an error
NO_EXIT = "a kernel's source that ends without sys.exit, KeyboardInterrupt and the like"


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is given to do."""

    verb: str  #: or `warm`
    body: bytes = b""
    memory_bytes: int = 0  #: that it may have; 0: no limit
    own: bool = False  #: code of somebody's own will run: the limit cannot be raised again


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, as the page shows it."""

    error: str
    hint: str = ""


class AskedToLeaveError(SystemExit):
    """The parent ends this process; a kernel's own SystemExit does not."""


def send(stream: IO[bytes], kind: bytes, text: bytes) -> None:
    """Write one message."""
    stream.write(HEAD.pack(kind, len(text)) + text)
    stream.flush()


def main() -> None:
    """Serve until the parent is gone or ends this process."""
    replies = os.fdopen(os.dup(1), "wb")
    commands = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends its workers itself
    signal.signal(signal.SIGTERM, leave)
    leave_with(int(sys.argv[1]))
    leave_no_core()
    leave_first()
    while head := commands.read(HEAD.size):
        _, length = HEAD.unpack(head)
        kind, text = done(msgspec.json.decode(commands.read(length), type=Work), replies)
        send(replies, kind, text)


def leave(*_: Any) -> None:
    """End in order: what a measurement started is ended with it."""
    raise AskedToLeaveError(143)


def done(work: Work, replies: IO[bytes]) -> tuple[bytes, bytes]:
    """The answer to one request, or the error."""
    from gemmlab.lab import answers

    if work.verb == "warm":
        answers.warm()
        return RESULT, b"{}"
    bound(work)
    try:
        return RESULT, answers.answer(work.verb, work.body, lambda text: send(replies, PROGRESS, text.encode()))
    except GemmlabError as error:
        failed = Failed(error=told(error.text), hint=told(error.hint))
    except MemoryError:
        failed = Failed(
            error=f"it needs more than {work.memory_bytes >> 20} MiB of memory",
            hint="a smaller problem, or less at once",
        )
    except RecursionError:
        failed = Failed(error="it nests too deeply", hint="a plainer kernel")
    except AskedToLeaveError:
        raise
    except BaseException as error:  # nobody expects it: told, so that the page need not guess
        if not isinstance(error, Exception):  # somebody's own code raises what would end this process
            return ERROR, msgspec.json.encode(Failed(error=f"it raises {told(fault_of(error).detail)}", hint=NO_EXIT))
        detail = told(fault_of(error).detail)
        mistake = Failed(error=f"it failed: {detail}", hint="another kernel or size; this is a mistake")
        return MISTAKE, msgspec.json.encode(mistake)
    return ERROR, msgspec.json.encode(failed)


def told(text: str) -> str:
    """A text that UTF-8 can say: what somebody's own code raises may hold half a character, and be of any length."""
    return text[:MOST_SAID].encode("utf-8", "replace").decode()


def bound(work: Work) -> None:
    """Bound what this process may take, where the system can: memory, and what somebody's own code prints or writes."""
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = work.memory_bytes or hard
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit if work.own else hard))
        if work.own:
            resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_WRITTEN, MOST_WRITTEN))
    except (ImportError, ValueError, OSError):
        return


if __name__ == "__main__":
    main()
