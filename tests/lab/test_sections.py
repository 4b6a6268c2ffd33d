"""Schedules, systolic and precision in a browser: what is shown is the package's, is in the address, obeys keys."""

import numpy as np
import pytest

from gemmlab import numerics
from gemmlab.lab.asked import Schedules
from gemmlab.lab.playing import play
from gemmlab.problem import Gemm
from gemmlab.systolic import Array, Grid, closed_form

from .pages import settle, wait_for

pytestmark = pytest.mark.web
LONG_MS = 120_000

OWN = """
from numba import cuda, float32

@cuda.jit
def mine(a, b, c):
    x = cuda.threadIdx.x
    col, row = cuda.grid(2)
    one = cuda.shared.array(4, float32)
    total = float32(0)
    for i in range(a.shape[1]):
        one[x] = b[i, col]
        total += a[row, i] * one[(x + 1) % 4]
    c[row, col] = total
"""


def words(page, place):
    """What stands there, in one line."""
    return " ".join(page.locator(place).inner_text().split())


def test_a_barrier_comes_out_and_its_pair_and_cells_are_shown(visit):
    page = visit("#/schedules?out=&order=lockstep")
    assert "All 256 elements are right" in words(page, "section[aria-labelledby=cells]")
    assert "right in any order" in words(page, "section[aria-labelledby=pair]")
    page.get_by_label("barrier 1").uncheck()
    settle(page)
    assert "All 256 elements are right" in words(page, "section[aria-labelledby=cells]")  # lockstep hides it
    told = play(Schedules(kernel="tiled_8", m=16, n=16, k=16, without=(0,), schedule="lockstep"))
    pair = words(page, "section[aria-labelledby=pair]")
    assert f"a_tile[{', '.join(map(str, told.race.index))}]" in pair
    for line in told.race.lines:
        assert f"line {line}" in pair
    for step in told.race.steps:
        assert page.get_by_role("button", name=f"step {step:,}").is_visible()
    page.get_by_label("Order of the threads").select_option("serial")
    settle(page)
    wrong = page.locator("section[aria-labelledby=cells] p.wrong").inner_text()
    assert int(wrong.split()[0]) > 200
    crosses = page.locator("section[aria-labelledby=cells] figure path").count()
    assert crosses == int(wrong.split()[0])
    link = page.get_by_role("link", name="Run it on your own chip").get_attribute("href")
    assert "cut=first" in link
    assert "t=8" in link


def test_schedules_are_worked_by_keyboard_and_come_back_from_their_address(visit):
    page = visit("#/schedules?order=reverse&out=1&pk=24", language="it")
    page.get_by_label("barriera 1").focus()
    page.keyboard.press("Space")
    page.wait_for_function("() => location.hash.includes('out=0_1')")
    slider = page.locator("lab-schedules input[type=range]")
    slider.focus()
    before = int(slider.input_value())
    page.keyboard.press("ArrowRight")
    page.wait_for_function("at => location.hash.includes(`at=${at}`)", arg=before + 1)
    said = words(page, "section[aria-labelledby=cells] p.wrong")
    page.reload()
    wait_for(page, "schedules")
    assert words(page, "section[aria-labelledby=cells] p.wrong") == said
    assert slider.input_value() == str(before + 1)
    assert not page.get_by_label("barriera 1").is_checked()


@pytest.mark.parametrize(
    ("address", "name", "typed"),
    [
        ("#/schedules", "pm", (33, 100, 500, 0, "")),
        ("#/systolic", "am", (200_000, 999_999, 0)),
        ("#/precision", "length", (65, 100, 0)),
        ("#/bench?m=8&n=8&k=8", "m", (200_000, 999_999, 0)),
    ],
    ids=["schedules", "systolic", "precision", "bench"],
)
def test_a_field_says_what_is_set(visit, address, name, typed):
    page = visit(address)
    wait_for(page, address[2:].split("?")[0])
    field = page.locator(f"[data-name={name}]").first
    for value in typed:  # two in a row become the same, and then nothing changes but the field
        field.fill(str(value))
        field.press("Tab")
        settle(page)
        at = dict(part.split("=") for part in page.url.partition("?")[2].split("&") if "=" in part)
        shown = field.input_value()
        assert shown == at.get(name, {"pm": "16", "am": "6", "length": "8"}.get(name)), value


@pytest.mark.parametrize(("flow", "n"), [("ws", 1000), ("os", 300), ("is", 77)])
def test_cycles_and_use_are_those_of_the_package(visit, flow, n):
    page = visit(f"#/systolic?pes=128&flow={flow}&am=500&an={n}&ak=260&cycle=1000")
    told = closed_form(Gemm(500, n, 260, "int8"), Array(rows=128, cols=128, dataflow=flow))
    causes = words(page, "section[aria-labelledby=used] table")
    assert f"all {told.cycles:,}" in causes
    assert f"operands enter {told.active_cycles:,}" in causes
    assert f"Cycle 1,000; {told.cycles:,} in all, from 0 to {told.cycles - 1:,}" in words(
        page, "section[aria-labelledby=array]"
    )
    chosen = words(page, "section[aria-labelledby=three] tr.now")
    assert f"{told.cycles:,}" in chosen
    assert f"{told.reads.a:,} {told.reads.b:,} {told.reads.c:,}" in chosen


def test_an_array_is_stepped_by_keyboard_and_painted(visit):
    page = visit("#/systolic")
    slider = page.locator("lab-systolic input[type=range]")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('cycle=10')")
    assert "In cycle 10," in words(page, "section[aria-labelledby=array]")
    page.locator("summary", has_text="All registers").click()
    row = words(page, "section[aria-labelledby=array] tbody tr >> nth=0")
    assert row == first_pe(10)
    colours = page.locator("lab-systolic canvas").evaluate(
        """canvas => new Set(new Uint32Array(canvas.getContext('2d')
             .getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )
    assert colours > 3
    page.get_by_role("button", name="Take the bench's").click()
    settle(page)
    assert "of 65,536." in words(page, "section[aria-labelledby=array]")


def first_pe(cycle):
    """The registers of the first PE after that cycle, as the page writes them."""
    grid = Grid(Gemm(6, 7, 8, "int8"), Array(rows=4, cols=4), (np.ones((6, 8), np.int8), np.ones((8, 7), np.int8)))
    state = grid.state(cycle)
    cells = ["0,0"]
    for kind, letter in (("right", "A"), ("held", "B"), ("behind", "B"), ("sums", "C")):
        element = state[kind]["elements"][0][0]
        cells.append("-" if element is None else f"{letter}{element[0]},{element[1]}")
    return " ".join(cells)


def test_the_plateau_is_the_packages(visit):
    page = visit("#/precision")
    told = numerics.truncation_sweep("hopper.wgmma.float8_e4m3fn", shape=(32, 32, 512))
    said = words(page, "section[aria-labelledby=plateau]")
    assert f"The low {told.plateau} of 23 fraction bits" in said
    assert f"e8m{told.fraction_bits}" in said


def test_what_is_no_number_leaves_the_field_of_ones_own_numbers(visit):
    page = visit("#/precision", language="it")
    field = page.locator("[data-name=xa]")
    field.fill("1,5 due 3")
    field.press("Tab")
    settle(page)
    assert field.input_value().split() == ["1.5", "3"]


def test_lines_of_a_kernel_are_read_whole(visit):
    page = visit("#/schedules")
    for rung in ("naive", "tiled_8", "tiled"):
        page.locator("[data-name=rung]").select_option(rung)
        settle(page)
        cut = page.locator("ol.code").evaluate("list => list.scrollWidth > list.parentElement.clientWidth")
        assert not cut, rung


def test_what_is_wider_than_a_phone_says_so(visit):
    page = visit("#/chips", width=390)
    table = page.locator(".scroll").first
    page.wait_for_function("table => 'more' in table.dataset", arg=table.element_handle())
    assert "scroll sideways" in table.get_attribute("data-more")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("table => !('more' in table.dataset)", arg=table.element_handle())


def test_chips_speak_italian(visit):
    page = visit("#/chips?chip=a100-pcie-80gb", language="it")
    wait_for(page, "chips")
    for said in ("108 SM x 164 KiB", "Le varianti dell'A100 differiscono"):
        page.locator("lab-chips").get_by_text(said).first.wait_for()
    assert page.locator("lab-chips .note span[lang=en]").count() == 0


def test_ones_own_numbers_are_added_as_the_unit_adds_them(visit):
    page = visit("#/precision")
    page.get_by_label("Your own numbers for a").fill("256 1 1 1")
    page.get_by_label("Your own numbers for b").fill("64 0.5 0.5 1")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('xb=')")
    settle(page)
    said = words(page, "section[aria-labelledby=trace] p[aria-live]")
    assert "The unit says 16,384; exact is 16,386." in said  # 2^14 leaves 13 bits: what is below 2 falls off
    assert "It is off by -2." in said
    table = words(page, "section[aria-labelledby=trace] tr:has-text('blackwell')")
    assert table.endswith("16,386 0")
    address = page.url
    page.reload()
    wait_for(page, "precision")
    assert page.url == address
    assert words(page, "section[aria-labelledby=trace] p[aria-live]") == said


def test_ones_own_kernel_is_played_by_the_server_alone(visit, static):
    pytest.importorskip("uvicorn", reason="the server is not installed: pip install 'gemmlab[lab]'")
    from .served import TOKEN, served

    page = visit("#/schedules")
    page.get_by_text("is played where the package is behind the page").wait_for()
    with served(static=static) as server:
        page = visit("#/schedules?pm=4&pn=4&pk=4", at=f"http://{server.host}/")
        page.get_by_text("it holds the token").wait_for(timeout=LONG_MS)
        page = visit("#/schedules?pm=4&pn=4&pk=4", at=f"http://{server.host}/?token={TOKEN}")
        page.get_by_label("Python source").fill(OWN)
        page.get_by_label("Threads of a block").fill("4x4")
        page.get_by_role("button", name="Play it").click()
        page.locator("section[aria-labelledby=own] code", has_text="shared_race").wait_for(timeout=LONG_MS)
        said = words(page, "section[aria-labelledby=own]")
        assert "two threads touch one element of shared memory" in said
        assert "one after the other (serial)" in said
        for block in ("0x999", "8x", "eight", "64x64", "2x2x2x2"):
            page.get_by_label("Threads of a block").fill(block)
            page.get_by_role("button", name="Play it").click()
            settle(page)
            assert f"{block} is no block" in page.locator("section[aria-labelledby=own] .wrong").inner_text()
        page.get_by_label("Threads of a block").fill("4 x 4")
        page.get_by_role("button", name="Play it").click()
        page.locator("section[aria-labelledby=own] code", has_text="shared_race").wait_for(timeout=LONG_MS)
        assert "no barrier is between them" in words(page, "section[aria-labelledby=own]")
