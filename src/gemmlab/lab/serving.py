"""Start the server on this machine's own address, and end with it all that it started."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from gemmlab.lab.guard import Place
from gemmlab.lab.server import Lab, Settings
from gemmlab.record import GemmlabError

HOST = "127.0.0.1"
USUAL_PORT = 8731
LEAVE_S = 3.0  #: for open answers, once the server ends


def listening(port: int | None) -> socket.socket:
    """A socket on this machine's own address: on that port, or the usual one, any where that is taken.

    Raises GemmlabError where the port that was asked for cannot be had.
    """
    for wanted in (USUAL_PORT, 0) if port is None else (port,):
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, wanted))
            found.listen(2048)  # now: two that only bind can have the same port, and the second finds out too late
            return found
        except OSError as error:
            found.close()
            reason = error.strerror or str(error)
    raise GemmlabError(f"cannot listen on port {port}: {reason}", "another --port, or none")


class Server(uvicorn.Server):
    """Ends the jobs before it waits for those who listen to them; says when it answers."""

    def __init__(self, lab: Lab, ready: Callable[[], None]) -> None:
        self.lab, self.ready = lab, ready
        super().__init__(
            uvicorn.Config(
                lab.app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=LEAVE_S,  # type: ignore[arg-type]
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As ever, and then it is said."""
        await super().startup(sockets)
        if threading.current_thread() is threading.main_thread():
            self.leave_with_terminal()
        if self.started:
            try:
                self.ready()
            except BaseException:  # nobody reads what is told: what does not serve is not shut down by itself
                await self.shutdown(sockets)
                raise

    def leave_with_terminal(self) -> None:
        """End in order where the terminal is closed, unless that is not to matter (`nohup`)."""
        hang_up = getattr(signal, "SIGHUP", None)
        if hang_up is not None and signal.getsignal(hang_up) is signal.SIG_DFL:
            asyncio.get_running_loop().add_signal_handler(hang_up, self.handle_exit, hang_up, None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """As ever; to ask twice makes it no faster, for all that is waited for ends within seconds."""
        super().handle_exit(sig, frame)
        self.force_exit = False

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As ever, the jobs first."""
        await self.lab.jobs.close()
        await super().shutdown(sockets)


def serve(port: int | None, *, browser: bool, told: Callable[[str], None], **settings: Any) -> None:
    """Serve until interrupted; `told` hears the address that opens the page. Raises GemmlabError, KeyboardInterrupt."""
    listener = listening(port)
    place = Place(listener.getsockname()[1], secrets.token_urlsafe(32))
    address, lab = f"http://{HOST}:{place.port}/?token=", Lab(Settings(place, **settings))

    def ready() -> None:
        told(address + place.token)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address + lab.once,), daemon=True).start()

    try:
        with listener:
            asyncio.run(Server(lab, ready).serve([listener]))
    finally:
        lab.workers.sweep()
