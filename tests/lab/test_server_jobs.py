"""Jobs: told while they run, cancelled, ended past their time or memory, so many at once; the server goes on."""

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("starlette", reason="pip install 'gemmlab[lab]'")
pytest.importorskip("uvicorn", reason="pip install 'gemmlab[lab]'")

from gemmlab.lab.jobs import Jobs, Limit
from gemmlab.lab.sources import without_folder
from gemmlab.lab.workers import Workers
from gemmlab.record import GemmlabError
from lab.served import TOKEN, alive, served

SMALL = {"problem": {"m": 8, "n": 8, "k": 8}}
ENDLESS = {"source": "while True: pass", **SMALL}
KERNEL = """
from numba import cuda, float32

@cuda.jit
def kernel(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[1] and j < c.shape[0]:
        total = float32(0)
        for l in range(a.shape[1]):
            total += a[j, l] * b[l, i]
        c[j, i] = total
"""
GREEDY = {"source": "held = bytearray(1 << 40)", **SMALL}
LIMITS = {"emulate": Limit(60.0, 1 << 30), "schedules": Limit(6.0, 1 << 30)}


@pytest.fixture(scope="module")
def client():
    """A server of two jobs at most, whose schedules end after six seconds."""
    with served(most_jobs=2, limits=LIMITS, spare=1, warm=False) as found:
        yield found


@pytest.fixture(autouse=True)
def alone(client):
    """No test leaves a job to the next."""
    yield
    for job in client.lab.jobs.running:
        client.ask("DELETE", f"/api/jobs/{job.id}")


def apart(awaited):
    """Run it in a thread of its own: where Playwright is open, this one has a loop already."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, awaited).result()


def until(holds, within_s=60):
    """Wait for something of the server to be so."""
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def state(client, job):
    """How a job stands."""
    return client.get(f"/api/jobs/{job}").json["state"]


def note(pid_file, then="while True: pass", apart=False):
    """Source that notes its process and a child of its own, which may leave its group, then goes on."""
    return (
        f"import os, subprocess, sys\nchild = subprocess.Popen(['sleep', '1000'], start_new_session={apart})\n"
        f"open({str(pid_file)!r} + '.part', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pid_file)!r} + '.part', {str(pid_file)!r})\n{then}"
    )


def test_a_job_is_told_from_its_start_to_its_answer(client):
    job = client.begin("emulate", {"kernel": "naive", **SMALL})
    told = client.events(job)
    assert told[0] == ("started", {"id": job, "verb": "emulate"})
    assert ("progress", {"text": "compiling"}) in told
    name, record = told[-1]
    assert name == "result"
    assert record["emulation"]["global_load"]["elements"] == 2 * 8**3
    standing = client.get(f"/api/jobs/{job}").json
    assert (standing["state"], standing["result"]) == ("done", record)
    assert client.events(job, {"Last-Event-ID": "0"}) == told[1:]  # a browser that comes back misses nothing
    assert client.events(job, {"Last-Event-ID": "nonsense"}) == told


def test_a_measurement_tells_its_rounds(client):
    asked = {"problem": {"m": 32, "n": 32, "k": 32}, "backends": ["cpu"], "kernels": ["numpy"], "rounds": 3}
    told = client.events(client.begin("run", asked, token=True))
    assert ("progress", {"text": "round 3 of 3"}) in told
    assert told[-1][0] == "result"


def test_an_error_of_a_job_is_told(client):
    told = client.events(client.begin("explain", {"problem": {"m": 8, "n": 8, "k": 8, "format": "float33"}}))
    assert told[-1][0] == "failed"
    assert "float33" in told[-1][1]["error"]


def test_a_job_that_never_ends_is_stopped(client, tmp_path):
    pids = tmp_path / "pids"
    begun = time.monotonic()
    answer = client.post("/api/schedules", {"source": note(pids)}, token=True)
    assert answer.status == 504
    assert "not done within 6 s" in answer.error
    assert time.monotonic() - begun < 60
    until(lambda: not any(map(alive, map(int, pids.read_text().split()))))
    assert client.post("/api/explain", SMALL).status == 200


def test_a_kernel_that_never_ends_is_stopped(client):
    endless = KERNEL.replace(
        "total = float32(0)", "total = float32(0)\n        while a[j, 0] == a[j, 0]:\n            total += 1"
    )
    answer = client.post("/api/schedules", {"source": endless, "block": [4, 4], "m": 4, "n": 4, "k": 4}, token=True)
    assert answer.status in (400, 504)
    assert "steps" in answer.error or "not done within" in answer.error


def test_memory_is_bounded(client):
    answer = client.post("/api/emulate", GREEDY, token=True)
    assert answer.status == 400
    assert "MemoryError" in answer.error or "1024 MiB" in answer.error


def test_a_worker_that_dies_is_told(client):
    for source, said in (
        ("import os; os._exit(7)", "exit status 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os; os.close(0); os.closerange(3, 64); import time; time.sleep(60)", ""),
    ):
        answer = client.post("/api/emulate", {"source": source, **SMALL}, token=True)
        assert answer.status == 500
        assert "died" in answer.error
        assert said in answer.error
    assert client.post("/api/explain", SMALL).status == 200


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "BaseException('enough')", "GeneratorExit"])
def test_what_would_end_a_process_is_told_as_what_it_is(client, raised):
    answer = client.post("/api/emulate", {"source": f"raise {raised}", **SMALL}, token=True)
    assert answer.status == 400
    assert raised.partition("(")[0] in answer.error
    assert "died" not in answer.error


def test_no_remedy_is_one_that_the_page_does_not_have():
    told = without_folder(GemmlabError("too many steps", "a loop may never end; else raise step_limit"), "/nowhere")
    assert "step_limit" not in told.hint
    assert "a loop may never end" in told.hint


def test_what_code_prints_is_no_answer(client):
    source = "print('r\\0\\0\\0\\2{}' * 100)\nimport os; os.write(1, b'r\\2\\0\\0\\0{}')\n" + KERNEL
    answer = client.post("/api/emulate", {"source": source, "block": [8, 8], **SMALL}, token=True)
    assert answer.status == 200
    assert answer.json["verdict"]["ok"] is True


@pytest.mark.parametrize(
    ("kind", "said"),
    [(b"r", b'{"a": '), (b"r", b"{}\n\nevent: result\ndata: 1"), (b"z", b"{}"), (b"p", b"x" * (1 << 17))],
)
def test_what_code_forges_is_no_answer(client, kind, said):
    source = (
        "import os, stat, struct\n"
        f"frame = struct.pack('<cI', {kind!r}, {len(said)}) + {said[:1]!r} * {len(said)}\n"
        f"if {len(said)} < 1000: frame = frame[:5] + {said[:999]!r}\n"
        "for fd in range(3, 64):\n"
        "    try:\n"
        "        if stat.S_ISFIFO(os.fstat(fd).st_mode): os.write(fd, frame)\n"
        "    except OSError: pass\n"
    )
    job = client.begin("emulate", {"source": source, **SMALL}, token=True)
    told = client.events(job)
    assert [name for name, _ in told if name != "progress"] == ["started", "failed"]
    assert "died" in told[-1][1]["error"]
    assert client.get(f"/api/jobs/{job}").json["failed"] == told[-1][1]


def test_code_does_not_stay_for_the_next_request(client):
    spoilt = "import gemmlab.experiment as e, gemmlab.lab.answers as a\ne.emulate_gemm = a.emulate = None\n" + KERNEL
    client.post("/api/emulate", {"source": spoilt, "block": [8, 8], **SMALL}, token=True)
    for _ in range(3):
        assert client.post("/api/emulate", {"kernel": "naive", **SMALL}).status == 200


def test_one_job_too_many_is_refused_in_words(client):
    jobs = [client.begin("emulate", ENDLESS, token=True) for _ in range(2)]
    for path in ("/api/explain", "/api/jobs/explain"):
        answer = client.post(path, SMALL)
        assert answer.status == 429
        assert answer.headers["Retry-After"] == "1"
        assert "2 jobs are running, as many as there may be" in answer.error
    assert client.ask("DELETE", f"/api/jobs/{jobs[0]}").json["state"] == "cancelled"
    assert client.post("/api/explain", SMALL).status == 200


def test_two_measurements_at_once_are_refused(client):
    asked = {"problem": {"m": 512, "n": 512, "k": 512}, "backends": ["cpu"], "rounds": 200}
    first = client.begin("run", asked, token=True)
    answer = client.post("/api/run", asked, token=True)
    assert answer.status == 429
    assert "disturb" in answer.error
    client.ask("DELETE", f"/api/jobs/{first}")


def test_a_cancelled_job_leaves_no_process(client, tmp_path):
    pids = tmp_path / "pids"
    job = client.begin("emulate", {"source": note(pids), **SMALL}, token=True)
    until(pids.exists)
    assert client.ask("DELETE", f"/api/jobs/{job}").json["failed"] == {"error": "cancelled", "hint": ""}
    until(lambda: not any(map(alive, map(int, pids.read_text().split()))))
    assert client.events(job)[-1][0] == "cancelled"
    assert client.ask("DELETE", f"/api/jobs/{job}").json["state"] == "cancelled"  # once more does nothing


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("then", ["while True: pass", "raise ValueError", "os._exit(0)"])
def test_a_child_that_left_the_group_is_ended_too(client, tmp_path, then):
    pids = tmp_path / "pids"
    job = client.begin("emulate", {"source": note(pids, then, apart=True), **SMALL}, token=True)
    until(pids.exists)
    client.ask("DELETE", f"/api/jobs/{job}")
    until(lambda: not any(map(alive, map(int, pids.read_text().split()))))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_forked_child_that_holds_the_answers_open_is_ended_too(client, tmp_path):
    place = tmp_path / "pid"
    source = (
        "import os, time\nif os.fork():\n    os._exit(0)\nos.setsid()\n"
        f"open({str(place)!r} + '.part', 'w').write(str(os.getpid()))\n"
        f"os.rename({str(place)!r} + '.part', {str(place)!r})\ntime.sleep(1000)"
    )
    job = client.begin("emulate", {"source": source, **SMALL}, token=True)
    until(place.exists)
    client.ask("DELETE", f"/api/jobs/{job}")
    until(lambda: not alive(int(place.read_text())))
    until(lambda: client.lab.workers.all <= {*client.lab.workers.idle})


def test_a_job_that_is_cancelled_before_it_begins_is_over():
    async def at_once():
        jobs = Jobs(Workers(0), 1)
        job = jobs.start("explain", b"{}")
        jobs.cancel(job)
        await asyncio.wait_for(job.wait(), 10)
        assert (job.state, jobs.running) == ("cancelled", [])

        async def broken(*_):
            raise KeyError("nobody expects it")

        jobs.workers.take = broken
        job = jobs.start("explain", b"{}")
        await asyncio.wait_for(job.wait(), 10)
        assert (job.state, jobs.running) == ("failed", [])
        await jobs.close()

    apart(at_once())


def test_whenever_jobs_are_cancelled_nothing_piles_up(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with served(most_jobs=4, spare=1, warm=False) as other:
        most = 0
        for place in range(24):
            job = other.begin("emulate", ENDLESS, token=True)
            time.sleep(0.003 * place)
            assert other.ask("DELETE", f"/api/jobs/{job}").json["state"] == "cancelled"
            most = max(most, len(other.lab.workers.all))
        assert not other.lab.jobs.running
        until(lambda: len(other.lab.workers.all) == 1)
        until(lambda: len(list(tmp_path.iterdir())) == 1)  # the folder of the one that stands ready
    assert list(tmp_path.iterdir()) == []


def test_a_start_that_nobody_waits_for_any_more_goes_to_the_next():
    async def hurried():
        workers = Workers(1, warm=False)
        for _ in range(3):
            taking = asyncio.create_task(workers.start())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            taking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(taking, 10)
        while workers.starting or workers.tasks:
            await asyncio.sleep(0.01)
        assert 1 <= len(workers.idle) <= 2  # one more than stand ready may be kept
        assert set(workers.idle) == workers.all
        taking = asyncio.create_task(workers.start())
        await asyncio.sleep(0)
        taking.cancel()
        await asyncio.wait_for(workers.close(), 30)
        assert not workers.all

    apart(hurried())


def test_one_process_at_a_time_is_made_ready():
    async def asked_often():
        workers = Workers(2, warm=False)
        started = []

        async def start():
            started.append(len(workers.idle))
            await asyncio.sleep(0.01)
            return SimpleNamespace(process=SimpleNamespace(returncode=None))

        workers.start = start
        await asyncio.gather(*(workers.refill() for _ in range(20)))
        assert started == [0, 1]

    apart(asked_often())


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_what_code_prints_is_bounded(client):
    source = "line = 'y' * (1 << 20)\nfor _ in range(1 << 12): print(line)"
    answer = client.post("/api/emulate", {"source": source, **SMALL}, token=True)
    assert answer.status == 400
    assert "File too large" in answer.error


def test_a_machine_that_could_not_be_looked_at_is_looked_at_again():
    with served(spare=0, warm=False, limits={"caps": Limit(0.001, 0)}) as other:
        assert "not done within" in other.get("/api/caps").json["why"]["error"]
        other.lab.jobs.limits["caps"] = Limit(60.0, 0)
        assert other.get("/api/caps").json["machine"]["chips"]


def test_who_hangs_up_cancels(client, tmp_path):
    pids = tmp_path / "pids"
    body = json.dumps({"source": note(pids), **SMALL}).encode()
    head = (
        f"POST /api/emulate HTTP/1.1\r\nHost: {client.host}\r\nContent-Type: application/json\r\n"
        f"X-Gemmlab-Token: {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.port)) as stream:
        stream.sendall(head.encode() + body)
        until(pids.exists)
    until(lambda: not client.lab.jobs.running)
    until(lambda: not any(map(alive, map(int, pids.read_text().split()))))


def test_a_killed_worker_that_stood_ready_is_replaced(client):
    until(lambda: client.lab.workers.idle)
    ready = list(client.lab.workers.idle)
    for worker in ready:
        os.kill(worker.process.pid, signal.SIGKILL)
    until(lambda: all(worker.process.returncode is not None for worker in ready))
    for _ in range(2):
        assert client.post("/api/explain", SMALL).status == 200


def test_many_jobs_are_forgotten_in_turn(client):
    for _ in range(20):
        last = client.begin("explain", SMALL)
        client.events(last)
    assert len(client.lab.jobs.jobs) <= 18
    assert state(client, last) == "done"


def test_the_end_of_the_server_ends_its_jobs(tmp_path):
    pids = tmp_path / "pids"
    with served(warm=False) as other:
        other.begin("emulate", {"source": note(pids), **SMALL}, token=True)
        end = time.monotonic() + 60
        while not pids.exists() and time.monotonic() < end:
            time.sleep(0.02)
        workers = [worker.process.pid for worker in other.lab.workers.all]
        folders = [Path(worker.folder) for worker in other.lab.workers.all]
        assert any(map(alive, workers))
        assert any(folder.glob("*/kernel.py") for folder in folders)
    assert not any(map(alive, [*workers, *map(int, pids.read_text().split())]))
    assert not any(folder.exists() for folder in folders)


def test_who_hangs_up_at_once_costs_no_process(client):
    assert client.post("/api/explain", SMALL).status == 200
    until(lambda: client.lab.workers.idle and not client.lab.workers.tasks)
    ready = {worker.process.pid for worker in client.lab.workers.idle}
    body = json.dumps(SMALL).encode()
    head = f"POST /api/explain HTTP/1.1\r\nHost: {client.host}\r\nContent-Type: application/json\r\n"
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", client.port)) as stream:
            stream.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        until(lambda: not client.lab.jobs.running)
    assert ready & {worker.process.pid for worker in client.lab.workers.idle}
