"""The server of the lab, for this machine alone.

- `GET /api/caps`: the version, whether the caller holds the token, this machine's chips and backends.
- `POST /api/explain`, `/api/emulate`, `/api/schedules`, `/api/run`: the answer once it is there; requests are the
  classes of `asked`, errors `{"error", "hint"}`. Who hangs up cancels. One's own source, and `run`, need the token.
- `POST /api/jobs/VERB`: the same begun: status 202 and `{"id", "verb", "state", "events"}` at once.
- `GET /api/jobs/ID`: how it stands, with the answer or error; `DELETE` cancels it.
- `GET /api/jobs/ID/events`: server-sent events `started`, `progress`, then `result`, `failed` or `cancelled`.
- everything else: the built page.
"""

from __future__ import annotations

import asyncio
import hmac
import html
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gemmlab.lab import asked
from gemmlab.lab.answers import VERBS
from gemmlab.lab.guard import Guard, Place
from gemmlab.lab.jobs import FullError, Job, Jobs, Limit
from gemmlab.lab.place import NOT_BUILT, STATIC, version
from gemmlab.lab.worker import Failed
from gemmlab.lab.workers import Workers
from gemmlab.record import GemmlabError, unknown_name

MOST_BYTES = 1 << 20  #: of a request
MOST_OPEN = 64  #: requests at once, streams of events among them
BODY_S = 10.0  #: in which it must be there
QUIET_S = 10.0  #: of a stream of events, before a comment shows that it lives
LOOK_S = 0.25  #: between two looks whether somebody still waits
NEARLY_S = 1.0  #: that a job may go on for nobody: most are done by then, and the process that does them is kept


@dataclass(frozen=True)
class Settings:
    """What a server is started with."""

    place: Place
    static: Path = STATIC
    most_jobs: int = 4
    limits: Mapping[str, Limit] = field(default_factory=dict)  #: of verbs, where not the usual ones
    spare: int = 2  #: processes that stand ready
    warm: bool = True


class Lab:
    """The server's state and what it answers."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.place = settings, settings.place
        self.workers = Workers(settings.spare, warm=settings.warm)
        self.jobs = Jobs(self.workers, settings.most_jobs, settings.limits)
        self.once = secrets.token_urlsafe(32)  #: opens one time: a browser's command line shows it to all who look
        self.found: asyncio.Task[Job] | None = None
        built = settings.static.is_dir()
        self.app = Starlette(
            routes=[
                Route("/api/caps", self.caps),
                Route("/api/jobs/{verb}", self.begin, methods=["POST"]),
                Route("/api/jobs/{id}", self.standing, methods=["GET"]),
                Route("/api/jobs/{id}", self.cancel, methods=["DELETE"]),
                Route("/api/jobs/{id}/events", self.events),
                Route("/api/{verb}", self.answer, methods=["POST"]),
                Route("/api/{rest:path}", self.nothing, methods=["GET", "POST", "DELETE"]),
                Route("/", self.page),
                Mount("/", StaticFiles(directory=settings.static, html=True))
                if built
                else Route("/{rest:path}", self.nothing),
            ],
            middleware=[Middleware(Guard, place=self.place, most_bytes=MOST_BYTES, most_open=MOST_OPEN)],
            exception_handlers={HTTPException: told, GemmlabError: refused, FullError: full, Exception: broken},
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Make a process ready; end all at the end."""
        self.workers.soon(self.workers.refill)
        yield
        await self.jobs.close()

    async def page(self, request: Request) -> Response:
        """The page; with the token in the address, it is kept in a cookie and taken out of the address."""
        if "token" in request.query_params:
            given = request.query_params["token"]
            if hmac.compare_digest(given.encode(), self.once.encode()):
                self.once = secrets.token_urlsafe(32)
            elif not self.place.opens(given):
                return failure(403, "this token is not of the server that runs", "open the address that it printed")
            response: Response = RedirectResponse("/", 303)
            response.set_cookie(self.place.cookie, self.place.token, path="/", httponly=True, samesite="strict")
            return response
        index = self.settings.static / "index.html"
        if not index.is_file():
            text = html.escape(NOT_BUILT)
            return HTMLResponse(f"<!doctype html><html lang=en><title>gemmlab lab</title><p>{text}</p></html>", 503)
        return Response(index.read_bytes(), media_type="text/html")

    async def caps(self, request: Request) -> Response:
        """What this server and this machine can do; looked for once, again where that failed."""
        if self.found is None or (self.found.done() and not found_well(self.found)):
            self.found = asyncio.create_task(self.look())
        job: Job = await asyncio.shield(self.found)
        return json(
            {
                "version": version(),
                "token": self.place.holds_token(request.headers),
                "most_jobs": self.settings.most_jobs,
                "limits": {
                    name: {"time_s": limit.time_s, "memory_bytes": limit.memory_bytes}
                    for name, limit in self.jobs.limits.items()
                    if name in VERBS
                },
                "machine": msgspec.Raw(job.answer) if job.status == 200 else None,
                "why": None if job.status == 200 else msgspec.Raw(job.answer),
            }
        )

    async def look(self) -> Job:
        """Look at this machine, beside the jobs that are counted."""
        job = Job("caps")
        await self.jobs.work(job, b"{}", own=False)
        return job

    async def started(self, request: Request) -> Job:
        """The job that a request asks for; raises HTTPException, GemmlabError or FullError."""
        verb = request.path_params["verb"]
        if verb not in VERBS:
            raise HTTPException(404, unknown_name("verb", verb, VERBS).text)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "the request is no JSON: its content-type is not application/json")
        try:
            body = await asyncio.wait_for(request.body(), BODY_S)
        except TimeoutError:
            raise HTTPException(408, f"the request was not there within {BODY_S:g} s") from None
        given = asked.read(VERBS[verb].request, body)
        own = isinstance(given, asked.Launched) and given.own
        if (own or VERBS[verb].always_token) and not self.place.holds_token(request.headers):
            what = "one's own source" if own else "a measurement"
            raise HTTPException(403, f"{what} needs the token: open the address that `gemmlab lab` printed")
        return self.jobs.start(verb, body, own=own)

    async def answer(self, request: Request) -> Response:
        """Begin a job and wait for it; who hangs up cancels it."""
        job = await self.started(request)
        waiting = asyncio.create_task(job.wait())
        while not job.finished:
            await asyncio.wait([waiting], timeout=LOOK_S)
            if not job.finished and await request.is_disconnected():
                await asyncio.wait([waiting], timeout=NEARLY_S)
                self.jobs.cancel(job)
                return Response(status_code=499)  # to nobody
        return Response(job.answer, job.status, media_type="application/json")

    async def begin(self, request: Request) -> Response:
        """Begin a job."""
        job = await self.started(request)
        return json(standing(job), 202)

    async def standing(self, request: Request) -> Response:
        """How a job stands."""
        return json(standing(self.known(request)))

    async def cancel(self, request: Request) -> Response:
        """Cancel a job, and say how it stands then."""
        job = self.known(request)
        self.jobs.cancel(job)
        await job.wait()
        return json(standing(job))

    async def events(self, request: Request) -> Response:
        """What is told of a job, from behind the event that the browser has seen last."""
        job = self.known(request)
        seen = request.headers.get("last-event-id", "")
        first = int(seen) + 1 if seen.isdecimal() and len(seen) < 10 else 0

        async def stream() -> AsyncIterator[bytes]:
            async for number, event in job.listen(first, QUIET_S):
                if event is None:
                    yield b": nothing new\n\n"
                else:
                    yield b"id: %d\nevent: %s\ndata: %s\n\n" % (number, event.name.encode(), event.data)

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    def known(self, request: Request) -> Job:
        """The job that an address names; raises HTTPException."""
        job = self.jobs.jobs.get(request.path_params["id"])
        if job is None:
            raise HTTPException(404, "there is no such job, or it ended long ago")
        return job

    async def nothing(self, request: Request) -> Response:
        """An address that means nothing."""
        raise HTTPException(404, f"there is no {request.method} {request.url.path}")


def found_well(looked: asyncio.Task[Job]) -> bool:
    """Whether a look at the machine came to its end and found it."""
    return not looked.cancelled() and looked.exception() is None and looked.result().status == 200


def standing(job: Job) -> dict[str, Any]:
    """A job as JSON has it."""
    found: dict[str, Any] = {
        "id": job.id,
        "verb": job.verb,
        "state": job.state,
        "events": f"/api/jobs/{job.id}/events",
    }
    if job.finished:
        found["result" if job.state == "done" else "failed"] = msgspec.Raw(job.answer)
    return found


def json(value: Any, status: int = 200) -> Response:
    """A value as an answer, which nobody keeps."""
    return Response(
        msgspec.json.encode(value), status, media_type="application/json", headers={"cache-control": "no-store"}
    )


def failure(status: int, text: str, hint: str = "") -> Response:
    """An error as an answer."""
    return json(Failed(error=text, hint=hint), status)


async def told(request: Request, error: Exception) -> Response:
    """An error of HTTP in words."""
    assert isinstance(error, HTTPException)
    plain = {404: f"there is no {request.url.path}", 405: f"{request.method} is not answered at {request.url.path}"}
    return failure(error.status_code, plain.get(error.status_code, "") if is_plain(error) else error.detail)


def is_plain(error: HTTPException) -> bool:
    """Whether an error says no more than its status."""
    return error.detail in ("Not Found", "Method Not Allowed")


async def refused(_: Request, error: Exception) -> Response:
    """A request that cannot be used."""
    assert isinstance(error, GemmlabError)
    return failure(400, error.text, error.hint)


async def full(_: Request, error: Exception) -> Response:
    """One job too many."""
    response = failure(429, str(error), "wait for one of them, or cancel it")
    response.headers["retry-after"] = "1"
    return response


async def broken(_: Request, error: Exception) -> Response:
    """What nobody expected: the server goes on."""
    return failure(500, f"the server made a mistake: {type(error).__name__}", "ask again")
