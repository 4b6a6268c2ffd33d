"""A browser, the built page and a plain file server for it; what is missing is named, and in CI nothing may be."""

import functools
import os
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = Path(os.environ.get("GEMMLAB_STATIC") or ROOT / "src" / "gemmlab" / "lab" / "static")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: with it Chromium gives pages a software adapter where there is no GPU; without, none
WEBGPU = "--enable-unsafe-webgpu"


def missing(what):
    """Skip, or fail where all is promised to be there."""
    (pytest.fail if os.environ.get("GEMMLAB_PAGE") else pytest.skip)(what)


@pytest.fixture(scope="session")
def static():
    """The folder of the built page."""
    if not (STATIC / "index.html").is_file():
        missing("the page is not built: install Node 20.19 or newer, then `make web`")
    return STATIC


@pytest.fixture(scope="session")
def playwright():
    """Playwright's own process."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright is not installed: pip install playwright")
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="session")
def launch(playwright):
    """Starts the system's Chromium with more flags; each is closed at the end."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        missing("there is no Chromium: apt install chromium")
    started = []

    def start(*flags):
        started.append(playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags]))
        return started[-1]

    yield start
    for browser in started:
        browser.close()


@pytest.fixture(scope="session")
def browser(launch):
    """Chromium with a software adapter for WebGPU."""
    return launch(WEBGPU)


@pytest.fixture(scope="session")
def plain_browser(launch):
    """Chromium as on a machine without a GPU: WebGPU is there and gives no adapter."""
    return launch()


@pytest.fixture(scope="session")
def axe():
    """The text of axe-core, which looks for what keeps people out."""
    path = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
    if not path.is_file():
        missing("axe-core is not installed: make web")
    return path.read_text(encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    """A plain file server that logs nothing."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def serve():
    """Serves a folder on a port of its own; returns the origin."""
    servers = []

    def start(folder):
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def site(serve, static):
    """The origin at which the built page is served as plain files."""
    return serve(static)


@pytest.fixture
def visit(browser, site):
    """Opens the page at a hash; at the end no error may have been logged and no request have left the origin."""
    contexts, errors, strangers = [], [], []

    def go(hash_="", *, of=browser, at=None, width=1280, dark=False, language="en", still=True):
        context = of.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            locale={"en": "en-US", "it": "it-IT"}[language],
            reduced_motion="reduce" if still else "no-preference",
        )
        contexts.append(context)
        page = context.new_page()
        base = at or f"{site}/"
        home = base if base.startswith("file:") else base.rsplit("/", 1)[0]
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda asked: strangers.append(asked.url) if foreign(asked.url, home) else None)
        page.goto(base + hash_)
        page.locator("h1").first.wait_for()
        return page

    yield go
    for context in contexts:
        context.close()
    assert errors == []
    assert strangers == []


def foreign(url, home):
    """Whether a request left the page's own origin."""
    return not url.startswith((home, "data:", "blob:"))
