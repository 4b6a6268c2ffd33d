"""Jobs: each in a worker's process, within its time and memory, told while it runs, cancelled when asked."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from gemmlab.lab.answers import CAPS, VERBS
from gemmlab.lab.worker import ERROR, RESULT, Failed, Work
from gemmlab.lab.workers import LostError, Workers

KEPT = 16  #: finished jobs that may still be asked about
MOST_TOLD = 1000  #: events of a job; what more it says is not kept
CANCELLED, REFUSED, LOST, TOO_LONG = 410, 400, 500, 504  #: HTTP's words for how a job can end without an answer


class Limit(NamedTuple):
    """What a job may take."""

    time_s: float
    memory_bytes: int  #: of each process; 0: as much as there is


class Event(NamedTuple):
    """One thing that is told of a job: `started`, `progress`, then `result`, `failed` or `cancelled`."""

    name: str
    data: bytes  #: JSON


class FullError(Exception):
    """There are as many jobs as there may be."""


@dataclass(eq=False)
class Job:
    """One request being worked on, or done."""

    verb: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    state: str = "running"  #: then done, failed or cancelled
    status: int = 200  #: of the answer, as HTTP has it
    answer: bytes = b""  #: JSON: the result or the error
    events: list[Event] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    def tell(self, name: str, data: bytes) -> None:
        """One more event for all who listen."""
        if name == "progress" and len(self.events) >= MOST_TOLD:
            return
        self.events.append(Event(name, data))
        self.changed.set()
        self.changed = asyncio.Event()

    def finish(self, state: str, status: int, answer: bytes) -> None:
        """The last thing that happens to it."""
        self.state, self.status, self.answer = state, status, answer
        self.tell({"done": "result"}.get(state, state), answer)

    def fail(self, status: int, error: str, hint: str = "", state: str = "failed") -> None:
        """It ends without a result."""
        self.finish(state, status, msgspec.json.encode(Failed(error=error, hint=hint)))

    def ended(self, task: asyncio.Task[None]) -> None:
        """Its task is over: whatever ended that, nobody waits for more, nor is it counted as running."""
        error = None if task.cancelled() else task.exception()
        if self.finished:
            return
        if error is None:
            self.fail(CANCELLED, "cancelled", state="cancelled")
        else:
            self.fail(LOST, f"the server made a mistake: {type(error).__name__}", "ask again")

    @property
    def finished(self) -> bool:
        """Nothing more will come of it."""
        return self.state != "running"

    async def wait(self) -> None:
        """Until it is finished."""
        while not self.finished:
            await self.changed.wait()

    async def listen(self, first: int, quiet_s: float) -> AsyncIterator[tuple[int, Event | None]]:
        """Events from that number on until the last; None after every `quiet_s` without one."""
        while True:
            changed = self.changed
            while first < len(self.events):
                yield first, self.events[first]
                first += 1
            if self.finished and first >= len(self.events):
                return
            if first >= len(self.events):
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), quiet_s)
                if first >= len(self.events) and not self.finished:
                    yield first, None


class Jobs:
    """All jobs of a server; `most` at once."""

    def __init__(self, workers: Workers, most: int, limits: Mapping[str, Limit] | None = None) -> None:
        self.workers, self.most = workers, most
        known = {**VERBS, "caps": CAPS}
        self.limits = {name: Limit(verb.limit_s, verb.memory_bytes) for name, verb in known.items()} | dict(
            limits or {}
        )
        self.jobs: dict[str, Job] = {}

    @property
    def running(self) -> list[Job]:
        """Those that are not finished."""
        return [job for job in self.jobs.values() if not job.finished]

    def start(self, verb: str, body: bytes, *, own: bool = False) -> Job:
        """Begin a job; raises FullError."""
        running = self.running
        if verb == "run" and any(job.verb == "run" for job in running):
            raise FullError("another measurement is running, and two would disturb each other")
        if len(running) >= self.most:
            raise FullError(f"{len(running)} jobs are running, as many as there may be")
        job = Job(verb)
        self.forget()
        self.jobs[job.id] = job
        job.tell("started", msgspec.json.encode({"id": job.id, "verb": verb}))
        job.task = asyncio.get_running_loop().create_task(self.work(job, body, own))
        job.task.add_done_callback(job.ended)
        return job

    def forget(self) -> None:
        """Drop the oldest of the finished ones."""
        finished = [job.id for job in self.jobs.values() if job.finished]
        for name in finished[: max(0, len(finished) - KEPT + 1)]:
            del self.jobs[name]

    async def work(self, job: Job, body: bytes, own: bool) -> None:
        """See a job to its end; the worker is ended with whatever it does where that is not an answer."""
        limit, worker, again = self.limits[job.verb], None, False
        try:
            worker = await self.workers.take()
            given = Work(verb=job.verb, body=body, memory_bytes=limit.memory_bytes, own=own)
            asked = worker.ask(given, lambda text: job.tell("progress", msgspec.json.encode({"text": text})))
            kind, text = await asyncio.wait_for(asked, limit.time_s)
            again = not own and job.verb != "run"  # what a measurement loads takes memory
            if kind == RESULT:
                job.finish("done", 200, text)
            else:
                job.finish("failed", REFUSED if kind == ERROR else LOST, text)
        except TimeoutError:
            job.fail(TOO_LONG, f"stopped: it was not done within {limit.time_s:g} s", "a smaller problem")
        except asyncio.CancelledError:
            job.fail(CANCELLED, "cancelled", state="cancelled")
        except LostError as lost:
            job.fail(LOST, f"the process that worked on it died: {lost}", "the server goes on; ask again")
        except OSError as error:
            job.fail(LOST, f"no process could be started for it: {error.strerror or error}", "end other programs")
        finally:
            if worker is not None:
                await self.workers.give(worker, again=again)

    def cancel(self, job: Job) -> None:
        """End a job that runs."""
        if job.task is not None and not job.finished:
            job.task.cancel()

    async def close(self) -> None:
        """End all jobs and all processes."""
        tasks = [job.task for job in self.running if job.task is not None]
        for task in tasks:
            task.cancel()
        await self.workers.close()
        await asyncio.gather(*tasks, return_exceptions=True)
