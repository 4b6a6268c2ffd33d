"""The page in a notebook: its file loads in Chromium, its address goes both ways, elsewhere a still stands for it."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from gemmlab.lab import widget
from gemmlab.record import GemmlabError

from .pages import SECTIONS

#: a notebook with as many widgets as models; `models[i].change` is what Python does, `sent` what the widget says
NOTEBOOK = """
<!doctype html><title>a notebook</title><link rel="icon" href="data:,"><h1>a notebook</h1><script type="module">
import widget from './gemmlab-widget.js';
function model(state) {
  const on = {};
  return {
    sent: [], get: (name) => state[name], set: (name, value) => { state[name] = value; },
    save_changes() { this.sent.push(state.hash); },
    on: (name, done) => { on[name] = done; }, off: (name) => { delete on[name]; },
    change(name, value) { state[name] = value; on[`change:${name}`]?.(); },
    heard: () => Object.keys(on).length,
  };
}
window.models = HASHES.map((hash) => model({ hash, height: 500 }));
window.ends = models.map((each) => {
  const el = document.body.appendChild(document.createElement('div'));
  return widget.render({ model: each, el });
});
</script>
"""


@pytest.fixture
def notebook(visit, serve, static, tmp_path):
    """A page that shows widgets at these addresses as a notebook would."""
    script = static / widget.SCRIPT.name
    assert script.is_file(), "make web"

    def go(*hashes):
        (tmp_path / script.name).write_bytes(script.read_bytes())
        (tmp_path / "notebook.html").write_text(NOTEBOOK.replace("HASHES", str(list(hashes))), encoding="utf-8")
        return visit(at=f"{serve(tmp_path)}/notebook.html")

    return go


@pytest.mark.web
def test_every_section_is_drawn_in_a_notebook(notebook):
    page = notebook(*(widget.address(section) for section in SECTIONS))
    for at, section in enumerate(SECTIONS):
        page.frame_locator("iframe").nth(at).locator(f"lab-{section} h1").wait_for()


@pytest.mark.web
def test_addresses_go_both_ways_and_two_widgets_are_apart(notebook):
    page = notebook(widget.address("bench", m=96, lang="en"), widget.address("bench", m=80, lang="en"))
    one, two = (page.frame_locator("iframe").nth(at) for at in (0, 1))
    for frame, m in ((one, "96"), (two, "80")):
        frame.locator("[data-name=m]").wait_for()
        assert frame.locator("[data-name=m]").input_value() == m
    one.locator("[data-name=m]").fill("112")
    one.locator("[data-name=m]").press("Tab")
    page.wait_for_function("() => models[0].sent.at(-1)?.includes('m=112')")
    assert two.locator("[data-name=m]").input_value() == "80"
    assert page.evaluate("models[1].sent.filter((hash) => !hash.includes('m=80'))") == []
    page.evaluate("hash => models[1].change('hash', hash)", widget.address("chips", chip="tpu-v1"))
    two.locator("lab-chips h1").wait_for()
    page.evaluate("models[0].change('height', 300)")
    assert page.locator("iframe").first.bounding_box()["height"] == 300
    page.evaluate("ends.forEach(end => end())")
    assert page.locator("iframe").count() == 0
    assert page.evaluate("models.map(each => each.heard())") == [0, 0]


def test_sections_are_those_of_the_page():
    assert set(widget.SECTIONS) == set(SECTIONS)


def test_an_address_of_values():
    assert widget.address("schedules", out=[0, 1], rung="tiled_8") == "#/schedules?out=0_1&rung=tiled_8"
    assert widget.address("bench", naive=False) == "#/bench?naive=0"
    assert widget.address("bench", m=None, chip="\ud800<&#") == "#/bench?chip=%3F%3C%26%23"
    for wrong in ("limit", "", 1, None, ["film"], b"film"):
        with pytest.raises(GemmlabError, match="unknown section `"):
            widget.address(wrong)


@pytest.mark.parametrize("height", [0, -5, 119, 1.5, "720", None, True])
def test_a_height_that_is_none_is_said(height):
    with pytest.raises(GemmlabError, match="height is"):
        widget.lab("film", height=height)


def test_the_widget_holds_the_page_and_a_still(static):
    pytest.importorskip("anywidget", reason="anywidget is not installed: pip install 'gemmlab[lab]'")
    found = widget.lab("bench", height=300, m=8192, n=8192, k=8192, format="float16", chip="a100-pcie-80gb")
    assert found.height == 300
    bundle = found._repr_mimebundle_()
    shown = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert "8192 x 8192 x 8192" in shown["text/html"]
    assert found.hash in shown["text/plain"]


def test_a_still_is_a_picture_or_says_why_not():
    still = widget.Still(widget.address("bench", m=300, n=200, k=500))._repr_html_()
    ElementTree.fromstring(still[still.index("<svg") : still.index("</svg>") + 6])
    for state in ({"m": 0}, {"m": "x"}, {"chip": "<b>"}, {"kernel": "none"}, {"format": "float3"}, {"chip": "own"}):
        said = widget.Still(widget.address("bench", **state))._repr_html_()
        assert "<svg" not in said
        assert "<b>" not in said


def test_a_still_opens_no_file_and_repeats_nothing_without_end(tmp_path):
    (tmp_path / "own.toml").write_text("a secret")
    for hash_ in (f"#/bench?chip={tmp_path}/own.toml", "#/bench?chip=/dev/zero", "#/bench?m=" + "9" * 5000):
        said = widget.Still(hash_)._repr_html_()
        assert "<svg" not in said
        assert "secret" not in said
        assert ("unknown chip" in said) == ("chip" in hash_)
        assert len(said.partition("<p>A still")[0]) < 500


def test_without_anywidget_it_is_a_still():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "from gemmlab.lab.widget import lab\n"
        "print(repr(lab('chips', chip='tpu-v1')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "gemmlab lab #/chips?chip=tpu-v1\n", done.stderr
