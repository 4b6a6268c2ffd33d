"""The bench with `gemmlab lab` behind it: the model's predictions, and kernels timed on the server's machine."""

import signal
import subprocess
import sys

import pytest

from gemmlab import explain, kernels
from gemmlab.problem import Gemm

from .conftest import missing

START = "from gemmlab.cli import lab; import sys; sys.exit(lab.run(['--no-browser', '--port', '0']))"
LONG_MS = 120_000


@pytest.fixture(scope="module")
def address(static):
    """The address that the command prints, token and all."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        missing("the server is not installed: pip install 'gemmlab[lab]'")
    process = subprocess.Popen(
        [sys.executable, "-c", START], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def test_the_models_time_stands_beside_the_limit(visit, address):
    page = visit("#/bench?m=96&n=80&k=112", at=address)
    shown = page.locator('tr[data-kernel="tiled"] [data-figure=model]')
    shown.wait_for(timeout=LONG_MS)
    problem = Gemm(96, 80, 112)
    told = explain(problem, "h100-sxm", kernels.get("tiled", problem=problem, tile=(16, 16, 16))).prediction
    assert shown.inner_text() == f"model: {told.time_s * 1e6:.3g} µs, by the {told.bound}"


def test_kernels_are_timed_and_checked_on_the_servers_machine(visit, address):
    page = visit("", at=address)
    page.goto(page.url.split("#")[0] + "#/bench?m=64&n=48&k=40&where=machine")
    page.locator("[data-part=machine] li").first.wait_for(timeout=LONG_MS)
    page.locator("[data-do=run]").click()
    page.locator("[data-there]").first.wait_for(timeout=LONG_MS)
    texts = [line.inner_text() for line in page.locator("[data-there]").all()]
    timed = [text for text in texts if "refused" not in text]  # a library that is not installed is
    assert timed
    assert all("right" in text and "FLOP/s" in text for text in timed)


def test_a_measurement_there_can_be_stopped(visit, address):
    page = visit("", at=address)
    page.goto(page.url.split("#")[0] + "#/bench?m=128&n=128&k=128&where=machine")
    page.locator("[data-do=run]").click()
    page.locator("[data-do=stop]").click()
    page.locator("[data-do=run]:not([disabled])").wait_for(timeout=20_000)
    assert page.locator("[data-fault]").get_attribute("data-fault") == "stopped"


def test_without_a_server_the_page_says_so_and_asks_nothing(visit):
    page = visit("#/bench?where=machine")
    assert "gemmlab lab starts one" in page.locator("[data-part=machine]").inner_text()
