"""A contender's process as its parent holds it: asked, watched against time, stopped while others are timed, ended."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import Any

from gemmlab.run.contender import Contender
from gemmlab.run.fault import CRASHED, NEVER_ENDED, Fault, FaultError, fault_of_exit
from gemmlab.run.worker import read_message, write_message

#: each library reads its own, once, when it is first loaded
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LP_NUM_THREADS",
)
GRACE_S = 2.0  # for a process that closed its answers to end
LOOK_S = 1.0  # between two looks whether a process that does not answer is still there
STOPS = sys.platform.startswith("linux")  # elsewhere a stopped process would outlive a killed parent


class Process:
    """One contender's process; every method raises FaultError where it cannot go on, and it is ended then."""

    def __init__(self, contender: Contender, *, threads: int, limit_s: float, device: int | None = None) -> None:
        self.contender, self.limit_s = contender, limit_s
        self.stopped = self.ended = False
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self.child = subprocess.Popen(
            # -P: a numpy.py in the folder where it is called is no library.
            [sys.executable, "-P", "-m", "gemmlab.run.worker", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment_of(threads, device),
            process_group=0,  # what it starts is stopped and ended with it, and what it does to its group is not ours
        )
        self.answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        """Hand on each answer; None once there are no more."""
        assert self.child.stdout is not None
        try:
            while True:
                self.answers.put(read_message(self.child.stdout))
        except (EOFError, OSError, ValueError):
            self.answers.put(None)
        except Exception as error:  # an answer that is no message of ours: whatever wrote it, the process is lost
            self.answers.put(("fault", CRASHED, f"its answer cannot be read: {error}"))

    def ask(self, name: str, *arguments: Any, limit_s: float | None = None) -> Any:
        """The answer to one command, within `limit_s` seconds."""
        self.send(name, *arguments)
        return self.receive(limit_s)

    def send(self, name: str, *arguments: Any) -> None:
        """Begin one command."""
        self.go_on()
        assert self.child.stdin is not None
        try:
            write_message(self.child.stdin, (name, *arguments))
        except OSError:  # it is gone already, and `receive` says how
            return

    def receive(self, limit_s: float | None = None) -> Any:
        """The answer to the command that was begun."""
        answer = self.awaited(self.limit_s if limit_s is None else limit_s)
        if answer is None:
            fault = self.lost()
            self.end()
            raise FaultError(fault.kind, fault.detail)
        kind, *values = answer
        if kind == "ok":
            return values[0]
        self.end()
        raise FaultError(*values)

    def awaited(self, limit_s: float) -> Any:
        """The next answer; None from a process that ended, though what it started may still hold its answers open."""
        left = limit_s
        while left > 0:  # so counted, time in which this process itself was stopped is none
            look = min(left, LOOK_S)
            try:
                return self.answers.get(timeout=look)
            except queue.Empty:
                left -= look
            if self.child.poll() is not None:
                try:
                    return self.answers.get(timeout=LOOK_S)
                except queue.Empty:
                    return None
        self.end()
        raise FaultError(NEVER_ENDED, f"not done within {limit_s:g} s")

    def pause(self) -> None:
        """Stop all its threads: a pool that spins after its work would slow whoever is timed next."""
        if STOPS and not self.stopped and self.child.poll() is None:
            self.signal(signal.SIGSTOP)
            self.stopped = True

    def go_on(self) -> None:
        """Undo `pause`."""
        if self.stopped:
            self.signal(signal.SIGCONT)
            self.stopped = False

    def signal(self, number: int) -> None:
        """Send a signal to it and to all that it started in its group."""
        with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says so of zombies too
            os.killpg(self.child.pid, number)

    def lost(self) -> Fault:
        """How a process that answers no more has ended."""
        try:
            return fault_of_exit(self.child.wait(GRACE_S), self.last_words())
        except subprocess.TimeoutExpired:
            return Fault(CRASHED, "it closed its files, and its answers with them")

    def last_words(self) -> str:
        """The last line on its standard error."""
        self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, self.errors.tell() - 4096))
        lines = self.errors.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def end(self) -> None:
        """Kill it and what it started, whatever they do."""
        if self.ended:
            return
        self.ended = True
        if hasattr(os, "killpg"):
            self.signal(signal.SIGKILL)
        else:
            self.child.kill()
        self.child.wait()
        try:
            if self.child.stdin is not None:
                self.child.stdin.close()
        except OSError:  # what was to be flushed has no reader any more
            pass
        self.errors.close()


def environment_of(threads: int, device: int | None) -> dict[str, str]:
    """The variables of a worker: threads of every library, pools that sleep, modules that its parent finds."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = dict.fromkeys([package, *(path for path in sys.path if path)])
    found = {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(threads)),
        "OMP_WAIT_POLICY": "passive",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # as nvidia-smi counts
        "GEMMLAB_DEVICE": str(device or 0),  # of WebGPU's adapters, of which CUDA's variable hides none
        "PYTHONPATH": os.pathsep.join(paths),
    }
    if device is not None:
        found["CUDA_VISIBLE_DEVICES"] = visible(device)
    return found


def shown() -> list[str] | None:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves to this process, as it names them; None where it hides none."""
    text = os.environ.get("CUDA_VISIBLE_DEVICES")
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def visible(device: int) -> str:
    """The device number `device` of those that this process may see, as CUDA_VISIBLE_DEVICES names it."""
    seen = shown() or []
    return seen[device] if device < len(seen) else str(device)


class Pool:
    """Processes that outlive one problem, since importing and compiling take longer than many a measurement."""

    def __init__(self) -> None:
        self.idle: dict[tuple[str, int, int | None], Process] = {}

    def take(self, contender: Contender, threads: int, device: int | None, limit_s: float) -> Process:
        """A process for a contender, an idle one of its own if there is any."""
        kept = self.idle.pop((contender.source, threads, device), None)
        if kept is not None and kept.child.poll() is None:
            kept.limit_s = limit_s
            return kept
        return Process(contender, threads=threads, limit_s=limit_s, device=device)

    def give(self, process: Process, threads: int, device: int | None) -> None:
        """Keep a process that did well, without its operands; raises FaultError where it cannot give them back."""
        process.ask("free")
        process.pause()
        key = (process.contender.source, threads, device)
        if key in self.idle:  # the same contender twice in one run
            process.end()
        else:
            self.idle[key] = process

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *raised: object) -> None:
        """End all."""
        self.end()

    def end(self) -> None:
        """End all: they are idle and hold nothing."""
        for process in self.idle.values():
            process.end()
        self.idle.clear()
