"""A server in a thread of this process, spoken to over real sockets."""

import asyncio
import http.client
import json
import socket
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gemmlab.lab.guard import Place
from gemmlab.lab.server import Lab, Settings
from gemmlab.lab.serving import Server, listening

TOKEN = "a-token-of-the-tests"
WAIT_S = 60


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        """The body, which must be JSON and say so."""
        assert self.headers.get_content_type() == "application/json", (self.status, self.body)
        return json.loads(self.body)

    @property
    def error(self):
        """What an error says, with its hint."""
        assert set(self.json) == {"error", "hint"}
        return f"{self.json['error']}; {self.json['hint']}"


class Client:
    """Asks as a page of the server would, or as a program with the token."""

    def __init__(self, port, lab=None):
        self.port, self.lab = port, lab
        self.host = f"127.0.0.1:{port}"

    def ask(self, method, path, body=None, headers=(), *, token=False):
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {"Host": self.host, **dict(headers)}
            if token:
                given["X-Gemmlab-Token"] = TOKEN
            if body is not None:
                given.setdefault("Content-Type", "application/json")
                given.setdefault("Content-Length", str(len(body)))
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, headers=(), **more):
        """One GET."""
        return self.ask("GET", path, None, headers, **more)

    def post(self, path, value, headers=(), **more):
        """One POST of a value as JSON, or of bytes as they are."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.ask("POST", path, body, headers, **more)

    def raw(self, text, *, whole=True):
        """The status line and the rest of what comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as stream:
            stream.sendall(text)
            if not whole:
                return b""
            found = b""
            while part := stream.recv(1 << 16):
                found += part
            return found

    def begin(self, verb, value, **more):
        """Start a job; its id."""
        answer = self.post(f"/api/jobs/{verb}", value, **more)
        assert answer.status == 202, answer.body
        return answer.json["id"]

    def events(self, job, headers=()):
        """All that is told of a job, as (name, data), until it ends."""
        answer = self.get(f"/api/jobs/{job}/events", headers)
        assert answer.headers.get_content_type() == "text/event-stream"
        found = []
        for block in answer.body.decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
            if fields:
                found.append((fields["event"], json.loads(fields["data"])))
        return found


@contextmanager
def served(**settings):
    """A client of a server that runs meanwhile."""
    settings.setdefault("static", Path(__file__).parent / "no-such-folder")
    listener = listening(0)
    place = Place(listener.getsockname()[1], TOKEN)
    lab, up = Lab(Settings(place, **settings)), threading.Event()
    server = Server(lab, up.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
    thread.start()
    try:
        assert up.wait(WAIT_S)
        yield Client(place.port, lab)
    finally:
        server.should_exit = True
        thread.join(WAIT_S)
        listener.close()
        assert not thread.is_alive()


def alive(pid):
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
