"""Who may talk to the server: the page itself, on this machine, and nobody through it.

A page of another origin can send a browser here, and a name of its own can be made to mean 127.0.0.1 (DNS rebinding):
so the Host header must be the server's own, and the Origin that a browser names too. What runs code also needs the
token, which is new at each start and stands only in the address that the command prints.
"""

from __future__ import annotations

import hmac
from typing import NamedTuple

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gemmlab.lab.worker import Failed

HEADER = "x-gemmlab-token"
METHODS = ("GET", "HEAD", "POST", "DELETE")
ANSWERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; script-src 'self' 'wasm-unsafe-eval'; "
        "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class Place(NamedTuple):
    """Where the server listens, and what it must be told."""

    port: int
    token: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a Host header may say."""
        names = ("127.0.0.1", "localhost", "[::1]")
        return (*(f"{name}:{self.port}" for name in names), *(names if self.port == 80 else ()))

    @property
    def cookie(self) -> str:
        """The cookie's name: a browser sends one host's cookies to all its ports."""
        return f"gemmlab_{self.port}"

    def opens(self, given: str | None) -> bool:
        """Whether that is the token."""
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def holds_token(self, headers: Headers) -> bool:
        """Whether a request has the token, as its header or the page's cookie."""
        if HEADER in headers:
            return self.opens(headers[HEADER])
        # cut as browsers write them: other servers of this machine set cookies too, in whatever form they like
        cookies = (part.partition("=") for text in headers.getlist("cookie") for part in text.split(";"))
        return any(self.opens(value.strip()) for name, _, value in cookies if name.strip() == self.cookie)


class Guard:
    """ASGI: refuses what does not come from here and too much at once, and puts ANSWERS' headers on every answer."""

    def __init__(self, app: ASGIApp, place: Place, most_bytes: int, most_open: int) -> None:
        self.app, self.place, self.most_bytes, self.most_open = app, place, most_bytes, most_open
        self.open = 0  #: requests being answered; a connection on which nothing is asked is none

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, taken = False, 0

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in ANSWERS.items():
                    headers.setdefault(name, value)
            await send(message)

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most_bytes:
                raise TooLargeError
            return message

        if refused := self.refusal(scope):
            await say(answer, *refused)
            return
        self.open += 1
        try:
            await self.app(scope, bounded, answer)
        except TooLargeError:
            if not started:
                await say(answer, 413, *self.too_large)
        finally:
            self.open -= 1

    @property
    def too_large(self) -> tuple[str, str]:
        """What is said of a body past the limit."""
        return f"the request has more than {self.most_bytes} bytes", "a shorter one"

    def refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Status, text and hint where a request is not answered."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        address = f"http://127.0.0.1:{self.place.port}"
        if len(hosts) != 1 or hosts[0].lower() not in self.place.hosts:
            named = f"`{hosts[0][:100]}`" if len(hosts) == 1 else f"{len(hosts)} names"
            return 400, f"this server is not called {named}", f"open {address}"
        for origin in headers.getlist("origin"):
            if origin.lower() not in (f"http://{host}" for host in self.place.hosts):
                return 403, f"a page of `{origin[:100]}` may not talk to this server", f"open {address}"
        site = headers.get("sec-fetch-site", "none")
        if scope["path"].startswith("/api/") and site not in ("same-origin", "none"):
            return 403, f"a {site} page may not talk to this server", f"open {address}"
        if scope["method"] not in METHODS:
            return 405, f"{scope['method'][:20]} is not answered", ", ".join(METHODS)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 20 or int(length) > self.most_bytes:
            return 413, *self.too_large
        if self.open >= self.most_open:
            return 503, f"{self.open} requests are open, as many as there may be", "close other tabs of this page"
        return None


class TooLargeError(Exception):
    """A body without a stated length goes past the limit."""


async def say(send: Send, status: int, text: str, hint: str = "") -> None:
    """Answer with an error as JSON."""
    body = msgspec.json.encode(Failed(error=text, hint=hint))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
