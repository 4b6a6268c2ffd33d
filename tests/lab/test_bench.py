"""The bench in real Chromium: counts, answers, the broken kernel, clocks, and everything that a device can refuse."""

import json
from pathlib import Path

import pytest

from gemmlab import kernels
from gemmlab.count import count
from gemmlab.problem import Gemm

from .conftest import ROOT

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SHAPES = ((64, 64, 64), (100, 70, 33), (17, 15, 33), (5, 130, 1))
LONG_MS = 120_000

QUANTISED = """
const real = GPUBuffer.prototype.getMappedRange;
GPUBuffer.prototype.getMappedRange = function (...range) {
  const found = real.apply(this, range);
  if (this.label !== 'stamps') return found;
  return BigUint64Array.from(new BigUint64Array(found), (stamp) => (stamp >> 16n) << 16n).buffer;
};
const now = performance.now.bind(performance);
performance.now = () => Math.floor(now() * 10) / 10;
"""
STOPPED_CLOCK = """
const real = GPUBuffer.prototype.getMappedRange;
GPUBuffer.prototype.getMappedRange = function (...range) {
  const found = real.apply(this, range);
  return this.label === 'stamps' ? new BigUint64Array(found.byteLength / 8).fill(5n).buffer : found;
};
"""
LOST = """
const real = GPUAdapter.prototype.requestDevice;
let first = true;
GPUAdapter.prototype.requestDevice = async function (...given) {
  const device = await real.apply(this, given);
  if (first) setTimeout(() => device.destroy(), WHEN);
  first = false;
  return device;
};
"""
NO_MEMORY = """
const real = GPUDevice.prototype.popErrorScope;
let first = true;
GPUDevice.prototype.popErrorScope = async function () {
  const found = await real.call(this);
  if (!first) return found;
  first = false;
  return new GPUOutOfMemoryError('no room for it.');
};
"""
NO_WEBGPU = "Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined });"
NO_TIME = "const started = performance.now(); performance.now = () => started;"
FAST_CLOCK = "const fast = performance.now.bind(performance); performance.now = () => TIMES * fast();"
BROKEN_TEXT = """
const real = GPUDevice.prototype.createShaderModule;
GPUDevice.prototype.createShaderModule = function ({ code, ...rest }) {
  return real.call(this, { ...rest, code: code.replace('COUNTED) {', 'COUNTED) { nonsense') });
};
"""

DISPATCHES = """
window.heights = [];
const real = GPUComputePassEncoder.prototype.dispatchWorkgroups;
GPUComputePassEncoder.prototype.dispatchWorkgroups = function (x, y, z) {
  window.heights.push(y);
  return real.call(this, x, y, z);
};
"""


class Prepared:
    """A browser whose pages run a script first."""

    def __init__(self, browser, script):
        self.browser, self.script = browser, script

    def new_context(self, **given):
        context = self.browser.new_context(**given)
        context.add_init_script(f"{{{self.script}}}")
        return context


@pytest.fixture
def bench(visit, browser):
    """Opens the bench, after a script if one is given."""

    def go(query, *, script="", of=browser, **given):
        return visit(f"#/bench?{query}", of=Prepared(of, script) if script else of, **given)

    return go


#: when a button has been disabled and is not any more: seen from before it is pressed, as a busy page may begin late
ENDED = """(button, longMs) => {
  globalThis.ended = new Promise((done, failed) => {
    let begun = false;
    const look = () => (button.disabled ? (begun = true) : begun && done());
    new MutationObserver(look).observe(button, { attributes: true, attributeFilter: ['disabled'] });
    setTimeout(() => failed(new Error(begun ? 'it never ended' : 'it never began')), longMs);
  });
}"""


def run(page):
    """Press the button and wait until all is done."""
    button = page.locator("[data-do=run]")
    button.evaluate(ENDED, LONG_MS)
    button.click()
    page.evaluate("() => globalThis.ended")
    page.locator("[data-do=run]:not([disabled])").wait_for(timeout=LONG_MS)
    return page


def cell(page, figure, kernel, without=""):
    """The text of a figure of a kernel's line."""
    line = page.locator(f'tr[data-kernel="{kernel}"][data-without="{without}"]')
    return line.locator(f"[data-figure={figure}]").inner_text()


def faults(page):
    """What the page says went wrong: kinds, and the sentences."""
    return {each.get_attribute("data-fault"): each.inner_text() for each in page.locator("[data-fault]").all()}


def formula(m, n, k, kernel, tile=16):
    problem = Gemm(m, n, k)
    depth = tile if kernel == "tiled" else 1
    return count(problem, kernels.get(kernel, problem=problem, tile=(tile, tile, depth))).global_load_elements


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_kernels_are_right_and_formula_walk_and_adapter_count_the_same(bench, shape):
    m, n, k = shape
    page = run(bench(f"m={m}&n={n}&k={k}"))
    for kernel in ("naive", "tiled"):
        wanted = f"{formula(m, n, k, kernel):,}"
        assert cell(page, "reads", kernel) == wanted
        for figure in ("walked", "adapter"):
            assert cell(page, figure, kernel).split() == [wanted, "=", "formula"]
        assert cell(page, "verdict", kernel).startswith("right")
        assert "FLOP/s" in cell(page, "time", kernel)
    assert faults(page) == {}
    assert "A software adapter" in page.locator("[data-part=device]").inner_text()
    assert "software adapter" in page.locator("[data-part=ranks]").inner_text()


def test_every_tile_is_right_and_what_is_saved_says_how_each_figure_is_known(bench, tmp_path):
    page = run(bench("m=33&n=18&k=40&t=7&all=1&cut=both&naive=0"))
    for tile in (4, 7, 8, 16):
        line = page.locator(f'tr[data-tile="{tile}"][data-without=""]')
        assert (
            line.locator("[data-figure=adapter]").inner_text().split()[0] == f"{formula(33, 18, 40, 'tiled', tile):,}"
        )
        assert line.locator("[data-figure=verdict]").inner_text().startswith("right")
    told = json.loads(saved(page, "JSON", tmp_path))
    assert told["problem"] == {"m": 33, "n": 18, "k": 40, "format": "float32", "seed": 1, "chip": "h100-sxm"}
    assert told["device"]["software"] is True
    figures = {(each["kernel"], each["figure"]): each for each in told["figures"]}
    assert figures["tiled-16", "reads_by_adapter"] == {
        "kernel": "tiled-16",
        "figure": "reads_by_adapter",
        "value": formula(33, 18, 40, "tiled"),
        "unit": "elements",
        "known": "measured",
    }
    assert figures["tiled-7-without-barrier-1-without-barrier-2", "right"]["value"] is False
    assert ("tiled-7-without-barrier-1-without-barrier-2", "time") not in figures
    lines = saved(page, "CSV", tmp_path).splitlines()
    assert lines[0].startswith("m,n,k,format,seed,chip,adapter,software,clock,kernel,figure,value,unit,known")
    assert len(lines) == len(told["figures"]) + 1


def saved(page, name, folder):
    with page.expect_download() as given:
        page.get_by_role("button", name=name).click()
    given.value.save_as(folder / name)
    return Path(folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("cut", "without"), [("first", "0"), ("second", "1"), ("both", "0 1")])
def test_a_missing_barrier_is_caught_and_has_no_time(bench, cut, without):
    page = run(bench(f"m=40&n=33&k=50&cut={cut}&naive=0"))
    assert "wrong" in cell(page, "verdict", "tiled", without)
    assert cell(page, "time", "tiled", without) == "-"
    assert "wrong" in page.locator("[data-part=broken]").inner_text()
    assert cell(page, "verdict", "tiled").startswith("right")


def test_the_button_breaks_it_and_one_tile_along_k_does_not_need_the_second_barrier(bench):
    page = bench("m=32&n=32&k=32&naive=0")
    page.locator("[data-do=break]").click()
    page.locator("[data-part=broken]").wait_for(timeout=LONG_MS)
    assert "cut=first" in page.url
    page = run(bench("m=16&n=32&k=16&cut=second&naive=0"))
    assert "proves nothing" in page.locator("[data-part=harmless]").inner_text()


def test_a_clock_of_65536_ns_ranks_rightly_or_says_that_it_cannot(bench):
    page = run(bench("m=64&n=64&k=64", script=QUANTISED))
    assert "65.5 µs" in page.locator("[data-part=clock]").inner_text()
    told = page.locator("[data-part=ranks]").inner_text()
    assert told.startswith(
        ("Fastest: naive; tiled 16 takes", "naive, tiled 16: not told apart", "tiled 16, naive: not told")
    )


def test_a_clock_that_stands_still_is_not_used(bench):
    page = run(bench("m=64&n=64&k=64&tiled=0", script=STOPPED_CLOCK))
    told = page.locator("[data-part=clock]").inner_text()
    assert "the browser's" in told
    assert "0% of the time that passed" in told
    assert "FLOP/s" in cell(page, "time", "naive")


@pytest.mark.parametrize("when", [0, 400])
def test_a_lost_device_is_told_and_the_next_run_has_another(bench, when):
    page = run(bench("m=256&n=256&k=256", script=LOST.replace("WHEN", str(when))))
    assert "was lost" in faults(page)["lost"]
    page.get_by_label("m", exact=True).fill("20")
    page.keyboard.press("Tab")
    for name in ("n", "k"):
        page.get_by_label(name, exact=True).fill("20")
        page.keyboard.press("Tab")
    run(page)
    assert faults(page) == {}
    assert cell(page, "verdict", "tiled").startswith("right")


@pytest.mark.parametrize(
    ("query", "script", "kind", "said"),
    [
        ("m=20&n=20&k=20", NO_MEMORY, "memory", "out of memory: no room for it."),
        ("m=1&n=131072&k=1&t=1", "", "workgroups", "needs 131,072 workgroups of 1 columns"),
        ("m=20&n=20&k=20&t=32", "", "tile", "need 1,024 invocations"),
        ("m=20&n=20&k=20&format=float16", "", "half", "some browsers and drivers hide it"),
        ("m=20&n=20&k=20&format=bfloat16", "", "format", "WGSL has no bfloat16"),
        ("m=131072&n=3&k=131072", "", "buffer", "A takes 64 GiB"),
        ("m=20&n=20&k=20", BROKEN_TEXT, "compile", "did not compile"),
        ("m=20&n=20&k=20", NO_TIME, "clock", "clock stands still"),
    ],
)
def test_what_a_device_refuses_is_a_sentence_and_the_page_goes_on(bench, query, script, kind, said):
    page = run(bench(query, script=script))
    found = faults(page)
    assert said in found.get(kind, ""), found
    assert cell(page, "reads", "naive") not in ("", "-")
    page.goto(page.url.split("#")[0] + "#/bench?m=8&n=8&k=8&tiled=0&cut=first&t=8")
    if script in (BROKEN_TEXT, NO_TIME):
        return
    run(page)
    assert faults(page) == {}
    assert cell(page, "verdict", "naive").startswith("right")


@pytest.mark.parametrize(("lacks", "said"), [("adapter", "gives no adapter"), ("WebGPU", "has no WebGPU")])
def test_without_webgpu_everything_else_works(bench, plain_browser, lacks, said):
    page = bench("m=100&n=70&k=33", of=plain_browser, script="" if lacks == "adapter" else NO_WEBGPU)
    page.locator("[data-part=device].lacks").wait_for()
    assert said in page.locator("[data-part=device]").inner_text()
    assert cell(page, "reads", "tiled") == "32,670"
    run(page)
    assert len(faults(page)) == 1
    page.get_by_role("button", name="1024³").click()
    assert cell(page, "reads", "naive") == "2,147,483,648"
    assert cell(page, "reads", "tiled") == "134,217,728"


def test_long_work_goes_in_parts_that_leave_nothing_out(bench):
    page = run(bench("m=997&n=70&k=60&tiled=0", script=DISPATCHES + FAST_CLOCK.replace("TIMES", "8")))
    assert cell(page, "adapter", "naive").split() == [f"{formula(997, 70, 60, 'naive'):,}", "=", "formula"]
    assert cell(page, "verdict", "naive").startswith("right")
    heights = page.evaluate("window.heights")
    assert max(heights[-8:]) < 63  # workgroups over all 997 rows


def test_what_would_take_too_long_is_said_and_not_run(bench):
    fast = FAST_CLOCK.replace("TIMES", "2000")  # by it a millisecond takes two seconds
    page = run(bench("m=128&n=128&k=128&naive=0", script=fast))
    assert "would take about" in faults(page)["slow"]
    assert cell(page, "time", "tiled") == "-"
    page.locator("[data-do=anyway]").click()  # and it is run, where the reader has the time
    page.locator("[data-do=stop]").wait_for()
    assert page.locator("[data-do=anyway]").count() == 0
    page.locator("[data-do=run]:not([disabled])").wait_for(timeout=LONG_MS)
    assert "slow" not in faults(page)
    assert cell(page, "verdict", "tiled").startswith("right")
    assert cell(page, "time", "tiled") != "-"


def test_a_software_adapter_begins_with_what_it_does_soon_unless_the_address_says_more(bench, plain_browser):
    page = bench("")
    page.wait_for_function("() => location.hash.includes('m=256&n=256&k=256')")
    page.get_by_role("button", name="1024³").click()
    assert "m=1024&n=1024&k=1024" in page.url  # which is said, so that a reload keeps it
    page.reload()
    page.locator("[data-part=device]").wait_for()
    assert "m=1024&n=1024&k=1024" in page.url
    page = bench("", of=plain_browser)
    page.locator("[data-part=device].lacks").wait_for()
    assert page.locator("[data-name=m]").input_value() == "1024"


def test_a_long_run_can_be_stopped(bench):
    page = bench("m=1024&n=1024&k=1024")
    page.locator("[data-do=run]").click()
    page.locator("[data-do=stop]").click()
    page.locator("[data-do=run]:not([disabled])").wait_for(timeout=20_000)
    assert faults(page) == {"stopped": "Stopped."}


def test_italian_numbers_and_the_state_in_the_address(bench):
    page = bench("m=1024&n=1024&k=1024&all=1&cut=both&same=1&seed=9&chip=a10&where=none&lang=it&lvl=elem")
    assert cell(page, "reads", "naive") == "2.147.483.648"
    assert page.locator("[data-name=cut]").input_value() == "both"
    assert page.locator("[data-name=chip]").input_value() == "a10"
    assert page.locator("[data-name=all]").is_checked()
    assert page.locator("[data-do=run]").count() == 0
    assert page.locator("h1").inner_text() == "Banco"


@pytest.mark.parametrize("dark", [False, True])
def test_a_finished_run_has_no_axe_violations(bench, dark):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm --prefix web ci")
    page = run(bench("m=20&n=20&k=40&cut=first&t=8", dark=dark))
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found = page.evaluate("axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))")
    assert found == []
