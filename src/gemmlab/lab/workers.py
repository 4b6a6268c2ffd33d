"""A worker's process as the server holds it, and those that stand ready so that nobody waits for imports."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from gemmlab.lab.worker import ERROR, HEAD, MISTAKE, PROGRESS, REQUEST, RESULT, Work
from gemmlab.run.fault import fault_of_exit
from gemmlab.run.process import environment_of

GRACE_S = 2.0  #: for a process that is asked to leave
TRIES = 100  #: to end what it started, which may start more meanwhile
LONGEST = 1 << 28  #: bytes of an answer
LONGEST_TOLD = 1 << 16  #: of what is told on the way
Reply = tuple[bytes, bytes]


class LostError(Exception):
    """A worker's process is gone, or does not speak as it ought to."""


class Worker:
    """One process; it does one thing at a time."""

    def __init__(self, process: Process, errors: IO[bytes], folder: str) -> None:
        self.process, self.errors, self.folder = process, errors, folder
        self.ending: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls) -> Worker:
        """A new process."""
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        folder = tempfile.mkdtemp(prefix="gemmlab-lab-")  # whatever it leaves there goes with it
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gemmlab.lab.worker", str(os.getpid())),
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                env=environment() | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder),
                cwd=folder,
                process_group=0,  # what it starts is ended with it
            )
        except BaseException:  # nobody else knows of these two
            errors.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(process, errors, folder)

    async def ask(self, work: Work, told: Callable[[str], None]) -> Reply:
        """The answer to one request; raises LostError where the process ends before it."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        text = msgspec.json.encode(work)
        try:
            stdin.write(HEAD.pack(REQUEST, len(text)) + text)
            await stdin.drain()
            while True:
                kind, length = HEAD.unpack(await stdout.readexactly(HEAD.size))
                if kind not in (PROGRESS, RESULT, ERROR, MISTAKE):
                    raise LostError("it does not speak as it ought to")
                if length > (LONGEST_TOLD if kind == PROGRESS else LONGEST):
                    raise LostError(f"its answer has {length >> 20} MiB")
                said = await stdout.readexactly(length)
                if kind != PROGRESS:
                    return kind, plain_json(said) if work.own else said
                told(said.decode("utf-8", "replace"))
        except (OSError, asyncio.IncompleteReadError):
            raise LostError(await self.last_words()) from None

    async def last_words(self) -> str:
        """How the process ended."""
        try:
            status = await asyncio.wait_for(self.process.wait(), GRACE_S)
        except TimeoutError:
            return "it closed its answers"
        self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(0, self.errors.tell() - 4096))
        lines = [line.strip() for line in self.errors.read().decode("utf-8", "replace").split("\n") if line.strip()]
        return fault_of_exit(status, lines[-1] if lines else "").detail

    async def end(self) -> None:
        """End it and what it started: asked to first, then not."""
        if self.ending is None:
            self.ending = asyncio.create_task(self.ended())
        await asyncio.shield(self.ending)

    async def ended(self) -> None:
        """The same, once."""
        if self.process.returncode is None:
            self.signal(signal.SIGTERM, group=False)
            await self.gone()
        self.signal(getattr(signal, "SIGKILL", signal.SIGTERM), group=True)
        for _ in range(TRIES):
            if not self.kill_kin():
                break
            await asyncio.sleep(0.01)
        await self.gone()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def gone(self) -> None:
        """Wait a while for its end; asyncio waits for its pipes as well, which have to be emptied for that."""
        with suppress(TimeoutError, ProcessLookupError):
            await asyncio.wait_for(asyncio.gather(self.emptied(), self.process.wait()), GRACE_S)

    async def emptied(self) -> None:
        """Take whatever it has still to say, unless somebody else does."""
        assert self.process.stdout is not None
        with suppress(RuntimeError):
            while await self.process.stdout.read(1 << 16):
                pass

    def kill_kin(self) -> bool:
        """Kill what it started that went into a group of its own; whether there was any."""
        left = kin(self.folder)
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return bool(left)

    def signal(self, number: int, *, group: bool) -> None:
        """Send it a signal, or all of its group."""
        with suppress(ProcessLookupError, PermissionError):
            if group and hasattr(os, "killpg"):
                os.killpg(self.process.pid, number)
            elif self.process.returncode is None:
                self.process.send_signal(number)


class Workers:
    """Processes that stand ready; one that ran somebody's own code is not used again."""

    def __init__(self, spare: int = 1, *, warm: bool = True) -> None:
        self.spare, self.warm = spare, warm
        self.idle: list[Worker] = []
        self.all: set[Worker] = set()
        self.tasks: set[asyncio.Task[Any]] = set()
        self.starting: set[asyncio.Task[Worker]] = set()
        self.closed = self.filling = False

    async def start(self) -> Worker:
        """A new process that is known here; who no longer waits for it leaves it to the next."""
        task = asyncio.get_running_loop().create_task(self.started())
        self.starting.add(task)
        task.add_done_callback(self.starting.discard)
        try:
            return await asyncio.shield(task)  # asyncio may wait for ever where a start is broken off
        except asyncio.CancelledError:
            task.add_done_callback(self.stray)
            raise

    def stray(self, task: asyncio.Task[Worker]) -> None:
        """A process has started, and nobody waits for it."""
        if not task.cancelled() and task.exception() is None:
            self.soon(lambda: self.give(task.result(), again=True))

    async def started(self) -> Worker:
        """The same, to its end."""
        worker = await Worker.start()
        self.all.add(worker)
        if self.closed:  # it was started while all were ended
            await self.end(worker)
            raise LostError("the server ends")
        return worker

    async def take(self) -> Worker:
        """A process that stands ready, or a new one.

        Others are made ready once it is given back, so that it has the processor for itself; at once where none
        is left.
        """
        while self.idle:
            worker = self.idle.pop(0)
            if worker.process.returncode is None:
                if not self.idle:
                    self.soon(self.refill)
                return worker
            await self.end(worker)
        if not self.closed:
            self.soon(self.refill)
        return await self.start()

    async def give(self, worker: Worker, *, again: bool) -> None:
        """Take a process back; one that is not to be used again, or is one too many, is ended."""
        if again and not self.closed and worker.process.returncode is None and len(self.idle) <= self.spare:
            self.idle.insert(0, worker)  # what it has loaded is what others ask for
        else:
            await self.end(worker)
        if not self.closed:
            self.soon(self.refill)

    async def refill(self) -> None:
        """Have as many ready as there ought to be, one after the other however often that is asked for."""
        if self.filling:
            return
        self.filling = True
        try:
            while len(self.idle) < self.spare and not self.closed:
                self.idle.append(await self.warmed(await self.start()))
        finally:
            self.filling = False

    async def warmed(self, worker: Worker) -> Worker:
        """The same, with what most answers need loaded; raises LostError for one that did not live through it."""
        try:
            if self.warm:
                await worker.ask(Work(verb="warm"), lambda text: None)
        except LostError:
            await self.end(worker)
            raise
        return worker

    async def end(self, worker: Worker) -> None:
        """End one."""
        await worker.end()
        self.all.discard(worker)

    async def close(self) -> None:
        """End all."""
        self.closed = True
        for task in list(self.tasks):
            task.cancel()
        if self.starting:
            await asyncio.wait(self.starting)
        await asyncio.gather(*(self.end(worker) for worker in list(self.all)), return_exceptions=True)

    def sweep(self) -> None:
        """End at once all that is left, where nothing waits any more."""
        for worker in self.all:
            worker.signal(getattr(signal, "SIGKILL", signal.SIGTERM), group=True)
            worker.kill_kin()
            shutil.rmtree(worker.folder, ignore_errors=True)

    def soon(self, what: Callable[[], Awaitable[None]]) -> None:
        """Do it beside everything else; nobody waits for it, so that what goes wrong shows when it is needed."""
        task = asyncio.get_running_loop().create_task(quiet(what))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def plain_json(text: bytes) -> bytes:
    """The same JSON on one line; raises LostError for none, as somebody's own code may say anything in its process."""
    try:
        return msgspec.json.format(text, indent=-1)
    except msgspec.DecodeError:
        raise LostError("its answer is no JSON") from None


def kin(folder: str) -> list[int]:
    """Processes whose temporary folder that is: a worker and whatever it started, where the system tells (Linux)."""
    found, mark = [], b"\0TMPDIR=" + os.fsencode(folder) + b"\0"
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in b"\0" + place.read_bytes() + b"\0":
                found.append(int(place.parent.name))
    return found


async def quiet(what: Callable[[], Awaitable[None]]) -> None:
    """Do it, and let a lost worker be."""
    with suppress(LostError, OSError):
        await what()


def environment() -> dict[str, str]:
    """The variables of a worker: this process's, and modules that it finds."""
    return {**os.environ, "PYTHONPATH": environment_of(1, None)["PYTHONPATH"]}
