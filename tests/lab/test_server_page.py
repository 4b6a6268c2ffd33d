"""The built page behind its own server, in Chromium: isolated, with its token, and closed to pages of other origins."""

import pytest

pytest.importorskip("starlette", reason="pip install 'gemmlab[lab]'")
pytest.importorskip("uvicorn", reason="pip install 'gemmlab[lab]'")

from lab.served import TOKEN, served

pytestmark = pytest.mark.web
ASK = """async ([path, body]) => {
  const how = body && { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(path, how || {});
  return [answer.status, await answer.json()];
}"""
OWN = "from numba import cuda\n@cuda.jit\ndef k(x):\n    x[cuda.grid(1)] = 1\n"
LAUNCH = {"source": OWN, "grid": [1], "block": [4], "arguments": ["float32[4]"]}


@pytest.fixture(scope="module")
def client(static):
    """A server of the built page."""
    with served(static=static) as found:
        yield found


def test_the_page_has_the_token_and_is_isolated(client, visit):
    page = visit(at=f"http://{client.host}/?token={TOKEN}")
    assert page.url.split("#")[0] == f"http://{client.host}/"
    assert page.evaluate("crossOriginIsolated") is True
    assert "gemmlab" not in page.evaluate("document.cookie")  # no script can read the token
    status, told = page.evaluate(ASK, ["/api/caps", None])
    assert (status, told["token"]) == (200, True)
    status, told = page.evaluate(ASK, ["/api/emulate", LAUNCH])
    assert status == 200
    assert told["emulation"]["global_store"]["elements"] == 4


def test_events_reach_the_page(client, visit):
    page = visit(at=f"http://{client.host}/?token={TOKEN}")
    heard = page.evaluate(
        """async (body) => {
          const headers = { 'Content-Type': 'application/json' };
          const begun = await fetch('/api/jobs/emulate', { method: 'POST', headers, body: JSON.stringify(body) });
          const stream = new EventSource((await begun.json()).events);
          const heard = [];
          return new Promise((done) => {
            for (const name of ['started', 'progress', 'result', 'failed'])
              stream.addEventListener(name, (event) => {
                heard.push(name);
                if (name === 'result' || name === 'failed') { stream.close(); done([heard, JSON.parse(event.data)]); }
              });
          });
        }""",
        {"kernel": "tiled", "problem": {"m": 64, "n": 64, "k": 64}},
    )
    assert heard[0] == ["started", "progress", "result"]
    assert heard[1]["emulation"]["global_load"]["elements"] == 2 * 64**3 // 16


def test_every_section_is_drawn_without_a_word_against_it(client, visit):
    page = visit(at=f"http://{client.host}/")
    for name in page.evaluate(
        "[...document.querySelector('lab-page').shadowRoot.querySelectorAll('nav a')].map(a => a.hash)"
    ):
        page.evaluate("hash => { location.hash = hash }", name)
        page.locator("h1").first.wait_for()


def test_a_page_of_another_origin_gets_nothing(client, plain_browser, serve, tmp_path):
    (tmp_path / "index.html").write_text("<!doctype html><title>elsewhere</title>")
    context = plain_browser.new_context()
    page = context.new_page()
    page.goto(f"http://{client.host}/?token={TOKEN}")  # the browser has the cookie
    page.goto(serve(tmp_path))
    before = set(client.lab.jobs.jobs)
    for mode in ("cors", "no-cors"):
        for body in ("null", "'{}'"):
            got = page.evaluate(
                f"""(at) => fetch(at + '/api/explain', {{
                  method: 'POST', mode: '{mode}', credentials: 'include', body: {body},
                }}).then((answer) => answer.type === 'opaque' ? 'opaque' : answer.text(), () => 'refused')""",
                f"http://{client.host}",
            )
            assert got in ("refused", "opaque")
    assert set(client.lab.jobs.jobs) == before
    page.evaluate(
        """(at) => new Promise((done) => {
          const frame = document.createElement('iframe');
          frame.onload = done;
          frame.src = at;
          document.body.append(frame);
        })""",
        f"http://{client.host}/",
    )
    assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]
    context.close()
