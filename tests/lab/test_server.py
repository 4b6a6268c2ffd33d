"""The server over real sockets: who may ask, what is refused and in which words, and that answers are the package's."""

import json
import socket
import time

import pytest

pytest.importorskip("starlette", reason="pip install 'gemmlab[lab]'")
pytest.importorskip("uvicorn", reason="pip install 'gemmlab[lab]'")

import gemmlab
from gemmlab.lab import server
from gemmlab.lab.answers import VERBS
from gemmlab.record import Record
from lab.served import TOKEN, served

PROBLEM = {"m": 64, "n": 64, "k": 64}
TWICE = """
from numba import cuda

@cuda.jit
def twice(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]
"""
SECRET = b"not for the page"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A server with a small page."""
    folder = tmp_path_factory.mktemp("lab")
    static = folder / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>lab</title>")
    (static / "assets" / "main.js").write_text("export {}")
    (folder / "secret.txt").write_bytes(SECRET)
    (static / "link.txt").symlink_to(folder / "secret.txt")
    with served(static=static) as found:
        yield found


def test_the_page_and_its_files(client):
    page, script = client.get("/"), client.get("/assets/main.js")
    assert (page.status, page.headers.get_content_type()) == (200, "text/html")
    assert (script.status, script.headers.get_content_type()) == (200, "text/javascript")
    for answer in (page, script, client.get("/api/nothing"), client.get("/nothing")):
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer.headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert "Server" not in answer.headers


def test_a_page_that_is_not_built_says_how():
    with served(warm=False, spare=0) as bare:
        answer = bare.get("/")
        assert answer.status == 503
        assert b"make web" in answer.body
        for path in ("/favicon.ico", "/assets/main.js", "//api/caps"):
            assert bare.get(path).status == 404
            assert "there is no" in bare.get(path).error


def test_silent_connections_keep_nobody_out_and_too_many_requests_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(server, "MOST_OPEN", 8)
    with served(warm=False, spare=0) as small:
        silent = [socket.create_connection(("127.0.0.1", small.port)) for _ in range(100)]
        assert small.get("/api/jobs/nobody").status == 404
        head = f"POST /api/explain HTTP/1.1\r\nHost: {small.host}\r\nContent-Type: application/json\r\n"
        for stream in silent[:8]:
            stream.sendall(f"{head}Content-Length: 9\r\n\r\n".encode())
        while small.get("/api/jobs/nobody").status != 503:
            time.sleep(0.01)
        assert "8 requests are open, as many as there may be" in small.get("/").error
        for stream in silent:
            stream.close()
        while small.get("/api/jobs/nobody").status != 404:
            time.sleep(0.01)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.2:{port}",
        "",
        "127.0.0.1:{port}@evil",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/caps", "/assets/main.js"])
def test_another_host_is_refused(client, host, path):
    answer = client.get(path, {"Host": host.format(port=client.port)})
    assert answer.status == 400
    if host:
        assert "not called" in answer.error


def test_no_host_or_two_are_refused(client):
    assert client.raw(b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 400")
    two = f"GET / HTTP/1.1\r\nHost: {client.host}\r\nHost: evil.example\r\n\r\n".encode()
    assert client.raw(two).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_its_own_names_are_answered(client, host):
    assert client.get("/", {"Host": host.format(port=client.port)}).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}.evil",
        "",
    ],
)
def test_another_origin_is_refused(client, origin):
    headers = {"Origin": origin.format(port=client.port)}
    for answer in (
        client.get("/api/caps", headers),
        client.post("/api/explain", {"problem": PROBLEM}, headers, token=True),
        client.ask("DELETE", "/api/jobs/x", None, headers),
    ):
        assert answer.status == 403
        assert "may not talk to this server" in answer.error


def test_its_own_origin_is_answered(client):
    headers = {"Origin": f"http://{client.host}", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/explain", {"problem": PROBLEM}, headers).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_says_of_a_page_elsewhere_is_heard(client, site):
    assert client.get("/api/caps", {"Sec-Fetch-Site": site}).status == 403
    assert client.get("/", {"Sec-Fetch-Site": site}).status == 200  # a link to the page


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/..%5csecret.txt",
        "//etc/passwd",
        "/%2fetc/passwd",
        "/index.html%00.txt",
        "/link.txt",
        "/assets",
        "/%ff%fe",
        "/" + "a" * 5000,
    ],
)
def test_no_path_leads_out_of_the_page(client, path):
    answer = client.get(path)
    assert answer.status in (307, 400, 404)
    assert SECRET not in answer.body
    assert b"root:" not in answer.body
    if answer.status != 307:
        assert answer.error


@pytest.mark.parametrize(
    "headers", [{}, {"X-Gemmlab-Token": "wrong"}, {"X-Gemmlab-Token": ""}, {"Cookie": "gemmlab_{port}=x"}]
)
@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        ("emulate", {"source": TWICE, "grid": [1], "block": [32], "arguments": ["float32[8]", "float32[8]"]}),
        ("schedules", {"source": TWICE}),
        ("run", {"problem": PROBLEM, "backends": ["cpu"], "kernels": ["numpy"]}),
    ],
)
def test_code_needs_the_token(client, verb, asked, headers):
    given = {name: value.format(port=client.port) for name, value in headers.items()}
    for path in (f"/api/{verb}", f"/api/jobs/{verb}"):
        answer = client.post(path, asked, given)
        assert answer.status == 403
        assert "needs the token" in answer.error


def test_the_address_with_the_token_makes_a_cookie_that_opens(client):
    opened = client.get(f"/?token={TOKEN}")
    assert (opened.status, opened.headers["Location"]) == (303, "/")
    cookie, *how = opened.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(how)
    asked = {"source": TWICE, "grid": [1], "block": [32], "arguments": ["float32[8]", "float32[8]"]}
    assert client.post("/api/emulate", asked, {"Cookie": cookie}).status == 200
    assert client.get("/api/caps", {"Cookie": f"other=1; {cookie}"}).json["token"] is True
    # what other servers of this machine have set comes along
    for others in ('x={"a": 1}', "[x]=1", 'x=a"b c', "path=/; expires", "\xe9=\xfc", f"{cookie.partition('=')[0]}=old"):
        for both in (f"{others}; {cookie}", f"{cookie}; {others}", f"{others};{cookie};"):
            assert client.get("/api/caps", {"Cookie": both.encode("latin-1")}).json["token"] is True, both
    assert client.get("/api/caps", {"Cookie": f"x{cookie}; {cookie}x"}).json["token"] is False
    once = client.lab.once
    assert client.get(f"/?token={once}").headers["Set-Cookie"] == opened.headers["Set-Cookie"]
    assert client.get(f"/?token={once}").status == 403
    wrong = client.get("/?token=wrong")
    assert wrong.status == 403
    assert "Set-Cookie" not in wrong.headers


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "lacks|missing|required"),
        (b"{", "no JSON"),
        (b"nonsense", "no JSON"),
        (b'"text"', "Expected `object`"),
        (b"[]", "Expected `object`"),
        (b"\xff\xfe", "no JSON"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1}} trailing', "no JSON"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1}, "colour": 1}', "colour"),
        (b'{"problem": {"m": "1", "n": 1, "k": 1}}', "Expected `int"),
        (b'{"problem": {"m": 1.5, "n": 1, "k": 1}}', "Expected `int"),
        (b'{"problem": {"m": 0, "n": 1, "k": 1}}', "m"),
        (b'{"problem": {"m": NaN, "n": 1, "k": 1}}', "no JSON"),
        (b'{"problem": {"m": ' + b"9" * 5000 + b', "n": 1, "k": 1}}', "out of range"),
        (b'{"problem": {"m": 1, "n": 1}}', "no k"),
        (b'{"problem": {"m": 1, "groups": [[1, 1, 1]]}}', "groups and m"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1, "format": "float33"}}', "float33"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1}, "chip": "h200"}', "unknown chip"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1}, "chip": "/etc/passwd"}', "unknown chip"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1}, "chip": "x.toml"}', "unknown chip"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1}, "chip": {"toml": "name = "}}', "own.toml"),
        (b'{"problem": {"m": 1, "n": 1, "k": 1}, "kernel": {"name": "tile"}}', "unknown kernel"),
        (b"[" * 100_000, "JSON|object"),
        (b'{"a":' * 100_000, "JSON|a"),
    ],
)
def test_what_is_no_request_is_said(client, body, said):
    answer = client.post("/api/explain", body)
    assert answer.status == 400
    assert any(word in answer.error for word in said.split("|")), answer.error


def test_other_kinds_of_requests_are_refused_in_words(client):
    asked = json.dumps({"problem": PROBLEM}).encode()
    assert client.post("/api/explain", asked, {"Content-Type": "text/plain"}).status == 415
    assert client.post("/api/solve", asked).status == 404
    assert "unknown verb" in client.post("/api/solve", asked).error
    for method, path in (("PUT", "/api/explain"), ("OPTIONS", "/api/explain"), ("TRACE", "/"), ("POST", "/")):
        assert client.ask(method, path).status == 405
    assert client.get("/api/jobs/nobody").status == 404
    assert client.get("/api/jobs/nobody/events").status == 404
    assert client.ask("DELETE", "/api/jobs/nobody").status == 404


def test_a_long_body_is_refused_however_it_is_sent(client):
    assert client.post("/api/explain", b" " * (1 << 20) + b"{}").status == 413
    assert client.post("/api/explain", b"", {"Content-Length": "99999999999"}).status == 413
    head = f"POST /api/explain HTTP/1.1\r\nHost: {client.host}\r\nContent-Type: application/json\r\n"
    chunk = b"%x\r\n" % (1 << 18) + b" " * (1 << 18) + b"\r\n"
    sent = f"{head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode() + chunk * 4 + b"1\r\n \r\n"
    assert client.raw(sent).startswith(b"HTTP/1.1 413")
    assert client.raw(b"\x16\x03\x01\x02 this is TLS\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_caps_tell_the_machine(client):
    told = client.get("/api/caps").json
    assert told["token"] is False
    assert client.get("/api/caps", token=True).json["token"] is True
    assert told["machine"]["chips"][-1]["kind"] == "cpu"
    backends = {each["name"]: each for each in told["machine"]["backends"]}
    assert "numpy" in backends["cpu"]["kernels"]
    assert all(bool(each["chip"]) != bool(each["why"]) for each in backends.values())
    assert "tiled_without_first_barrier" in told["machine"]["emulator"]["broken"]
    assert set(told["limits"]) == set(VERBS)


def test_explain_answers_what_the_package_does(client):
    asked = {"problem": {"m": 4096, "n": 512, "k": 768, "format": "bfloat16"}, "chip": "a100-pcie-80gb"}
    problem = gemmlab.Gemm(4096, 512, 768, "bfloat16")
    assert client.post("/api/explain", asked).body.decode() == gemmlab.explain(problem, "a100-pcie-80gb").to_json()
    kernel = {"name": "tensor", "tile": "128x128x32", "stages": 2}
    told = Record.from_json(client.post("/api/explain", {**asked, "kernel": kernel, "advice": False}).body.decode())
    assert (told.kernel.block_m, told.kernel.block_k, told.kernel.stages, told.advice) == (128, 32, 2, None)


def test_a_chip_of_ones_own_and_groups(client):
    own = {"toml": 'base = "h100-sxm"\nname = "mine"\n'}
    asked = {"problem": {"groups": [[64, 128, 256], [8, 128, 256]], "format": "float16"}, "chip": own}
    told = client.post("/api/explain", asked).json
    assert told["chip"]["name"] == "mine"
    assert told["problem"]["groups"] == [[64, 128, 256], [8, 128, 256]]


def test_emulate_counts_within_a_second(client):
    asked = {"kernel": "tiled", "problem": PROBLEM}
    times = []
    while len(times) < 20 and min(times, default=1) >= 1:  # what takes longer says what else the machine did
        begun = time.perf_counter()
        told = client.post("/api/emulate", asked).json
        times.append(time.perf_counter() - begun)
    assert min(times) < 1
    assert told["emulation"]["global_load"]["elements"] == 2 * 64**3 // 16
    assert told["verdict"]["ok"] is True


def test_emulate_finds_the_race_of_a_twin(client):
    asked = {"kernel": "tiled_without_first_barrier", "problem": PROBLEM, "schedule": "serial"}
    told = client.post("/api/emulate", asked).json["emulation"]
    assert {fault["kind"] for fault in told["faults"]} >= {"shared_race"}
    assert told["schedules"][0]["wrong_elements"] > 0


def test_ones_own_source_is_emulated(client):
    asked = {"source": TWICE, "grid": [1], "block": [32], "arguments": ["float32[20]:iota", "y=float32[20]:zeros"]}
    told = client.post("/api/emulate", asked, token=True).json["emulation"]
    assert told["global_load"]["elements"] == told["global_store"]["elements"] == 20
    assert told["file"].endswith("kernel.py")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"kernel": "tilde", "problem": PROBLEM}, "unknown kernel `tilde`"),
        ({"kernel": "/etc/x.py:k", "problem": PROBLEM}, "unknown kernel"),
        ({"kernel": "tiled"}, "needs a grid and a block"),
        ({"kernel": "naive", "problem": PROBLEM, "block": [0]}, "Expected `int` >= 1"),
        ({"kernel": "naive", "problem": PROBLEM, "grid": [1, -1]}, "Expected `int` >= 1"),
        ({"kernel": "naive", "problem": {"groups": [[8, 8, 8], [1, 2, 3]]}}, "not groups"),
        ({"source": "raise ValueError(chr(0xd800))", "problem": PROBLEM}, "line 1: ValueError"),
        ({"source": "raise ValueError('x' * 50_000_000)", "problem": PROBLEM}, "line 1: ValueError"),
        (
            {"source": TWICE.replace("2 *", "nothing *"), "grid": [1], "block": [8], "arguments": ["float32[8]"] * 2},
            "kernel.py:8: `nothing` is not defined",
        ),
        ({"kernel": "tiled", "problem": PROBLEM, "schedule": "witness:/etc/passwd"}, "unknown schedule"),
        ({"kernel": "tiled", "problem": PROBLEM, "chip": "/etc/passwd"}, "unknown chip"),
        ({"kernel": "tiled", "grid": [1], "block": [1], "arguments": ["/etc/x.npy", "1", "1"]}, "is a file"),
        ({"kernel": "tiled", "problem": {**PROBLEM, "format": "float8_e4m3fn"}}, "float8_e4m3fn"),
        ({"source": "def (", "problem": PROBLEM}, "kernel.py fails to import: line 1: SyntaxError"),
        ({"source": "1 / 0", "problem": PROBLEM}, "line 1: ZeroDivisionError"),
        ({"source": "import sys; sys.exit(3)", "problem": PROBLEM}, "SystemExit"),
        ({"source": "x = 1", "problem": PROBLEM}, "no kernel under @cuda.jit"),
        ({"source": TWICE, "problem": PROBLEM}, "twice has 2 arrays"),
    ],
)
def test_what_cannot_be_emulated_is_said(client, asked, said):
    answer = client.post("/api/emulate", asked, token=True)
    assert answer.status == 400
    assert said in answer.error
    assert "/tmp" not in answer.error


def test_schedules_play_an_order(client):
    asked = {"kernel": "tiled_8", "m": 16, "n": 16, "k": 16, "without": [0], "schedule": "alternating"}
    told = client.post("/api/schedules", asked).json
    assert len(told["wrong"]) == 256
    assert told["race"] is not None
    assert {len(column) for column in told["steps"].values()} == {len(told["steps"]["thread"])}


def test_run_times_real_kernels(client):
    asked = {"problem": {"m": 48, "n": 40, "k": 56}, "backends": ["cpu"], "kernels": ["numpy"], "rounds": 3}
    (record,) = client.post("/api/run", asked, token=True).json
    assert record["measurement"]["time_s"] > 0
    assert record["verdict"]["ok"] is True
    for name in ("/etc/x.py:f", "x.wgsl:main", "cpu:/etc/x.py:f", "nothing", "/etc/x.py:numpy", "x.wgsl:numpy"):
        refused = client.post("/api/run", {**asked, "kernels": [name]}, token=True)
        assert refused.status == 400
        assert "unknown kernel" in refused.error
