"""What can go wrong with a contender, by name: a fault is a result like a time, and ends nothing but the contender."""

from __future__ import annotations

import os
import signal
import sysconfig
import traceback

import msgspec

from gemmlab.record import GemmlabError

CRASHED = "crashed"  #: its process ended, or raised what nobody expects
NEVER_ENDED = "never ended"  #: past the limit for one command
OUT_OF_MEMORY = "out of memory"
REFUSED = "refused"  #: it says itself what it cannot do
WRONG = "wrong"  #: the result is not the product
ABOVE_LIMIT = "above the limit"  #: faster than the chip can be: what was timed is not the multiplication
FAULTS = (CRASHED, NEVER_ENDED, OUT_OF_MEMORY, REFUSED, WRONG, ABOVE_LIMIT)

MEMORY_WORDS = ("out of memory", "out_of_memory", "outofmemory")  # CUDA's, torch's and numba's errors share no class
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONGEST = 300  # characters of what a library says


class Fault(msgspec.Struct, frozen=True):
    """One fault: its name, one of FAULTS, and what is known of it in words."""

    kind: str
    detail: str = ""


class FaultError(Exception):
    """Raised where a contender cannot go on; carries the fault."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}")
        self.fault = Fault(kind, detail)


def fault_of(error: BaseException) -> Fault:
    """The fault that an exception of a contender is."""
    if isinstance(error, GemmlabError):
        return Fault(REFUSED, encodable(str(error).replace("\n\nhint: ", "; ")))
    name = type(error).__name__
    try:
        text = one_line(f"{name}: {error}".removesuffix(": "))
    except Exception:  # an exception of a kernel's own that cannot say what it is
        text = name
    if place := place_of(error):
        text = f"{text}, at {place}"
    if isinstance(error, MemoryError) or any(word in text.lower() for word in MEMORY_WORDS):
        return Fault(OUT_OF_MEMORY, text)
    return Fault(CRASHED, text)


def place_of(error: BaseException) -> str:
    """File and line where code of the user's raised it; empty where only code of this package and of others ran."""
    installed = tuple({os.path.join(path, "") for path in (*sysconfig.get_paths().values(), PACKAGE)})
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if os.path.isfile(file) and not os.path.abspath(file).startswith(installed):
            found = f"{os.path.basename(file)}:{line}"
    return found


def fault_of_exit(status: int, last_words: str = "") -> Fault:
    """The fault of a process that ended by itself, from its exit status (negative: a signal's number) and stderr."""
    if status < 0:
        try:
            how = signal.Signals(-status).name
        except ValueError:
            how = f"signal {-status}"
        if how == "SIGKILL":
            how += ", as the system ends a process where memory is short"
    else:
        how = f"exit status {status}"
    words = one_line(last_words)
    return Fault(CRASHED, f"{how}: {words}" if words else how)


def encodable(text: str) -> str:
    """The text as UTF-8 has it: a surrogate, as in names of files that are no UTF-8, is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def one_line(text: str) -> str:
    """The text in a line of bounded length."""
    line = encodable(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
