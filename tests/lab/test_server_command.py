"""`gemmlab lab` as a process: where it listens, how it ends, what it refuses, and the files that it exports."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from importlib import util
from pathlib import Path

import msgspec
import pytest

from gemmlab.cli import main
from gemmlab.lab import export as exporting
from gemmlab.record import GemmlabError

needs_server = pytest.mark.skipif(
    any(util.find_spec(name) is None for name in ("starlette", "uvicorn")), reason="pip install 'gemmlab[lab]'"
)
ASKED = {"kernel": "naive", "problem": {"m": 8, "n": 8, "k": 8}}


def ask(address, path, value=None):
    """What a program with the token is answered."""
    base, _, token = address.partition("/?token=")
    headers = {"X-Gemmlab-Token": token, "Content-Type": "application/json"}
    data = None if value is None else json.dumps(value).encode()
    with urllib.request.urlopen(urllib.request.Request(base + path, data, headers), timeout=60) as answer:
        return json.loads(answer.read())


def children(pid):
    """Processes that a process started and that still run."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            rest = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(rest[1]) == pid and rest[0] != "Z":
            found.append(int(place.parent.name))
    return found


def running(pid):
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


COMMAND = [sys.executable, "-m", "gemmlab", "lab", "--no-browser", "--port", "0"]


@pytest.fixture
def folder(tmp_path):
    """Where the command's temporary files lie."""
    found = tmp_path / "temporary"
    found.mkdir()
    return found


@pytest.fixture
def started(folder):
    """A command that serves, and the address that it printed."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    yield command, command.stdout.readline().strip()
    command.kill()
    command.wait()


@needs_server
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("numbers", "status"),
    [([signal.SIGINT], 130), ([signal.SIGTERM], 143), ([signal.SIGHUP], 0), ([signal.SIGINT] * 3, 130)],
)
def test_it_serves_until_it_is_interrupted_and_leaves_nothing(started, folder, numbers, status):
    command, address = started
    assert address.startswith("http://127.0.0.1:")
    assert len(address.partition("token=")[2]) >= 43
    assert ask(address, "/api/emulate", ASKED)["emulation"]["global_load"]["elements"] == 2 * 8**3
    job = ask(address, "/api/jobs/emulate", {**ASKED, "kernel": "", "source": "while True: pass"})
    assert job["state"] == "running"
    workers = children(command.pid)
    assert workers
    begun = time.monotonic()
    for number in numbers:
        command.send_signal(number)
        time.sleep(0.05)
    assert abs(command.wait(60)) in (status, status - 128)  # ended by the signal, or in order after it
    assert list(folder.iterdir()) == []
    assert time.monotonic() - begun < 60
    assert not [pid for pid in workers if running(pid)]
    assert "Traceback" not in command.stderr.read()


@needs_server
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("seconds", [0, 0.02, 0.05, 0.1, 0.3])
def test_interrupted_while_processes_start_it_leaves_nothing(started, folder, seconds):
    command, _ = started
    time.sleep(seconds)
    command.send_signal(signal.SIGINT)
    assert command.wait(60) == 130
    assert "Traceback" not in command.stderr.read()
    assert list(folder.iterdir()) == []


@needs_server
@pytest.mark.skipif(sys.platform == "win32", reason="pipes differ there")
def test_where_nobody_reads_the_address_it_ends(folder):
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(COMMAND, stdout=writing, stderr=subprocess.PIPE, env=environment, timeout=60, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(folder.iterdir()) == []


@needs_server
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_its_workers_end_with_it_when_it_is_killed(started):
    command, address = started
    ask(address, "/api/emulate", ASKED)
    workers = children(command.pid)
    assert workers
    command.send_signal(signal.SIGKILL)
    command.wait()
    end = time.monotonic() + 60
    while any(map(running, workers)):
        assert time.monotonic() < end
        time.sleep(0.05)


@needs_server
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_listens_on_this_machine_alone(started):
    _, address = started
    port = int(address.rpartition(":")[2].partition("/")[0])
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert {local for _, local, _, state, *_ in sockets if state == "0A" and local.endswith(f":{port:04X}")} == {
        f"0100007F:{port:04X}"
    }


@needs_server
def test_a_port_that_is_taken_is_said(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert main(["lab", "--no-browser", "--port", str(other.getsockname()[1])]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "cannot listen on port" in said.err


@needs_server
def test_two_that_start_at_once_do_not_get_one_port():
    from gemmlab.lab.serving import listening

    with listening(0) as first, pytest.raises(GemmlabError, match="cannot listen on port"):
        listening(first.getsockname()[1])


@needs_server
def test_without_a_port_a_taken_one_is_passed_over():
    from gemmlab.lab.serving import USUAL_PORT, listening

    with socket.socket() as other:
        try:
            other.bind(("127.0.0.1", USUAL_PORT))
            other.listen()
        except OSError:
            pass  # another program has it, which is as good
        with listening(None) as found:
            assert found.getsockname()[1] != USUAL_PORT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["here"], "takes no `here`"),
        (["--port", "70000"], "is no port"),
        (["--port", "x"], "whole number"),
        (["--export"], "has no value"),
        (["--export", ""], "is no folder"),
        (["--export", "x", "--port", "1"], "--port is of the server"),
        (["--export", "x", "--no-browser"], "--no-browser is of the server"),
        (["--exprot", "x"], "unknown flag"),
    ],
)
def test_what_it_refuses(words, said, capsys, page, monkeypatch):
    monkeypatch.setattr(exporting.export, "__defaults__", (page,))
    assert main(["lab", *words]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err


def test_a_missing_package_is_named(capsys, monkeypatch):
    from gemmlab.cli import lab

    monkeypatch.setattr(lab, "NEEDED", ("starlette", "no_such_package"))
    assert main(["lab"]) == 2
    told = capsys.readouterr()
    assert "the lab's server needs no_such_package" in told.err
    assert "hint: pip install 'gemmlab[lab]'" in told.err


@pytest.mark.parametrize("code", ["import gemmlab", "import gemmlab.lab.export, gemmlab.cli.lab"])
def test_only_a_server_loads_the_servers_packages(code):
    script = f"{code}\nimport sys\nprint(sorted({{'starlette', 'uvicorn', 'numba', 'torch'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.fixture
def page(tmp_path):
    """A small built page."""
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("page")
    (static / "assets" / "main-1.js").write_text("one")
    return static


def files(folder):
    """Everything in a folder, by name."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_export_writes_the_page_and_writes_it_again(page, tmp_path):
    site = tmp_path / "a" / "site"
    exporting.export(str(site), page)
    assert {name: text for name, text in files(site).items() if name != exporting.MARK} == files(page)
    (site / "CNAME").write_text("mine")  # a file that the site's owner put beside it
    (page / "assets" / "main-1.js").rename(page / "assets" / "main-2.js")
    exporting.export(str(site), page)
    assert {*files(site)} == {*files(page), "CNAME", exporting.MARK}


def test_export_leaves_what_it_did_not_write(page, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("dear")
    with pytest.raises(GemmlabError, match="is not empty"):
        exporting.export(str(full), page)
    (full / exporting.MARK).write_text("no mark")
    with pytest.raises(GemmlabError, match="is not empty"):
        exporting.export(str(full), page)
    assert files(full) == {"thesis.txt": "dear", exporting.MARK: "no mark"}
    with pytest.raises(GemmlabError, match="is no folder"):
        exporting.export(str(full / "thesis.txt"), page)
    mark = exporting.Written(version="", files=("../outside.txt", "/etc/x", "gone.js"))
    outside = tmp_path / "outside.txt"
    outside.write_text("dear")
    (full / exporting.MARK).write_bytes(msgspec.json.encode(mark))
    exporting.export(str(full), page)
    assert outside.read_text() == "dear"
    assert files(full)["thesis.txt"] == "dear"


def test_export_does_not_overwrite_a_file_beside_its_own(page, tmp_path):
    site = tmp_path / "site"
    exporting.export(str(site), page)
    (site / "assets" / "main-2.js").write_text("dear")
    (page / "assets" / "main-2.js").write_text("two")
    with pytest.raises(GemmlabError, match="is there already"):
        exporting.export(str(site), page)
    assert files(site)["assets/main-2.js"] == "dear"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_export_follows_no_link_out_of_its_folder(page, tmp_path):
    site, outside = tmp_path / "site", tmp_path / "outside"
    outside.mkdir()
    exporting.export(str(site), page)
    (outside / "dear.txt").write_text("dear")
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(outside / "dear.txt")
    exporting.export(str(site), page)  # the link was an export's file: it is one again
    assert (outside / "dear.txt").read_text() == "dear"
    assert (site / "index.html").read_text() == "page"

    (site / "assets").rename(outside / "assets")
    (site / "assets").symlink_to(outside / "assets")
    (page / "assets" / "main-1.js").write_text("two")
    with pytest.raises(GemmlabError, match="is there already"):
        exporting.export(str(site), page)
    (page / "assets" / "main-1.js").rename(page / "assets" / "main-2.js")
    exporting.export(str(site), page)
    assert (outside / "assets" / "main-1.js").read_text() == "one"

    (page / "new.js").write_text("new")
    (site / "new.js").symlink_to(outside / "not-yet.txt")
    with pytest.raises(GemmlabError, match="is there already"):
        exporting.export(str(site), page)
    assert not (outside / "not-yet.txt").exists()


@pytest.mark.parametrize("name", ["a" * 300, "site/" + "b/" * 2500])
def test_a_folder_that_no_system_has_is_said(page, tmp_path, name):
    with pytest.raises(GemmlabError, match="cannot write"):
        exporting.export(str(tmp_path / name), page)


def test_a_folder_that_cannot_be_read_is_said(page, tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(exporting, "own_files", denied)
    with pytest.raises(GemmlabError, match="Permission denied"):
        exporting.export(str(tmp_path), page)


def test_export_without_a_page_says_how_it_is_built(tmp_path):
    with pytest.raises(GemmlabError, match="make web"):
        exporting.export(str(tmp_path / "site"), tmp_path)
    assert not (tmp_path / "site").exists()


def test_a_folder_that_cannot_be_made_is_said(page, tmp_path):
    (tmp_path / "file").write_text("dear")
    with pytest.raises(GemmlabError, match="cannot write"):
        exporting.export(str(tmp_path / "file" / "site"), page)


@needs_server
def test_the_browser_is_opened_once_at_an_address_that_opens_once(monkeypatch, capsys):
    from gemmlab.lab import serving

    opened, up = [], threading.Event()

    def browse(address):
        opened.append(address)
        up.set()

    class Ended(serving.Server):
        async def main_loop(self):
            while not up.is_set():
                await asyncio.sleep(0.01)

    monkeypatch.setattr(serving.webbrowser, "open", browse)
    monkeypatch.setattr(serving, "Server", Ended)
    ended = []  # in a thread of its own: where Playwright is open, this one has a loop already
    thread = threading.Thread(target=lambda: ended.append(main(["lab", "--port", "0"])))
    thread.start()
    thread.join(60)
    assert ended == [0]
    printed = capsys.readouterr().out.strip()
    assert [address.partition("?")[0] for address in opened] == [printed.partition("?")[0]]
    assert opened[0] != printed
