"""The process of one contender: it takes commands on standard input and answers on what was standard output.

`python -m gemmlab.run.worker PARENT`. Messages are pickles behind their length. Everything that a kernel or a library
prints goes to standard error, so that it cannot break an answer.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
from typing import IO, TYPE_CHECKING, Any

from gemmlab.run.imported import attribute, module_of

if TYPE_CHECKING:
    from gemmlab.problem import Gemm
    from gemmlab.run.program import Program

LENGTH = struct.Struct("<Q")
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def write_message(stream: IO[bytes], message: Any) -> None:
    """Send one message."""
    data = pickle.dumps(message, protocol=5)
    stream.write(LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:
    """The next message; raises EOFError where the other side is gone."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


def main() -> None:
    """Serve until the parent is gone, or ends this process."""
    replies = os.fdopen(os.dup(1), "wb")
    commands = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends its workers itself
    leave_with(int(sys.argv[1]))
    leave_no_core()
    leave_first()
    serve(commands, replies)


def leave_with(parent: int) -> None:
    """End with the parent even inside a kernel that never ends, where no Python code runs."""
    if sys.platform.startswith("linux"):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before this was asked for
            os._exit(1)


def leave_no_core() -> None:
    """A contender may crash; no file shall stay of it."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return


def leave_first() -> None:
    """Where memory is short, Linux shall end the contender that takes it, not who keeps what is known."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        return


def serve(commands: IO[bytes], replies: IO[bytes]) -> None:
    """Answer each command with ("ok", value) or ("fault", kind, detail)."""
    from gemmlab.run.fault import CRASHED, fault_of

    served, own = Served(), os.getpid()
    while True:
        try:
            name, *arguments = read_message(commands)
        except EOFError:
            return
        try:
            answer: tuple[Any, ...] = ("ok", getattr(served, name)(*arguments))
        except BaseException as error:  # a kernel may raise anything
            fault = fault_of(error)
            answer = ("fault", fault.kind, fault.detail)
        if os.getpid() != own:  # two would answer from here on
            write_message(replies, ("fault", CRASHED, "it forks, and its child comes back as well"))
            os._exit(1)
        write_message(replies, answer)


class Served:
    """The commands, in the order in which they come."""

    program: Program
    problem: Gemm

    def load(self, source: str, problem: Gemm) -> dict[str, str]:
        """Make the contender's program; returns its environment.

        What placing operands imports is imported here: the limit of later commands is the kernel's own.
        """
        from gemmlab.check import drawn  # noqa: F401 - which `place` takes
        from gemmlab.formats import dtype_of

        for name in (problem.a_format, problem.b_format, problem.c_format, problem.d_format):
            dtype_of(name)
        self.problem = problem
        self.program = made(source, problem)
        return self.environment()

    def environment(self) -> dict[str, str]:
        """What the program's figures depend on, as it knows it by now."""
        return {str(key): str(value) for key, value in self.program.environment.items()}

    def place(self, storages: dict[str, Any], copies: int) -> None:
        """Put the operands there; only their flat storages travel, for pickled views would be arrays of their own."""
        from gemmlab.check.drawn import Operands
        from gemmlab.check.storage import poisoned, stored

        made_of = {name: stored(self.problem, name, getattr(self.problem, f"{name}_format")) for name in "abc"}
        for name, storage in storages.items():
            made_of[name].storage[...] = storage
        self.program.place(Operands(**made_of, d=poisoned(self.problem)), copies)

    def elapsed(self, first: int, count: int, copies: int) -> float:
        """Seconds of `count` multiplications, on the copies in turn from copy `first`."""
        order = [index % copies for index in range(first, first + count)]
        gc.collect()
        gc.disable()
        try:
            return float(self.program.elapsed(order))
        finally:
            gc.enable()

    def poison(self) -> None:
        """Fill every D."""
        self.program.poison()

    def result(self, copy: int) -> Any:
        """D of one copy."""
        return self.program.result(copy)

    def free(self) -> None:
        """Give the memory of the program back, and be ready for another problem."""
        del self.program
        gc.collect()
        if torch := sys.modules.get("torch"):
            torch.cuda.empty_cache()


def made(source: str, problem: Gemm) -> Program:
    """The program of a contender's `source`: `module:factory`, `FILE.py:factory`, or either with `:argument` behind.

    factory(problem), or factory(problem, argument), gives it. Raises GemmlabError where there is no such factory.
    """
    where, _, rest = split_drive(source)
    name, _, argument = rest.partition(":")
    factory = attribute(module_of(where), name, where)
    program: Program = factory(problem, argument) if argument else factory(problem)
    return program


def split_drive(source: str) -> tuple[str, str, str]:
    """The source at its first colon, one after a drive's letter left alone."""
    drive = source[:2] if source[1:2] == ":" and source[2:3] in ("\\", "/") else ""
    where, colon, rest = source[len(drive) :].partition(":")
    return drive + where, colon, rest


if __name__ == "__main__":
    main()
